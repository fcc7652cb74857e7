//! `explain`, `decide`, `decide --apply` and `run` give one answer, whatever an earlier spawn left
//! behind; and what `--apply` does besides.

use crate::world::{Ended, NEWEST, U1, U2, World, finish, is_marked, listing, provider_of, signal, size};
use resume_gate::claude::marker::Marker;
use serde_json::{Value, json};
use std::fs;

/// An agent with a session under login `a`, and what became of it.
struct Case {
    name: &'static str,
    world: World,
    login: &'static str,
    candidate: String,
}

fn cases() -> Vec<Case> {
    let talked = || {
        let world = World::new(NEWEST);
        world.say("one");
        let head = world.head(U1);
        (world, head)
    };
    let mut cases = Vec::new();
    let mut add = |name, login, (world, candidate): (World, String)| cases.push(Case { name, world, login, candidate });
    add("as it was left", "a", talked());
    let (world, head) = talked();
    world.claude("a", &["--resume", &head, "-p", "on the side"]).ok();
    add("grown", "a", (world, head));
    let (world, old) = talked();
    world.run(&["--new"], &["-p", "newer"]).ok();
    add("moved on", "a", (world, old));
    let (world, head) = talked();
    fs::remove_file(world.session("a", &head)).unwrap();
    add("gone", "a", (world, head));
    add("another login", "b", talked());
    add("another person", "c", talked());
    let (world, head) = talked();
    fs::write(world.session("a", &head), "{\"type\":\"user\"").unwrap();
    add("cut, under another login", "b", (world, head));
    cases
}

impl Case {
    fn ask(&self, command: &[&str]) -> Ended {
        let mut asked = self.world.gate(command);
        asked.args(["--agent", U1, "--resume", &self.candidate, "--config-dir"]).arg(self.world.login(self.login));
        asked.output().unwrap().into()
    }

    /// What counts of a command's JSON: everything but the copy that only one of them makes.
    fn answer(&self, command: &[&str]) -> Value {
        let mut document: Value = serde_json::from_str(&self.ask(command).ok().stdout).unwrap();
        document["plan"]["copy"] = json!(!document["plan"]["copy"].is_null());
        ["decision", "rule", "plan", "facts", "not_asked", "head", "candidate"]
            .map(|field| (field, document[field].take()))
            .into_iter()
            .collect()
    }

    /// What a spawn of this agent's left that was killed when it had made its copy.
    fn leave_a_copy(&self) {
        let copy = self.world.session(self.login, &self.candidate);
        if copy.exists() {
            return;
        }
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        let text = "{\"type\":\"user\",\"uuid\":\"1\"}\n";
        fs::write(&copy, text).unwrap();
        let marker = Marker {
            owner_uid: U1.to_owned(),
            source: "/elsewhere".to_owned(),
            bytes: text.len() as u64,
            token: "t".to_owned(),
        };
        fs::write(Marker::path_for(&copy), marker.to_text()).unwrap();
    }
}

#[test]
fn explain_decide_and_run_agree_before_a_sweep_and_after() {
    for case in cases() {
        case.leave_a_copy();
        let before = listing(&case.world.root.join("cfg"));
        let explained = case.answer(&["explain", "--format", "json"]);
        assert_eq!(case.answer(&["decide", "--format", "json"]), explained, "{}", case.name);
        assert!(listing(&case.world.root.join("cfg")) == before, "{}: neither touches a login", case.name);

        // This one sweeps first.
        assert_eq!(case.answer(&["decide", "--apply", "--format", "json"]), explained, "{}", case.name);
        assert_eq!(case.answer(&["explain", "--format", "json"]), explained, "{}: after the sweep", case.name);

        let segments = case.world.chain(U1).len();
        let login = case.world.login(case.login);
        let options = ["--resume", &case.candidate, "--config-dir", login.to_str().unwrap()];
        let ended = case.world.run(&options, &["-p", "on"]).ok();
        let by =
            format!("{} by {}", explained["decision"]["kind"].as_str().unwrap(), explained["rule"].as_str().unwrap());
        assert!(ended.line().contains(&by), "{}: {by}: {ended:?}", case.name);
        // The first segment of this run; a rejection would have been followed by another.
        let start = &case.world.chain(U1)[segments].start;
        let record = &explained["plan"]["record"];
        assert_eq!(start.forked_from.as_deref(), record["forked_from"].as_str(), "{}", case.name);
        assert_eq!(start.provider_session_id.as_deref(), record["provider_session_id"].as_str(), "{}", case.name);
        case.world.assert_nothing_left();
    }
}

fn moved() -> Case {
    let world = World::new(NEWEST);
    world.say("one");
    let candidate = world.head(U1);
    Case { name: "moved", world, login: "b", candidate }
}

