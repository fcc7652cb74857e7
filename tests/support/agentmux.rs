//! A file store as AgentMux makes it, written with plain SQL: a second hand beside the crate's own
//! writer, so that a misunderstanding of the format cannot hide in both ends.

use rusqlite::{Connection, params};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Bytes of a file that AgentMux keeps in one row.
const PART_BYTES: usize = 64 * 1024;

/// The time of everything that is written, in milliseconds since 1970.
const NOW_MS: i64 = 1_700_000_000_000;

/// Which of AgentMux's versions made the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Before files were counted.
    ByOldVersion,
    /// With the five columns that count a file's lines, and a write-ahead log.
    ByNewVersion,
}

/// Makes a database at `path` whose zones hold these segment logs, by agent.
pub fn write_store(path: &Path, made: Made, logs: &BTreeMap<String, Vec<u8>>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let db = Connection::open(path).unwrap();
    if made == Made::ByNewVersion {
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
    }
    let counters = match made {
        Made::ByOldVersion => "",
        Made::ByNewVersion => {
            ", gen INTEGER NOT NULL DEFAULT 0, lines INTEGER, lines_size INTEGER, lines_tail INTEGER, lines_modts INTEGER"
        }
    };
    db.execute_batch(&format!(
        "CREATE TABLE db_wave_file (zoneid TEXT NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL DEFAULT 0,
             createdts INTEGER NOT NULL DEFAULT 0, modts INTEGER NOT NULL DEFAULT 0, opts TEXT NOT NULL DEFAULT '{{}}',
             meta TEXT NOT NULL DEFAULT '{{}}'{counters}, PRIMARY KEY (zoneid, name));
         CREATE TABLE db_file_data (zoneid TEXT NOT NULL, name TEXT NOT NULL, partidx INTEGER NOT NULL,
             data BLOB NOT NULL, PRIMARY KEY (zoneid, name, partidx));
         PRAGMA user_version = 1;"
    ))
    .unwrap();
    for (uid, log) in logs {
        write_file(&db, &format!("agent-uid:{uid}:segments"), "segments.jsonl", log);
    }
    // Files that are nobody's log, as a real store has many of.
    write_file(&db, "block-1", "term", b"$ claude\n");
    write_file(&db, "agent-uid:u1", "transcript.jsonl", b"{\"type\":\"user\"}\n");
}

fn write_file(db: &Connection, zone: &str, name: &str, bytes: &[u8]) {
    let size = i64::try_from(bytes.len()).unwrap();
    db.execute(
        "INSERT INTO db_wave_file (zoneid, name, size, createdts, modts) VALUES (?1, ?2, ?3, ?4, ?4)",
        params![zone, name, size, NOW_MS],
    )
    .unwrap();
    for (part, data) in (0_i64..).zip(bytes.chunks(PART_BYTES)) {
        db.execute(
            "INSERT INTO db_file_data (zoneid, name, partidx, data) VALUES (?1, ?2, ?3, ?4)",
            params![zone, name, part, data],
        )
        .unwrap();
    }
}

/// The segment log of an agent as the database has it now, put together by hand.
pub fn read_log(path: &Path, uid: &str) -> Vec<u8> {
    let db = Connection::open(path).unwrap();
    let mut parts = db
        .prepare("SELECT data FROM db_file_data WHERE zoneid = ?1 AND name = 'segments.jsonl' ORDER BY partidx")
        .unwrap();
    let parts = parts.query_map([format!("agent-uid:{uid}:segments")], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    parts.map(Result::unwrap).collect::<Vec<_>>().concat()
}

/// A database of AgentMux's agents: id, parent and branch label of each.
pub fn write_agents(path: &Path, agents: &[(&str, Option<&str>, Option<&str>)]) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("CREATE TABLE db_agents (id TEXT PRIMARY KEY, parent_id TEXT, branch_label TEXT, name TEXT)")
        .unwrap();
    for (id, parent, label) in agents {
        db.execute(
            "INSERT INTO db_agents (id, parent_id, branch_label) VALUES (?1, ?2, ?3)",
            params![id, parent, label],
        )
        .unwrap();
    }
}
