//! Whether a live process has a session open: real processes, and a made-up process table for the
//! states that cannot be had at will.

use crate::disk::{Disk, head, pipe, promptly, write};
use resume_gate::claude::probes::head_busy;
use resume_gate::gate::facts::HeadBusy::{self, No, Yes};
use resume_gate::process::ProcessTable;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant, SystemTime};

/// A process that lives until it is dropped.
struct Live(Child);

impl Live {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").spawn().unwrap())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    now.as_millis().try_into().unwrap()
}

/// A login whose registry has one entry; its name is no pid that runs.
struct Registry {
    disk: Disk,
    login: PathBuf,
}

impl Registry {
    fn new() -> Self {
        let disk = Disk::new();
        let login = disk.dir("login");
        Self { disk, login }
    }

    fn entry(&self) -> PathBuf {
        self.login.join("sessions/4000000.json")
    }

    fn busy_with(&self, entry: &Value) -> HeadBusy {
        write(&self.entry(), entry.to_string());
        self.busy(&ProcessTable::default())
    }

    fn busy(&self, processes: &ProcessTable) -> HeadBusy {
        let head = head("B", &self.login, Path::new("/w"), None);
        let (places, processes) = (self.disk.places.clone(), processes.clone());
        promptly(move || head_busy(&places, &processes, &head, head.config_dir.as_deref()).0)
    }
}

#[test]
fn b47_a_live_process_that_names_the_session_has_it_open() {
    let (registry, live) = (Registry::new(), Live::new());
    let table = ProcessTable::default();
    let pid = live.0.id();
    let ticks = table.start_ticks(pid).unwrap().to_string();
    let old = json!({"pid": pid, "sessionId": "B", "cwd": "/w", "startedAt": now_ms()});
    let mut new = old.clone();
    new["procStart"] = ticks.clone().into();
    new["pidDomain"] = table.pid_domain().into();
    assert_eq!(registry.busy_with(&old), Yes);
    assert_eq!(registry.busy_with(&new), Yes);

    let with = |name: &str, value: Value| {
        let mut entry = new.clone();
        entry[name] = value;
        entry
    };
    // The very process decides where its start is known, not the clock.
    assert_eq!(registry.busy_with(&with("startedAt", 5.into())), Yes);
    for (name, value) in [
        ("sessionId", json!("BB")),
        ("sessionId", json!("")),
        ("sessionId", json!(null)),
        ("procStart", json!("1")),
        ("procStart", json!(format!("{ticks}0"))),
        ("pid", json!(4_000_000)),
        ("pid", json!(0)),
        ("pid", json!(-1)),
        ("pid", json!("1")),
        ("pid", json!(1_u64 << 40)),
        ("pidDomain", json!("linux:other:pid:[1]")),
        ("pidDomain", json!("")),
    ] {
        assert_eq!(registry.busy_with(&with(name, value.clone())), No, "{name} {value}");
    }
}

#[test]
fn a_process_that_started_after_its_entry_is_another_one() {
    let (registry, live) = (Registry::new(), Live::new());
    let started = ProcessTable::default().started_at_ms(live.0.id()).unwrap();
    assert!(started.abs_diff(now_ms()) < 5_000, "{started}");
    for (entry_at, expected) in [
        (json!(started + 60_000), Yes),
        (json!(started - 9_000), Yes),
        (json!(started - 11_000), No),
        (json!(0), No),
        (json!(null), No),
        (json!("soon"), No),
    ] {
        let entry = json!({"pid": live.0.id(), "sessionId": "B", "startedAt": entry_at});
        assert_eq!(registry.busy_with(&entry), expected, "{entry_at}");
    }
}

#[test]
fn a_zombie_has_nothing_open() {
    let registry = Registry::new();
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let entry = json!({"pid": child.id(), "sessionId": "B", "startedAt": now_ms()});
    assert_eq!(registry.busy_with(&entry), Yes);
    child.kill().unwrap();
    let table = ProcessTable::default();
    let deadline = Instant::now() + Duration::from_secs(10);
    while table.start_ticks(child.id()).is_some() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    assert!(stat.contains(") Z "), "{stat}");
    assert_eq!(registry.busy_with(&entry), No);
    child.wait().unwrap();
    assert_eq!(registry.busy_with(&entry), No);
}

