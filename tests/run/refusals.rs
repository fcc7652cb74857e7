//! Where `run` spawns nothing and says why, and where it spawns although something is amiss.

use crate::world::{Ended, NEWEST, U1, U2, World, finish, provider_of, signal, stub, until};
use resume_gate::segments::is_safe_session_id;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

fn assert_refused(ended: &Ended, status: i32, words: &[&str]) {
    assert_eq!(ended.status, Some(status), "{ended:?}");
    assert_eq!(ended.stdout, "");
    for word in words {
        assert!(ended.stderr.contains(word), "`{word}` is not in {ended:?}");
    }
}

#[test]
fn arguments_that_fight_with_ours_are_a_usage_error_that_says_what_to_use() {
    let world = World::new(NEWEST);
    for argument in
        ["--resume", "-r", "--continue", "-c", "--session-id=x", "--fork-session", "--no-session-persistence", "-pc"]
    {
        let ended = world.run(&[], &["-p", argument, "x"]);
        assert_refused(&ended, 2, &[&format!("error: `{argument}`"), "help: "]);
    }
    assert!(!world.store.exists(), "nothing was begun");
}

#[test]
fn a_chain_that_cannot_be_read_is_an_error_unless_the_session_is_named() {
    let world = World::new(NEWEST);
    fs::create_dir_all(world.store.parent().unwrap()).unwrap();
    fs::write(&world.store, "this is no database, and it is longer than a header of one").unwrap();
    let ended = world.run(&[], &["-p", "x"]);
    assert_refused(&ended, 2, &[world.store.to_str().unwrap(), "--resume", "--new"]);
    let ended = world.run(&["--agent", U2, "--forked-from", U1], &["-p", "x"]);
    assert_refused(&ended, 2, &["--new"]);

    // Named, it goes on, and not being able to record is one warning.
    let ended = world.run(&["--new"], &["-p", "[[say:well]]"]).ok();
    assert_eq!(ended.stdout, "well\n");
    assert_eq!(ended.stderr.matches("is not recorded").count(), 1, "{ended:?}");
    let session = "0e984725-c51c-4bf4-9960-e1c80e27aba0";
    assert!(is_safe_session_id(session));
    world.claude("a", &["--session-id", session, "-p", "by hand"]).ok();
    let ended = world.run(&["--resume", session], &["-p", "[[say:on]]"]).ok();
    assert!(ended.line().contains("allow by chain-unknown"), "{ended:?}");
}

#[test]
fn without_an_agent_the_session_has_to_be_named_and_nothing_is_recorded() {
    let world = World::new(NEWEST);
    let run = |options: &[&str]| -> Ended {
        let mut command = world.gate(["run", "--config-dir"]);
        command.arg(world.login("a")).args(options).arg("--").arg(stub()).args(["-p", "x [[say:ran]]"]);
        command.output().unwrap().into()
    };
    assert_refused(&run(&[]), 2, &["--agent", "--resume", "--new"]);
    assert_refused(&run(&["--agent", "no/uid"]), 2, &["`no/uid` is no agent uid"]);
    let ended = run(&["--new"]).ok();
    assert_eq!(ended.stdout, "ran\n");
    let session = "0e984725-c51c-4bf4-9960-e1c80e27aba0";
    world.claude("a", &["--session-id", session, "-p", "by hand"]).ok();
    let ended = run(&["--resume", session]).ok();
    assert!(ended.line().contains("allow by chain-unknown"), "{ended:?}");
    assert!(ended.stderr.contains("note: the agent has no usable uid"), "{ended:?}");
    assert!(!world.store.exists());
}

#[test]
fn what_cannot_be_started_is_said_and_leaves_no_copy() {
    let world = World::new(NEWEST);
    world.say("one");
    let run = |program: &str, login: &str| -> Ended {
        let mut command = world.gate(["run", "--agent", U1, "--config-dir"]);
        command.arg(world.login(login)).arg("--").arg(program).output().unwrap().into()
    };
    assert_refused(&run("no-such-program", "b"), 127, &["cannot start `no-such-program`"]);
    world.assert_nothing_left();
    let file = world.root.join("not-executable");
    fs::write(&file, "").unwrap();
    assert_refused(&run(file.to_str().unwrap(), "a"), 126, &["it may not be executed"]);
    assert_eq!(world.chain(U1).len(), 1, "nothing was recorded");
    assert_refused(&world.run(&["--cwd", "/no/such/directory"], &["-p", "x"]), 2, &["/no/such/directory"]);
    let ended: Ended = world.gate(["run", "--agent", U1]).output().unwrap().into();
    assert_refused(&ended, 2, &["PROVIDER"]);
}

