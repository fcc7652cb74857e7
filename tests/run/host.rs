//! The example of a host's wiring, run as it stands.

use crate::world::{NEWEST, U1, World, listing, size, stub};
use resume_gate::claude::dirs::Places;
use resume_gate::segments::{EndReason, Rung};
use resume_gate::spawn::{Login, Offered, Parentage, SpawnRequest};
use std::fs;
use std::time::Duration;

#[path = "../../examples/host.rs"]
#[expect(dead_code, reason = "its `main` is for people")]
mod example;

fn spawn(world: &World, login: &str, session: Option<&str>, prompt: &str) -> i32 {
    let request = SpawnRequest {
        agent_uid: Some(U1.to_owned()),
        provider: "claude".to_owned(),
        candidate: session.map(str::to_owned),
        offered: Offered::Held,
        poisoned: None,
        login: Login::Named(world.login(login).to_str().unwrap().to_owned()),
        cwd: world.cwd.to_str().unwrap().to_owned(),
        identity: None,
        current: None,
        parentage: Parentage::None,
        store: Some(world.store.clone()),
        places: Places::default(),
        budget: Duration::from_secs(5),
    };
    example::spawn_agent(request, stub().to_str().unwrap(), &["-p".to_owned(), prompt.to_owned()]).unwrap()
}

#[test]
fn the_example_keeps_a_chain_that_run_goes_on_with() {
    let world = World::new(NEWEST);
    assert_eq!(spawn(&world, "a", None, "one"), 0);
    let first = world.head(U1);
    assert_eq!(spawn(&world, "a", Some(&first), "two"), 0);
    let before = listing(&world.login("a"));
    // The pane moves to the same person's other login: the file is copied in, forked, and gone again.
    assert_eq!(spawn(&world, "b", Some(&first), "three"), 0);
    world.assert_nothing_left();
    assert_eq!(listing(&world.login("a")), before);
    let chain = world.chain(U1);
    let rungs: Vec<Rung> = chain.iter().map(|segment| segment.start.continuity_rung.clone()).collect();
    assert_eq!(rungs, [Rung::Fresh, Rung::Native, Rung::Native]);
    assert_eq!(chain[2].start.forked_from.as_deref(), Some(first.as_str()));
    let fork = world.head(U1);
    assert_eq!(chain[2].provider_bytes_end, Some(size(&world.session("b", &fork))));
    let b = world.login("b");
    let ended = world.run(&["--config-dir", b.to_str().unwrap()], &["-p", "four"]).ok();
    assert!(ended.line().contains("allow by head-is-candidate"), "{ended:?}");
}

#[test]
fn the_example_starts_fresh_after_a_rejection_and_does_not_loop() {
    let world = World::new(NEWEST);
    assert_eq!(spawn(&world, "a", None, "one"), 0);
    let dead = world.head(U1);
    let file = world.session("a", &dead);
    fs::write(&file, "\0".repeat(usize::try_from(size(&file)).unwrap())).unwrap();
    assert_eq!(spawn(&world, "a", Some(&dead), "two"), 0);
    let chain = world.chain(U1);
    assert_eq!(chain.len(), 3);
    assert_eq!(chain[1].end.as_ref().unwrap().end_reason, EndReason::Crashed);
    assert_ne!(world.head(U1), dead);
}

#[test]
fn the_example_spawns_nothing_while_the_agent_is_held() {
    let world = World::new(NEWEST);
    let child = world.start(&[], &["-p", "[[hang]]"]);
    crate::world::provider_of(&child);
    assert_eq!(spawn(&world, "a", None, "me too"), 3);
    crate::world::signal(child.id(), "TERM");
    crate::world::finish(child);
}
