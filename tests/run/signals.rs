//! Signals on their way through `run`, processes that are killed, and two runs of one agent.

use crate::world::{
    NEWEST, Provider, REGISTERING, STUBS, U1, U2, World, finish, is_marked, listing, provider_of, providers, signal,
    size, type_line, until, until_ended,
};
use resume_gate::segments::EndReason;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

/// A provider that waits for its API, with a turn of its own in its session's file where the version
/// writes that first.
fn hanging(world: &World, options: &[&str]) -> std::process::Child {
    world.start(options, &["-p", "[[hang]]"])
}

/// Waits until the provider of a first run listens to signals: it has begun to write its session.
fn until_writing(world: &World) {
    let folder = world.session("a", "any").parent().unwrap().to_owned();
    until("the provider has begun to write", || {
        fs::read_dir(&folder).ok()?.flatten().any(|entry| size(&entry.path()) > 0).then_some(())
    });
}

#[test]
fn a_signal_to_run_reaches_the_provider_and_its_status_comes_back() {
    for provider in providers() {
        for (name, status) in [("INT", 0), ("TERM", 143), ("HUP", 129)] {
            let world = World::new(provider);
            let child = hanging(&world, &[]);
            let pid = provider_of(&child);
            until_writing(&world);
            signal(child.id(), name);
            let ended = finish(child);
            assert_eq!(ended.status, Some(status), "{provider} {name}: {ended:?}");
            until_ended(pid);
            let end = world.newest(U1).end.unwrap();
            let reason = if status == 0 { EndReason::Exited } else { EndReason::Stopped };
            assert_eq!(end.end_reason, reason, "{provider} {name}");
        }
    }
}

#[test]
fn a_provider_that_is_killed_ends_the_run_with_128_and_the_signal() {
    let world = World::new(NEWEST);
    let child = hanging(&world, &[]);
    signal(provider_of(&child), "KILL");
    assert_eq!(finish(child).status, Some(137));
    assert_eq!(world.newest(U1).end.unwrap().end_reason, EndReason::Crashed);
}