#[test]
fn a_fork_whose_parent_is_not_named_any_more_does_not_go_on_in_the_parents_session() {
    let world = World::new(NEWEST);
    world.say("one");
    let parent = world.head(U1);
    // Its only segment ended before it said anything.
    let fork = ["--agent", U2, "--forked-from", U1];
    let child = world.start(&fork, &["-p", "[[slow:30]]"]);
    signal(provider_of(&child), "KILL");
    assert_eq!(finish(child).status, Some(137));
    let segment = world.newest(U2);
    assert_eq!((segment.session_id, segment.start.forked_from.as_ref()), (None, Some(&parent)));
    let ended = world.run(&["--agent", U2], &["-p", "x"]);
    assert_refused(&ended, 2, &["--forked-from"]);
    assert!(world.run(&fork, &["-p", "x"]).ok().line().contains("fork_from"));
}

/// Makes every write to the store fail at once, or no longer. Reading goes on.
fn refuse_writes(world: &World, refuse: bool) {
    let store = rusqlite::Connection::open(&world.store).unwrap();
    store.busy_timeout(Duration::from_secs(10)).unwrap();
    let change = if refuse {
        "CREATE TRIGGER no_more BEFORE UPDATE ON db_wave_file BEGIN SELECT RAISE(ABORT, 'no more'); END"
    } else {
        "DROP TRIGGER no_more"
    };
    store.execute_batch(change).unwrap();
}

#[test]
fn a_store_that_cannot_be_written_is_one_warning_and_the_provider_runs() {
    let world = World::new(NEWEST);
    world.say("one");
    let head = world.head(U1);
    refuse_writes(&world, true);
    let ended = world.run(&[], &["-p", "[[say:on]]"]).ok();
    assert_eq!(ended.stdout, "on\n");
    assert_eq!(ended.stderr.matches("the segment is not recorded").count(), 1, "{ended:?}");
    refuse_writes(&world, false);
    assert_eq!(world.chain(U1).len(), 1);
    // What was not recorded looks like somebody else's turns, which is the safe side.
    assert!(world.say("two").line().contains("fork by head-grew"));
    assert_ne!(world.head(U1), head);
}

#[test]
fn what_could_not_be_recorded_at_first_is_recorded_when_the_store_is_back() {
    let world = World::new(NEWEST);
    world.say("one");
    let first = world.head(U1);
    refuse_writes(&world, true);
    let child = world.start(&["--new"], &["-p", "[[delay:1]]"]);
    let folder = world.session("a", &first).parent().unwrap().to_owned();
    until("it writes", || (fs::read_dir(&folder).unwrap().count() == 2).then_some(()));
    refuse_writes(&world, false);
    let ended = finish(child).ok();
    assert!(!ended.stderr.contains("not recorded"), "{ended:?}");
    let segment = world.newest(U1);
    assert_ne!(segment.session_id.as_ref(), Some(&first));
    assert!(segment.end.is_some() && segment.provider_bytes_end.is_some());
}

#[test]
fn an_unsafe_id_never_reaches_the_provider() {
    let world = World::new(NEWEST);
    let ended = world.run(&["--resume", "../../etc"], &["-p", "x"]).ok();
    assert!(ended.line().contains("start fresh instead of"), "{ended:?}");
    assert!(ended.stderr.contains("no safe file name"), "{ended:?}");
}

#[test]
fn a_defaulted_login_is_left_to_the_provider() {
    let world = World::new(NEWEST);
    let home = world.root.join("home");
    fs::create_dir_all(&home).unwrap();
    let script = world.root.join("tell");
    fs::write(&script, "#!/bin/sh\necho \"${CLAUDE_CONFIG_DIR-unset}\"\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let tell = |options: &[&str], variable: Option<&str>| -> String {
        let mut command = world.gate(["run", "--agent", U1, "--new"]);
        command.args(options).arg("--").arg(&script).envs(variable.map(|dir| ("CLAUDE_CONFIG_DIR", dir)));
        Ended::from(command.output().unwrap()).ok().stdout.trim().to_owned()
    };
    assert_eq!(tell(&[], None), "unset");
    assert_eq!(tell(&[], Some("/cfg/x")), "/cfg/x");
    assert_eq!(tell(&["--config-dir", "/cfg/y"], Some("/cfg/x")), "/cfg/y");
    let expanded = home.join("own");
    assert_eq!(tell(&["--config-dir", "~/own"], None), expanded.to_str().unwrap());
    let relative = world.cwd.join("rel");
    assert_eq!(tell(&["--config-dir", "rel"], None), relative.to_str().unwrap());
}
