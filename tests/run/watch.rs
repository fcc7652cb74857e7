//! When a session counts, on files that are written step by step.

use crate::world::{NEWEST, U1, World};
use resume_gate::claude::dirs::Places;
use resume_gate::process::ProcessTable;
use resume_gate::spawn::run::SessionWatch;
use resume_gate::spawn::{Decided, Login, Offered, Parentage, SpawnRequest, decide};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

const NEW: &str = "0e984725-c51c-4bf4-9960-e1c80e27aba0";

fn request(world: &World, candidate: Option<&str>) -> SpawnRequest {
    SpawnRequest {
        agent_uid: Some(U1.to_owned()),
        provider: String::new(),
        candidate: candidate.map(str::to_owned),
        offered: Offered::Held,
        poisoned: None,
        login: Login::Named(world.login("a").to_str().unwrap().to_owned()),
        cwd: world.cwd.to_str().unwrap().to_owned(),
        identity: None,
        current: None,
        parentage: Parentage::None,
        store: Some(world.store.clone()),
        places: Places::default(),
        budget: Duration::from_secs(5),
    }
}

fn decided(world: &World, candidate: Option<&str>) -> (SpawnRequest, Decided) {
    let request = request(world, candidate);
    let decided = decide(&request, &ProcessTable::default());
    (request, decided)
}

fn append(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    File::options().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn turn(kind: &str, uuid: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"uuid\":\"{uuid}\",\"message\":{{}}}}\n")
}

#[test]
fn a_new_session_counts_with_its_first_turn_and_is_given_once() {
    let world = World::new(NEWEST);
    let (request, decided) = decided(&world, None);
    let mut watch = SessionWatch::before_spawn(&request, &decided, Some(NEW)).unwrap();
    let file = world.session("a", NEW);
    assert_eq!(watch.look(), None);
    append(&file, "{\"type\":\"queue-operation\"}\n");
    assert_eq!(watch.look(), None, "bookkeeping is no turn");
    assert_eq!(watch.bytes(), None);
    append(&file, &turn("user", "11111111"));
    assert_eq!(watch.look().as_deref(), Some(NEW));
    assert_eq!(watch.look(), None);
    assert_eq!((watch.recorded(), watch.bytes()), (Some(NEW), Some(fs::metadata(&file).unwrap().len())));
}

#[test]
fn a_forks_session_counts_with_a_turn_that_is_none_of_its_parents() {
    let world = World::new(NEWEST);
    world.say("one");
    let parent = world.head(U1);
    let parents_file = world.session("a", &parent);
    append(&parents_file, &turn("user", "aaaaaaaa"));
    let (request, decided) = decided(&world, Some(&parent));
    assert!(decided.plan.fork_session, "{decided:?}");
    let mut watch = SessionWatch::before_spawn(&request, &decided, Some(NEW)).unwrap();
    let fork = world.session("a", NEW);
    // Somebody goes on in the parent while the provider starts, so that it copies that too.
    append(&parents_file, &turn("assistant", "bbbbbbbb"));
    let copied = fs::read_to_string(&parents_file).unwrap();
    for piece in copied.as_bytes().chunks(97) {
        append(&fork, std::str::from_utf8(piece).unwrap());
        assert_eq!(watch.look(), None, "only copied turns are there yet");
    }
    append(&fork, "{\"type\":\"user\",\"uuid\":\"cccccccc\"");
    assert_eq!(watch.look(), None, "half a turn");
    append(&fork, ",\"message\":{}}\n");
    assert_eq!(watch.look().as_deref(), Some(NEW));
}

#[test]
fn a_resumed_session_that_nobody_had_seen_counts_once_it_grew() {
    let world = World::new(NEWEST);
    let file = world.session("a", NEW);
    append(&file, &turn("user", "11111111"));
    let (request, decided) = decided(&world, Some(NEW));
    assert_eq!(decided.plan.record.provider_session_id, None, "the chain is empty, so its file was not looked at");
    let mut watch = SessionWatch::before_spawn(&request, &decided, None).unwrap();
    assert_eq!(watch.look(), None, "it may be rejected yet");
    append(&file, "{\"type\":\"mode\"}\n");
    assert_eq!(watch.look().as_deref(), Some(NEW));
}

#[test]
fn a_process_that_moves_away_and_back_is_followed() {
    let world = World::new(NEWEST);
    let (request, decided) = decided(&world, None);
    // A host that leaves the id to the provider learns it later.
    let mut watch = SessionWatch::before_spawn(&request, &decided, None).unwrap();
    assert_eq!(watch.look(), None);
    watch.reported(NEW);
    append(&world.session("a", NEW), &turn("user", "11111111"));
    assert_eq!(watch.look().as_deref(), Some(NEW));
    watch.reported("second");
    assert_eq!(watch.look(), None, "it has no turn yet");
    assert_eq!(watch.recorded(), Some(NEW));
    append(&world.session("a", "second"), &turn("user", "22222222"));
    assert_eq!(watch.look().as_deref(), Some("second"));
    watch.reported(NEW);
    assert_eq!(watch.look().as_deref(), Some(NEW));
}
