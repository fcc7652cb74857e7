//! Processes that have, or seem to have, the head's session open: by the registry that Claude keeps
//! beside its sessions.

use crate::world::{World, put};
use serde_json::{Value, json};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// A process that lives until it is dropped.
struct Live(Child);

impl Live {
    fn sleeping() -> Self {
        Self(Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap())
    }

    /// A process that has ended and that nobody has waited for.
    fn zombie() -> Self {
        let live = Self(Command::new("true").spawn().unwrap());
        while !stat(live.0.id()).starts_with('Z') {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        live
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// What Claude's newest version registers for this process.
    fn entry(&self, session: &str) -> Value {
        let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap();
        json!({
            "pid": self.pid(), "sessionId": session, "cwd": "/w", "startedAt": now_ms(),
            "procStart": stat(self.pid()).split(' ').nth(19).unwrap(),
            "pidDomain": format!("linux:{}:{}", machine.trim(), namespace.display()),
        })
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process's stat line from its third field on.
fn stat(pid: u32) -> String {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    line.rsplit_once(") ").unwrap().1.to_owned()
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

const STORY: &str =
    "start g1 key=K1 ; session g1 A ; end g1 pbytes=500 ; start g2 key=K1 ; session g2 B ; end g2 pbytes=700
                     files A=500 B=700 /cfg/b:-w/B=700";
const FORK: &str = "fork B by head-busy: --resume B --fork-session";

fn register(world: &World, login: &str, name: &str, entry: &Value) {
    put(&world.at(login).join("sessions").join(name), entry.to_string().as_bytes());
}

#[test]
fn a_live_process_on_the_head_makes_it_a_fork_for_either_candidate() {
    let (world, live) = (World::of(STORY), Live::sleeping());
    register(&world, "/cfg/a", &format!("{}.json", live.pid()), &live.entry("B"));
    for candidate in ["A", "B"] {
        let decision = world.decide(&format!("cand={candidate} key=K1"));
        assert_eq!(decision.said(), FORK);
        assert!(decision.note("head-busy").contains(&live.pid().to_string()));
    }
    // Under another login the one where the head was recorded is looked at too.
    assert_eq!(world.decide("cand=B key=K1 cfg=/cfg/b").said(), FORK);
}

#[test]
fn an_older_versions_entry_has_no_process_start() {
    let (world, live) = (World::of(STORY), Live::sleeping());
    let mut entry = live.entry("B");
    entry.as_object_mut().unwrap().retain(|name, _| name != "procStart" && name != "pidDomain");
    register(&world, "/cfg/a", &format!("{}.json", live.pid()), &entry);
    assert_eq!(world.decide("cand=B key=K1").said(), FORK);
    // A process that began long after the entry has the number of one that is gone.
    entry["startedAt"] = (now_ms() - 3_600_000).into();
    register(&world, "/cfg/a", &format!("{}.json", live.pid()), &entry);
    assert_eq!(world.decide("cand=B key=K1").fact("head_busy"), "no");
}

#[test]
fn a_leftover_entry_is_nobody() {
    let gone = Live::sleeping();
    let (gone_pid, gone_entry) = (gone.pid(), gone.entry("B"));
    drop(gone);
    let (live, zombie) = (Live::sleeping(), Live::zombie());
    let with = |name: &str, value: Value| {
        let mut entry = live.entry("B");
        entry[name] = value;
        entry
    };
    let file = format!("{}.json", live.pid());
    for (what, name, entry) in [
        ("killed hard", format!("{gone_pid}.json"), gone_entry),
        ("zombie", format!("{}.json", zombie.pid()), zombie.entry("B")),
        ("reused pid", file.clone(), with("procStart", "1".into())),
        ("another container's", file.clone(), with("pidDomain", "linux:other:pid:[1]".into())),
        ("another session", file.clone(), live.entry("A")),
        ("half a session's id", file.clone(), live.entry("B2")),
        ("no pid", file.clone(), with("pid", Value::Null)),
        ("pid 0", file.clone(), with("pid", 0.into())),
        ("a negative pid", file.clone(), with("pid", (-1).into())),
        ("a huge pid", file.clone(), with("pid", u64::MAX.into())),
        ("no object", file, json!(["B"])),
        ("a key", format!("{}.key", live.pid()), live.entry("B")),
    ] {
        let world = World::of(STORY);
        register(&world, "/cfg/a", &name, &entry);
        let decision = world.decide("cand=B key=K1");
        assert_eq!(decision.said(), "allow by head-is-candidate: --resume B", "{what}");
    }
}

#[test]
fn growth_and_identity_come_before_a_live_process() {
    let live = Live::sleeping();
    let world = World::of(&STORY.replace("B=700", "B=900"));
    register(&world, "/cfg/a", &format!("{}.json", live.pid()), &live.entry("B"));
    assert_eq!(world.decide("cand=B key=K1").json["rule"], "head-grew");
    assert_eq!(world.decide("cand=B key=K2").json["rule"], "other-identity");
}

#[test]
fn a_registry_of_thousands_of_strangers_is_read_in_time() {
    let (world, live) = (World::of(STORY), Live::sleeping());
    for pid in 5_000_000..5_002_000 {
        register(&world, "/cfg/a", &format!("{pid}.json"), &json!({"pid": pid, "sessionId": "X", "startedAt": 1}));
    }
    register(&world, "/cfg/a", &format!("{}.json", live.pid()), &live.entry("B"));
    let flags = world.spawn("cand=B key=K1");
    let answer = world.run(["decide".into(), "--format=json".into()].into_iter().chain(flags));
    assert_eq!(answer.json()["rule"], "head-busy");
}