#[test]
fn an_interrupted_resume_is_no_rejection() {
    // The newest two end an interrupted prompt with status 0; a script that counts it as a failure
    // and wrote nothing must not make the conversation start anew.
    let world = World::new(NEWEST);
    world.say("one");
    let script = world.root.join("stubborn");
    fs::write(&script, "#!/bin/sh\ntrap 'exit 130' INT TERM\n: > ready\nwhile :; do sleep 0.01; done\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = world.gate(["run", "--agent", U1, "--config-dir"]);
    command.arg(world.login("a")).arg("--").arg(&script);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    until("it is ready", || world.cwd.join("ready").exists().then_some(()));
    signal(child.id(), "INT");
    let ended = finish(child);
    assert_eq!(ended.status, Some(130));
    assert!(!ended.stderr.contains("rejected"), "{ended:?}");
    assert_eq!(world.chain(U1).len(), 2);
}

#[test]
fn an_ignored_signal_stays_ignored_for_the_provider_too() {
    let world = World::new(NEWEST);
    let run = world.run_command(&[], &["-p", "[[delay:1]] [[say:still here]]"]);
    // From our own program on: nothing may make the signals default again.
    let words = std::iter::once(run.get_program()).chain(run.get_args());
    let words = words.skip_while(|word| *word != env!("CARGO_BIN_EXE_resume-gate"));
    let mut nohup = world.bare_command("nohup");
    // The shell's `trap ''` is what `nohup` does, without its files.
    let child = nohup.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
    let _pid = provider_of(&child);
    until_writing(&world);
    signal(child.id(), "HUP");
    let ended = finish(child);
    assert_eq!((ended.status, ended.stdout.as_str()), (Some(0), "still here\n"), "{ended:?}");
}

#[test]
fn a_second_run_of_an_agent_is_refused_and_names_the_first() {
    for provider in providers() {
        let world = World::new(provider);
        let child = hanging(&world, &[]);
        let pid = provider_of(&child);
        until("the segment is there", || (!world.chain(U1).is_empty()).then_some(()));
        let second = world.run(&[], &["-p", "me too"]);
        assert_eq!(second.status, Some(3), "{provider}: {second:?}");
        assert!(second.stderr.contains(&format!("process {}", child.id())), "{provider}: {second:?}");
        assert!(second.stderr.contains(&pid.to_string()), "{provider}: {second:?}");
        assert_eq!(world.chain(U1).len(), 1, "{provider}: nothing was recorded");
        assert_eq!(world.run(&["--agent", U2], &["-p", "another agent"]).status, Some(0), "{provider}");
        signal(child.id(), "TERM");
        finish(child);
        world.say("now it goes");
    }
}

#[test]
fn a_provider_that_outlives_a_killed_run_holds_the_agent() {
    for provider in providers() {
        let world = World::new(provider);
        world.say("one");
        let head = world.head(U1);
        let mut child = hanging(&world, &[]);
        let pid = provider_of(&child);
        until("the segment is there", || (world.chain(U1).len() == 2).then_some(()));
        until_writing_more(&world, &head);
        signal(child.id(), "KILL");
        child.wait().unwrap();
        let second = world.run(&[], &["-p", "two"]);
        assert_eq!(second.status, Some(3), "{provider}: {second:?}");
        assert!(second.stderr.contains(&format!("process {pid}")), "{provider}: {second:?}");
        assert_eq!(world.newest(U1).end, None, "{provider}: nobody saw its end");

        signal(pid, "KILL");
        until_ended(pid);
        let third = world.say("three");
        assert!(third.line().contains("allow by head-is-candidate"), "{provider}: {third:?}");
        assert_eq!(world.head(U1), head);
    }
}

fn until_writing_more(world: &World, session: &str) {
    let recorded = world.chain(U1)[0].provider_bytes_end.unwrap();
    until("it writes", || (size(&world.session("a", session)) > recorded).then_some(()));
}

#[test]
fn a_fork_whose_run_was_killed_is_recorded_as_soon_as_it_has_a_turn_of_its_own() {
    for provider in REGISTERING {
        let world = World::new(provider);
        world.say("one");
        let parent = world.head(U1);
        let b = world.login("b");
        let options = ["--config-dir", b.to_str().unwrap()];
        let mut child = world.start(&options, &["-p", "[[slow:0.5]] mine [[hang]]"]);
        let pid = provider_of(&child);
        // The copy stays while there is nothing but the parent's turns, and goes with the first own one.
        until("the copy is there", || is_marked(&world.session("b", &parent)).then_some(()));
        let fork = until("it is recorded", || world.newest(U1).session_id.filter(|id| *id != parent));
        let text = fs::read_to_string(world.session("b", &fork)).unwrap();
        assert!(text.contains("mine"), "{provider}");
        until("the copy is settled", || (!world.session("b", &parent).exists()).then_some(()));
        signal(child.id(), "KILL");
        child.wait().unwrap();
        signal(pid, "KILL");
        until_ended(pid);
        let ended = world.run(&options, &["-p", "on"]).ok();
        assert!(ended.line().contains("allow by head-is-candidate"), "{provider}: {ended:?}");
        assert_eq!(world.head(U1), fork);
        world.assert_nothing_left();
    }
}

#[test]
fn a_session_that_is_open_elsewhere_is_forked() {
    // The oldest version keeps no registry of its processes, so that nobody can know.
    for provider in providers().into_iter().filter(|provider| !provider.is_oldest()) {
        let world = World::new(provider);
        world.say("one");
        let parent = world.head(U1);
        // Waiting for its prompt it has written nothing, so that the registry alone tells of it.
        let waiting: &[&str] = match provider {
            Provider::Stub(_) => &["--resume", &parent, "-p"],
            Provider::Real(_) => {
                &["--resume", &parent, "-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"]
            }
        };
        let mut other = world.claude_typing("a", waiting);
        let registry = world.login("a").join("sessions").join(format!("{}.json", other.id()));
        until("it has registered", || fs::read_to_string(&registry).ok().filter(|text| text.contains(&parent)));
        let before = fs::read(world.session("a", &parent)).unwrap();
        let ended = world.say("two");
        assert!(ended.line().contains("fork by head-busy"), "{provider}: {ended:?}");
        assert_eq!(fs::read(world.session("a", &parent)).unwrap(), before, "{provider}: the parent is byte-identical");
        assert_ne!(world.head(U1), parent);
        drop(other.stdin.take());
        other.wait().unwrap();
    }
}

#[test]
fn a_session_that_is_open_in_a_terminal_has_grown_and_is_forked() {
    for provider in STUBS {
        let world = World::new(provider);
        world.say("one");
        let parent = world.head(U1);
        let mut other = world.claude_typing("a", &["--resume", &parent]);
        let recorded = world.newest(U1).provider_bytes_end.unwrap();
        until("it is open", || (size(&world.session("a", &parent)) > recorded).then_some(()));
        let before = fs::read(world.session("a", &parent)).unwrap();
        let ended = world.say("two");
        assert!(ended.line().contains("fork by head-grew"), "{provider}: {ended:?}");
        assert_eq!(fs::read(world.session("a", &parent)).unwrap(), before, "{provider}: the parent is byte-identical");
        drop(other.stdin.take());
        other.wait().unwrap();
    }
}

#[test]
fn a_fork_begins_while_its_parent_is_open_in_a_pane_of_its_own() {
    for provider in REGISTERING {
        let world = World::new(provider);
        let mut child = world.start_typing(&[], &[]);
        type_line(&mut child, "one");
        let head = until("it is recorded", || world.chain(U1).pop()?.session_id);
        until("the turn is over", || {
            fs::read_to_string(world.session("a", &head)).ok().filter(|text| text.contains("last-prompt"))
        });
        let quiet = fs::read(world.session("a", &head)).unwrap();
        let ended = world.run(&["--agent", U2, "--forked-from", U1], &["-p", "branch"]).ok();
        assert!(ended.line().contains("fork_from by fork-from-parent"), "{provider}: {ended:?}");
        assert_eq!(
            fs::read(world.session("a", &head)).unwrap(),
            quiet,
            "{provider}: the live parent is byte-identical"
        );
        assert_ne!(world.head(U2), head);
        drop(child.stdin.take());
        assert_eq!(finish(child).status, Some(0));
    }
}

#[test]
fn b05_a_process_that_moves_to_another_session_is_recorded_with_its_last_one() {
    for provider in REGISTERING {
        let world = World::new(provider);
        let mut child = world.start_typing(&[], &[]);
        type_line(&mut child, "first words");
        let first = until("the first is recorded", || world.chain(U1).pop()?.session_id);
        type_line(&mut child, "/clear");
        type_line(&mut child, "second words");
        let second = until("the second is recorded", || world.newest(U1).session_id.filter(|id| *id != first));
        assert!(fs::read_to_string(world.session("a", &second)).unwrap().contains("second words"));
        drop(child.stdin.take());
        assert_eq!(finish(child).status, Some(0));
        let segment = world.newest(U1);
        assert_eq!(segment.earlier_session_ids, [first]);
        assert_eq!(segment.provider_bytes_end, Some(size(&world.session("a", &second))), "{provider}");
        assert!(world.say("on").line().contains("allow by head-is-candidate"), "{provider}");
        assert_eq!(world.head(U1), second);
    }
}

#[test]
fn a_session_that_was_opened_and_never_prompted_is_not_recorded() {
    for provider in STUBS {
        let world = World::new(provider);
        world.run(&[], &[]).ok();
        let segment = world.newest(U1);
        assert_eq!((segment.session_id, segment.provider_bytes_end), (None, None), "{provider}");
        assert_eq!(segment.end.unwrap().end_reason, EndReason::Exited);
        assert_eq!(world.say("hello").line(), "start fresh, no session was asked for", "{provider}");
    }
}

#[test]
fn a_process_that_a_script_starts_is_followed_by_the_session_we_chose() {
    let world = World::new(NEWEST);
    let script = world.root.join("wrapper");
    fs::write(&script, format!("#!/bin/sh\n{} \"$@\"\nexit $?\n", world.program().display())).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = world.gate(["run", "--agent", U1, "--config-dir"]);
    command.arg(world.login("a")).arg("--").arg(&script);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    type_line(&mut child, "first words");
    let first = until("the first is recorded", || world.chain(U1).pop()?.session_id);
    type_line(&mut child, "/clear");
    type_line(&mut child, "second words");
    until("the second is recorded", || world.newest(U1).session_id.filter(|id| *id != first));
    drop(child.stdin.take());
    assert_eq!(finish(child).status, Some(0));
}

#[test]
fn of_many_runs_at_once_each_spawns_alone_or_not_at_all() {
    for provider in STUBS {
        let world = World::new(provider);
        world.say("one");
        let head = world.head(U1);
        let runs: Vec<_> = (0..8).map(|_| world.start(&[], &["-p", "[[delay:0.1]]"])).collect();
        let ended: Vec<_> = runs.into_iter().map(finish).collect();
        let count = |status| ended.iter().filter(|ended| ended.status == Some(status)).count();
        assert_eq!(count(0) + count(3), 8, "{provider}: {ended:?}");
        assert!(count(0) > 0, "{provider}: {ended:?}");
        let chain = world.chain(U1);
        assert_eq!(chain.len(), 1 + count(0), "{provider}");
        assert!(chain.iter().all(|segment| segment.session_id.as_ref() == Some(&head)), "{provider}: {chain:?}");
        assert!(chain.is_sorted_by_key(|segment| segment.provider_bytes_end), "{provider}: one after the other");
    }
}

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_nothing_that_the_next_one_does_not_clear() {
    for provider in STUBS {
        let world = World::new(provider);
        world.say("one");
        let before = listing(&world.login("a"));
        let b = world.login("b");
        let options = ["--config-dir", b.to_str().unwrap()];
        for step in 0..16 {
            let mut child = world.start(&options, &["-p", "[[slow:0.02]] [[delay:0.02]]"]);
            std::thread::sleep(std::time::Duration::from_millis(6 * step));
            // It may be done already.
            let _ = child.kill();
            child.wait().unwrap();
        }
        // A provider may have outlived its run for a moment.
        let ended = until("nobody holds the agent", || {
            Some(world.run(&options, &["-p", "two"])).filter(|ended| ended.status != Some(3))
        });
        assert_eq!(ended.status, Some(0), "{provider}: {ended:?}");
        world.assert_nothing_left();
        assert_eq!(listing(&world.login("a")), before, "{provider}: the source is byte-identical");
        assert!(world.run(&options, &["-p", "three"]).ok().line().contains("allow by head-is-candidate"), "{provider}");
    }
}
