//! The ordinary life of an agent: a first session, resumed, grown elsewhere, moved to another login.

use crate::world::{
    NEWEST, Provider, U1, U2, World, finish, is_marked, listing, provider_of, providers, signal, size, stub, until,
};
use resume_gate::segments::{EndReason, Rung};
use std::fs;
use std::path::Path;

#[test]
fn a_first_run_starts_a_session_of_our_choosing_and_records_all_of_it() {
    for provider in providers() {
        let world = World::new(provider);
        let ended = world.run(&[], &["-p", "hello [[say:hi there]]"]).ok();
        assert_eq!(ended.stdout.trim(), "hi there");
        assert_eq!(ended.line(), "start fresh, no session was asked for", "{provider}");
        let segment = world.newest(U1);
        let session = segment.session_id.clone().unwrap();
        assert_eq!(uuid::Uuid::parse_str(&session).unwrap().get_version_num(), 4);
        assert_eq!(segment.start.provider_session_id, None, "{provider}: nothing was certain at the start");
        assert_eq!(segment.start.continuity_rung, Rung::Fresh);
        assert_eq!(segment.start.provider, "claude");
        assert_eq!(segment.start.cwd, world.cwd.to_str().unwrap());
        assert_eq!(segment.start.config_dir.as_deref(), world.login("a").to_str());
        assert!(segment.start.identity_key.is_some());
        assert_eq!(segment.end.unwrap().end_reason, EndReason::Exited);
        assert_eq!(segment.provider_bytes_end, Some(size(&world.session("a", &session))), "{provider}");
    }
}

#[test]
fn a_second_run_resumes_the_head_in_place() {
    for provider in providers() {
        let world = World::new(provider);
        world.say("one");
        let head = world.head(U1);
        let ended = world.say("two");
        assert!(ended.line().ends_with(", allow by head-is-candidate"), "{ended:?}");
        let chain = world.chain(U1);
        assert_eq!(chain.len(), 2);
        assert_eq!(chain[1].start.provider_session_id.as_deref(), Some(head.as_str()), "{provider}: certain at once");
        assert_eq!(chain[1].start.predecessor_segment_id.as_ref(), Some(&chain[0].start.segment_id));
        assert_eq!(chain[1].start.continuity_rung, Rung::Native);
        assert_eq!(chain[1].provider_bytes_end, Some(size(&world.session("a", &head))));
        assert!(chain[1].provider_bytes_end > chain[0].provider_bytes_end);
        // The store is there now; three calm runs in a row are three plain resumes.
        assert!(world.say("three").line().ends_with("head-is-candidate"), "{provider}");
    }
}

#[test]
fn a_stale_id_is_redirected_to_the_head() {
    for provider in providers() {
        let world = World::new(provider);
        world.say("one");
        let old = world.head(U1);
        world.run(&["--new"], &["-p", "another"]).ok();
        let head = world.head(U1);
        assert_ne!(old, head);
        let before = fs::read(world.session("a", &old)).unwrap();
        let ended = world.run(&["--resume", &old], &["-p", "go on"]).ok();
        assert!(ended.line().contains("redirect by head-moved-on"), "{ended:?}");
        assert_eq!(world.head(U1), head);
        assert_eq!(fs::read(world.session("a", &old)).unwrap(), before);
    }
}

#[test]
fn a_session_that_grew_elsewhere_is_forked_and_stays_as_it_is() {
    for provider in providers() {
        let world = World::new(provider);
        world.say("one");
        let parent = world.head(U1);
        assert_eq!(world.claude("a", &["--resume", &parent, "-p", "on the side"]).ok().status, Some(0));
        let before = fs::read(world.session("a", &parent)).unwrap();
        let ended = world.say("two");
        assert!(ended.line().contains("fork by head-grew"), "{ended:?}");
        let segment = world.newest(U1);
        let fork = segment.session_id.clone().unwrap();
        assert_ne!(fork, parent);
        assert_eq!(segment.start.forked_from.as_deref(), Some(parent.as_str()));
        assert_eq!(segment.start.provider_session_id, None);
        assert_eq!(fs::read(world.session("a", &parent)).unwrap(), before, "{provider}: the parent is byte-identical");
        let text = fs::read_to_string(world.session("a", &fork)).unwrap();
        assert!(text.contains("on the side") && text.contains("two"), "{provider}: it knows both");
        assert!(world.say("three").line().contains("head-is-candidate"), "{provider}: and goes on from there");
    }
}

