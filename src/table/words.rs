//! Combinations of facts, conditions and claims in words, for messages and listings.

use super::model::{Claim, ClaimKind, Condition, FactSpec, FactWord, State, Vocabulary};

/// The known facts of `word`, in fact order: `spawn_provider claude, chain empty, fork_source none`.
#[must_use]
pub fn combination_text(vocabulary: &Vocabulary, word: FactWord) -> String {
    let known = vocabulary.facts.iter().filter_map(|spec| match word.state(spec) {
        State::Value(value) => Some(format!("{} {}", spec.name, spec.values.get(value)?)),
        State::NotApplicable | State::NotAsked | State::Absent => None,
    });
    known.collect::<Vec<_>>().join(", ")
}

/// What conditions want: `head_file missing or empty, candidate head`; `always` if there are none.
#[must_use]
pub fn conditions_text(vocabulary: &Vocabulary, conditions: &[Condition]) -> String {
    if conditions.is_empty() {
        return "always".to_owned();
    }
    let each = conditions.iter().filter_map(|condition| {
        let spec = vocabulary.facts.get(condition.fact)?;
        Some(format!("{} {}", spec.name, any_of(&value_names(spec, condition.wanted))))
    });
    each.collect::<Vec<_>>().join(", ")
}

/// What a claim says: `never candidate other → allow`.
#[must_use]
pub fn claim_text(vocabulary: &Vocabulary, claim: &Claim) -> String {
    let kind = match claim.kind {
        ClaimKind::Never => "never",
        ClaimKind::Only => "only",
    };
    let decisions = (0..).zip(vocabulary.decisions).filter(|(i, _)| claim.then & (1 << i) != 0);
    let decisions: Vec<&str> = decisions.map(|(_, name)| *name).collect();
    format!("{kind} {} → {}", conditions_text(vocabulary, &claim.of), any_of(&decisions))
}

/// The names of the values of a fact whose bits are among `bits`.
#[must_use]
pub fn value_names(spec: &FactSpec, bits: u64) -> Vec<&'static str> {
    let named = spec.values.iter().enumerate().filter(|(i, _)| bits & spec.value_bit(*i) != 0);
    named.map(|(_, name)| *name).collect()
}

/// `a`, `a or b`, `a, b or c`.
#[must_use]
pub fn any_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [front @ .., last] => format!("{} or {last}", front.join(", ")),
    }
}
