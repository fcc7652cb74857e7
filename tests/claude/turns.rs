//! What recording needs to know of a session file's turns.

use crate::disk::{Disk, TITLE, TURN, write};
use resume_gate::claude::turns::{holds_turn, holds_turn_after, last_turn_uuid};
use std::fs;

fn turn(uuid: &str) -> String {
    TURN.replace("u1", uuid)
}

fn other(uuid: &str) -> String {
    TITLE.replace("{", &format!("{{\"uuid\":\"{uuid}\","))
}

#[test]
fn a_session_that_was_never_prompted_holds_no_turn() {
    let disk = Disk::new();
    let file = disk.path("B.jsonl");
    assert!(!holds_turn(&file).unwrap());
    for (text, expected) in [(String::new(), false), (TITLE.repeat(3), false), (format!("{TITLE}{TURN}"), true)] {
        write(&file, &text);
        assert_eq!(holds_turn(&file).unwrap(), expected, "{text}");
    }
}

#[test]
fn the_last_turn_of_a_parent_is_found_behind_its_bookkeeping() {
    let disk = Disk::new();
    let file = disk.path("B.jsonl");
    assert_eq!(last_turn_uuid(&file).unwrap(), None);
    write(&file, TITLE);
    assert_eq!(last_turn_uuid(&file).unwrap(), None);
    let rows = TITLE.repeat((1 << 20) / TITLE.len());
    write(&file, [turn("u1"), turn("u2"), other("t1"), rows, turn("u3")[..20].into()].concat());
    assert_eq!(last_turn_uuid(&file).unwrap().as_deref(), Some("u2"));
}

#[test]
fn only_a_turn_after_the_copied_ones_is_a_forks_own() {
    let disk = Disk::new();
    let file = disk.path("F.jsonl");
    assert!(!holds_turn_after(&file, "u2").unwrap());
    let copied = [TITLE.into(), turn("u1"), turn("u2"), other("t1")].concat();
    let own = turn("u3");
    for (text, expected) in [
        (turn("u1"), false),
        (copied.clone(), false),
        (format!("{copied}{}", &own[..own.len() - 3]), false),
        (format!("{copied}{own}"), true),
        (format!("{copied}{TITLE}{own}{TITLE}"), true),
        (format!("{own}{TITLE}"), false),
    ] {
        write(&file, &text);
        assert_eq!(holds_turn_after(&file, "u2").unwrap(), expected, "{text}");
    }
    // Any record can be the one after which turns count.
    assert!(holds_turn_after(&file, "u3").is_ok_and(|found| !found));
    write(&file, format!("{}{}", other("t1"), turn("u4")));
    assert!(holds_turn_after(&file, "t1").unwrap());
}

#[test]
fn a_folder_in_the_files_place_is_an_error() {
    let disk = Disk::new();
    let folder = disk.dir("B.jsonl");
    assert!(holds_turn(&folder).is_err());
    assert!(last_turn_uuid(&folder).is_err());
    assert!(holds_turn_after(&folder, "u").is_err());
    fs::remove_dir(folder).unwrap();
}
