//! `resume-gate segments …`: the real command on real stores, session files and processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::allow_attributes, reason = "tests")]

#[path = "support/ran.rs"]
mod ran;
mod support;

use ran::{Ran, ran};
use resume_gate::claude::layout::session_file;
use resume_gate::claude::marker::Marker;
use resume_gate::segments::{SEGMENTS_FILE, chain_head, head_session, segments, zone_for};
use resume_gate::store::{AppendOptions, Durability, SqliteStore, Store, WRITER_WAIT};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;
use tempfile::TempDir;

/// A recorded time long ago: for a hundred years from then, its age has two digits.
const START_MS: i64 = 1_000_000_000_000;
const MINUTE_MS: i64 = 60_000;

/// A home directory, a store that need not be there, and agent `u1`.
struct World {
    _dir: TempDir,
    root: PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home")).unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        Self { _dir: dir, root }
    }

    fn store(&self) -> PathBuf {
        self.root.join("store/filestore.db")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_resume-gate"));
        command.env_clear().env("HOME", self.root.join("home")).env("TZ", "UTC").current_dir(self.root.join("w"));
        command.env("RESUME_GATE_STORE", self.store()).env("AGENTMUX_AGENT_UID", "u1").arg("segments");
        command
    }

    /// Runs `segments` with these arguments, split at blanks.
    fn run(&self, arguments: &str) -> Ran {
        self.run_with(&arguments.split_whitespace().collect::<Vec<_>>())
    }

    fn run_with(&self, arguments: &[&str]) -> Ran {
        ran(self.command().args(arguments)).harmless()
    }

    fn without_agent(&self, arguments: &str) -> Ran {
        ran(self.command().env_remove("AGENTMUX_AGENT_UID").args(arguments.split_whitespace())).harmless()
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::recorder(&self.store(), WRITER_WAIT).unwrap()
    }

    /// Appends lines to the log of an agent as they are.
    fn append(&self, uid: &str, lines: &[&[u8]]) {
        let mut store = self.open();
        let options = AppendOptions { durability: Durability::Normal, now_ms: START_MS };
        for line in lines {
            store.append_line(&zone_for(uid).unwrap(), SEGMENTS_FILE, options, line).unwrap();
        }
    }

    /// The file of a session under a login, as the segments here record it.
    fn session(&self, login: &str, id: &str) -> PathBuf {
        session_file(&self.root.join(login), &self.root.join("w"), id).unwrap()
    }

    fn write_session(&self, login: &str, id: &str, text: &str) -> PathBuf {
        let path = self.session(login, id);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A copy of a session with the marker that makes it one.
    fn write_copy(&self, login: &str, id: &str, text: &str, token: &str) -> PathBuf {
        let path = self.write_session(login, id, text);
        let marker = Marker {
            owner_uid: "u1".into(),
            source: "/elsewhere".into(),
            bytes: text.len() as u64,
            token: token.into(),
        };
        fs::write(Marker::path_for(&path), marker.to_text()).unwrap();
        path
    }

    /// Everything under the root, with sizes.
    fn listing(&self) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        let mut open = vec![self.root.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let metadata = entry.metadata().unwrap();
                if metadata.is_dir() {
                    open.push(entry.path());
                }
                found.push((entry.path(), metadata.len()));
            }
        }
        found.sort();
        found
    }
}

