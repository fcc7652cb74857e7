//! Two tables compared over every possible combination of facts: exactly which change, from which
//! decision to which, by which rules, and in as few words as possible.

use super::cover::{Cover, cover};
use super::model::{FactWord, Rule, Table, Vocabulary};
use std::collections::BTreeMap;

/// How two tables differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// How many combinations of facts are possible.
    pub combinations: usize,
    /// How many of them are decided alike, by the rule of the same id.
    pub unchanged: usize,
    /// The others, those that change the decision first, then by size.
    pub changes: Vec<Change>,
    /// What differs between the rows themselves, in the order of the second table; removed ones last.
    pub edits: Vec<Edit>,
}

/// Combinations that change in the same way: from one decision to another, or, where the decision
/// stays, from one rule to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Index of the first table's decision.
    pub from: usize,
    /// Index of the second table's.
    pub to: usize,
    /// How many combinations.
    pub count: usize,
    /// From which rule to which, the most combinations first.
    pub moves: Vec<Move>,
    /// Exactly the combinations, described.
    pub when: Cover,
}

impl Change {
    /// Whether the decision is another one; if not, only the rule is.
    #[must_use]
    pub fn changes_decision(&self) -> bool {
        self.from != self.to
    }
}

/// Combinations that one rule decided and another decides now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// Id of the first table's rule.
    pub from_rule: String,
    /// Id of the second table's.
    pub to_rule: String,
    /// How many combinations.
    pub count: usize,
}

/// A row that is not in both tables as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Only the second table has it.
    Added {
        /// Its id.
        id: String,
        /// Its place there, from 1.
        at: usize,
    },
    /// Only the first table has it.
    Removed {
        /// Its id.
        id: String,
        /// Its place there, from 1.
        at: usize,
    },
    /// It stands elsewhere among the rows that both have.
    Moved {
        /// Its id.
        id: String,
        /// Its place in the first table, from 1.
        from: usize,
        /// Its place in the second, from 1.
        to: usize,
    },
    /// Some of its keys say something else.
    Changed {
        /// Its id.
        id: String,
        /// The keys.
        keys: Vec<&'static str>,
    },
}

/// Compares two tables that are written in `vocabulary`.
#[must_use]
pub fn diff(first: &Table, second: &Table, vocabulary: &Vocabulary) -> Diff {
    let space = vocabulary.combinations();
    let rules =
        |word: FactWord| Some((first.rules.get(first.first_hit(word))?, second.rules.get(second.first_hit(word))?));
    let mut unchanged = 0;
    let mut groups: BTreeMap<Group<'_>, BTreeMap<(&str, &str), usize>> = BTreeMap::new();
    for word in &space {
        match rules(*word).and_then(|(from, to)| Group::of(from, to).map(|group| (group, from, to))) {
            Some((group, from, to)) => *groups.entry(group).or_default().entry((&from.id, &to.id)).or_default() += 1,
            None => unchanged += 1,
        }
    }
    let mut changes: Vec<Change> = groups
        .into_iter()
        .map(|(group, moves)| {
            let inside = |word| rules(word).and_then(|(from, to)| Group::of(from, to)) == Some(group);
            let mut moves: Vec<Move> = moves
                .into_iter()
                .map(|((from, to), count)| Move { from_rule: from.to_owned(), to_rule: to.to_owned(), count })
                .collect();
            moves.sort_by_key(|one| std::cmp::Reverse(one.count));
            Change {
                from: group.from,
                to: group.to,
                count: moves.iter().map(|one| one.count).sum(),
                moves,
                when: cover(vocabulary, &space, inside),
            }
        })
        .collect();
    changes.sort_by_key(|change| (!change.changes_decision(), std::cmp::Reverse(change.count)));
    Diff { combinations: space.len(), unchanged, changes, edits: edits(first, second) }
}

/// What combinations that change alike have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Group<'r> {
    from: usize,
    to: usize,
    /// Where the decision stays: from which rule to which.
    rules: Option<(&'r str, &'r str)>,
}

impl<'r> Group<'r> {
    /// The group of what `from` decided and `to` decides; none if that is the same.
    fn of(from: &'r Rule, to: &'r Rule) -> Option<Self> {
        let rules = (from.then == to.then).then_some((from.id.as_ref(), to.id.as_ref()));
        let same = rules.is_some_and(|(from, to)| from == to);
        (!same).then_some(Self { from: from.then, to: to.then, rules })
    }
}

fn edits(first: &Table, second: &Table) -> Vec<Edit> {
    let settled = in_order(first, second);
    let mut edits = Vec::new();
    for (to, rule) in second.rules.iter().enumerate() {
        let id = rule.id.to_string();
        let Some(from) = first.rule_named(&rule.id) else {
            edits.push(Edit::Added { id, at: to + 1 });
            continue;
        };
        if !settled.contains(&from) {
            edits.push(Edit::Moved { id: id.clone(), from: from + 1, to: to + 1 });
        }
        let keys = first.rules.get(from).map(|before| changed_keys(before, rule)).unwrap_or_default();
        if !keys.is_empty() {
            edits.push(Edit::Changed { id, keys });
        }
    }
    let removed = first.rules.iter().enumerate().filter(|(_, rule)| second.rule_named(&rule.id).is_none());
    edits.extend(removed.map(|(at, rule)| Edit::Removed { id: rule.id.to_string(), at: at + 1 }));
    edits
}

fn changed_keys(before: &Rule, after: &Rule) -> Vec<&'static str> {
    // The order in which conditions are written is no difference.
    let when = |rule: &Rule| {
        let mut when: Vec<_> = rule.when.iter().map(|condition| (condition.fact, condition.wanted)).collect();
        when.sort_unstable();
        when
    };
    [
        ("invariant", before.invariant != after.invariant),
        ("when", when(before) != when(after)),
        ("then", before.then != after.then),
        ("what", before.what != after.what),
        ("why", before.why != after.why),
        ("next", before.next != after.next),
    ]
    .into_iter()
    .filter_map(|(key, changed)| changed.then_some(key))
    .collect()
}

/// Indexes in the first table of the most rules that stand in the same order in both.
fn in_order(first: &Table, second: &Table) -> Vec<usize> {
    let common: Vec<usize> = second.rules.iter().filter_map(|rule| first.rule_named(&rule.id)).collect();
    // The longest ascending selection that ends at each place.
    let mut longest: Vec<Vec<usize>> = Vec::new();
    for (place, index) in common.iter().enumerate() {
        let before = longest.iter().take(place).filter(|run| run.last() < Some(index)).max_by_key(|run| run.len());
        let mut run = before.cloned().unwrap_or_default();
        run.push(*index);
        longest.push(run);
    }
    longest.into_iter().max_by_key(Vec::len).unwrap_or_default()
}
