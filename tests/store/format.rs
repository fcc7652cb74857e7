//! What is in the database, whoever made it.

use crate::{COUNTERS, Place, SYNCED, TABLES, content, log_of, names_in, zone};
use resume_gate::segments::{SEGMENTS_FILE, agents, chain_head, segments};
use resume_gate::store::{Durability, PART_BYTES, SqliteStore, Store};
use std::fs;

const PART: usize = PART_BYTES as usize;

#[cfg(unix)]
fn mode(path: &std::path::Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
#[cfg(unix)]
fn a_store_that_we_make_is_private_and_wal_and_in_the_known_format() {
    let place = Place::new();
    let folder = place.folder.path().join("new/er");
    let path = folder.join("filestore.db");
    let mut store = SqliteStore::recorder(&path, crate::WAIT).unwrap();
    store.append_line("z", "n", SYNCED, b"one").unwrap();
    assert_eq!((mode(&path), mode(&folder), mode(folder.parent().unwrap())), (0o600, 0o700, 0o700));
    assert_eq!(mode(&folder.join("filestore.db-wal")), 0o600);
    let raw = rusqlite::Connection::open(&path).unwrap();
    let text = |sql: &str| raw.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(text("PRAGMA journal_mode"), "wal");
    assert_eq!(text("SELECT user_version || '' FROM pragma_user_version"), "1");
    let row = raw.query_row("SELECT zoneid, name, size, createdts, modts, opts, meta FROM db_wave_file", [], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
    });
    let row: (String, String, i64, i64, i64, String, String) = row.unwrap();
    assert_eq!(row, ("z".into(), "n".into(), 4, 5000, 5000, "{}".into(), "{}".into()));
    let data: Vec<u8> = raw.query_row("SELECT data FROM db_file_data WHERE partidx = 0", [], |row| row.get(0)).unwrap();
    assert_eq!(data, b"one\n");
}

#[test]
fn only_a_recorder_makes_a_store_and_an_absent_one_is_empty() {
    let place = Place::new();
    let mut store = place.reader();
    assert!(!store.exists());
    assert_eq!(chain_head(&mut store, "u1", None).unwrap().head(), None);
    assert_eq!(segments(&mut store, "u1").unwrap().segments, []);
    assert_eq!(agents(&mut store).unwrap(), []);
    assert!(store.append_line("z", "n", SYNCED, b"x").is_err());
    assert_eq!(names_in(place.folder.path()), Vec::<String>::new());
}

#[test]
fn an_existing_database_keeps_its_journal_mode_and_all_that_is_not_ours() {
    let place = Place::new().made_by_another(
        "DELETE",
        &format!(
            "{TABLES} CREATE TABLE other (x); INSERT INTO other VALUES (42); PRAGMA application_id = 77;
             INSERT INTO db_wave_file VALUES ('t', 'term', 3, 1, 2, '{{\"circular\":true}}', '{{\"a\":1}}');
             INSERT INTO db_file_data VALUES ('t', 'term', 0, x'010203');"
        ),
    );
    let mut store = place.recorder();
    store.append_line(&zone("u1"), SEGMENTS_FILE, SYNCED, b"{}").unwrap();
    drop(store);
    let raw = place.raw();
    let text = |sql: &str| raw.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(text("PRAGMA journal_mode"), "delete");
    assert_eq!(text("SELECT x || '' FROM other"), "42");
    assert_eq!(text("SELECT user_version || '' FROM pragma_user_version"), "0");
    assert_eq!(text("SELECT application_id || '' FROM pragma_application_id"), "77");
    assert_eq!(
        text("SELECT size || createdts || modts || opts || meta FROM db_wave_file WHERE zoneid = 't'"),
        "312{\"circular\":true}{\"a\":1}"
    );
    assert_eq!(text("SELECT hex(data) FROM db_file_data WHERE zoneid = 't'"), "010203");
}

#[test]
fn the_five_counters_become_unknown_in_the_file_that_was_written_only() {
    let place = Place::new().made_by_another(
        "WAL",
        &format!(
            "{TABLES} {COUNTERS}
             INSERT INTO db_wave_file VALUES ('z', 'n', 4, 1, 2, '{{}}', '{{}}', 9, 1, 4, 4, 2);
             INSERT INTO db_file_data VALUES ('z', 'n', 0, x'6f6e650a');
             INSERT INTO db_wave_file VALUES ('y', 'n', 0, 1, 2, '{{}}', '{{}}', 9, 1, 4, 4, 2);"
        ),
    );
    let mut store = place.recorder();
    store.append_line("z", "n", SYNCED, b"two").unwrap();
    assert_eq!(content(&mut store, "z", "n").unwrap(), b"one\ntwo\n");
    let counters = |zone: &str| {
        let row = place.raw().query_row(
            "SELECT size, createdts, modts, gen, lines, lines_size, lines_tail, lines_modts FROM db_wave_file WHERE zoneid = ?1",
            [zone],
            |row| (0..8).map(|column| row.get(column)).collect::<Result<Vec<Option<i64>>, _>>(),
        );
        row.unwrap()
    };
    assert_eq!(counters("z"), [Some(8), Some(1), Some(5000), None, None, None, None, None]);
    assert_eq!(counters("y"), [Some(0), Some(1), Some(2), Some(9), Some(1), Some(4), Some(4), Some(2)]);
    // Added while the store is open: seen at the next append.
    let other = Place::new().made_by_another("WAL", TABLES);
    let mut store = other.recorder();
    store.append_line("z", "n", SYNCED, b"one").unwrap();
    other.raw().execute_batch(&format!("{COUNTERS} UPDATE db_wave_file SET lines = 1;")).unwrap();
    store.append_line("z", "n", SYNCED, b"two").unwrap();
    let lines: Option<i64> = other.raw().query_row("SELECT lines FROM db_wave_file", [], |row| row.get(0)).unwrap();
    assert_eq!(lines, None);
}

