//! What the segment index costs: `cargo bench --bench segments`.
//!
//! Held against the obvious ways on the same bytes: the fold against one `serde_json::Value` per
//! line, the head against a bare read of the log's last two parts from the same database.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use resume_gate::segments::{chain_head, fold, newest_segment_id, zone_for};
use resume_gate::store::{PART_BYTES, SqliteStore};
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use tempfile::TempDir;

const UID: &str = "3f0c9a52-77f1-4c0e-9d0e-5b1f2a6c8e11";
const SEGMENTS: [usize; 3] = [10, 1_000, 1_000_000];
const WAIT: Duration = Duration::from_secs(5);

fn main() {
    divan::main();
    DATABASES.lock().unwrap().clear();
}

const FILE: &str = "filestore.db";
static DATABASES: Mutex<BTreeMap<usize, TempDir>> = Mutex::new(BTreeMap::new());

/// A chain as a host writes it: start, session and end per segment.
fn log(segments: usize) -> String {
    let mut log = String::new();
    let mut predecessor = String::from("null");
    for number in 0..segments {
        let id = format!("{number:08x}-5a1b-4c3d-9e8f-0123456789ab");
        let session = format!("{number:08x}-77aa-4bbb-8ccc-ba9876543210");
        let at = 1_755_000_000_000_u64 + number as u64 * 60_000;
        writeln!(
            log,
            r#"{{"event":"start","segment_id":"{id}","agent_uid":"{UID}","definition_id":"b7d7c6d8-1111-4222-8333-444455556666","provider":"claude","config_dir":"/home/someone/.agentmux/shared/identities/7c1e/claude","provider_session_id":null,"cwd":"/home/someone/projects/resume-gate","channel":"stable","agentmux_version":"0.57.12","block_id":"0b1c2d3e-aaaa-4bbb-8ccc-1234567890ab","zone":"agent-uid:{UID}","byte_start":1{number}000,"started_at_ms":{at},"continuity_rung":"native","predecessor_segment_id":{predecessor},"lease_epoch":{number},"identity_key":"90b3a1c2d4e5f607","forked_from":null}}"#
        )
        .unwrap();
        writeln!(
            log,
            r#"{{"event":"session","segment_id":"{id}","provider_session_id":"{session}","at_ms":{}}}"#,
            at + 900
        )
        .unwrap();
        writeln!(
            log,
            r#"{{"event":"end","segment_id":"{id}","ended_at_ms":{},"end_reason":"exited","byte_end":1{number}999,"provider_bytes_end":1{number}123}}"#,
            at + 50_000
        )
        .unwrap();
        predecessor = format!("\"{id}\"");
    }
    log
}

/// A database that holds such a log; made once per size.
fn database(segments: usize) -> PathBuf {
    let mut made = DATABASES.lock().unwrap();
    let folder = made.entry(segments).or_insert_with(|| {
        let folder = tempfile::tempdir().unwrap();
        write_database(folder.path(), segments);
        folder
    });
    folder.path().join(FILE)
}

fn write_database(folder: &Path, segments: usize) {
    let path = folder.join(FILE);
    drop(SqliteStore::recorder(&path, WAIT).unwrap());
    let log = log(segments);
    let mut connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
    let transaction = connection.transaction().unwrap();
    transaction
        .execute_batch(
            "CREATE TABLE db_wave_file (zoneid TEXT, name TEXT, size INTEGER, createdts INTEGER, modts INTEGER,
                 opts TEXT DEFAULT '{}', meta TEXT DEFAULT '{}', PRIMARY KEY (zoneid, name));
             CREATE TABLE db_file_data (zoneid TEXT, name TEXT, partidx INTEGER, data BLOB,
                 PRIMARY KEY (zoneid, name, partidx));",
        )
        .unwrap();
    let zone = zone_for(UID).unwrap();
    transaction
        .execute(
            "INSERT INTO db_wave_file VALUES (?1, 'segments.jsonl', ?2, 0, 0, '{}', '{}')",
            (&zone, log.len() as i64),
        )
        .unwrap();
    {
        let mut insert = transaction.prepare("INSERT INTO db_file_data VALUES (?1, 'segments.jsonl', ?2, ?3)").unwrap();
        for (index, part) in log.as_bytes().chunks(PART_BYTES as usize).enumerate() {
            insert.execute((&zone, index as i64, part)).unwrap();
        }
    }
    transaction.commit().unwrap();
}

