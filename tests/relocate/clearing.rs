//! Settling and sweeping: what goes, what stays, and what is never touched.

use crate::world::{B, U1, U2, World, conversation};
use resume_gate::claude::marker::Marker;
use resume_gate::spawn::lock::AgentGuard;
use resume_gate::spawn::settle::{Fate, Reported, Settled, settle, sweep};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

fn lease(uid: &str) -> AgentGuard {
    AgentGuard::HostLease { uid: uid.into() }
}

fn fate(settled: &Settled) -> Fate {
    match settled {
        Settled::Cleared(cleared) => cleared.fate,
        other => panic!("the copy was not dealt with: {other:?}"),
    }
}

fn temporary_name(uid: &str, token: &str) -> String {
    let hash: String = Sha256::digest(uid).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!(".{hash}.{token}.agentmux-tmp")
}

#[test]
fn a_forked_copy_goes_with_its_marker() {
    let world = World::new();
    world.write("a", B, &conversation());
    let copy = world.relocate(U1, B).unwrap();
    let settled = settle(&lease(U1), &copy.to, &copy.token, Reported::NewSession).unwrap();
    assert_eq!(fate(&settled), Fate::Removed);
    assert_eq!(World::listing(&world.project("b")).len(), 0);
    let again = settle(&lease(U1), &copy.to, &copy.token, Reported::NewSession).unwrap();
    assert_eq!(again, Settled::NothingThere);
}

#[test]
fn a_copy_that_was_resumed_in_place_stays_without_its_marker() {
    let world = World::new();
    world.write("a", B, &conversation());
    let copy = world.relocate(U1, B).unwrap();
    let settled = settle(&lease(U1), &copy.to, &copy.token, Reported::SameSession).unwrap();
    assert_eq!(fate(&settled), Fate::ResumedInPlace);
    assert!(copy.to.exists() && !copy.marker.exists());
}

#[test]
fn b17_a_late_settle_leaves_its_successors_copy_alone() {
    let world = World::new();
    world.write("a", B, &conversation());
    let first = world.relocate(U1, B).unwrap();
    assert_eq!(sweep(&lease(U1), &world.project("b")).copies.len(), 1);
    let second = world.relocate(U1, B).unwrap();
    assert_ne!(first.token, second.token);
    let before = World::listing(&world.root);
    for reported in [Reported::NewSession, Reported::SameSession] {
        assert_eq!(settle(&lease(U1), &first.to, &first.token, reported).unwrap(), Settled::NotOurs);
    }
    assert_eq!(World::listing(&world.root), before);
    assert_eq!(fate(&settle(&lease(U1), &second.to, &second.token, Reported::NewSession).unwrap()), Fate::Removed);
}

#[test]
fn b17_b29_a_sweep_takes_this_agents_copies_and_no_others() {
    let world = World::new();
    world.write("a", B, &conversation());
    let copy = world.relocate(U1, B).unwrap();
    let foreign = world.write_copy("b", "foreign", "ten bytes\n", U2, "t2");
    let ordinary = world.write("b", "ordinary", "no marker\n");
    fs::write(world.project("b").join(temporary_name(U1, "cut")), "half").unwrap();
    let foreign_temporary = world.project("b").join(temporary_name(U2, "cut"));
    fs::write(&foreign_temporary, "half").unwrap();

    let swept = sweep(&lease(U1), &world.project("b"));
    assert_eq!(
        swept.copies.iter().map(|copy| (copy.path.clone(), copy.fate)).collect::<Vec<_>>(),
        [(copy.to, Fate::Removed)]
    );
    assert_eq!(swept.temporaries, [world.project("b").join(temporary_name(U1, "cut"))]);
    assert!(swept.errors.is_empty());
    let left: Vec<PathBuf> =
        World::listing(&world.project("b")).into_keys().map(|name| world.project("b").join(name)).collect();
    let mut kept = vec![foreign_temporary, Marker::path_for(&foreign), foreign, ordinary];
    kept.sort();
    assert_eq!(left, kept);
    world.relocate(U1, B).unwrap();
}

