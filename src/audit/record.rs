//! The decision record: how one is made, and all that one says.

use crate::explain::{Case, Note, short};
use crate::gate::facts::Fact;
use crate::gate::{Evaluation, Evidence};
use crate::table::Table;
use serde_json::{Map, Value};
use std::path::PathBuf;
use uuid::Uuid;

use super::entry::{Entry, Line, Unreadable};
use super::scan::Scanner;

/// What a record says beside the decision itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its id; version 7, so ids sort by time.
    pub id: Uuid,
    /// When it was decided, in milliseconds since 1970.
    pub at_ms: u64,
    /// How long deciding took, in microseconds.
    pub duration_us: u64,
}

impl Stamp {
    /// A stamp with a new id for a decision made at `at_ms`.
    #[must_use]
    pub fn new(at_ms: u64, duration_us: u64) -> Self {
        let nanos = (at_ms % 1000) as u32 * 1_000_000;
        let time = uuid::Timestamp::from_unix(uuid::NoContext, at_ms / 1000, nanos);
        Self { id: Uuid::new_v7(time), at_ms, duration_us }
    }
}

/// The record of a decision: its document as `decide` prints it, stamped, as one line without a
/// line end.
#[must_use]
pub fn stamp(document: Map<String, Value>, stamp: Stamp) -> String {
    let mut record = Map::with_capacity(document.len() + 3);
    let mut document = document;
    // The schema leads, as in every document of this program.
    record.insert("schema".to_owned(), document.remove("schema").unwrap_or_else(|| SCHEMA.into()));
    record.insert("id".to_owned(), stamp.id.to_string().into());
    record.insert("at_ms".to_owned(), stamp.at_ms.into());
    record.insert("duration_us".to_owned(), stamp.duration_us.into());
    record.extend(document);
    Value::Object(record).to_string()
}

const SCHEMA: &str = "resume-gate.decision/1";

/// All that one record says. The document stays as it was written; what is asked of it is
/// tolerant: absent, or of another type than expected, is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'a> {
    /// What counting needs of it.
    pub entry: Entry<'a>,
    /// The document.
    pub document: Map<String, Value>,
    /// What the probes saw, as far as this version knows the facts and values.
    pub evidence: Vec<Evidence>,
    /// The remarks made then.
    pub notes: Vec<Note>,
}

impl<'a> Record<'a> {
    /// Reads the whole record in `line`.
    ///
    /// # Errors
    /// If it is no JSON object.
    pub fn read(line: Line<'a>) -> Result<Self, Unreadable> {
        let entry = line.entry()?;
        let text = String::from_utf8_lossy(line.bytes);
        let document: Map<String, Value> = serde_json::from_str(&text).unwrap_or_else(|_| readable_fields(&text));
        let list = |key: &str| document.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let evidence = list("probes").iter().filter_map(evidence).collect();
        let notes = list("notes").iter().filter_map(note).collect();
        Ok(Self { entry, document, evidence, notes })
    }

    /// The text at a path of keys; `None` if it is absent, empty or no text.
    #[must_use]
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        let (first, rest) = path.split_first()?;
        let value = rest.iter().try_fold(self.document.get(*first)?, |value, key| value.get(key))?;
        value.as_str().filter(|text| !text.is_empty())
    }

    /// Whether `session` is the candidate, the head, or what was to be resumed.
    #[must_use]
    pub fn concerns(&self, session: &str) -> bool {
        [["candidate", "id"], ["head", "session_id"], ["decision", "head"], ["plan", "resume"]]
            .iter()
            .any(|path| self.text(path) == Some(session))
    }

    /// The evaluation as of then, under the table that made it; `None` if this is not that table,
    /// it has no such rule, or this version cannot express the facts.
    #[must_use]
    pub fn evaluation(&self, table: &Table) -> Option<Evaluation> {
        if self.entry.table.as_deref() != Some(&table.sha256) {
            return None;
        }
        let rule = table.rule_named(self.entry.rule.as_deref()?)?;
        Some(Evaluation { rule, word: *self.entry.facts.as_ref().ok()? })
    }

    /// What the spawn was told to do, in a few words: those of the plan, from what it recorded.
    #[must_use]
    pub fn outcome(&self) -> String {
        let (candidate, resumed) = (self.text(&["candidate", "id"]), self.text(&["plan", "resume"]));
        let copies = self.document.get("plan").and_then(|plan| plan.get("copy")).is_some_and(Value::is_object);
        let instead = match candidate {
            Some(candidate) if resumed != Some(candidate) => format!(" instead of {}", short(candidate)),
            _ => String::new(),
        };
        let resumed = resumed.map(short).unwrap_or_default();
        match self.entry.outcome.as_deref() {
            Some("resume") => format!("resume {resumed}{instead}"),
            Some("fork") if copies => format!("copy {resumed} in and fork it{instead}"),
            Some("fork") => format!("fork {resumed}{instead}"),
            Some("fresh") => format!("start fresh{instead}"),
            Some("held") => "spawn nothing: another process holds the agent".to_owned(),
            Some(other) => short(other),
            None => "no plan recorded".to_owned(),
        }
    }

    /// The case to explain, from the parts that [`Record::evaluation`] and [`Record::outcome`] give.
    #[must_use]
    pub fn case<'c>(&'c self, table: &'c Table, evaluation: Evaluation, outcome: &'c str) -> Case<'c> {
        Case { table, evaluation, outcome, evidence: &self.evidence, notes: &self.notes }
    }
}

/// The fields that can be read of an object of which one cannot: a text with half a surrogate pair,
/// or a number that is none.
fn readable_fields(object: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    // The structure was checked when the line was counted.
    let _ = Scanner::new(object.as_bytes()).object(|scanner, key| {
        let value = scanner.raw()?;
        if let (Some(key), Ok(value)) = (key.text(), serde_json::from_slice(value)) {
            fields.insert(key.into_owned(), value);
        }
        Ok(())
    });
    fields
}

fn evidence(value: &Value) -> Option<Evidence> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let fact: Fact = text("fact")?.parse().ok()?;
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    Some(Evidence {
        fact,
        value: fact.spec().values.get(fact.spec().value_named(text("value")?)?)?,
        path: text("path").map(PathBuf::from),
        size: number("size"),
        recorded: number("recorded"),
        error: text("error").map(str::to_owned),
    })
}

fn note(value: &Value) -> Option<Note> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    Some(Note::new(text("code").unwrap_or_default(), text("text")?))
}
