//! Rejections: by each kind of standard input, in each version's words, and what is none.

use crate::world::{Ended, NEWEST, Provider, U1, World, providers, size};
use resume_gate::segments::{EndReason, Rung};
use std::fs::{self, File, Permissions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

/// A world whose head looks well from outside but holds no conversation that the provider finds.
fn dead_head(provider: Provider) -> (World, String) {
    let world = World::new(provider);
    world.say("one");
    let head = world.head(U1);
    let file = world.session("a", &head);
    // Of the recorded size, so that nothing seems to have happened.
    fs::write(&file, "\0".repeat(usize::try_from(size(&file)).unwrap())).unwrap();
    (world, head)
}

fn assert_went_on_fresh(world: &World, head: &str, ended: &Ended) {
    let provider = world.provider();
    assert_eq!(ended.status, Some(0), "{provider}: {ended:?}");
    assert!(ended.stderr.contains("No conversation found with session ID"), "{provider}: {ended:?}");
    assert!(ended.stderr.contains("the provider rejected"), "{provider}: {ended:?}");
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("resume-gate: ")).collect();
    assert_eq!(lines.len(), 2, "{provider}: decided twice: {ended:?}");
    assert!(lines[1].contains("start fresh"), "{provider}: {ended:?}");
    let chain = world.chain(U1);
    let [_, rejected, fresh] = chain.as_slice() else { panic!("{provider}: {chain:?}") };
    assert_eq!(rejected.end.as_ref().unwrap().end_reason, EndReason::Crashed);
    assert_eq!(fresh.start.continuity_rung, Rung::Fresh);
    let own = fresh.session_id.as_deref().unwrap();
    assert_ne!(own, head);
    assert_eq!(fresh.provider_bytes_end, Some(size(&world.session("a", own))));
    world.assert_nothing_left();
}

fn assert_gave_up(world: &World, ended: &Ended) {
    let provider = world.provider();
    assert_eq!(ended.status, Some(1), "{provider}: the provider's own status: {ended:?}");
    assert!(ended.stderr.contains("resume-gate run --new"), "{provider}: it says what to run: {ended:?}");
    assert_eq!(world.chain(U1).len(), 2, "{provider}: nothing more was spawned");
}

#[test]
fn a_rejected_head_is_followed_by_a_fresh_session_in_the_same_run() {
    for provider in providers() {
        let (world, head) = dead_head(provider);
        let ended = world.run(&[], &["-p", "two [[say:fresh]]"]);
        assert_eq!(ended.stdout, "fresh\n", "{provider}: {ended:?}");
        assert_went_on_fresh(&world, &head, &ended);
        assert!(world.say("three").line().contains("head-is-candidate"), "{provider}: the chain has moved on");
    }
}

#[test]
fn an_input_file_is_rewound_to_where_it_was() {
    for provider in providers() {
        let (world, head) = dead_head(provider);
        let mut file = File::options().read(true).append(true).create(true).open(world.root.join("prompt")).unwrap();
        file.write_all(b"not for us\n[[say:from the file]]").unwrap();
        file.seek(SeekFrom::Start(11)).unwrap();
        // 2.1.332 reads a file from its beginning and leaves the offset alone, whatever that is.
        let is_by_offset = !matches!(provider, Provider::Real(_));
        let mut command = world.run_command(&[], &["-p"]);
        let ended: Ended = command.stdin(file.try_clone().unwrap()).output().unwrap().into();
        assert_eq!(ended.stdout, "from the file\n", "{provider}: {ended:?}");
        assert_went_on_fresh(&world, &head, &ended);
        if is_by_offset {
            let own = fs::read_to_string(world.session("a", &world.head(U1))).unwrap();
            assert!(!own.contains("not for us"), "{provider}");
            let mut rest = String::new();
            file.read_to_string(&mut rest).unwrap();
            assert_eq!(rest, "", "{provider}: all of it was read");
        }
    }
}