#[test]
fn a_copy_that_someone_continued_is_kept_by_sweep_and_by_settle() {
    let world = World::new();
    world.write("a", B, &conversation());
    let longer = conversation() + "{\"type\":\"user\"}\n";
    let bytes = conversation().len() as u64;
    // Shorter counts too: whatever was done to it, it is no longer the copy that was made.
    for text in [longer.as_str(), "{}\n", ""] {
        let expected = Fate::Continued { bytes, bytes_now: Some(text.len() as u64) };
        for by_sweep in [true, false] {
            let copy = world.relocate(U1, B).unwrap();
            fs::write(&copy.to, text).unwrap();
            let fate = if by_sweep {
                sweep(&lease(U1), &world.project("b")).copies[0].fate
            } else {
                fate(&settle(&lease(U1), &copy.to, &copy.token, Reported::NewSession).unwrap())
            };
            assert_eq!(fate, expected);
            assert_eq!(fs::read_to_string(&copy.to).unwrap(), text);
            assert!(!copy.marker.exists());
            assert!(sweep(&lease(U1), &world.project("b")).copies.is_empty(), "it is nobody's copy any more");
            fs::remove_file(copy.to).unwrap();
        }
    }
}

#[test]
fn something_else_in_a_copys_place_is_not_removed() {
    let world = World::new();
    let target = world.write("a", B, &conversation());
    let link = world.write_copy("b", B, &conversation(), U1, "t1");
    fs::remove_file(&link).unwrap();
    symlink(&target, &link).unwrap();
    let folder = world.write_copy("b", "folder", "", U1, "t2");
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    let swept = sweep(&lease(U1), &world.project("b"));
    assert_eq!(swept.copies.len(), 2);
    assert!(swept.copies.iter().all(|copy| matches!(copy.fate, Fate::Continued { bytes_now: None, .. })));
    assert!(link.is_symlink() && folder.is_dir());
    assert_eq!(fs::read_to_string(target).unwrap(), conversation());
}

#[test]
fn a_marker_without_a_copy_goes() {
    let world = World::new();
    let copy = world.write_copy("b", B, "x", U1, "t1");
    fs::remove_file(&copy).unwrap();
    assert_eq!(sweep(&lease(U1), &world.project("b")).copies[0].fate, Fate::MarkerAlone);
    assert_eq!(World::listing(&world.project("b")).len(), 0);
}

#[test]
fn a_copy_that_still_has_its_unfinished_name_too_goes_under_both() {
    // Where there is no rename that never replaces, a file is linked and then unlinked.
    let world = World::new();
    world.write("a", B, &conversation());
    let copy = world.relocate(U1, B).unwrap();
    fs::hard_link(&copy.to, world.project("b").join(temporary_name(U1, &copy.token))).unwrap();
    let swept = sweep(&lease(U1), &world.project("b"));
    assert_eq!((swept.copies.len(), swept.temporaries.len(), swept.errors.len()), (1, 1, 0));
    assert_eq!(World::listing(&world.project("b")).len(), 0);
}

