//! A store that cannot be read or written: an error value with a clear message, and nothing changed.

use crate::{Place, SYNCED, TABLES, WAIT, content, log_of, names_in, zone};
use resume_gate::segments::{SEGMENTS_FILE, SegmentError, chain_head, record_session, segments};
use resume_gate::store::{SqliteStore, Store, StoreError, StoreErrorKind, within_deadline};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How the store at `path` answers a reader and a recorder.
fn answers(path: &Path) -> (Option<StoreErrorKind>, Option<StoreErrorKind>) {
    let read = SqliteStore::reader(path, WAIT).map_err(SegmentError::from).and_then(|mut s| segments(&mut s, "u1"));
    let written = SqliteStore::recorder(path, WAIT)
        .map_err(SegmentError::from)
        .and_then(|mut store| record_session(&mut store, "u1", "g1", "B", 1));
    let kind = |error: SegmentError| match error {
        SegmentError::Store(error) => Some(checked(&error, path).kind),
        other => unreachable!("{other}"),
    };
    (read.err().and_then(kind), written.err().and_then(kind))
}

/// Every message names the store, and says what was being done and what to try.
fn checked<'e>(error: &'e StoreError, path: &Path) -> &'e StoreError {
    let message = error.to_string();
    assert!(message.starts_with("could not "), "{message}");
    assert!(message.contains(&format!("`{}`", path.display())), "{message}");
    assert!(!message.ends_with('.') && !error.help().is_empty());
    error
}

