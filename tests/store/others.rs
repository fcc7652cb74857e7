//! Other programs that hold the database open and write to it at the same time.

use crate::{COUNTERS, Place, SYNCED, TABLES, content, zone};
use resume_gate::segments::{SEGMENTS_FILE, chain_head, events_in, record_session, segments};
use resume_gate::store::Store;
use rusqlite::{Connection, TransactionBehavior};
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const PART: i64 = 64 * 1024;

/// Appends as AgentMux does, maintaining the counters it finds.
fn append_as_agentmux(raw: &mut Connection, zone: &str, line: &str) {
    let transaction = raw.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    transaction
        .execute("INSERT OR IGNORE INTO db_wave_file (zoneid, name) VALUES (?1, 'segments.jsonl')", [zone])
        .unwrap();
    let size: i64 =
        transaction.query_row("SELECT size FROM db_wave_file WHERE zoneid = ?1", [zone], |row| row.get(0)).unwrap();
    let mut rest = line.as_bytes();
    let mut at = size;
    while !rest.is_empty() {
        let (part, inside) = (at / PART, at % PART);
        let found = transaction.query_row(
            "SELECT data FROM db_file_data WHERE zoneid = ?1 AND partidx = ?2",
            (zone, part),
            |row| row.get(0),
        );
        let mut data: Vec<u8> = found.unwrap_or_default();
        data.truncate(inside as usize);
        let (now, later) = rest.split_at(rest.len().min((PART - inside) as usize));
        data.extend_from_slice(now);
        transaction
            .execute("REPLACE INTO db_file_data VALUES (?1, 'segments.jsonl', ?2, ?3)", (zone, part, data))
            .unwrap();
        at += now.len() as i64;
        rest = later;
    }
    transaction
        .execute("UPDATE db_wave_file SET size = ?2, modts = 1, lines = lines + 1, gen = coalesce(gen, 0) + 1 WHERE zoneid = ?1", (zone, at))
        .unwrap();
    transaction.commit().unwrap();
}

#[test]
fn another_connection_that_writes_as_agentmux_does_and_ours_lose_nothing_of_each_other() {
    let place = Place::new().made_by_another("WAL", &format!("{TABLES} {COUNTERS}"));
    let mut raw = place.raw();
    let mut ours = place.recorder();
    let mut reader = place.reader();
    let theirs = std::thread::spawn(move || {
        for number in 0..400 {
            let line = format!(
                "{{\"event\":\"session\",\"segment_id\":\"theirs\",\"provider_session_id\":\"T{number}{}\",\"at_ms\":1}}\n",
                "t".repeat(150)
            );
            append_as_agentmux(&mut raw, &zone("u1"), &line);
        }
    });
    for number in 0..400 {
        record_session(&mut ours, "u1", "ours", &format!("O{number}{}", "o".repeat(150)), 1).unwrap();
        // Whatever is read meanwhile is whole.
        let folded = segments(&mut reader, "u1").unwrap();
        assert!(folded.anomalies.iter().all(|anomaly| anomaly.kind.code() == "no_start"), "{:?}", folded.anomalies);
    }
    theirs.join().unwrap();
    let log = content(&mut ours, &zone("u1"), SEGMENTS_FILE).unwrap();
    let events: Vec<String> = events_in(&log).map(|event| format!("{event:?}")).collect();
    assert_eq!(events.len(), 800);
    assert_eq!(events.iter().collect::<HashSet<_>>().len(), 800);
    ours.append_line(&zone("u1"), SEGMENTS_FILE, SYNCED, b"{}").unwrap();
    let counted: Option<i64> = place.raw().query_row("SELECT lines FROM db_wave_file", [], |row| row.get(0)).unwrap();
    assert_eq!(counted, None);
}

const PYTHON: &str = r#"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
zone, part_bytes = sys.argv[2], 65536
print("open", flush=True)
for number in range(300):
    line = ('{"event":"session","segment_id":"python","provider_session_id":"P%d","at_ms":1}\n' % number).encode()
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT OR IGNORE INTO db_wave_file (zoneid, name) VALUES (?, 'segments.jsonl')", (zone,))
    (size,) = db.execute("SELECT size FROM db_wave_file WHERE zoneid = ?", (zone,)).fetchone()
    while line:
        part, inside = divmod(size, part_bytes)
        row = db.execute("SELECT data FROM db_file_data WHERE zoneid = ? AND partidx = ?", (zone, part)).fetchone()
        data = (bytes(row[0]) if row else b"")[:inside]
        now, line = line[:part_bytes - inside], line[part_bytes - inside:]
        db.execute("REPLACE INTO db_file_data VALUES (?, 'segments.jsonl', ?, ?)", (zone, part, data + now))
        size += len(now)
    db.execute("UPDATE db_wave_file SET size = ? WHERE zoneid = ?", (size, zone))
    db.execute("COMMIT")
(mode,) = db.execute("PRAGMA journal_mode").fetchone()
(sound,) = db.execute("PRAGMA integrity_check").fetchone()
print("done", mode, sound, flush=True)
sys.stdin.read()
"#;

#[test]
fn pythons_sqlite_and_ours_share_a_database_that_we_made() {
    let place = Place::new();
    drop(place.recorder());
    let mut ours = place.recorder();
    record_session(&mut ours, "u1", "ours", "first", 1).unwrap();
    let python = Command::new("python3")
        .args(["-c", PYTHON])
        .arg(place.db())
        .arg(zone("u1"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut python) = python else {
        eprintln!("skipped: no python3 here");
        return;
    };
    let mut said = BufReader::new(python.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "open");
    for number in 0..300 {
        record_session(&mut ours, "u1", "ours", &format!("O{number}"), 1).unwrap();
    }
    assert_eq!(said.next().unwrap().unwrap(), "done wal ok");
    // It still holds the database open, and has written last.
    let log = content(&mut place.reader(), &zone("u1"), SEGMENTS_FILE).unwrap();
    let events: Vec<String> = events_in(&log).map(|event| event.segment_id().to_owned()).collect();
    let of = |segment: &str| events.iter().filter(|id| *id == segment).count();
    assert_eq!((of("ours"), of("python"), events.len()), (301, 300, 601));
    drop(python.stdin.take());
    assert!(python.wait().unwrap().success());
}

const PYTHON_KILLED: &str = r#"
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 2")
db.execute("BEGIN IMMEDIATE")
db.execute("UPDATE db_file_data SET data = zeroblob(length(data))")
db.execute("INSERT INTO db_file_data SELECT 'filler', 'x', value, zeroblob(60000) FROM json_each('[1,2,3,4,5,6,7,8]')")
os.kill(os.getpid(), 9)
"#;

#[test]
fn what_a_killed_writer_left_half_done_is_taken_back_before_it_is_read() {
    let place = Place::new().made_by_another("DELETE", TABLES).with_a_segment();
    let python = Command::new("python3").args(["-c", PYTHON_KILLED]).arg(place.db()).output();
    let Ok(python) = python else {
        eprintln!("skipped: no python3 here");
        return;
    };
    assert!(!python.status.success());
    assert!(place.folder.path().join("filestore.db-journal").exists(), "{python:?}");
    let head = chain_head(&mut place.reader(), "u1", None).unwrap();
    assert_eq!(head.head().unwrap().session_id, "A");
}
