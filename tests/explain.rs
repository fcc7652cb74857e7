//! What a person reads: one snapshot a rule, from the rule's witness, and the two what-if answers
//! held against brute force.
#![allow(clippy::unwrap_used, clippy::panic, clippy::allow_attributes, reason = "tests")]

mod support;

use resume_gate::DecisionKind;
use resume_gate::explain::{Case, Ink, nearest_miss, outcome_of_facts, text, would_change};
use resume_gate::gate::facts::{Fact, VOCABULARY};
use resume_gate::gate::trace::{Check, Outcome, steps};
use resume_gate::gate::{Evaluation, TABLE, decision_of, evaluate};
use resume_gate::table::FactWord;
use std::collections::{BTreeMap, BTreeSet};
use strum::IntoEnumIterator;
use support::answers::{FromWord, unasked};

/// A complete combination evaluated as at a spawn: probes are asked only where needed.
fn evaluated(word: FactWord) -> Evaluation {
    evaluate(&TABLE, unasked(word), &mut FromWord::new(word))
}

fn every_evaluation() -> BTreeSet<(usize, FactWord)> {
    VOCABULARY.combinations().into_iter().map(evaluated).map(|e| (e.rule, e.word)).collect()
}

#[test]
fn every_rule_has_a_witness_and_its_explanation_reads_as_approved() {
    let combinations = VOCABULARY.combinations();
    for (index, rule) in TABLE.rules.iter().enumerate() {
        let witness = combinations.iter().find(|word| TABLE.first_hit(**word) == index);
        let witness = *witness.unwrap_or_else(|| panic!("{} is never the first hit", rule.id));
        let evaluation = evaluated(witness);
        assert_eq!(evaluation.rule, index);
        let case =
            Case { table: &TABLE, evaluation, outcome: outcome_of_facts(decision_of(rule)), evidence: &[], notes: &[] };
        let facts: BTreeMap<&str, &str> =
            Fact::iter().filter_map(|fact| Some((fact.name(), witness.value_name(fact)?))).collect();
        let mut settings = support::snapshots("rules");
        settings.set_info(&facts);
        settings.bind(|| insta::assert_snapshot!(rule.id.as_ref(), text(&case, Ink::Plain)));
    }
    support::assert_no_missing_or_orphan_snapshots("rules", TABLE.rules.iter().map(|rule| rule.id.to_string()));
}

#[test]
fn the_steps_say_of_every_rule_what_became_of_it_and_why() {
    for (rule, word) in every_evaluation() {
        for step in steps(&TABLE, Evaluation { rule, word }) {
            let passes = step.conditions().all(|condition| condition.check == Check::Pass);
            match step.outcome {
                Outcome::Hit => assert!(passes),
                Outcome::Missed => {
                    assert!(step.conditions().any(|c| matches!(c.check, Check::Fail | Check::NotApplicable)));
                }
                Outcome::NotReached => assert!(step.index > rule),
            }
            for condition in step.conditions() {
                let seen_is_wanted = condition.seen_name().is_some_and(|seen| condition.wanted().contains(&seen));
                assert_eq!(seen_is_wanted, condition.check == Check::Pass);
            }
        }
    }
}

/// The nearest miss by its definition, worked out the slow way.
fn nearest_by_definition(evaluation: Evaluation) -> Option<usize> {
    let decided = decision_of(&TABLE.rules[evaluation.rule]);
    let mut best: Option<(usize, usize, usize)> = None;
    for step in steps(&TABLE, evaluation) {
        let decision = decision_of(step.rule);
        let eligible = match decided {
            DecisionKind::Refuse => decision != DecisionKind::Refuse,
            _ => step.index < evaluation.rule && decision != decided,
        };
        let pass = step.conditions().filter(|c| c.check == Check::Pass).count();
        let fail = step.conditions().filter(|c| c.check != Check::Pass).count();
        if !eligible || pass == 0 || fail == 0 {
            continue;
        }
        let better =
            best.is_none_or(|(_, best_pass, best_fail)| fail < best_fail || fail == best_fail && pass >= best_pass);
        if better {
            best = Some((step.index, pass, fail));
        }
    }
    best.map(|(index, ..)| index)
}

#[test]
fn the_nearest_miss_is_the_one_its_definition_names() {
    for (rule, word) in every_evaluation() {
        let evaluation = Evaluation { rule, word };
        assert_eq!(nearest_miss(&TABLE, evaluation).map(|step| step.index), nearest_by_definition(evaluation));
    }
}

#[test]
fn what_would_change_it_is_what_brute_force_finds() {
    let space: Vec<(FactWord, DecisionKind)> = VOCABULARY
        .combinations()
        .into_iter()
        .map(|word| (word, decision_of(&TABLE.rules[TABLE.first_hit(word)])))
        .collect();
    for (rule, word) in every_evaluation() {
        let decided = decision_of(&TABLE.rules[rule]);
        let changes = would_change(&TABLE, Evaluation { rule, word });
        for fact in Fact::iter().filter(|fact| word.value_name(*fact).is_some()) {
            for value in fact.spec().values.iter().filter(|value| word.value_name(fact) != Some(value)) {
                // Every possible case with this one value changed that agrees with the rest of
                // what is known, as far as it still applies there.
                let possible: Vec<&(FactWord, DecisionKind)> = space
                    .iter()
                    .filter(|(case, _)| {
                        case.value_name(fact) == Some(value)
                            && Fact::iter().filter(|other| *other != fact).all(|other| {
                                word.value_name(other)
                                    .is_none_or(|known| case.value_name(other).is_none_or(|there| there == known))
                            })
                    })
                    .collect();
                let outcomes: BTreeSet<DecisionKind> = possible.iter().map(|(_, decision)| *decision).collect();
                let shown = changes.iter().find(|change| change.fact == fact && change.value == *value);
                match shown {
                    Some(change) => {
                        assert_eq!(change.decisions.iter().copied().collect::<BTreeSet<_>>(), outcomes);
                        assert!(change.depends_on.len() <= 2);
                        assert_eq!(change.depends_on.is_empty(), outcomes.len() == 1);
                    }
                    None => assert!(outcomes.len() > 1 || outcomes == BTreeSet::from([decided])),
                }
            }
        }
    }
}
