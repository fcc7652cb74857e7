//! Decision records as `decide` writes them, made from facts.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::allow_attributes,
    reason = "each test file uses its own part"
)]

use resume_gate::audit::{Stamp, stamp};
use resume_gate::gate::facts::Fact;
use resume_gate::gate::{Partial, TABLE, decision_of, evaluate_partial};
use resume_gate::table::{FactWord, State, Table};
use serde_json::{Map, Value, json};
use strum::IntoEnumIterator;

/// The word as an evaluation under `table` leaves it: probes that no rule needed are not asked.
pub fn as_asked(table: &Table, word: FactWord) -> FactWord {
    let mut known = Fact::iter().filter(|fact| fact.spec().probe).fold(word, |word, fact| match word.fact(fact) {
        State::Value(_) => word.with_bits(fact.spec(), fact.spec().not_asked_bit()),
        _ => word,
    });
    while let Partial::Needs(facts) = evaluate_partial(table, known) {
        known = known.with_bits(facts[0].spec(), word.bits() & facts[0].spec().group());
    }
    known
}

/// Who and what a record is about.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    pub table: &'a Table,
    pub agent: &'a str,
    pub candidate: &'a str,
    pub head: &'a str,
    /// Size of the head's file, in bytes.
    pub size: u64,
    pub note: Option<&'a str>,
}

impl Default for About<'_> {
    fn default() -> Self {
        Self { table: &TABLE, agent: "agent-1", candidate: "A", head: "B", size: 700, note: Some("a remark") }
    }
}

/// The document of a decision on these facts.
pub fn document(word: FactWord, about: About<'_>) -> Map<String, Value> {
    let About { table, agent, candidate, head, size, note } = about;
    let known = as_asked(table, word);
    let rule = &table.rules[table.first_hit(word)];
    let decision = decision_of(rule).name();
    let facts: Map<String, Value> =
        Fact::iter().filter_map(|fact| Some((fact.name().to_owned(), known.value_name(fact)?.into()))).collect();
    let not_asked: Vec<&str> =
        Fact::iter().filter(|fact| known.fact(*fact) == State::NotAsked).map(Fact::name).collect();
    let (outcome, resume) = match decision {
        "allow" => ("resume", Some(candidate)),
        "redirect" => ("resume", Some(head)),
        "refuse" => ("fresh", None),
        _ => ("fork", Some(head)),
    };
    let copy =
        matches!(decision, "relocate" | "fork_from").then(|| json!({ "from": "/a/B.jsonl", "to": "/b/B.jsonl" }));
    let probe = known.value_name(Fact::HeadFile).map(|value| {
        json!({
            "fact": "head_file", "value": value, "path": format!("/home/pat/.claude/projects/-home-pat-work/{head}.jsonl"),
            "size": size, "recorded": size, "error": (value == "unreadable").then_some("permission denied (os error 13)"),
        })
    });
    let value = json!({
        "schema": "resume-gate.decision/1",
        "decision": { "kind": decision, "head": head },
        "rule": rule.id,
        "reason": rule.what,
        "plan": { "outcome": outcome, "resume": resume, "fork_session": outcome == "fork", "copy": copy, "args": [] },
        "agent_uid": agent,
        "candidate": { "id": candidate, "offered": "held" },
        "head": { "session_id": head, "segment_id": "s1", "provider": "claude", "config_dir": "/home/pat/.claude",
            "cwd": "/home/pat/work", "identity_key": "0123456789abcdef", "provider_bytes_end": size },
        "facts": facts,
        "not_asked": not_asked,
        "probes": probe.into_iter().collect::<Vec<_>>(),
        "table": { "name": table.name, "version": table.version, "sha256": table.sha256 },
        "store": "/home/pat/.local/share/resume-gate/filestore.db",
        "notes": note.iter().map(|text| json!({ "code": "some-note", "text": text })).collect::<Vec<_>>(),
    });
    value.as_object().unwrap().clone()
}

/// The record of a decision on these facts, made at `at_ms`.
pub fn record(word: FactWord, at_ms: u64, about: About<'_>) -> String {
    stamp(document(word, about), Stamp::new(at_ms, 250))
}
