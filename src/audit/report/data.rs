//! What the page is made of, as JSON. Texts that repeat are kept once and named by their place.

use crate::audit::coverage::Coverage;
use crate::audit::record::Record;
use crate::explain::{Case, whatif_json};
use crate::gate::facts::Fact;
use crate::gate::trace::{Check, Outcome, steps};
use crate::gate::{Evaluation, Partial, decision_of, evaluate_partial};
use crate::segments::Segment;
use crate::table::{FactWord, State, Table};
use serde_json::{Value, json};
use std::collections::HashMap;
use strum::IntoEnumIterator;

/// Texts, each kept once.
#[derive(Debug, Default)]
pub(super) struct Strings {
    places: HashMap<String, usize>,
    texts: Vec<String>,
}

impl Strings {
    /// The place of a text; null for none.
    fn place(&mut self, text: Option<&str>) -> Value {
        let Some(text) = text else { return Value::Null };
        if let Some(place) = self.places.get(text) {
            return (*place).into();
        }
        let place = self.texts.len();
        self.texts.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place.into()
    }

    pub(super) fn list(&self) -> &[String] {
        &self.texts
    }
}

pub(super) fn fact_json(fact: Fact) -> Value {
    let spec = fact.spec();
    json!({ "name": spec.name, "values": spec.values, "means": spec.means, "probe": spec.probe })
}

/// The table with what its own records reached of it.
pub(super) fn table_json(table: &Table, reached: &Coverage<'_>) -> Value {
    let rules: Vec<Value> = reached
        .rules()
        .iter()
        .map(|covered| {
            let rule = covered.rule;
            let conditions: Vec<Value> = covered
                .conditions
                .iter()
                .map(|condition| json!({ "fact": condition.fact.name(), "values": condition.values }))
                .collect();
            json!({
                "id": rule.id, "decision": decision_of(rule).name(), "invariant": rule.invariant,
                "what": rule.what, "why": rule.why, "next": rule.next,
                "hits": covered.hits, "when": conditions,
            })
        })
        .collect();
    json!({ "name": table.name, "version": table.version, "sha256": table.sha256, "records": reached.records, "rules": rules })
}

/// One way through a table: the facts, what became of every rule, what was nearly decided, and
/// what today's table makes of it.
pub(super) fn path_json(
    made: Option<(&Table, Evaluation)>,
    made_by: Option<usize>,
    word: FactWord,
    today: &Table,
) -> Value {
    let facts: Vec<Value> = Fact::iter()
        .map(|fact| match word.fact(fact) {
            State::Value(value) => json!(fact.spec().values.get(value)),
            State::NotApplicable => json!(0),
            State::NotAsked | State::Absent => Value::Null,
        })
        .collect();
    let (miss, changes, verdicts) = match made {
        Some((table, evaluation)) => {
            let case = Case { table, evaluation, outcome: "", evidence: &[], notes: &[] };
            let (miss, changes) = whatif_json(&case);
            (miss, changes, steps(table, evaluation).map(|step| verdict(&step)).collect())
        }
        None => (Value::Null, Vec::new(), Vec::<String>::new()),
    };
    let now = match evaluate_partial(today, word) {
        Partial::Decided(rule) => {
            let rule = today.rules.get(rule);
            json!({ "rule": rule.map(|rule| &rule.id), "decision": rule.map(|rule| decision_of(rule).name()) })
        }
        Partial::Needs(needs) => json!({ "needs": needs.iter().map(|fact| fact.name()).collect::<Vec<_>>() }),
    };
    json!({
        "table": made_by, "rule": made.map(|(_, evaluation)| evaluation.rule), "facts": facts,
        "verdicts": verdicts, "miss": miss, "changes": changes, "now": now,
    })
}

/// What became of a rule, a letter each: `h`it, `m`issed or `u`nreached, then of its conditions
/// `p`ass, `f`ail, not a`b`le to apply, or not `q`ueried.
fn verdict(step: &crate::gate::trace::Step<'_>) -> String {
    let outcome = match step.outcome {
        Outcome::Hit => 'h',
        Outcome::Missed => 'm',
        Outcome::NotReached => 'u',
    };
    let check = |check: Check| match check {
        Check::Pass => 'p',
        Check::Fail => 'f',
        Check::NotApplicable => 'b',
        Check::NotAsked => 'q',
    };
    std::iter::once(outcome).chain(step.conditions().map(|condition| check(condition.check))).collect()
}

/// One decision. The order of the fields is `ROW` in the script.
pub(super) fn row_json(record: &Record<'_>, path: Option<usize>, strings: &mut Strings) -> Value {
    let entry = &record.entry;
    let probes: Vec<Value> = record
        .evidence
        .iter()
        .map(|seen| {
            let path = seen.path.as_ref().map(|path| path.to_string_lossy());
            let path = strings.place(path.as_deref());
            let error = strings.place(seen.error.as_deref());
            json!([seen.fact.name(), seen.value, path, seen.size, seen.recorded, error])
        })
        .collect();
    let notes: Vec<Value> = record.notes.iter().map(|note| strings.place(Some(&note.text))).collect();
    let facts_error = entry.facts.as_ref().err().map(ToString::to_string);
    json!([
        entry.id,
        entry.at_ms,
        strings.place(entry.agent_uid.as_deref()),
        path,
        strings.place(entry.rule.as_deref()),
        strings.place(entry.decision.as_deref()),
        strings.place(record.text(&["candidate", "id"])),
        strings.place(record.text(&["candidate", "offered"])),
        strings.place(record.text(&["plan", "resume"])),
        strings.place(entry.outcome.as_deref()),
        strings.place(Some(&record.outcome())),
        strings.place(record.text(&["reason"])),
        strings.place(record.text(&["head", "session_id"])),
        entry.duration_us,
        probes,
        notes,
        strings.place(entry.table.as_deref()),
        strings.place(facts_error.as_deref()),
    ])
}

/// An agent with its chain. The order of a segment's fields is `SEGMENT` in the script.
pub(super) fn chain_json(agent_uid: &str, shown: &[Segment], all: usize, strings: &mut Strings) -> Value {
    let segments: Vec<Value> = shown
        .iter()
        .map(|segment| {
            let start = &segment.start;
            let reason = segment.end.as_ref().map(|end| end.end_reason.as_str());
            json!([
                start.segment_id,
                segment.session_id,
                segment.earlier_session_ids,
                start.started_at_ms,
                segment.end.as_ref().map(|end| end.ended_at_ms),
                strings.place(reason),
                strings.place(Some(start.continuity_rung.as_str())),
                strings.place(Some(start.provider.as_str()).filter(|provider| !provider.is_empty())),
                strings.place(start.config_dir.as_deref()),
                strings.place(Some(start.cwd.as_str()).filter(|cwd| !cwd.is_empty())),
                strings.place(start.forked_from.as_deref()),
                segment.provider_bytes_end,
            ])
        })
        .collect();
    json!({ "uid": agent_uid, "segments": segments, "all": all })
}
