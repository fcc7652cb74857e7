//! The parts of an explanation as JSON values; the documents they stand in are the caller's.

use super::{Case, Change, nearest_miss, unasked, would_change};
use crate::gate::Evidence;
use crate::gate::trace::{Check, Checked, Step, steps};
use serde_json::{Map, Value, json};

/// The known facts, by name, in fact order.
#[must_use]
pub fn facts_json(case: &Case<'_>) -> Map<String, Value> {
    case.known().map(|(fact, value)| (fact.name().to_owned(), value.into())).collect()
}

/// Names of the facts that apply but were never asked for.
#[must_use]
pub fn not_asked(case: &Case<'_>) -> Vec<&'static str> {
    unasked(case).map(|fact| fact.name()).collect()
}

/// What the probes saw, in the order they were asked.
#[must_use]
pub fn probes_json(evidence: &[Evidence]) -> Vec<Value> {
    let probe = |seen: &Evidence| {
        json!({
            "fact": seen.fact.name(),
            "value": seen.value,
            "path": seen.path.as_ref().map(|path| path.to_string_lossy()),
            "size": seen.size,
            "recorded": seen.recorded,
            "error": seen.error,
        })
    };
    evidence.iter().map(probe).collect()
}

/// Every rule in order with what became of it and of each of its conditions.
#[must_use]
pub fn steps_json(case: &Case<'_>) -> Vec<Value> {
    steps(case.table, case.evaluation)
        .map(|step| {
            let outcome: &str = step.outcome.into();
            json!({
                "index": step.index + 1,
                "rule": step.rule.id,
                "decision": crate::gate::decision_of(step.rule).name(),
                "outcome": outcome,
                "conditions": conditions_json(&step),
            })
        })
        .collect()
}

fn conditions_json(step: &Step<'_>) -> Vec<Value> {
    step.conditions().map(|condition| condition_json(&condition)).collect()
}

fn condition_json(condition: &Checked) -> Value {
    let check: &'static str = condition.check.into();
    json!({
        "fact": condition.fact.name(),
        "wanted": condition.wanted(),
        "seen": condition.seen_name(),
        "check": check,
    })
}

/// The nearest miss (or null) and everything that would change the decision.
#[must_use]
pub fn whatif_json(case: &Case<'_>) -> (Value, Vec<Value>) {
    let miss = nearest_miss(case.table, case.evaluation).map_or(Value::Null, |step| {
        let failing: Vec<Value> =
            step.conditions().filter(|c| c.check != Check::Pass).map(|c| condition_json(&c)).collect();
        json!({
            "rule": step.rule.id,
            "decision": crate::gate::decision_of(step.rule).name(),
            "failing": failing,
        })
    });
    let changes = would_change(case.table, case.evaluation).iter().map(change_json).collect();
    (miss, changes)
}

fn change_json(change: &Change) -> Value {
    json!({
        "fact": change.fact.name(),
        "value": change.value,
        "decisions": change.decisions.iter().map(|decision| decision.name()).collect::<Vec<_>>(),
        "depends_on": change.depends_on.iter().map(|fact| fact.name()).collect::<Vec<_>>(),
    })
}
