//! Tables compared over the whole fact space, held against brute force, and what is said of the
//! difference held against every other way of saying it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::allow_attributes, reason = "tests")]

mod support;

use proptest::prelude::*;
use resume_gate::gate::TABLE;
use resume_gate::gate::facts::VOCABULARY;
use resume_gate::table::{
    Applies, Condition, Diff, Edit, FactSpec, FactWord, Rule, Table, Vocabulary, conditions_text, cover, diff, lay_out,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

fn edited(edit: impl FnOnce(&mut Vec<Rule>)) -> Table {
    let mut table = TABLE.clone();
    let mut rules = table.rules.into_owned();
    edit(&mut rules);
    table.rules = Cow::Owned(rules);
    table
}

fn matches(vocabulary: &Vocabulary, conditions: &[Condition], word: FactWord) -> bool {
    conditions.iter().all(|condition| {
        assert_ne!(condition.wanted & vocabulary.facts[condition.fact].value_bits(), 0);
        word.bits() & condition.wanted != 0
    })
}

/// Every table that is one edit away: a rule moved, removed, or with another decision.
fn mutants() -> Vec<Table> {
    let rules = TABLE.rules.len();
    let mut mutants = Vec::new();
    for index in 0..rules - 1 {
        for to in (0..rules - 1).filter(|to| *to != index) {
            mutants.push(edited(|rules| {
                let rule = rules.remove(index);
                rules.insert(to, rule);
            }));
        }
        mutants.push(edited(|rules| drop(rules.remove(index))));
        mutants.push(edited(|rules| rules[index].then = (rules[index].then + 1) % VOCABULARY.decisions.len()));
    }
    mutants
}

#[test]
fn what_changes_is_what_brute_force_finds_and_is_described_exactly() {
    let space = VOCABULARY.combinations();
    for second in mutants() {
        let found = diff(&TABLE, &second, &VOCABULARY);
        let mut expected: BTreeMap<(usize, usize, String, String), BTreeSet<FactWord>> = BTreeMap::new();
        let mut unchanged = 0;
        for word in &space {
            let (from, to) = (&TABLE.rules[TABLE.first_hit(*word)], &second.rules[second.first_hit(*word)]);
            if (from.then, &from.id) == (to.then, &to.id) {
                unchanged += 1;
            } else {
                let key = (from.then, to.then, from.id.to_string(), to.id.to_string());
                expected.entry(key).or_default().insert(*word);
            }
        }
        assert_eq!((found.combinations, found.unchanged), (space.len(), unchanged));
        let moves: BTreeMap<(usize, usize, String, String), usize> = found
            .changes
            .iter()
            .flat_map(|change| {
                change.moves.iter().map(|m| ((change.from, change.to, m.from_rule.clone(), m.to_rule.clone()), m.count))
            })
            .collect();
        assert_eq!(moves, expected.iter().map(|(key, words)| (key.clone(), words.len())).collect());
        for change in &found.changes {
            let group: BTreeSet<FactWord> = expected
                .iter()
                .filter(|((from, to, from_rule, to_rule), _)| {
                    (*from, *to) == (change.from, change.to)
                        && (change.changes_decision()
                            || (from_rule, to_rule) == (&change.moves[0].from_rule, &change.moves[0].to_rule))
                })
                .flat_map(|(_, words)| words.iter().copied())
                .collect();
            let described: BTreeSet<FactWord> = space
                .iter()
                .copied()
                .filter(|word| change.when.conjunctions.iter().any(|when| matches(&VOCABULARY, when, *word)))
                .collect();
            assert_eq!(described, group);
            assert_eq!(change.count, group.len());
            assert!(change.when.smallest, "{} conjunctions", change.when.conjunctions.len());
        }
    }
}

/// A difference as a person would want it said.
fn told(diff: &Diff) -> String {
    let mut out = String::new();
    for change in &diff.changes {
        let name = |decision: usize| VOCABULARY.decisions[decision];
        writeln!(out, "{} → {}: {}", name(change.from), name(change.to), change.count).unwrap();
        for m in &change.moves {
            writeln!(out, "  {} → {}: {}", m.from_rule, m.to_rule, m.count).unwrap();
        }
        for when in &change.when.conjunctions {
            writeln!(out, "  when {}", conditions_text(&VOCABULARY, when)).unwrap();
        }
    }
    for edit in &diff.edits {
        writeln!(out, "{edit:?}").unwrap();
    }
    out
}

#[test]
fn a_moved_rule_is_told_in_few_words() {
    let position = |id: &str| TABLE.rule_named(id).unwrap();
    let busy_last = edited(|rules| {
        let rule = rules.remove(position("head-busy"));
        rules.insert(position("head-moved-on"), rule);
    });
    let without_stub = edited(|rules| drop(rules.remove(position("stub-in-place"))));
    let mut settings = support::snapshots("diff");
    settings.set_description("what `rules diff` is made of");
    settings.bind(|| {
        insta::assert_snapshot!("busy-after-moved-on", told(&diff(&TABLE, &busy_last, &VOCABULARY)));
        insta::assert_snapshot!("without-stub-in-place", told(&diff(&TABLE, &without_stub, &VOCABULARY)));
    });
}

#[test]
fn rows_that_were_added_removed_moved_or_reworded_are_named() {
    assert_eq!(diff(&TABLE, &TABLE, &VOCABULARY).edits, []);
    let renamed = edited(|rules| rules[3].id = Cow::Borrowed("new"));
    assert_eq!(
        diff(&TABLE, &renamed, &VOCABULARY).edits,
        [Edit::Added { id: "new".into(), at: 4 }, Edit::Removed { id: "parents-session".into(), at: 4 }]
    );
    let moved = edited(|rules| {
        let rule = rules.remove(2);
        rules.insert(9, rule);
    });
    assert_eq!(
        diff(&TABLE, &moved, &VOCABULARY).edits,
        [Edit::Moved { id: "fork-from-parent".into(), from: 3, to: 10 }]
    );
    let reworded = edited(|rules| {
        rules[0].why = Cow::Borrowed("Because.");
        rules[2].when.to_mut().reverse();
        rules[16].then = 0;
    });
    assert_eq!(
        diff(&TABLE, &reworded, &VOCABULARY).edits,
        [
            Edit::Changed { id: "other-provider".into(), keys: vec!["why"] },
            Edit::Changed { id: "unreachable-head".into(), keys: vec!["then"] }
        ]
    );
}

const fn fact(name: &'static str, values: &'static [&'static str], applies: Option<Applies>) -> FactSpec {
    FactSpec { name, values, applies, probe: false, means: "", shift: 0 }
}

static SMALL_FACTS: [FactSpec; 3] = lay_out([
    fact("a", &["x", "y", "z"], None),
    fact("b", &["x", "y"], None),
    fact("c", &["x", "y", "z"], Some(Applies { fact: 0, values: 0b011 })),
]);
static SMALL: Vocabulary = Vocabulary { facts: &SMALL_FACTS, decisions: &[] };

/// Every set of combinations that one conjunction can match, as bits by place, with the fewest
/// conditions that do.
fn every_cube(space: &[FactWord]) -> BTreeMap<u32, usize> {
    let mut cubes = BTreeMap::new();
    let choices: Vec<Vec<Option<u64>>> = SMALL_FACTS
        .iter()
        .map(|spec| {
            std::iter::once(None).chain((1..1 << spec.values.len()).map(|v: u64| Some(v << spec.shift))).collect()
        })
        .collect();
    for a in &choices[0] {
        for b in &choices[1] {
            for c in &choices[2] {
                let wanted: Vec<u64> = [a, b, c].into_iter().copied().flatten().collect();
                let points = (0..).zip(space).filter(|(_, word)| wanted.iter().all(|w| word.bits() & w != 0));
                let set = points.fold(0, |set, (place, _)| set | 1_u32 << place);
                let fewest = cubes.entry(set).or_insert(wanted.len());
                *fewest = wanted.len().min(*fewest);
            }
        }
    }
    cubes
}

/// The fewest cubes, and of these selections the fewest conditions, that match exactly `set`.
fn fewest(set: u32, cubes: &[(u32, usize)], limit: usize) -> Option<(usize, usize)> {
    if set == 0 {
        return Some((0, 0));
    }
    if limit == 0 {
        return None;
    }
    let first = set.trailing_zeros();
    cubes
        .iter()
        .filter(|(cube, _)| cube >> first & 1 == 1)
        .filter_map(|(cube, conditions)| {
            let (count, more) = fewest(set & !cube, cubes, limit - 1)?;
            Some((count + 1, more + conditions))
        })
        .min()
}

proptest! {
    #[test]
    fn no_description_is_shorter(bits in 0_u32..1 << 14) {
        let space = SMALL.combinations();
        prop_assert_eq!(space.len(), 14);
        let set = (0..).zip(&space).filter(|(place, _)| bits >> place & 1 == 1).map(|(_, word)| *word);
        let set: BTreeSet<FactWord> = set.collect();
        let found = cover(&SMALL, &space, |word| set.contains(&word));
        prop_assert!(found.smallest);
        let described = space.iter().filter(|word| found.conjunctions.iter().any(|when| matches(&SMALL, when, **word)));
        prop_assert_eq!(described.copied().collect::<BTreeSet<_>>(), set);

        let cubes: Vec<(u32, usize)> = every_cube(&space).into_iter().filter(|(cube, _)| cube & !bits == 0).collect();
        let conditions = found.conjunctions.iter().map(Vec::len).sum::<usize>();
        // The selection is of largest cubes, so it is the shortest of those; no other has fewer members.
        let largest: Vec<(u32, usize)> = cubes
            .iter()
            .copied()
            .filter(|(cube, _)| !cubes.iter().any(|(other, _)| other != cube && cube & !other == 0))
            .collect();
        let members = found.conjunctions.len();
        prop_assert_eq!(fewest(bits, &largest, members), Some((members, conditions)));
        prop_assert_eq!(fewest(bits, &cubes, members).map(|(count, _)| count), Some(members));
    }
}
