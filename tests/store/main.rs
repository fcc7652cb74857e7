//! The store as an SQLite database: real files, real processes, other programs at the same time.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod format;
mod lineage;
mod others;
mod processes;
mod trouble;

use resume_gate::segments::{SEGMENTS_FILE, record_session, record_start, zone_for};
use resume_gate::store::{AppendOptions, Durability, SqliteStore, Store, WRITER_WAIT};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const SYNCED: AppendOptions = AppendOptions { durability: Durability::Full, now_ms: 5000 };

/// How long the tests let a reader wait.
const WAIT: Duration = Duration::from_millis(300);

const TABLES: &str = "
    CREATE TABLE db_wave_file (zoneid TEXT NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL DEFAULT 0,
        createdts INTEGER NOT NULL DEFAULT 0, modts INTEGER NOT NULL DEFAULT 0, opts TEXT NOT NULL DEFAULT '{}',
        meta TEXT NOT NULL DEFAULT '{}', PRIMARY KEY (zoneid, name));
    CREATE TABLE db_file_data (zoneid TEXT NOT NULL, name TEXT NOT NULL, partidx INTEGER NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY (zoneid, name, partidx));";

const COUNTERS: &str = "
    ALTER TABLE db_wave_file ADD COLUMN gen INTEGER; ALTER TABLE db_wave_file ADD COLUMN lines INTEGER;
    ALTER TABLE db_wave_file ADD COLUMN lines_size INTEGER; ALTER TABLE db_wave_file ADD COLUMN lines_tail INTEGER;
    ALTER TABLE db_wave_file ADD COLUMN lines_modts INTEGER;";

/// A place for a store, gone with the test.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn db(&self) -> PathBuf {
        self.folder.path().join("filestore.db")
    }

    /// A database as another program makes it.
    fn made_by_another(self, journal: &str, sql: &str) -> Self {
        let raw = self.raw();
        raw.query_row(&format!("PRAGMA journal_mode = {journal}"), [], |_| Ok(())).unwrap();
        raw.execute_batch(sql).unwrap();
        self
    }

    fn raw(&self) -> Connection {
        let raw = Connection::open(self.db()).unwrap();
        raw.busy_timeout(Duration::from_secs(30)).unwrap();
        raw
    }

    fn recorder(&self) -> SqliteStore {
        SqliteStore::recorder(&self.db(), WRITER_WAIT).unwrap()
    }

    fn reader(&self) -> SqliteStore {
        SqliteStore::reader(&self.db(), WAIT).unwrap()
    }

    /// A store with one segment of agent u1.
    fn with_a_segment(self) -> Self {
        let mut store = self.recorder();
        let start = resume_gate::segments::Start { agent_uid: "u1".into(), ..Default::default() };
        let segment = record_start(&mut store, &start, 1000).unwrap();
        record_session(&mut store, "u1", &segment, "A", 1001).unwrap();
        drop(store);
        self
    }
}

fn zone(uid: &str) -> String {
    zone_for(uid).unwrap()
}

/// A file's content as the store reads it.
fn content(store: &mut SqliteStore, zone: &str, name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    store.snapshot(zone, name).unwrap()?.read_all(&mut bytes).unwrap();
    Some(bytes)
}

/// The log of agent `uid`.
fn log_of(store: &mut SqliteStore, uid: &str) -> Vec<u8> {
    content(store, &zone(uid), SEGMENTS_FILE).unwrap_or_default()
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