#[test]
fn what_is_not_exactly_ours_is_not_touched() {
    let world = World::new();
    let folder = world.project("b");
    let cut = world.write_copy("b", "cut-marker", "x", U1, "t");
    let whole = fs::read(Marker::path_for(&cut)).unwrap();
    fs::write(Marker::path_for(&cut), &whole[..whole.len() / 2]).unwrap();
    let linked = world.write("b", "linked-marker", "x");
    let real = world.write_copy("a", "real", "x", U1, "t");
    symlink(Marker::path_for(&real), Marker::path_for(&linked)).unwrap();
    let nameless = world.write_copy("b", "no-owner", "x", "", "t");
    fs::write(folder.join("notes.txt"), "x").unwrap();
    fs::copy(Marker::path_for(&real), folder.join("notes.txt.agentmux-relocated")).unwrap();
    fs::copy(Marker::path_for(&real), folder.join(".jsonl.agentmux-relocated")).unwrap();
    fs::copy(Marker::path_for(&real), folder.join("-flag.jsonl.agentmux-relocated")).unwrap();
    for odd in ["", "two.dots", "sp ace", "t\u{e9}"] {
        fs::write(folder.join(temporary_name(U1, odd)), "x").unwrap();
    }
    fs::create_dir(folder.join(temporary_name(U1, "folder"))).unwrap();
    symlink(&real, folder.join(temporary_name(U1, "link"))).unwrap();
    fs::write(folder.join(temporary_name(U1, "t") + ".bak"), "x").unwrap();
    let before = World::listing(&world.root);

    let swept = sweep(&lease(U1), &folder);
    assert_eq!((swept.copies.len(), swept.temporaries.len(), swept.errors.len()), (0, 0, 0), "{swept:?}");
    for copy in [&cut, &linked, &nameless] {
        assert_eq!(settle(&lease(U1), copy, "t", Reported::NewSession).unwrap(), Settled::NotOurs);
    }
    assert_eq!(World::listing(&world.root), before);
}

#[test]
fn ids_that_begin_alike_do_not_touch_each_other() {
    let world = World::new();
    let (ours, theirs) = ("b0b0b0b0-0000-4000-8000-000000000001", "b0b0b0b0-0000-4000-8000-000000000002");
    world.write_copy("b", ours, "x", U1, "t1");
    let kept = world.write("b", theirs, "x");
    let longer = world.write("b", &format!("{ours}0"), "x");
    assert!(sweep(&lease(U1), &world.project("b")).errors.is_empty());
    assert!(kept.exists() && longer.exists());
    assert_eq!(World::listing(&world.project("b")).len(), 2);
}

#[test]
fn a_sessions_own_folder_of_side_files_stays() {
    let world = World::new();
    world.write("a", B, &conversation());
    let copy = world.relocate(U1, B).unwrap();
    let side = world.project("b").join(B);
    fs::create_dir(&side).unwrap();
    fs::write(side.join("todo.json"), "{}").unwrap();
    settle(&lease(U1), &copy.to, &copy.token, Reported::NewSession).unwrap();
    world.relocate(U1, B).unwrap();
    assert!(sweep(&lease(U1), &world.project("b")).errors.is_empty());
    assert_eq!(fs::read_to_string(side.join("todo.json")).unwrap(), "{}");
    assert_eq!(World::listing(&world.project("b")).len(), 2);
}

#[test]
fn another_agent_cannot_settle_a_copy_even_with_its_token() {
    let world = World::new();
    world.write("a", B, &conversation());
    let copy = world.relocate(U1, B).unwrap();
    assert_eq!(settle(&lease(U2), &copy.to, &copy.token, Reported::NewSession).unwrap(), Settled::NotOurs);
    assert!(copy.to.exists() && copy.marker.exists());
}

#[test]
fn a_folder_that_is_not_there_holds_nothing() {
    let world = World::new();
    let swept = sweep(&lease(U1), &world.project("nobody"));
    assert!(swept.copies.is_empty() && swept.temporaries.is_empty() && swept.errors.is_empty());
}

#[test]
fn b47_while_the_agent_is_held_there_is_no_guard_to_sweep_or_copy_with() {
    use resume_gate::process::ProcessTable;
    use resume_gate::spawn::lock::{AgentLock, LockError};
    let world = World::new();
    world.write("a", B, &conversation());
    let _held = world.guard(U1);
    world.relocate(U1, B).unwrap();
    let before = World::listing(&world.login("b"));
    let second = AgentLock::acquire(&world.root.join("data/filestore.db"), U1, &ProcessTable::default());
    assert!(matches!(second, Err(LockError::Held(_))));
    assert_eq!(World::listing(&world.login("b")), before);
}
