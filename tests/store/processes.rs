//! Many writers, and writers that are killed: every acknowledged event is there once, in one piece.

use crate::{Place, content, zone};
use resume_gate::segments::{Event, SEGMENTS_FILE, events_in, fold, record_session};
use resume_gate::store::{SqliteStore, WRITER_WAIT};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const WRITERS: usize = 8;
const EVENTS: usize = 2_000;

const STORE: &str = "RESUME_GATE_TEST_STORE";
const UID: &str = "RESUME_GATE_TEST_UID";
const NAME: &str = "RESUME_GATE_TEST_NAME";

/// Not a test of its own: what the other tests run as further processes. It records events until it
/// is done or killed, and acknowledges each on its standard output.
#[test]
#[ignore = "run by the other tests as a process of its own"]
fn writer_process() {
    let var = |name: &str| std::env::var(name);
    let (Ok(path), Ok(uid), Ok(name)) = (var(STORE), var(UID), var(NAME)) else { return };
    let mut store = SqliteStore::recorder(Path::new(&path), WRITER_WAIT).unwrap();
    let mut out = std::io::stdout().lock();
    for number in 0..EVENTS {
        // Now and then an event that does not fit into the rest of a part, or into one at all.
        let length = match number % 500 {
            499 => 70_000,
            _ => number % 300,
        };
        let id = format!("{name}-{number}");
        record_session(&mut store, &uid, &format!("{}{id}", "x".repeat(length)), &id, 1).unwrap();
        writeln!(out, "ack {id}").unwrap();
        out.flush().unwrap();
    }
}

fn spawn_writer(path: &Path, uid: &str, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::writer_process", "--ignored", "--nocapture", "--test-threads=1"])
        .env(STORE, path)
        .env(UID, uid)
        .env(NAME, name)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads what a writer acknowledged, until it is gone.
fn acknowledged(mut writer: Child) -> (Vec<String>, bool) {
    let out = BufReader::new(writer.stdout.take().unwrap());
    let acks = out.lines().map_while(Result::ok);
    // The harness writes on the same stream, before the first one.
    let acks = acks.filter_map(|line| Some(line.split_once("ack ")?.1.to_owned())).collect();
    (acks, writer.wait().unwrap().success())
}

/// How often each session stands in an agent's log; the log must be without damage.
fn recorded(place: &Place, uid: &str) -> HashMap<String, usize> {
    let log = content(&mut place.reader(), &zone(uid), SEGMENTS_FILE).unwrap_or_default();
    let damage = fold(uid, &log).anomalies.into_iter().find(|anomaly| anomaly.kind.code() != "no_start");
    assert_eq!(damage, None);
    let mut counts = HashMap::new();
    for event in events_in(&log) {
        if let Event::Session(session) = event {
            *counts.entry(session.provider_session_id.unwrap()).or_default() += 1;
        }
    }
    counts
}

/// Memory where there is some to be had as a folder: what is tested is order, not the disk.
fn fast_place() -> Place {
    match tempfile::tempdir_in("/dev/shm") {
        Ok(folder) => Place { folder },
        Err(_) => Place::new(),
    }
}

fn many_writers(uid_of: impl Fn(usize) -> String) {
    let place = fast_place();
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let writer = spawn_writer(&place.db(), &uid_of(number), &format!("w{number}"));
            thread::spawn(move || acknowledged(writer))
        })
        .collect();
    // All have ended before the first log is read.
    let writers: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    let mut everything: HashMap<String, HashMap<String, usize>> = HashMap::new();
    for (number, (acks, succeeded)) in writers.into_iter().enumerate() {
        assert!(succeeded, "writer {number} failed after {} events", acks.len());
        assert_eq!(acks.len(), EVENTS);
        let uid = uid_of(number);
        let counts = everything.entry(uid.clone()).or_insert_with(|| recorded(&place, &uid));
        assert!(acks.iter().all(|id| counts.get(id) == Some(&1)), "writer {number} lost or repeated an event");
    }
    let total: usize = everything.values().flat_map(HashMap::values).sum();
    assert_eq!(total, WRITERS * EVENTS);
}

#[test]
fn eight_processes_write_to_one_agents_log() {
    many_writers(|_| "u1".to_owned());
}

#[test]
fn eight_processes_write_to_eight_agents_logs() {
    many_writers(|number| format!("u{number}"));
}

#[test]
fn writers_that_are_killed_at_any_moment_lose_nothing_they_acknowledged() {
    killed_writers(&fast_place());
}

#[test]
fn nor_do_they_in_a_database_without_wal() {
    killed_writers(&fast_place().made_by_another("DELETE", crate::TABLES));
}

fn killed_writers(place: &Place) {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut killed = 0;
    let mut acks = Vec::new();
    for round in 0..12 {
        let writers: Vec<_> =
            (0..4).map(|number| spawn_writer(&place.db(), "u1", &format!("r{round}w{number}"))).collect();
        let readers: Vec<_> = writers
            .into_iter()
            .map(|mut writer| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let pause = Duration::from_millis(20 + (seed >> 33) % 250);
                let mut out = writer.stdout.take().unwrap();
                let killer = thread::spawn(move || {
                    thread::sleep(pause);
                    // SIGKILL, wherever it is.
                    writer.kill().unwrap();
                    writer.wait().unwrap().success()
                });
                let reader = thread::spawn(move || {
                    let mut said = Vec::new();
                    out.read_to_end(&mut said).unwrap();
                    // The last acknowledgement of a killed writer may itself be cut.
                    let whole = said.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
                    let lines = whole.map(|line| String::from_utf8(line.trim_ascii().to_vec()).unwrap());
                    lines.filter_map(|line| Some(line.split_once("ack ")?.1.to_owned())).collect::<Vec<_>>()
                });
                (killer, reader)
            })
            .collect();
        for (killer, reader) in readers {
            killed += usize::from(!killer.join().unwrap());
            acks.extend(reader.join().unwrap());
        }
    }
    assert!(killed > 20 && acks.len() > 200, "{killed} killed, {} acknowledged", acks.len());
    let counts = recorded(place, "u1");
    let lost: Vec<_> = acks.iter().filter(|id| counts.get(*id) != Some(&1)).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    assert!(counts.values().all(|count| *count == 1));
}
