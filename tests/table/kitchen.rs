//! A vocabulary and a table small enough to be checked by eye: an oven with a door, a heat that
//! can only be on behind a shut door, and a pan that only matters while the heat is on.

use resume_gate::table::{Applies, FactSpec, Loaded, Vocabulary, lay_out, load};

const fn fact(name: &'static str, values: &'static [&'static str], applies: Option<Applies>, probe: bool) -> FactSpec {
    FactSpec { name, values, applies, probe, means: "", shift: 0 }
}

static FACTS: [FactSpec; 3] = lay_out([
    fact("door", &["open", "shut"], None, false),
    fact("heat", &["off", "low", "high"], Some(Applies { fact: 0, values: 0b10 }), false),
    fact("pan", &["empty", "full"], Some(Applies { fact: 1, values: 0b110 }), true),
]);

/// Six combinations: open; shut and off; shut with low or high heat and an empty or full pan.
pub static VOCABULARY: Vocabulary = Vocabulary { facts: &FACTS, decisions: &["wait", "cook", "stop"] };

/// A sound table about it.
pub const TABLE: &str = "\
table: kitchen
version: 1
hit_policy: first
invariants:
  - id: safety
    states: Nothing cooks with the door open or the pan empty.
    claims:
      - never: { door: open }
        then: [cook, stop]
      - only: { pan: empty }
        then: [stop]
rules:
  - id: open-door
    invariant: safety
    when: { door: open }
    then: wait
    what: The door is open.
    why: Heat would escape.
    next: Shut the door.
  - id: dry-pan
    invariant: safety
    when: { pan: empty }
    then: stop
    what: The pan is empty and the heat is on.
    why: It would burn.
    next: Fill the pan.
  - id: cooking
    invariant: safety
    when: { heat: [low, high] }
    then: cook
    what: The pan is full and the heat is on.
    why: This is what the kitchen is for.
    next: Wait.
  - id: idle
    invariant: safety
    when: {}
    then: wait
    what: The heat is off.
    why: Nothing happens without heat.
    next: Turn it on.
";

/// The sound table with some text replaced, each exactly once.
pub fn table_with<const N: usize>(edits: [(&str, &str); N]) -> String {
    edits.into_iter().fold(TABLE.to_owned(), |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{from:?} must stand in the table once");
        text.replace(from, to)
    })
}

pub fn load_kitchen(source: &str) -> Loaded {
    load(source.as_bytes(), &VOCABULARY)
}

/// The code and message of every diagnostic, one line each, with its place.
pub fn told(source: &str) -> Vec<String> {
    load_kitchen(source).diagnostics.iter().map(|diagnostic| diagnostic.one_line("t.yaml")).collect()
}