/// The text snapshots, with what varies taken out: where the test ran, and when.
fn snapshot(world: &World, name: &str, text: &str) {
    let mut settings = support::snapshots("segments_cli");
    settings.add_filter(r"\((\d+) years ago\)", "(long ago)");
    settings.add_filter(r"20\d\d-\d\d-\d\d \d\d:\d\d \(\d+ s ago\) *", "(just now)  ");
    let text = text.replace(&*world.root.to_string_lossy(), "/root");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn start_at(world: &World, segment: &str, minute: i64, more: &str) {
    let at_ms = START_MS + minute * MINUTE_MS;
    let arguments = format!("start --segment {segment} --at-ms {at_ms} --cwd /w --config-dir /cfg/a {more}");
    assert_eq!(world.run(&arguments).ok(), format!("{segment}\n"));
}

fn end_at(world: &World, segment: &str, minute: i64, more: &str) {
    let at_ms = START_MS + minute * MINUTE_MS;
    world.run(&format!("end {segment} --at-ms {at_ms} {more}")).ok();
}

/// A chain with about everything that happens to one.
fn story() -> World {
    let world = World::new();
    let first = "5f2c5f2c-0000-4000-8000-000000000001";
    start_at(&world, "g1", 0, "--identity K1 --lease-epoch 3 --byte-start 0 --zone t1");
    world.run(&format!("session g1 {first}")).ok();
    end_at(&world, "g1", 20, "--exit-code 0 --bytes 700 --byte-end 12000");
    start_at(&world, "g2", 30, &format!("--identity K1 --lease-epoch 3 --session {first}"));
    world.run("session g2 B").ok();
    world.run("session g2 C").ok();
    end_at(&world, "g2", 300, "--reason closed --bytes 6100000");
    start_at(&world, "g3", 310, "--identity K2 --lease-epoch 4 --rung relocated --forked-from C --predecessor g1");
    world.run("session g3 D").ok();
    end_at(&world, "g3", 311, "--exit-code 1");
    start_at(&world, "g4", 320, "--provider codex --session E/1 --predecessor g0");
    start_at(&world, "g5", 330, "");
    world
}

#[test]
fn a_chain_reads_as_a_story() {
    let world = story();
    snapshot(&world, "list", &world.run("list").ok());
    let colour = world.command().args(["list", "--color", "always"]).output().unwrap();
    assert!(String::from_utf8(colour.stdout).unwrap().contains("\u{1b}[1m→   4\u{1b}[0m"));
}

#[test]
fn a_chain_as_json_is_whole() {
    let world = story();
    let list = world.run("list --format json").json();
    assert_eq!(list["schema"], "resume-gate.segments/1");
    assert_eq!((&list["agent_uid"], &list["total"], &list["anomalies"]), (&"u1".into(), &5.into(), &0.into()));
    assert_eq!(list["store"], world.store().to_str().unwrap());
    assert_eq!(list["head"], serde_json::json!({ "number": 4, "segment_id": "g4", "session_id": "E/1" }));
    let rows = list["segments"].as_array().unwrap();
    let column = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("number"), [1, 2, 3, 4, 5]);
    assert_eq!(column("is_head"), [false, false, false, true, false]);
    assert_eq!(column("gap"), [false, false, true, true, false]);
    assert_eq!(column("lease_changed"), [false, false, true, false, false]);
    assert_eq!(column("continuity_rung"), ["fresh", "native", "relocated", "native", "fresh"]);
    let second = &rows[1];
    assert_eq!(second["session_id"], "C");
    assert_eq!(second["earlier_session_ids"], serde_json::json!(["5f2c5f2c-0000-4000-8000-000000000001", "B"]));
    assert_eq!((&second["end_reason"], &second["provider_bytes_end"]), (&"closed".into(), &6_100_000.into()));
    assert_eq!(second["started_at_ms"], START_MS + 30 * MINUTE_MS);
    assert_eq!((&rows[0]["zone"], &rows[0]["byte_end"]), (&"t1".into(), &12_000.into()));
    assert_eq!((&rows[4]["session_id"], &rows[4]["end_reason"]), (&Value::Null, &Value::Null));
}