#[test]
fn a_line_grows_across_parts_and_every_part_but_the_last_is_full() {
    let place = Place::new();
    let mut store = place.recorder();
    let lines: Vec<Vec<u8>> = [PART - 10, 30, 3 * PART + 7, 1, PART - 1].map(|length| vec![b'x'; length]).to_vec();
    for line in &lines {
        store.append_line("z", "n", SYNCED, line).unwrap();
    }
    let expected: Vec<u8> = lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect();
    assert_eq!(content(&mut store, "z", "n").unwrap(), expected);
    let raw = place.raw();
    let mut parts = raw.prepare("SELECT partidx, length(data) FROM db_file_data ORDER BY partidx").unwrap();
    let parts = parts.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let parts: Vec<(i64, i64)> = parts.map(Result::unwrap).collect();
    assert_eq!(parts.len(), expected.len().div_ceil(PART));
    for (number, (index, length)) in parts.iter().enumerate() {
        assert_eq!(*index as usize, number);
        assert_eq!(*length as usize, PART.min(expected.len() - number * PART));
    }
    for range in [0..1, 5..PART + 5, PART - 1..PART + 1, 2 * PART..2 * PART + 1, 0..expected.len() + 99] {
        let mut read = Vec::new();
        let mut snapshot = store.snapshot("z", "n").unwrap().unwrap();
        snapshot.read_range(range.start as u64..range.end as u64, &mut read).unwrap();
        assert_eq!(read, expected.get(range.start..range.end.min(expected.len())).unwrap());
    }
}

#[test]
fn bytes_of_a_part_beyond_the_size_are_no_content_and_give_way() {
    let place = Place::new().made_by_another(
        "WAL",
        &format!(
            "{TABLES} INSERT INTO db_wave_file (zoneid, name, size) VALUES ('z', 'n', 4);
             INSERT INTO db_file_data VALUES ('z', 'n', 0, CAST('one' || char(10) || 'LEFTOVER' AS BLOB));
             INSERT INTO db_file_data VALUES ('z', 'n', 1, x'ffff');"
        ),
    );
    assert_eq!(content(&mut place.reader(), "z", "n").unwrap(), b"one\n");
    let mut store = place.recorder();
    assert!(!store.append_line("z", "n", SYNCED, b"2").unwrap().closed_torn_tail);
    assert_eq!(content(&mut store, "z", "n").unwrap(), b"one\n2\n");
    let long = vec![b'x'; PART];
    store.append_line("z", "n", SYNCED, &long).unwrap();
    assert_eq!(content(&mut store, "z", "n").unwrap(), [b"one\n2\n".as_slice(), &long, b"\n"].concat());
}

#[test]
fn bytes_that_the_parts_lack_are_nul_and_the_rest_keeps_its_place() {
    let place = Place::new().made_by_another(
        "WAL",
        &format!(
            "{TABLES} INSERT INTO db_wave_file (zoneid, name, size) VALUES ('z', 'n', 131076);
             INSERT INTO db_file_data VALUES ('z', 'n', 0, x'61');
             INSERT INTO db_file_data VALUES ('z', 'n', 2, x'620a');"
        ),
    );
    let mut store = place.recorder();
    let read = content(&mut store, "z", "n").unwrap();
    assert_eq!(read.len(), 131_076);
    assert_eq!((read.first(), read.get(1), read.get(2 * PART..)), (Some(&b'a'), Some(&0), Some(b"b\n\0\0".as_slice())));
    assert!(store.append_line("z", "n", SYNCED, b"next").unwrap().closed_torn_tail);
    assert!(content(&mut store, "z", "n").unwrap().ends_with(b"b\n\0\0\nnext\n"));
}

#[test]
fn a_size_that_no_part_backs_is_an_error_and_costs_no_memory() {
    for size in [1_i64 << 40, i64::MAX, -1] {
        let place = Place::new().made_by_another(
            "WAL",
            &format!(
                "{TABLES} INSERT INTO db_wave_file (zoneid, name, size) VALUES ('{}', 'segments.jsonl', {size});",
                zone("u1")
            ),
        );
        let mut store = place.reader();
        let error = segments(&mut store, "u1").unwrap_err();
        assert!(error.to_string().contains("segments.jsonl"), "{error}");
        assert!(chain_head(&mut store, "u1", None).is_err());
    }
}