#[test]
fn a_closed_input_can_be_offered_again() {
    let (world, head) = dead_head(NEWEST);
    let run = world.run_command(&[], &["-p", "two"]);
    let words: Vec<String> = std::iter::once(run.get_program())
        .chain(run.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let mut shell = world.bare_command("/bin/sh");
    let ended: Ended = shell.arg("-c").arg(format!("exec {} <&-", words.join(" "))).output().unwrap().into();
    assert_went_on_fresh(&world, &head, &ended);
}

#[test]
fn a_pipe_cannot_be_offered_again_so_the_run_ends_and_says_what_to_do() {
    for provider in providers() {
        let (world, _) = dead_head(provider);
        let mut command = world.run_command(&[], &["-p"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It may have been rejected before it reads.
        let _ = child.stdin.take().unwrap().write_all(b"once only");
        assert_gave_up(&world, &crate::world::finish(child));
    }
}

#[test]
fn a_rejected_fork_leaves_neither_copy_nor_session() {
    for provider in providers() {
        let world = World::new(provider);
        world.say("one");
        let parent = world.head(U1);
        // Whole to us, and no conversation to the provider.
        let file = world.session("a", &parent);
        fs::write(&file, "{\"type\":\"assistant\",\"uuid\":\"1\"}\n").unwrap();
        let b = world.login("b");
        let ended = world.run(&["--config-dir", b.to_str().unwrap()], &["-p", "two"]).ok();
        assert!(ended.line().contains("relocate"), "{provider}: {ended:?}");
        assert!(ended.stderr.contains("start fresh"), "{provider}: {ended:?}");
        world.assert_nothing_left();
        assert!(!world.session("b", &parent).exists());
        assert_eq!(world.chain(U1).len(), 3);
        assert_eq!(world.chain(U1)[1].session_id, None, "{provider}: the fork never came to be");
    }
}

#[test]
fn an_error_of_the_api_is_no_rejection() {
    for provider in providers() {
        let world = World::new(provider);
        world.say("one");
        let head = world.head(U1);
        let ended = world.run(&[], &["-p", "two [[err:500]]"]);
        assert_eq!(ended.status, Some(1), "{provider}");
        assert!(!ended.stderr.contains("rejected"), "{provider}: {ended:?}");
        let chain = world.chain(U1);
        assert_eq!(chain.len(), 2);
        assert_eq!(chain[1].session_id.as_deref(), Some(head.as_str()));
        assert_eq!(chain[1].provider_bytes_end, Some(size(&world.session("a", &head))), "{provider}: it grew");
        assert!(world.say("three").line().contains("allow by head-is-candidate"), "{provider}");
    }
}

#[test]
fn an_id_that_is_no_uuid_is_rejected_in_other_words() {
    for provider in providers() {
        let world = World::new(provider);
        let ended = world.run(&["--resume", "my-title"], &["-p", "two"]).ok();
        assert!(ended.stderr.contains("requires a valid session ID"), "{provider}: {ended:?}");
        assert!(ended.stderr.contains("the provider rejected"), "{provider}: {ended:?}");
        let chain = world.chain(U1);
        assert_eq!(chain[0].session_id, None, "{provider}: a rejected id is never recorded");
        assert!(chain[1].session_id.is_some());
    }
}

#[test]
fn a_provider_that_fails_twice_is_not_asked_a_third_time() {
    let (world, _) = dead_head(NEWEST);
    let ended = world.run(&[], &["-p", "two [[exit:9]]"]);
    assert_eq!(ended.status, Some(9));
    assert_eq!(world.chain(U1).len(), 3);
    let ended = world.run(&["--resume", "00000000-0000-4000-8000-000000000000"], &["--no-such-option"]);
    assert_eq!(ended.status, Some(1));
}

/// The provider itself deletes sessions that have grown old, when it starts.
#[test]
fn a_session_that_is_gone_when_the_provider_looks_is_rejected_by_its_words() {
    for provider in providers() {
        let world = World::new(provider);
        world.say("one");
        let head = world.head(U1);
        let cleaner = world.root.join("cleaner");
        let (session, program) = (world.session("a", &head), world.program());
        let script = format!("#!/bin/sh\nrm -f '{}'\nexec '{}' \"$@\"\n", session.display(), program.display());
        fs::write(&cleaner, script).unwrap();
        fs::set_permissions(&cleaner, Permissions::from_mode(0o700)).unwrap();

        let mut command = world.gate(["run", "--agent", U1, "--config-dir"]);
        command.arg(world.login("a")).arg("--").arg(&cleaner).args(["-p", "two"]);
        assert_went_on_fresh(&world, &head, &command.output().unwrap().into());
    }
}
