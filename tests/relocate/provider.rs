//! Copies in the hands of the provider: forked from, continued in place, killed.

use crate::world::{U1, World};
use resume_gate::claude::turns::{holds_turn_after, last_turn_uuid};
use resume_gate::spawn::lock::AgentGuard;
use resume_gate::spawn::settle::{Fate, Reported, Settled, settle, sweep};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

const VERSIONS: [&str; 3] = ["2.0.77", "2.1.112", "2.1.332"];
const PARENT: &str = "a0a0a0a0-0000-4000-8000-00000000000a";
const CHILD: &str = "c0c0c0c0-0000-4000-8000-00000000000c";

fn claude(world: &World, version: &str, login: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stub-claude"))
        .args(arguments)
        .current_dir(&world.cwd)
        .env("STUB_CLAUDE_VERSION", version)
        .env("CLAUDE_CONFIG_DIR", world.login(login))
        .output()
        .unwrap()
}

/// A session of one turn under login `a`, written by the provider.
fn talked(version: &str) -> (World, PathBuf) {
    let world = World::new();
    let output = claude(&world, version, "a", &["--session-id", PARENT, "-p", "hello [[say:hi]]"]);
    assert!(output.status.success(), "{output:?}");
    let file = world.session("a", PARENT);
    (world, file)
}

fn lease() -> AgentGuard {
    AgentGuard::HostLease { uid: U1.into() }
}

#[test]
fn b16_the_provider_forks_the_copy_and_then_it_goes() {
    for version in VERSIONS {
        let (world, source) = talked(version);
        let before = fs::read(&source).unwrap();
        let copy = world.relocate(U1, PARENT).unwrap();
        let last = last_turn_uuid(&copy.to).unwrap().unwrap();
        let fork = ["--resume", PARENT, "--fork-session", "--session-id", CHILD, "-p", "go on [[say:sure]]"];
        let output = claude(&world, version, "b", &fork);
        assert!(output.status.success(), "{version}: {output:?}");
        let forked = world.session("b", CHILD);
        assert!(holds_turn_after(&forked, &last).unwrap(), "{version}");

        let settled = settle(&lease(), &copy.to, &copy.token, Reported::NewSession).unwrap();
        assert!(matches!(settled, Settled::Cleared(cleared) if cleared.fate == Fate::Removed), "{version}");
        assert!(!copy.to.exists() && !copy.marker.exists() && forked.exists());
        assert_eq!(fs::read(&source).unwrap(), before, "{version}: the source is byte for byte as it was");
    }
}

#[test]
fn a_person_who_continues_the_copy_keeps_every_turn() {
    for version in VERSIONS {
        for by_sweep in [true, false] {
            let (world, _) = talked(version);
            let copy = world.relocate(U1, PARENT).unwrap();
            let output = claude(&world, version, "b", &["--resume", PARENT, "-p", "mine [[say:yours]]"]);
            assert!(output.status.success(), "{version}: {output:?}");
            let continued = fs::read(&copy.to).unwrap();
            let fate = if by_sweep {
                sweep(&lease(), &world.project("b")).copies[0].fate
            } else {
                match settle(&lease(), &copy.to, &copy.token, Reported::NewSession).unwrap() {
                    Settled::Cleared(cleared) => cleared.fate,
                    other => panic!("{other:?}"),
                }
            };
            let bytes_now = Some(continued.len() as u64);
            assert_eq!(fate, Fate::Continued { bytes: copy.bytes, bytes_now }, "{version}");
            assert_eq!(fs::read(&copy.to).unwrap(), continued, "{version}");
            assert!(!copy.marker.exists());
            let output = claude(&world, version, "b", &["--resume", PARENT, "-p", "still here?"]);
            assert!(output.status.success(), "{version}: it is a session like any other");
        }
    }
}

#[test]
fn opening_the_copy_and_quitting_counts_as_continuing_it() {
    for version in VERSIONS {
        let (world, _) = talked(version);
        let copy = world.relocate(U1, PARENT).unwrap();
        // Without `-p` the provider reads prompts until its input ends; there is none.
        assert!(claude(&world, version, "b", &["--resume", PARENT]).status.success());
        assert!(fs::metadata(&copy.to).unwrap().len() > copy.bytes);
        let swept = sweep(&lease(), &world.project("b"));
        assert!(matches!(swept.copies[0].fate, Fate::Continued { .. }), "{version}");
        assert!(copy.to.exists());
    }
}

#[test]
fn b17_a_fork_killed_before_its_first_turn_leaves_a_copy_for_the_next_sweep() {
    for version in VERSIONS {
        let (world, source) = talked(version);
        let before = fs::read(&source).unwrap();
        let copy = world.relocate(U1, PARENT).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_stub-claude"))
            .args(["--resume", PARENT, "--fork-session", "--session-id", CHILD, "-p", "[[slow:30]] [[hang]]"])
            .current_dir(&world.cwd)
            .env("STUB_CLAUDE_VERSION", version)
            .env("CLAUDE_CONFIG_DIR", world.login("b"))
            .spawn()
            .unwrap();
        // Bookkeeping comes first, then (in the newer versions) pieces of the parent's turns.
        let forked = world.session("b", CHILD);
        while fs::metadata(&forked).map_or(0, |found| found.len()) == 0 {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let last = last_turn_uuid(&copy.to).unwrap().unwrap();
        assert!(!holds_turn_after(&forked, &last).unwrap(), "{version}: it has no turn of its own");

        let swept = sweep(&lease(), &world.project("b"));
        assert_eq!(swept.copies[0].fate, Fate::Removed, "{version}");
        let again = world.relocate(U1, PARENT).unwrap();
        assert_ne!(again.token, copy.token);
        assert_eq!(fs::read(&source).unwrap(), before);
    }
}