/// What any reader of the log's end has to do: its size and its last two parts, in one transaction.
fn bare_read(connection: &mut Connection) -> Vec<u8> {
    let zone = zone_for(UID).unwrap();
    let transaction = connection.transaction().unwrap();
    let size: i64 = transaction
        .prepare_cached("SELECT size FROM db_wave_file WHERE zoneid = ?1 AND name = 'segments.jsonl'")
        .unwrap()
        .query_row([&zone], |row| row.get(0))
        .unwrap();
    let last = (size - 1) / PART_BYTES as i64;
    let mut statement = transaction
        .prepare_cached(
            "SELECT data FROM db_file_data WHERE zoneid = ?1 AND name = 'segments.jsonl' AND partidx >= ?2
             ORDER BY partidx",
        )
        .unwrap();
    let mut bytes = Vec::new();
    let mut rows = statement.query((&zone, last - 1)).unwrap();
    while let Some(row) = rows.next().unwrap() {
        bytes.extend_from_slice(row.get_ref(0).unwrap().as_blob().unwrap());
    }
    bytes
}

fn open_bare(path: &Path) -> Connection {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX).unwrap()
}

mod head {
    use super::*;

    #[divan::bench(args = SEGMENTS)]
    fn bare_read_of_the_last_two_parts(bencher: Bencher<'_, '_>, segments: usize) {
        let mut connection = open_bare(&database(segments));
        bencher.bench_local(|| bare_read(&mut connection));
    }

    #[divan::bench(args = SEGMENTS)]
    fn chain_head_on_an_open_store(bencher: Bencher<'_, '_>, segments: usize) {
        let mut store = SqliteStore::reader(&database(segments), WAIT).unwrap();
        bencher.bench_local(|| chain_head(&mut store, UID, None).unwrap());
    }

    #[divan::bench(args = SEGMENTS)]
    fn newest_segment_id_on_an_open_store(bencher: Bencher<'_, '_>, segments: usize) {
        let mut store = SqliteStore::reader(&database(segments), WAIT).unwrap();
        bencher.bench_local(|| newest_segment_id(&mut store, UID).unwrap());
    }

    #[divan::bench(args = SEGMENTS)]
    fn bare_open_and_read(bencher: Bencher<'_, '_>, segments: usize) {
        let path = database(segments);
        bencher.bench_local(|| bare_read(&mut open_bare(&path)));
    }

    #[divan::bench(args = SEGMENTS)]
    fn open_and_chain_head(bencher: Bencher<'_, '_>, segments: usize) {
        let path = database(segments);
        bencher.bench_local(|| chain_head(&mut SqliteStore::reader(&path, WAIT).unwrap(), UID, None).unwrap());
    }
}

mod whole_log {
    use super::*;

    const SEGMENTS: [usize; 2] = [10_000, 100_000];

    #[divan::bench(args = SEGMENTS, sample_size = 1)]
    fn folded(bencher: Bencher<'_, '_>, segments: usize) {
        let log = log(segments);
        bencher.counter(BytesCount::of_str(&log)).bench_local(|| fold(UID, black_box(log.as_bytes())));
    }

    #[divan::bench(args = SEGMENTS, sample_size = 1)]
    fn parsed_to_a_value_per_line(bencher: Bencher<'_, '_>, segments: usize) {
        let log = log(segments);
        bencher.counter(BytesCount::of_str(&log)).bench_local(|| {
            let values = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            values.collect::<Vec<_>>()
        });
    }

    #[divan::bench(args = SEGMENTS, sample_size = 1)]
    fn parsed_to_a_value_and_dropped(bencher: Bencher<'_, '_>, segments: usize) {
        let log = log(segments);
        bencher.counter(BytesCount::of_str(&log)).bench_local(|| {
            for line in log.lines() {
                black_box(serde_json::from_str::<serde_json::Value>(line).unwrap());
            }
        });
    }
}