#[test]
fn only_the_last_ones_are_listed_when_asked_for() {
    let world = story();
    let text = world.run("list --last 2").ok();
    assert!(text.contains("… 3 earlier segments; `--all` or `--last N` lists more\n"), "{text}");
    assert!(text.contains("\n→   4  E/1") && !text.contains("relocated"), "{text}");
    let list = world.run("list --last 2 --format json").json();
    let numbers: Vec<_> = list["segments"].as_array().unwrap().iter().map(|row| row["number"].clone()).collect();
    assert_eq!((numbers, &list["total"]), (vec![4.into(), 5.into()], &5.into()));
    assert_eq!(world.run("list --last 2 --all").status, 2);
}

#[test]
fn without_an_agent_the_agents_are_listed() {
    let world = story();
    world.run("start --agent u2 --cwd /w2 --config-dir /cfg/b --segment g1 --at-ms 0").ok();
    world.append("u3", &[b"{"]);
    let text = world.without_agent("list").ok();
    assert_eq!(text.lines().count(), 6, "{text}");
    snapshot(&world, "agents", &text);
    let agents = world.without_agent("list --format json").json();
    assert_eq!((&agents["schema"], &agents["total"]), (&"resume-gate.agents/1".into(), &3.into()));
    let heads: Vec<_> = agents["agents"].as_array().unwrap().iter().map(|agent| &agent["head"]["session_id"]).collect();
    assert_eq!(heads, [&Value::Null, &"E/1".into(), &Value::Null], "oldest log first");
}

#[test]
fn the_head_is_named_with_every_newer_segment_that_is_not() {
    let world = World::new();
    start_at(&world, "g1", 0, "");
    world.run("session g1 A").ok();
    end_at(&world, "g1", 5, "--reason stopped --bytes 500");
    start_at(&world, "g2", 10, "");
    world.append(
        "u1",
        &[
            br#"{"event":"start","segment_id":"g3","cwd":"/w"}"#,
            br#"{"event":"session","segment_id":"g3","provider_session_id":"../\u001b[2J"}"#,
            br#"{"event":"start","segment_id":"g4","agent_uid":"u2","provider_session_id":"X","cwd":"/w"}"#,
            br#"{"event":"session","segment_id":"g5","provider_session_id":"ahead"}"#,
        ],
    );
    start_at(&world, "g5", 20, "");
    snapshot(&world, "head", &world.run("head --current g5").ok());
    let head = world.run("head --current g5 --format json").json();
    assert_eq!((&head["schema"], &head["head"]["session_id"]), (&"resume-gate.head/1".into(), &"A".into()));
    let skipped: Vec<_> = head["skipped"].as_array().unwrap().iter().map(|skipped| skipped["code"].clone()).collect();
    assert_eq!(skipped, ["no_session", "unsafe_id", "other_agent", "current"]);
    assert_eq!(world.run("head").ok().lines().next(), Some("ahead"));
    snapshot(&world, "head_none", &world.run("head --agent u9").ok());
}