#[test]
fn decide_apply_copies_in_and_prints_arguments_that_the_provider_takes() {
    let case = moved();
    let (world, copy) = (&case.world, case.world.session("b", &case.candidate));
    let without = case.ask(&["decide", "--format", "args"]).ok();
    assert_eq!(without.stdout, "", "nothing was copied, so nothing is to be resumed");
    assert!(without.stderr.contains("--apply"));
    assert!(!copy.exists());

    let applied = case.ask(&["decide", "--apply", "--format", "args"]).ok();
    let arguments: Vec<&str> = applied.stdout.lines().collect();
    assert_eq!(arguments, ["--resume", case.candidate.as_str(), "--fork-session"]);
    assert!(is_marked(&copy));
    let source = fs::read(world.session("a", &case.candidate)).unwrap();
    assert_eq!(fs::read(&copy).unwrap(), source);
    world.claude("b", &[arguments.as_slice(), &["-p", "two"]].concat()).ok();
    assert_eq!(fs::read(world.session("a", &case.candidate)).unwrap(), source);
    // The next one of this agent takes it away, and makes it anew.
    let first = Marker::read(&copy).unwrap().token;
    case.ask(&["decide", "--apply"]).ok();
    assert_ne!(Marker::read(&copy).unwrap().token, first);
    // Another agent's is left alone.
    let mut other = world.gate(["decide", "--apply", "--agent", U2, "--resume", &case.candidate, "--config-dir"]);
    Ended::from(other.arg(world.login("b")).output().unwrap()).ok();
    assert!(is_marked(&copy));
}

#[test]
fn decide_apply_does_nothing_while_the_agent_is_held_and_exits_3_in_every_format() {
    let case = moved();
    let child = case.world.start(&[], &["-p", "[[hang]]"]);
    let provider = provider_of(&child);
    // Until the lock names it.
    crate::world::until("the segment is there", || (case.world.chain(U1).len() == 2).then_some(()));
    let before = listing(&case.world.login("b"));
    for format in [&["--format", "json"][..], &["--format", "text"], &["--format", "args"], &["--exit-code"]] {
        let ended = case.ask(&[&["decide", "--apply"], format].concat());
        assert_eq!(ended.status, Some(3), "{ended:?}");
        assert!(ended.stderr.contains(&format!("process {}", child.id())), "{ended:?}");
        assert!(ended.stderr.contains(&provider.to_string()), "{ended:?}");
        if format[1..] == ["json"] {
            let document: Value = serde_json::from_str(&ended.stdout).unwrap();
            assert_eq!(document["plan"]["outcome"], "held");
            assert_eq!(document["plan"]["resume"], Value::Null);
            assert_eq!(document["notes"][0]["code"], "held");
        }
        if format[1..] == ["args"] {
            assert_eq!(ended.stdout, "");
        }
    }
    assert_eq!(listing(&case.world.login("b")), before);
    // Only asking is free, and a host with a lease of its own is not asked.
    case.ask(&["decide"]).ok();
    case.ask(&["decide", "--apply", "--locked"]).ok();
    assert!(is_marked(&case.world.session("b", &case.candidate)));
    signal(child.id(), "TERM");
    finish(child);
}

#[test]
fn without_a_lock_nothing_is_copied_and_everything_else_stands() {
    let case = moved();
    let locks = case.world.store.parent().unwrap().join("locks");
    fs::remove_dir_all(&locks).unwrap();
    fs::write(&locks, "in the way").unwrap();
    let ended = case.ask(&["decide", "--apply", "--format", "json"]).ok();
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&document["decision"]["kind"], &document["rule"]), (&json!("refuse"), &json!("relocate")));
    assert_eq!(document["plan"]["outcome"], "fresh");
    assert!(ended.stderr.contains("lock"), "{ended:?}");
    assert!(!case.world.session("b", &case.candidate).exists());

    // A run goes on, too, and what it can record it records.
    let ended = case.world.run(&[], &["-p", "two"]).ok();
    assert!(ended.line().contains("allow by head-is-candidate"), "{ended:?}");
    assert!(ended.stderr.contains("nothing is swept or copied"), "{ended:?}");
    let bytes = size(&case.world.session("a", &case.candidate));
    assert_eq!(case.world.newest(U1).provider_bytes_end, Some(bytes));
}

#[test]
fn a_copy_that_somebody_went_on_in_is_kept_and_reported_by_a_run() {
    let case = moved();
    case.ask(&["decide", "--apply"]).ok();
    let world = &case.world;
    world.claude("b", &["--resume", &case.candidate, "-p", "my own words"]).ok();
    let copy = world.session("b", &case.candidate);
    let b = world.login("b");
    let ended = world.run(&["--config-dir", b.to_str().unwrap()], &["-p", "two"]).ok();
    assert!(ended.stderr.contains("somebody went on in it"), "{ended:?}");
    assert!(fs::read_to_string(&copy).unwrap().contains("my own words"));
    assert!(!is_marked(&copy));
}
