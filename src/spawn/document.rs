//! A decision as the JSON object that `decide` prints and the decision log keeps.

use super::decide::Decided;
use super::plan::{CopyPlan, PlanOutcome, SpawnPlan};
use crate::explain::{Case, facts_json, not_asked, probes_json, steps_json, whatif_json};
use crate::gate::{Head, TABLE};
use serde_json::{Map, Value, json};

/// Schema name of a decision.
pub const DECISION_SCHEMA: &str = "resume-gate.decision/1";
/// Schema name of an explanation.
pub const EXPLANATION_SCHEMA: &str = "resume-gate.explanation/1";

/// The decision with its plan, facts and evidence.
#[must_use]
pub fn decision_document(decided: &Decided) -> Map<String, Value> {
    document(decided, DECISION_SCHEMA)
}

/// The same object with the step list, the nearest miss and what would change the decision.
#[must_use]
pub fn explanation_document(decided: &Decided) -> Map<String, Value> {
    let mut document = document(decided, EXPLANATION_SCHEMA);
    let (steps, (nearest_miss, would_change)) = match decided.case("") {
        Some(case) => (steps_json(&case), whatif_json(&case)),
        None => (Vec::new(), (Value::Null, Vec::new())),
    };
    document.insert("steps".to_owned(), steps.into());
    document.insert("nearest_miss".to_owned(), nearest_miss);
    document.insert("would_change".to_owned(), would_change.into());
    document
}

fn document(decided: &Decided, schema: &str) -> Map<String, Value> {
    let case = decided.case("");
    let candidate = decided.input.effective_candidate().map(|id| {
        let offered: &str = decided.offered.into();
        json!({ "id": id, "offered": offered })
    });
    let fields = [
        ("schema", schema.into()),
        ("decision", json!(decided.gated.as_ref().map(|gated| &gated.decision))),
        ("rule", json!(decided.gated.as_ref().map(|gated| gated.rule().id.as_ref()))),
        ("reason", decided.reason().into()),
        ("plan", plan_json(&decided.plan)),
        ("agent_uid", json!(decided.agent_uid)),
        ("candidate", json!(candidate)),
        ("head", json!(decided.input.head.head().map(head_json))),
        ("facts", case.as_ref().map(facts_json).unwrap_or_default().into()),
        ("not_asked", json!(case.as_ref().map(not_asked).unwrap_or_default())),
        ("probes", probes_json(&decided.evidence).into()),
        ("table", json!({ "name": TABLE.name, "version": TABLE.version, "sha256": TABLE.sha256 })),
        ("store", json!(decided.store.as_ref().map(|path| path.to_string_lossy()))),
        ("notes", json!(decided.notes)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn head_json(head: &Head) -> Value {
    json!({
        "session_id": head.session_id,
        "segment_id": head.segment_id,
        "provider": head.provider,
        "config_dir": head.config_dir,
        "cwd": head.cwd,
        "identity_key": head.identity_key,
        "provider_bytes_end": head.provider_bytes_end,
    })
}

fn plan_json(plan: &SpawnPlan) -> Value {
    let outcome: &str = plan.outcome.into();
    json!({
        "outcome": outcome,
        "resume": plan.resume,
        "fork_session": plan.fork_session,
        "copy": plan.copy.as_ref().map(copy_json),
        "args": plan.args,
        "record": {
            "forked_from": plan.record.forked_from,
            "continuity_rung": plan.record.rung.as_str(),
            "provider_session_id": plan.record.provider_session_id,
        },
    })
}

fn copy_json(copy: &CopyPlan) -> Value {
    json!({
        "from": copy.from.to_string_lossy(),
        "to": copy.to.to_string_lossy(),
        "marker": copy.marker.as_ref().map(|path| path.to_string_lossy()),
        "token": copy.token,
        "bytes": copy.bytes,
    })
}

/// The explanation's case without what only text shows.
impl Decided {
    /// What explains this decision; `None` where the gate was not asked.
    #[must_use]
    pub fn case<'a>(&'a self, outcome: &'a str) -> Option<Case<'a>> {
        let gated = self.gated.as_ref()?;
        Some(Case {
            table: &TABLE,
            evaluation: gated.evaluation,
            outcome,
            evidence: &self.evidence,
            notes: &self.notes,
        })
    }

    /// Why, in one sentence.
    #[must_use]
    pub fn reason(&self) -> &str {
        match &self.gated {
            Some(gated) => &gated.rule().what,
            None if self.plan.outcome == PlanOutcome::Held => {
                "Another process holds the agent, so nothing was decided."
            }
            None => "No session was asked for, so there was nothing to decide.",
        }
    }
}