#[test]
fn values_of_other_types_than_the_columns_are_read_or_refused() {
    let place = Place::new().made_by_another(
        "WAL",
        &format!(
            "{TABLES} INSERT INTO db_wave_file (zoneid, name, size) VALUES ('z', 'text', 4), ('z', 'bad', 'many');
             INSERT INTO db_file_data VALUES ('z', 'text', 0, 'one' || char(10));"
        ),
    );
    let mut store = place.reader();
    assert_eq!(content(&mut store, "z", "text").unwrap(), b"one\n");
    assert!(store.snapshot("z", "bad").is_err());
}

#[test]
fn missing_tables_are_an_empty_store_and_are_made_by_the_first_append() {
    let place = Place::new();
    fs::write(place.db(), "").unwrap();
    assert_eq!(content(&mut place.reader(), "z", "n"), None);
    assert_eq!(fs::read(place.db()).unwrap(), b"", "a reader leaves an empty file empty");
    place.recorder().append_line("z", "n", SYNCED, b"one").unwrap();
    assert_eq!(content(&mut place.reader(), "z", "n").unwrap(), b"one\n");

    let half = Place::new().made_by_another("WAL", TABLES.split(';').next().unwrap());
    assert_eq!(content(&mut half.reader(), "z", "n"), None);
    half.recorder().append_line("z", "n", SYNCED, b"one").unwrap();
    assert_eq!(content(&mut half.reader(), "z", "n").unwrap(), b"one\n");
}

#[test]
fn closing_a_store_does_not_checkpoint() {
    let place = Place::new().with_a_segment();
    let before = fs::read(place.db()).unwrap();
    let mut store = place.recorder();
    store.append_line("z", "n", SYNCED, b"one").unwrap();
    drop(store);
    assert_eq!(fs::read(place.db()).unwrap(), before);
    assert!(fs::metadata(place.folder.path().join("filestore.db-wal")).unwrap().len() > 0);
    assert_eq!(content(&mut place.reader(), "z", "n").unwrap(), b"one\n");
}

#[test]
fn a_reader_writes_no_row_and_no_file_of_ours() {
    let place = Place::new().made_by_another("DELETE", TABLES);
    let before = fs::read(place.db()).unwrap();
    let mut store = place.reader();
    assert_eq!(content(&mut store, "z", "n"), None);
    assert!(store.append_line("z", "n", SYNCED, b"one").is_err());
    drop(store);
    assert_eq!(fs::read(place.db()).unwrap(), before);
    assert_eq!(names_in(place.folder.path()), ["filestore.db"]);
}

#[test]
fn a_snapshot_stays_as_it_is_while_others_append() {
    let place = Place::new().with_a_segment();
    let mut reader = place.reader();
    let mut snapshot = reader.snapshot(&zone("u1"), SEGMENTS_FILE).unwrap().unwrap();
    let size = snapshot.size();
    place.recorder().append_line(&zone("u1"), SEGMENTS_FILE, SYNCED, &vec![b'x'; 2 * PART]).unwrap();
    let mut read = Vec::new();
    snapshot.read_all(&mut read).unwrap();
    assert_eq!((snapshot.size(), read.len() as u64), (size, size));
    drop(snapshot);
    assert!(log_of(&mut reader, "u1").len() as u64 > size);
}

#[test]
fn a_whole_file_is_put_once() {
    let place = Place::new();
    let mut store = place.recorder();
    let bytes: Vec<u8> = (0..PART * 2 + 5).map(|number| (number % 251) as u8).collect();
    let options = resume_gate::store::AppendOptions { durability: Durability::Normal, now_ms: 1 };
    assert!(store.put_once("tables", "sha", &bytes, options).unwrap());
    assert!(!store.put_once("tables", "sha", b"other", options).unwrap());
    assert_eq!(content(&mut store, "tables", "sha").unwrap(), bytes);
    assert!(store.put_once("tables", "empty", b"", options).unwrap());
    assert_eq!(content(&mut store, "tables", "empty").unwrap(), b"");
}

#[test]
fn paths_that_mean_something_to_sqlite_are_paths_here() {
    let place = Place::new();
    for name in ["file:x?mode=memory", "a b%20#?.db", "ü"] {
        let path = place.folder.path().join(name);
        SqliteStore::recorder(&path, crate::WAIT).unwrap().append_line("z", "n", SYNCED, b"1").unwrap();
        assert!(fs::metadata(&path).unwrap().len() > 0, "{name}");
    }
}

#[test]
fn what_holds_a_newline_is_not_one_line() {
    let place = Place::new();
    let mut store = place.recorder();
    assert!(store.append_line("z", "n", SYNCED, b"one\ntwo").is_err());
    assert_eq!(content(&mut store, "z", "n"), None);
}