#[test]
fn a_conversation_moves_to_another_login_of_the_same_person_and_no_copy_stays() {
    for provider in providers() {
        let world = World::new(provider);
        world.say("one");
        let parent = world.head(U1);
        let before = listing(&world.login("a"));
        let b = world.login("b");
        let options = ["--config-dir", b.to_str().unwrap()];
        let ended = world.run(&options, &["-p", "two"]).ok();
        assert!(ended.line().contains("relocate by relocate"), "{ended:?}");
        let fork = world.head(U1);
        assert_ne!(fork, parent);
        assert!(!world.session("b", &parent).exists(), "{provider}: the copy is gone");
        assert!(!is_marked(&world.session("b", &parent)));
        world.assert_nothing_left();
        assert_eq!(listing(&world.login("a")), before, "{provider}: nothing happened there");
        assert!(fs::read_to_string(world.session("b", &fork)).unwrap().contains("one"));
        let again = world.run(&options, &["-p", "three"]).ok();
        assert!(again.line().contains("allow by head-is-candidate"), "{again:?}");
    }
}

#[test]
fn another_persons_login_gets_nothing_and_starts_fresh() {
    for provider in providers() {
        let world = World::new(provider);
        world.say("secret words");
        let parent = world.head(U1);
        let c = world.login("c");
        let ended = world.run(&["--config-dir", c.to_str().unwrap()], &["-p", "who am I"]).ok();
        assert!(ended.line().contains("refuse by other-identity"), "{ended:?}");
        let segment = world.newest(U1);
        assert_eq!(segment.start.continuity_rung, Rung::Fresh);
        assert!(!world.session("c", &parent).exists());
        let text = fs::read_to_string(world.session("c", &segment.session_id.unwrap())).unwrap();
        assert!(!text.contains("secret words"));
    }
}

#[test]
fn a_fork_of_an_agent_branches_from_it_until_it_has_a_session_of_its_own() {
    for provider in providers() {
        let world = World::new(provider);
        world.say("parents words");
        let parent = world.head(U1);
        let parent_file = world.session("a", &parent);
        let before = fs::read(&parent_file).unwrap();
        let elsewhere = world.directory("elsewhere");
        let options = ["--agent", U2, "--forked-from", U1, "--cwd", elsewhere.to_str().unwrap()];

        if matches!(provider, Provider::Stub(_)) {
            end_while_copying(&world, &options, &world.session_in("a", &elsewhere, &parent));
            assert_eq!(world.newest(U2).session_id, None, "{provider}: nothing of its own yet");
            assert_eq!(world.newest(U2).start.forked_from.as_deref(), Some(parent.as_str()));
            world.assert_nothing_left();
        }

        let ended = world.run(&options, &["-p", "own words"]).ok();
        assert!(ended.line().contains("fork_from by fork-from-parent"), "{ended:?}");
        let own = world.head(U2);
        world.assert_nothing_left();
        let text = fs::read_to_string(world.session_in("a", &elsewhere, &own)).unwrap();
        assert!(text.contains("parents words") && text.contains("own words"), "{provider}");
        let ended = world.run(&options, &["-p", "more"]).ok();
        assert!(ended.line().contains("allow by head-is-candidate"), "{ended:?}");
        assert_eq!(world.head(U2), own);
        assert_eq!(fs::read(&parent_file).unwrap(), before, "{provider}: the parent is byte-identical");
        assert_eq!(world.head(U1), parent);
    }
}

#[test]
fn the_providers_status_and_output_pass_through_untouched() {
    let world = World::new(NEWEST);
    let ended = world.run(&[], &["-p", "[[say:x]] [[exit:42]] [[stderr:odd words]]"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (Some(42), "x\n"));
    assert!(ended.stderr.contains("odd words\n"));
    assert_eq!(world.newest(U1).end.unwrap().end_reason, EndReason::Crashed);

    // While it is watched, too: bytes that are no text, without a line end.
    world.say("one");
    let script = world.root.join("noisy");
    fs::write(&script, format!("#!/bin/sh\nprintf '\\377\\000\\033[31mred' >&2\nexec {} \"$@\"\n", stub().display()))
        .unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = world.gate(["run", "--agent", U1, "--config-dir"]);
    let output = command.arg(world.login("a")).arg("--").arg(&script).args(["-p", "two"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.ends_with(b"\xff\x00\x1b[31mred"), "{output:?}");
}

/// Ends a fork hard while there is nothing in its session but the parent's turns. Only the stub is
/// slow enough for that.
fn end_while_copying(world: &World, options: &[&str], copy: &Path) {
    let child = world.start(options, &["-p", "[[slow:30]]"]);
    let pid = provider_of(&child);
    until("it has begun", || {
        let files = fs::read_dir(copy.parent().unwrap()).ok()?.flatten().map(|entry| entry.path());
        files
            .filter(|path| path.extension().is_some_and(|it| it == "jsonl") && path != copy)
            .find(|path| size(path) > 0)
    });
    signal(pid, "KILL");
    assert_eq!(finish(child).status, Some(137));
}