#[test]
fn a_newer_format_is_neither_read_nor_written() {
    let place = Place::new().with_a_segment();
    place.raw().execute_batch("PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let before = fs::read(place.db()).unwrap();
    let newer = Some(StoreErrorKind::NewerFormat);
    assert_eq!(answers(&place.db()), (newer, newer));
    assert_eq!(fs::read(place.db()).unwrap(), before);
    let error = SqliteStore::reader(&place.db(), WAIT).unwrap_err();
    assert!(error.to_string().contains("format version is 2"), "{error}");
}

#[test]
fn a_store_that_becomes_newer_while_it_is_open_is_left_alone_from_then_on() {
    let place = Place::new().with_a_segment();
    let (mut reader, mut recorder) = (place.reader(), place.recorder());
    assert!(chain_head(&mut reader, "u1", None).unwrap().head().is_some());
    place.raw().execute_batch("PRAGMA user_version = 3").unwrap();
    assert!(chain_head(&mut reader, "u1", None).is_err());
    assert!(record_session(&mut recorder, "u1", "g1", "B", 1).is_err());
    place.raw().execute_batch("PRAGMA user_version = 1").unwrap();
    assert_eq!(chain_head(&mut reader, "u1", None).unwrap().head().unwrap().session_id, "A");
}

#[test]
fn a_directory_in_its_place_is_named_as_one() {
    let place = Place::new();
    fs::create_dir(place.db()).unwrap();
    let not_a_file = Some(StoreErrorKind::NotAFile);
    assert_eq!(answers(&place.db()), (not_a_file, not_a_file));
    assert_eq!(names_in(&place.db()), Vec::<String>::new());
}

#[test]
#[cfg(unix)]
fn a_pipe_in_its_place_does_not_hang() {
    let place = Place::new();
    assert!(Command::new("mkfifo").arg(place.db()).status().unwrap().success());
    let path = place.db();
    let answered = within_deadline(Duration::from_secs(10), move || answers(&path));
    let not_a_file = Some(StoreErrorKind::NotAFile);
    assert_eq!(answered, Some((not_a_file, not_a_file)));
}

#[test]
#[cfg(unix)]
fn a_link_to_nothing_is_an_error_for_a_recorder_and_makes_nothing() {
    let place = Place::new();
    std::os::unix::fs::symlink(place.folder.path().join("gone"), place.db()).unwrap();
    assert_eq!(answers(&place.db()), (None, Some(StoreErrorKind::Denied)));
    assert_eq!(names_in(place.folder.path()), ["filestore.db"]);
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let place = Place::new();
    fs::write(place.db(), "x").unwrap();
    let (_, written) = answers(&place.db().join("below/filestore.db"));
    assert!(written.is_some());
}

#[test]
fn a_file_that_is_no_database_is_left_as_it_is() {
    for bytes in
        [b"hello, this is no database at all".repeat(100), vec![0; 100], b"SQLite format 3\0 and then?".to_vec()]
    {
        let place = Place::new();
        fs::write(place.db(), &bytes).unwrap();
        let (read, written) = answers(&place.db());
        assert!(read.is_some() && written.is_some(), "{read:?} {written:?}");
        assert_eq!(fs::read(place.db()).unwrap(), bytes);
        assert_eq!(names_in(place.folder.path()), ["filestore.db"]);
    }
}

#[test]
fn a_database_of_another_program_is_empty_to_a_reader_and_refused_to_a_recorder() {
    let place = Place::new().made_by_another("DELETE", "CREATE TABLE bookmarks (url)");
    let before = fs::read(place.db()).unwrap();
    assert_eq!(answers(&place.db()), (None, Some(StoreErrorKind::NotAStore)));
    assert_eq!(fs::read(place.db()).unwrap(), before);
}

#[test]
fn corrupt_pages_are_an_error_or_leave_the_answer_as_it_was() {
    let place = Place::new().made_by_another("DELETE", TABLES);
    let mut store = place.recorder();
    for number in 0..400 {
        let line = format!(
            "{{\"event\":\"start\",\"segment_id\":\"s{number}\",\"provider_session_id\":\"A{number}\",\"cwd\":\"{}\"}}",
            "d".repeat(300)
        );
        store.append_line(&zone("u1"), SEGMENTS_FILE, SYNCED, line.as_bytes()).unwrap();
    }
    drop(store);
    let whole = fs::read(place.db()).unwrap();
    let pages = whole.len() / 4096;
    let mut errors = 0;
    for page in 0..pages {
        let mut damaged = whole.clone();
        damaged.get_mut(page * 4096 + if page == 0 { 100 } else { 0 }..(page + 1) * 4096).unwrap().fill(0xa5);
        fs::write(place.db(), &damaged).unwrap();
        let opened = SqliteStore::reader(&place.db(), WAIT).map_err(SegmentError::from);
        match opened.and_then(|mut store| chain_head(&mut store, "u1", None)) {
            Ok(_) => {}
            Err(_) => errors += 1,
        }
        let _ = SqliteStore::recorder(&place.db(), WAIT)
            .map_err(SegmentError::from)
            .and_then(|mut store| record_session(&mut store, "u1", "g1", "B", 1));
        // A journal that is left would be played back into the next damaged copy.
        let _ = fs::remove_file(place.folder.path().join("filestore.db-journal"));
    }
    assert!(errors > 0, "no damaged page was ever noticed, of {pages}");
}

#[test]
fn a_locked_database_costs_a_reader_its_limit_and_no_more() {
    let place = Place::new().made_by_another("DELETE", TABLES);
    let other = place.raw();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let began = Instant::now();
    let busy = Some(StoreErrorKind::Busy);
    assert_eq!(answers(&place.db()), (busy, busy));
    assert!(began.elapsed() < WAIT * 8, "{:?}", began.elapsed());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(answers(&place.db()), (None, None));
}

#[test]
fn a_writer_in_wal_mode_never_keeps_a_reader_waiting() {
    let place = Place::new().with_a_segment();
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE; UPDATE db_wave_file SET modts = 1").unwrap();
    let began = Instant::now();
    assert_eq!(chain_head(&mut place.reader(), "u1", None).unwrap().head().unwrap().session_id, "A");
    assert!(began.elapsed() < WAIT, "{:?}", began.elapsed());
    let before = log_of(&mut place.reader(), "u1");
    let mut recorder = SqliteStore::recorder(&place.db(), WAIT).unwrap();
    let refused = record_session(&mut recorder, "u1", "g1", "B", 1).unwrap_err();
    assert!(matches!(refused, SegmentError::Store(error) if error.kind == StoreErrorKind::Busy));
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(log_of(&mut place.reader(), "u1"), before);
    record_session(&mut recorder, "u1", "g1", "B", 1).unwrap();
}

#[test]
fn work_that_hangs_is_left_to_itself_when_its_time_is_up() {
    let began = Instant::now();
    let hanging = within_deadline(Duration::from_millis(50), || std::thread::sleep(Duration::from_secs(30)));
    assert_eq!(hanging, None);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(within_deadline(Duration::from_secs(10), || 7), Some(7));
}

#[test]
fn an_append_whose_line_cannot_be_made_leaves_the_log_and_the_lock_as_they_were() {
    let place = Place::new().with_a_segment();
    let mut store = place.recorder();
    let before = log_of(&mut store, "u1");
    let refused = store.append(&zone("u1"), SEGMENTS_FILE, SYNCED, &mut |_| {
        Err(StoreError::new(StoreErrorKind::Io, None, "make a line", "for a test"))
    });
    assert!(refused.is_err());
    let new = store.append("z", "new", SYNCED, &mut |_| {
        Err(StoreError::new(StoreErrorKind::Io, None, "make a line", "for a test"))
    });
    assert!(new.is_err());
    assert_eq!(content(&mut store, "z", "new"), None);
    assert_eq!(log_of(&mut store, "u1"), before);
    place.recorder().append_line("z", "n", SYNCED, b"one").unwrap();
}

/// A small file system of its own, if this user may mount one.
struct Mounted(PathBuf);

impl Mounted {
    fn new(at: &Path, options: &str) -> Option<Self> {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "resume-gate-test"]).arg(at).output();
        match mount {
            Ok(output) if output.status.success() => Some(Self(at.to_path_buf())),
            Ok(output) => {
                eprintln!("skipped: cannot mount a tmpfs here: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                eprintln!("skipped: cannot run mount: {error}");
                None
            }
        }
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_and_leaves_the_log_as_it_was() {
    let place = Place::new();
    let Some(_mounted) = Mounted::new(place.folder.path(), "size=2m") else { return };
    let place = place.with_a_segment();
    let mut store = place.recorder();
    let before = log_of(&mut store, "u1");
    let mut filler = vec![0_u8; 4 << 20];
    let path = place.folder.path().join("filler");
    while fs::write(&path, &filler).is_err() && filler.len() > 8192 {
        filler.truncate(filler.len() - 8192);
    }
    let big = "B".repeat(150);
    let mut refused = None;
    for number in 0..400 {
        let before = log_of(&mut store, "u1");
        if let Err(error) = record_session(&mut store, "u1", "g1", &format!("{big}{number}"), 1) {
            assert_eq!(log_of(&mut store, "u1"), before, "a refused event left something");
            refused = Some(error);
            break;
        }
    }
    let Some(SegmentError::Store(error)) = refused else { unreachable!("the disk never filled up") };
    assert_eq!(error.kind, StoreErrorKind::Full, "{error}");
    assert!(log_of(&mut place.reader(), "u1").starts_with(&before), "it can still be read");
    fs::remove_file(&path).unwrap();
    record_session(&mut store, "u1", "g1", "C", 1).unwrap();
    assert!(segments(&mut place.reader(), "u1").unwrap().anomalies.iter().all(|a| a.kind.code() == "no_start"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_is_read_only_is_an_error_and_changes_nothing() {
    let place = Place::new();
    let Some(mounted) = Mounted::new(place.folder.path(), "size=4m") else { return };
    let place = place.made_by_another("DELETE", TABLES);
    place.recorder().append_line(&zone("u1"), SEGMENTS_FILE, SYNCED, b"{}").unwrap();
    let before = fs::read(place.db()).unwrap();
    mounted.remount("ro");
    assert_eq!(answers(&place.db()), (None, Some(StoreErrorKind::ReadOnly)));
    assert_eq!(answers(&place.folder.path().join("new.db")), (None, Some(StoreErrorKind::ReadOnly)));
    assert_eq!(fs::read(place.db()).unwrap(), before);
    mounted.remount("rw");
}

#[test]
#[cfg(unix)]
fn a_file_without_permissions_is_denied() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new().with_a_segment();
    fs::set_permissions(place.db(), fs::Permissions::from_mode(0o0)).unwrap();
    if fs::File::open(place.db()).is_ok() {
        eprintln!("skipped: this user is not bound by file modes");
        return;
    }
    let denied = Some(StoreErrorKind::Denied);
    assert_eq!(answers(&place.db()), (denied, denied));
}