#[test]
fn a_log_of_which_nothing_can_be_read_is_no_chain_without_a_head() {
    let world = World::new();
    world.append("u1", &[&[0; 300]]);
    for arguments in ["head", "head --format json", "list", "list --format json"] {
        let Ran { status, stdout, stderr } = world.run(arguments);
        assert_eq!((status, stdout.as_str()), (2, ""), "{arguments}");
        assert!(stderr.contains("all 301 bytes of their log are damaged"), "{stderr}");
    }
    world.append("u1", &[br#"{"event":"newer"}"#]);
    assert_eq!(world.run("head").status, 0);
    assert_eq!(world.run("list").status, 0);
}

#[test]
fn the_head_of_a_long_log_is_the_one_of_a_full_fold() {
    let world = World::new();
    let pad = "x".repeat(400);
    let mut lines = Vec::new();
    for number in 0..1200 {
        lines.push(format!(r#"{{"event":"start","segment_id":"g{number}","cwd":"/{pad}"}}"#));
        if number < 800 {
            lines.push(format!(r#"{{"event":"session","segment_id":"g{number}","provider_session_id":"s{number}"}}"#));
        }
    }
    world.append("u1", &lines.iter().map(String::as_bytes).collect::<Vec<_>>());
    let head = world.run("head --format json").json();
    let mut store = world.open();
    let folded = segments(&mut store, "u1").unwrap();
    let expected = head_session(&folded.segments, None).unwrap();
    assert_eq!(head["head"]["session_id"], *expected.session_id.as_ref().unwrap());
    assert_eq!(head["head"]["offset"], expected.offset);
    assert_eq!(head["skipped"].as_array().unwrap().len(), 400);
    assert!(head["skipped"].as_array().unwrap().iter().all(|skipped| skipped["code"] == "no_session"));
}

#[test]
fn a_start_finds_out_what_was_not_said() {
    let world = World::new();
    let login = world.root.join("login");
    fs::create_dir_all(&login).unwrap();
    fs::write(login.join(".claude.json"), r#"{"oauthAccount":{"accountUuid":"a","organizationUuid":"o"}}"#).unwrap();
    let arguments = ["start", "--format", "json", "--config-dir", login.to_str().unwrap()];
    let first = world.run_with(&arguments);
    assert_eq!(first.stderr, "");
    let first = first.json();
    assert_eq!(first["schema"], "resume-gate.segment/1");
    assert_eq!(first["identity_key"], resume_gate::claude::identity::key("a", "o"));
    assert_eq!(first["cwd"], world.root.join("w").to_str().unwrap());
    assert_eq!((&first["provider"], &first["continuity_rung"]), (&"claude".into(), &"fresh".into()));
    assert_eq!(first["predecessor_segment_id"], Value::Null);
    let second = world.run_with(&arguments).json();
    assert_eq!(second["predecessor_segment_id"], first["segment_id"]);
    assert!(second["started_at_ms"].as_i64() >= first["started_at_ms"].as_i64());

    // Empty options are options that a host had nothing for.
    let third = world.run_with(&["start", "--format", "json", "--session", "", "--identity", "", "--segment", ""]);
    assert!(third.stderr.starts_with("note: who is signed in is not known"), "{}", third.stderr);
    let third = third.json();
    assert_eq!(third["config_dir"], world.root.join("home/.claude").to_str().unwrap());
    assert_eq!((&third["session_id"], &third["identity_key"]), (&Value::Null, &Value::Null));
    assert_eq!(third["notes"][0]["code"], "identity-unknown");
    let other = world.run("start --provider codex --format json").json();
    assert_eq!((&other["config_dir"], &other["identity_key"]), (&Value::Null, &Value::Null));
}

#[test]
fn every_option_of_a_start_is_recorded_under_its_name() {
    let world = World::new();
    let given = "--segment g7 --provider claude-code --config-dir /cfg/a --session A --cwd /w --channel beta \
                 --agentmux-version 1.2 --block-id b --zone z --byte-start 5 --definition-id d --rung virtualized \
                 --predecessor g6 --lease-epoch -1 --identity K --forked-from F --at-ms -5";
    let start = world.run(&format!("start --format json {given}")).json();
    for (field, value) in [
        ("segment_id", "g7".into()),
        ("agent_uid", "u1".into()),
        ("provider", "claude-code".into()),
        ("config_dir", "/cfg/a".into()),
        ("session_id", "A".into()),
        ("cwd", "/w".into()),
        ("channel", "beta".into()),
        ("agentmux_version", "1.2".into()),
        ("block_id", "b".into()),
        ("zone", "z".into()),
        ("byte_start", Value::from(5)),
        ("definition_id", "d".into()),
        ("continuity_rung", "virtualized".into()),
        ("predecessor_segment_id", "g6".into()),
        ("lease_epoch", Value::from(-1)),
        ("identity_key", "K".into()),
        ("forked_from", "F".into()),
        ("started_at_ms", Value::from(-5)),
    ] {
        assert_eq!(start[field], value, "{field}");
    }
}

/// A process that is killed with the test.
struct Provider(Child);

impl Provider {
    fn start() -> Self {
        Self(Command::new("sleep").arg("60").spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn is_held(world: &World) -> bool {
    use resume_gate::process::ProcessTable;
    use resume_gate::spawn::lock::{AgentLock, LockError};
    matches!(AgentLock::acquire(&world.store(), "u1", &ProcessTable::default()), Err(LockError::Held(_)))
}

#[test]
fn a_provider_that_was_named_holds_the_agent_until_its_end() {
    let world = World::new();
    let (first, second) = (Provider::start(), Provider::start());
    start_at(&world, "g1", 0, &format!("--pid {}", first.pid()));
    assert!(is_held(&world));

    let refused = world.run(&format!("start --segment g2 --identity K --pid {}", second.pid()));
    assert_eq!((refused.status, refused.stdout.as_str()), (3, ""));
    assert!(refused.stderr.contains(&format!("process {}", first.pid())), "{}", refused.stderr);
    assert!(!world.run("list").ok().contains("g2"));
    assert_eq!(world.run("list --format json").json()["total"], 1, "nothing was recorded");

    end_at(&world, "g1", 1, "--reason stopped");
    assert!(!is_held(&world));
    start_at(&world, "g2", 2, &format!("--pid {}", second.pid()));
    end_at(&world, "g1", 3, "--reason stopped");
    assert!(is_held(&world), "a late end strikes out no newer segment's provider");
}

#[test]
fn a_process_that_has_ended_holds_nothing_and_is_said_so() {
    let world = World::new();
    let pid = Provider::start().pid();
    let ran = world.run(&format!("start --identity K --pid {pid}"));
    assert_eq!(ran.stderr, format!("note: process {pid} is not running, so it does not hold the agent\n"));
    ran.ok();
    assert!(!is_held(&world));
}

fn turn(uuid: &str) -> String {
    format!("{{\"type\":\"user\",\"uuid\":\"{uuid}\"}}\n")
}

/// A segment that was forked from a copy of `P`, made with token `T`.
fn forked() -> (World, PathBuf) {
    let world = World::new();
    let copy = world.write_copy("login", "P", &(turn("1") + &turn("2")), "T");
    let login = world.root.join("login");
    world.run_with(&["start", "--segment", "g1", "--config-dir", login.to_str().unwrap(), "--forked-from", "P"]).ok();
    (world, copy)
}

fn settled(world: &World, session: &str, token: &str) -> Value {
    let document = world.run(&format!("session g1 {session} --token {token} --format json")).json();
    assert_eq!(document["session_id"], session, "it is recorded whatever becomes of the copy");
    document["settled"]["outcome"].clone()
}

#[test]
fn a_copy_is_settled_by_its_own_token_once_the_fork_has_a_turn() {
    let (world, copy) = forked();
    let source = fs::read(&copy).unwrap();
    let there = || copy.exists() && Marker::path_for(&copy).exists();

    world.write_session("login", "N", &turn("1"));
    assert_eq!(settled(&world, "N", "T"), "too_early", "the parent's turns are still being copied");
    world.write_session("login", "N", &(turn("1") + &turn("2")));
    assert_eq!(settled(&world, "N", "T"), "too_early", "and none of its own came yet");
    world.write_session("login", "N", &(turn("1") + &turn("2") + &turn("3")));
    assert_eq!(settled(&world, "N", "OTHER"), "not_ours");
    world.run("session g1 N").ok();
    assert!(there() && fs::read(&copy).unwrap() == source, "without a token nothing is settled");
    let text = world.run("session g1 N --token T").ok();
    assert!(text.contains("removed the copy `"), "{text}");
    assert!(!copy.exists() && !Marker::path_for(&copy).exists());
    assert_eq!(settled(&world, "N", "T"), "nothing_there");
    assert_eq!(world.run("list --format json").json()["anomalies"], 0);
}

#[test]
fn a_copy_that_somebody_went_on_in_stays() {
    let (world, copy) = forked();
    world.write_session("login", "N", &(turn("1") + &turn("2") + &turn("3")));
    fs::write(&copy, turn("1") + &turn("2") + &turn("mine")).unwrap();
    assert_eq!(settled(&world, "N", "T"), "continued");
    assert!(copy.exists() && !Marker::path_for(&copy).exists());

    let (world, copy) = forked();
    assert_eq!(settled(&world, "P", "T"), "resumed_in_place");
    assert!(copy.exists() && !Marker::path_for(&copy).exists());
}

#[test]
fn a_session_without_a_file_is_believed_to_its_reporter() {
    let (world, copy) = forked();
    let ran = world.run("session g1 N --token T");
    assert!(ran.stderr.contains("note: the session holds no turn yet (`"), "{}", ran.stderr);
    ran.ok();
    assert!(!copy.exists());
}

#[test]
fn a_segment_that_names_no_copy_settles_none() {
    let world = World::new();
    start_at(&world, "g1", 0, "");
    let document = world.run("session g1 N --token T --format json").json();
    assert_eq!(document["settled"]["outcome"], "nothing_there");
    assert_eq!(document["session_id"], "N");
}

#[test]
fn an_end_measures_the_sessions_file_unless_told() {
    let world = World::new();
    let login = world.root.join("login");
    let file = world.write_session("login", "A", &turn("1"));
    let size = fs::metadata(&file).unwrap().len();
    let start = |segment: &str, session: &str| {
        let login = login.to_str().unwrap();
        let arguments = ["start", "--segment", segment, "--config-dir", login, "--session", session];
        world.run_with(&arguments).ok();
    };
    let bytes = |arguments: &str| {
        let ended = world.run(&format!("end --format json {arguments}")).json();
        (ended["provider_bytes_end"].clone(), ended["end_reason"].clone(), ended["recorded"].clone())
    };
    start("g1", "A");
    assert_eq!(bytes("g1 --exit-code 0"), (size.into(), "exited".into(), true.into()));
    fs::write(&file, turn("1") + &turn("2")).unwrap();
    assert_eq!(bytes("g1 --exit-code 1"), (size.into(), "exited".into(), false.into()), "the first end counts");
    start("g2", "A");
    assert_eq!(bytes("g2 --exit-code -1 --bytes 7"), (7.into(), "crashed".into(), true.into()));
    start("g3", "gone");
    let ran = world.run("end g3 --reason restarted");
    assert!(ran.stderr.starts_with("note: the size of the session's file is not known"), "{}", ran.stderr);
    assert!(ran.ok().ends_with("restarted after 0 s, size unknown\n"));
    // What is recorded is what the gate reads.
    let head = chain_head(&mut world.open(), "u1", Some("g3")).unwrap();
    assert_eq!(head.head().unwrap().provider_bytes_end, Some(7));
}

#[test]
fn check_names_every_anomaly_and_ends_with_1() {
    let world = World::new();
    start_at(&world, "g1", 0, "--identity K");
    assert_eq!(world.run("check").ok(), "agent u1   1 line of 376 bytes: as it should be\n");
    world.append(
        "u1",
        &[
            br#"{"event":"sess"#,
            br#"{"event":"end","segm{"event":"session","segment_id":"g1","provider_session_id":"A"}"#,
            br#"{"event":"session","segment_id":"g9","provider_session_id":"B"}"#,
            br#"{"event":"session","segment_id":"g1","provider_session_id":"../\u001b[2J\u202e"}"#,
            b"\0\0\0",
            b"{\"event\":\"lease\",\"segment_id\":\"g1\"}\r",
        ],
    );
    let ran = world.run("check");
    assert_eq!(ran.status, 1);
    snapshot(&world, "check", &ran.stdout);
    let ran = world.without_agent("check --format json");
    assert_eq!(ran.status, 1);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&found["schema"], &found["ok"]), (&"resume-gate.segments-check/1".into(), &false.into()));
    let anomalies = found["agents"][0]["anomalies"].as_array().unwrap();
    let torn = &anomalies[0];
    assert_eq!((&torn["code"], &torn["offset"], &torn["line"]), (&"torn_line".into(), &376.into(), &2.into()));
    assert_eq!((&torn["severity"], &torn["made_of_it"]), (&"damage".into(), &"nothing on it could be read".into()));
    assert!(world.run("list").stderr.starts_with("note: "), "the list says that there are some");
}

#[test]
fn looking_writes_nothing() {
    let world = World::new();
    let before = world.listing();
    for command in ["list", "head", "check"] {
        for format in ["text", "json"] {
            let answer = world.run(&format!("{command} --format {format}"));
            assert!(answer.stderr.contains("there is no store at"), "{command} {format}: {}", answer.stderr);
            answer.ok();
        }
    }
    assert_eq!(world.without_agent("list").ok(), format!("there is no store at `{}` yet\n", world.store().display()));
    world.without_agent("check").ok();
    assert_eq!(world.listing(), before);

    start_at(&world, "g1", 0, "--session A");
    let rows = |world: &World| {
        let mut store = SqliteStore::reader(&world.store(), Duration::from_secs(1)).unwrap();
        segments(&mut store, "u1").unwrap()
    };
    let (before, log) = (world.listing(), rows(&world));
    for command in ["list", "head", "check"] {
        world.run(command).ok();
    }
    let names = |listing: Vec<(PathBuf, u64)>| listing.into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    assert_eq!(names(world.listing()), names(before));
    assert_eq!(rows(&world), log);
}

/// The command, its status, and what it said.
fn transcript(world: &World, arguments: &[&str]) -> String {
    let ran = world.run_with(arguments);
    assert!(ran.status != 0 && ran.stdout.is_empty(), "{arguments:?}: {}", ran.stdout);
    format!("segments {}\nexit {}\n{}\n", arguments.join(" ").escape_debug(), ran.status, ran.stderr)
}

#[test]
fn errors_say_what_is_wrong_and_what_to_try() {
    let world = World::new();
    let mut said = transcript(&world, &["session", "g1", "A"]);
    start_at(&world, "g1", 0, "--session A");
    start_at(&world, "9c1e", 1, "");
    let log = world.run("list --format json").stdout;
    for arguments in [
        &["session", "g2", "B"][..],
        &["session", "7777-8888", "B"],
        &["session", "g1", "../B"],
        &["session", "g1", "-x"],
        &["session", "g1", "  "],
        &["end", "9c1f", "--exit-code", "0"],
        &["end", "g1"],
        &["end", "g1", "--reason", "tired"],
        &["start", "--segment", "g1"],
        &["start", "--session", "a\u{1b}[2Jb"],
        &["start", "--agent", "no uid"],
        &["list", "--agent", "no/uid"],
        &["head", "--store", "/proc"],
    ] {
        said += &transcript(&world, arguments);
    }
    assert_eq!(world.run("list --format json").stdout, log, "none of them recorded anything");
    let without = world.without_agent("head");
    said += &format!("segments head, without an agent\nexit {}\n{}", without.status, without.stderr);
    snapshot(&world, "errors", &said);
}

#[test]
fn help_says_what_each_command_is_for() {
    let world = World::new();
    snapshot(&world, "help", &world.run("--help").ok());
    for command in ["list", "head", "start", "session", "end", "check"] {
        snapshot(&world, &format!("help_{command}"), &world.run(&format!("{command} --help")).ok());
    }
}

#[test]
fn snapshots_are_complete() {
    let names = ["list", "agents", "head", "head_none", "check", "errors", "help"].map(str::to_owned);
    let help = ["list", "head", "start", "session", "end", "check"].map(|command| format!("help_{command}"));
    support::assert_no_missing_or_orphan_snapshots("segments_cli", names.into_iter().chain(help));
}
