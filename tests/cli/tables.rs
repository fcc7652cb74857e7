//! `rules list`, `show`, `facts` and `check` as people and programs read them.

use crate::support::snapshots;
use crate::world::{World, put};
use serde_json::Value;

/// Names of the snapshots that are taken here.
pub const SNAPSHOTS: &[&str] = &[
    "rules-list-text",
    "rules-list-json",
    "rules-list-markdown",
    "rules-show-text",
    "rules-show-json",
    "rules-facts-text",
    "rules-facts-json",
    "rules-check-text",
    "rules-check-json",
    "rules-check-broken-text",
    "rules-check-broken-json",
];

const SHIPPED: &str = include_str!("../../rules/resume_gate.yaml");

/// What a command prints, with the table's hash taken out and JSON spread over lines.
fn printed(world: &World, args: &[&str]) -> String {
    let answer = world.run(args);
    assert_eq!(answer.stderr, "", "{args:?}");
    let sha = serde_json::from_str::<Value>(&world.run(["rules", "list", "--format=json"]).stdout).unwrap();
    let text = match serde_json::from_str::<Value>(&answer.stdout) {
        Ok(document) => serde_json::to_string_pretty(&document).unwrap() + "\n",
        Err(_) => answer.stdout,
    };
    text.replace(sha["table"]["sha256"].as_str().unwrap(), "[sha256]")
        .replace(&*world.root().to_string_lossy(), "[place]")
        + &format!("exit status {}\n", answer.status)
}

#[test]
fn the_table_and_its_facts_read_as_approved() {
    let world = World::empty();
    for (name, args) in [
        ("rules-list-text", ["rules", "list"].as_slice()),
        ("rules-list-json", &["rules", "list", "--format=json"]),
        ("rules-list-markdown", &["rules", "list", "--format=markdown"]),
        ("rules-show-text", &["rules", "show", "head-busy"]),
        ("rules-show-json", &["rules", "show", "head-busy", "--format=json"]),
        ("rules-facts-text", &["rules", "facts"]),
        ("rules-facts-json", &["rules", "facts", "--format=json"]),
        ("rules-check-text", &["rules", "check"]),
        ("rules-check-json", &["rules", "check", "--format=json"]),
    ] {
        snapshots("cli").bind(|| insta::assert_snapshot!(name, printed(&world, args)));
    }
}

#[test]
fn a_broken_table_is_answered_with_every_line_at_once_and_status_1() {
    let world = World::empty();
    let broken = SHIPPED.replace("head_busy: \"yes\"\n    then: fork", "head_bussy: \"yes\"\n    then: frok");
    assert_ne!(broken, SHIPPED);
    let path = world.at("/rules.yaml");
    put(&path, broken.replace("hit_policy: first", "hit_policy: any").as_bytes());
    let path = path.to_str().unwrap();
    assert_eq!(world.run(["rules", "check", path]).status, 1);
    for (name, args) in [
        ("rules-check-broken-text", ["rules", "check", path].as_slice()),
        ("rules-check-broken-json", &["rules", "check", path, "--format=json"]),
    ] {
        snapshots("cli").bind(|| insta::assert_snapshot!(name, printed(&world, args)));
    }
}

#[test]
fn a_rule_that_does_not_exist_is_answered_with_the_nearest_one() {
    let world = World::empty();
    let answer = world.run(["rules", "show", "head-bussy"]);
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""));
    assert_eq!(answer.stderr.lines().next(), Some("error: there is no rule `head-bussy`"));
    assert!(answer.stderr.contains("`head-busy`"), "{answer:?}");
}

#[test]
fn every_rule_is_shown_and_says_what_why_and_what_next() {
    let world = World::empty();
    let rules = world.run(["rules", "list", "--format=json"]).json();
    for rule in rules["rules"].as_array().unwrap() {
        let id = rule["id"].as_str().unwrap();
        let text = world.run(["rules", "show", id]).stdout;
        for sentence in ["what", "why", "next"] {
            assert!(text.contains(rule[sentence].as_str().unwrap()), "{id}: {sentence}");
        }
    }
}

#[test]
fn tables_that_are_no_tables_are_found_out() {
    let world = World::empty();
    let path = world.at("/rules.yaml");
    let path = path.to_str().unwrap();
    for text in ["", "\u{feff}", "rules: [", "- 1", "a: &a [*a]", "\0", "table: x\ntable: y\n", &"[".repeat(100_000)] {
        put(path.as_ref(), text.as_bytes());
        for command in [["rules", "check", path].as_slice(), &["rules", "check", "--format=json", path]] {
            let answer = world.run(command);
            assert_eq!(answer.status, 1, "{:?}: {answer:?}", text.get(..20));
            assert!(!answer.stdout.is_empty());
        }
    }
    assert_eq!(world.run(["rules", "check", "/nowhere"]).status, 2);
    assert_eq!(world.run(["rules", "check", world.at("/home").to_str().unwrap()]).status, 2);
    // The shipped one with a mark and other line ends is the shipped one.
    put(path.as_ref(), format!("\u{feff}{}", SHIPPED.replace('\n', "\r\n")).as_bytes());
    assert_eq!(world.run(["rules", "check", path]).status, 0);
}