#[test]
fn states_are_read_off_the_process_table() {
    let registry = Registry::new();
    let proc = registry.disk.dir("proc");
    let table = ProcessTable { proc: proc.clone(), machine_id: registry.disk.path("machine-id") };
    write(&registry.entry(), json!({"pid": 7, "sessionId": "B", "procStart": "777"}).to_string());
    for (state, expected) in [('S', Yes), ('R', Yes), ('T', Yes), ('D', Yes), ('Z', No), ('X', No)] {
        let stat = format!("7 (a) ) {state} 1 7 7 0 -1 4 9 0 0 0 1 2 0 0 20 0 1 0 777 1\n");
        write(&proc.join("7/stat"), stat);
        assert_eq!(registry.busy(&table), expected, "{state}");
    }
    fs::remove_file(proc.join("7/stat")).unwrap();
    assert_eq!(registry.busy(&table), No);
}

#[test]
fn a_machine_without_an_id_has_an_empty_one() {
    let (registry, live) = (Registry::new(), Live::new());
    let table = ProcessTable { machine_id: registry.disk.path("none"), ..ProcessTable::default() };
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap();
    let domain = format!("linux::{}", namespace.display());
    let entry = json!({"pid": live.0.id(), "sessionId": "B", "startedAt": now_ms(), "pidDomain": domain});
    write(&registry.entry(), entry.to_string());
    assert_eq!(registry.busy(&table), Yes);
    assert_eq!(registry.busy(&ProcessTable::default()), if Path::new("/etc/machine-id").exists() { No } else { Yes });
}

#[test]
fn the_login_where_the_head_was_recorded_is_looked_at_too() {
    let (registry, live) = (Registry::new(), Live::new());
    let other = registry.disk.dir("other");
    let recorded = head("B", &registry.login, Path::new("/w"), None);
    write(&registry.entry(), json!({"pid": live.0.id(), "sessionId": "B", "startedAt": now_ms()}).to_string());
    let table = ProcessTable::default();
    let (busy, evidence) = head_busy(&registry.disk.places, &table, &recorded, other.to_str());
    assert_eq!((busy, evidence.path), (Yes, Some(registry.entry())));
    assert_eq!(head_busy(&registry.disk.places, &table, &recorded, None).0, Yes);
    let unrecorded = resume_gate::Head { config_dir: None, ..recorded };
    assert_eq!(head_busy(&registry.disk.places, &table, &unrecorded, other.to_str()).0, No);
}

#[test]
fn what_is_no_entry_is_passed_over() {
    let (registry, live) = (Registry::new(), Live::new());
    assert_eq!(registry.busy(&ProcessTable::default()), No);
    let entry = json!({"pid": live.0.id(), "sessionId": "B", "startedAt": now_ms()}).to_string();
    let sessions = registry.login.join("sessions");
    for name in ["x.json", "1.key", "1.abc.key", ".json", "1", "1.json.tmp"] {
        write(&sessions.join(name), &entry);
    }
    assert_eq!(registry.busy(&ProcessTable::default()), No);
    for (name, text) in [("1.json", "{"), ("2.json", ""), ("3.json", "[]"), ("4.json", "\0\0")] {
        write(&sessions.join(name), text);
    }
    fs::create_dir(sessions.join("5.json")).unwrap();
    pipe(&sessions.join("6.json"));
    write(&sessions.join("7.json"), format!("{}{entry}", " ".repeat(1 << 20)));
    assert_eq!(registry.busy(&ProcessTable::default()), No);
    write(&sessions.join("8.json"), format!("\u{feff}{entry}\r\n"));
    assert_eq!(registry.busy(&ProcessTable::default()), Yes);
}

#[test]
fn a_file_in_the_registrys_place_is_no_registry() {
    let registry = Registry::new();
    write(&registry.login.join("sessions"), "");
    assert_eq!(registry.busy(&ProcessTable::default()), No);
}

#[test]
fn a_process_is_told_from_a_later_one_with_its_pid() {
    let live = Live::new();
    let table = ProcessTable::default();
    let ticks = table.start_ticks(live.0.id()).unwrap();
    assert!(table.is_running(live.0.id(), ticks));
    assert!(!table.is_running(live.0.id(), ticks + 1));
    assert!(!table.is_running(4_000_000_000, ticks));
}
