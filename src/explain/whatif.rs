//! What was nearly decided, and what would have changed the decision. Exact: both are read off
//! the table over every combination of facts that is still possible.

use crate::gate::decision::DecisionKind;
use crate::gate::facts::{Fact, VOCABULARY};
use crate::gate::trace::{Check, Step, steps};
use crate::gate::{Evaluation, decision_of};
use crate::table::{FactWord, State, Table};
use std::collections::BTreeMap;
use strum::IntoEnumIterator;

/// The rule that came closest to deciding otherwise.
///
/// Of a refusal, any rule that would have resumed something; otherwise an earlier rule with
/// another decision. It has a condition that passes and one that does not; the fewest that do not
/// pass come closest, then the most that pass, then the latest row.
#[must_use]
pub fn nearest_miss(table: &Table, evaluation: Evaluation) -> Option<Step<'_>> {
    let decided = decision_of(table.rules.get(evaluation.rule)?);
    steps(table, evaluation)
        .filter(|step| {
            let decision = decision_of(step.rule);
            if decided == DecisionKind::Refuse {
                decision != DecisionKind::Refuse
            } else {
                step.index < evaluation.rule && decision != decided
            }
        })
        .filter_map(|step| {
            let passing = step.conditions().filter(|condition| condition.check == Check::Pass).count();
            let failing = step.rule.when.len() - passing;
            (passing > 0 && failing > 0).then_some((step, passing, failing))
        })
        .min_by_key(|(step, passing, failing)| (*failing, std::cmp::Reverse(*passing), std::cmp::Reverse(step.index)))
        .map(|(step, ..)| step)
}

/// One other value of one fact, and what it would lead to with all else equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The fact.
    pub fact: Fact,
    /// The value it does not have now.
    pub value: &'static str,
    /// The decisions that could come out, in the order of decisions; one, unless it depends.
    pub decisions: Vec<DecisionKind>,
    /// The facts, two at most, that it depends on when several decisions could come out.
    pub depends_on: Vec<Fact>,
}

/// Every single change of a known fact that would lead to another decision, in fact order and
/// value order. Changes whose outcome hangs on more than two open facts are left out.
#[must_use]
pub fn would_change(table: &Table, evaluation: Evaluation) -> Vec<Change> {
    let Some(rule) = table.rules.get(evaluation.rule) else {
        return Vec::new();
    };
    let decided = decision_of(rule);
    Fact::iter()
        .filter_map(|fact| match evaluation.word.fact(fact) {
            State::Value(seen) => Some((fact, seen)),
            _ => None,
        })
        .flat_map(|(fact, seen)| {
            (0..fact.spec().values.len()).filter(move |value| *value != seen).map(move |v| (fact, v))
        })
        .filter_map(|(fact, value)| {
            let (decisions, depends_on) = outcomes(table, changed(evaluation.word, fact, value))?;
            (decisions != [decided]).then(|| Change { fact, value: fact.spec().values[value], decisions, depends_on })
        })
        .collect()
}

/// The word with one fact changed. Facts that thereby stop applying are marked so, and facts that
/// start to apply are absent.
fn changed(word: FactWord, fact: Fact, value: usize) -> FactWord {
    let spec = fact.spec();
    let mut word = word.with_bits(spec, spec.value_bit(value));
    for later in Fact::iter().filter(|later| *later > fact) {
        let spec = later.spec();
        word = match (VOCABULARY.applies(later as usize, word), word.state(spec)) {
            (Some(false), _) => word.with_bits(spec, spec.not_applicable_bit()),
            (_, State::NotApplicable) => word.with_bits(spec, 0),
            _ => word,
        };
    }
    word
}

/// The decisions that the open facts leave possible and the fewest facts, two at most, that
/// settle which; `None` if it takes more.
fn outcomes(table: &Table, word: FactWord) -> Option<(Vec<DecisionKind>, Vec<Fact>)> {
    let completions: Vec<(FactWord, DecisionKind)> = VOCABULARY
        .completions(word)
        .into_iter()
        .map(|word| (word, decision_of(&table.rules[table.first_hit(word)])))
        .collect();
    let mut decisions: Vec<DecisionKind> = completions.iter().map(|(_, decision)| *decision).collect();
    decisions.sort_unstable();
    decisions.dedup();

    let open: Vec<Fact> =
        Fact::iter().filter(|fact| matches!(word.fact(*fact), State::Absent | State::NotAsked)).collect();
    let pairs = open.iter().enumerate().flat_map(|(i, a)| open[i + 1..].iter().map(move |b| vec![*a, *b]));
    let depends_on = std::iter::once(Vec::new())
        .chain(open.iter().map(|fact| vec![*fact]))
        .chain(pairs)
        .find(|facts| settles(facts, &completions))?;
    Some((decisions, depends_on))
}

/// Whether knowing these facts leaves one decision in every case.
fn settles(facts: &[Fact], completions: &[(FactWord, DecisionKind)]) -> bool {
    let mask = facts.iter().fold(0, |mask, fact| mask | fact.spec().group());
    let mut seen = BTreeMap::new();
    completions.iter().all(|(word, decision)| *seen.entry(word.bits() & mask).or_insert(*decision) == *decision)
}
