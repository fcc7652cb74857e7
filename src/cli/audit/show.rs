//! `audit show`, `explain --last` and `explain --decision`: one decision, explained under the table
//! that made it.

use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::explain::ExplainFormat;
use super::super::spawn_args::StoreArg;
use super::super::terminal::{Terminal, now_ms};
use super::super::words::{Clock, NOTHING, shown};
use super::select::{Found, SelectArgs, by_id, reader};
use super::table_with;
use crate::audit::Record;
use crate::explain::{markdown, steps_json, text, whatif_json};
use crate::gate::{Evaluation, Partial, TABLE, decision_of, evaluate_partial};
use crate::spawn::EXPLANATION_SCHEMA;
use crate::store::SqliteStore;
use crate::table::Table;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Explain one decision as of then: the reason, what was nearly decided, what would change it
///
/// Without an id, the newest decision that fits the filters: `audit show --agent a1 --outcome fresh --on tuesday`.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The decision's id, or the end of it
    #[arg(conflicts_with_all = ["agent", "decision", "rule", "outcome", "session", "since", "until", "on"])]
    id: Option<String>,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    store: StoreArg,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: ExplainFormat,
}

pub(super) fn run(args: &ShowArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    match &args.id {
        Some(id) => explain_one(id, &args.store, args.format, terminal),
        None => explain_last(&args.select, &args.store, args.format, terminal),
    }
}

/// Explains the decision with this id.
pub(in crate::cli) fn explain_one(
    id: &str,
    store: &StoreArg,
    format: ExplainFormat,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let mut store = reader(store, terminal)?;
    let found = by_id(&mut store, id)?;
    explain(&found, &mut store, format, terminal)
}

/// Explains the newest decision that fits.
pub(in crate::cli) fn explain_last(
    select: &SelectArgs,
    store: &StoreArg,
    format: ExplainFormat,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let selection = select.selection()?;
    let mut store = reader(store, terminal)?;
    let Some(found) = selection.newest(&mut store, 1)?.pop() else {
        let path = shown(&store.path().display().to_string());
        return Err(CliError::usage(format!("no such decision is recorded in `{path}`"))
            .help("`resume-gate audit list` shows what is; `decide --no-log` and `explain` record nothing"));
    };
    explain(&found, &mut store, format, terminal)
}

fn explain(
    found: &Found,
    store: &mut SqliteStore,
    format: ExplainFormat,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let record = found.record()?;
    let made_by = match record.entry.table.as_deref() {
        Some(sha256) => table_with(store, sha256)?,
        None => None,
    };
    let made_by = made_by.as_deref();
    let evaluation = made_by.and_then(|table| record.evaluation(table));
    let made = made_by.zip(evaluation);
    terminal.out(&match format {
        ExplainFormat::Json => format!("{}\n", document(&record, made)),
        ExplainFormat::Markdown => markdown_text(&record, made),
        ExplainFormat::Text => people_text(found, &record, made, terminal),
    })?;
    Ok(Exit::Done)
}

/// What today's table makes of the recorded facts.
enum Today {
    Same {
        decision: &'static str,
    },
    /// The same decision, by a rule of another id.
    OtherRule {
        decision: &'static str,
        rule: String,
    },
    Otherwise {
        decision: &'static str,
        rule: String,
    },
    Undetermined(Vec<&'static str>),
    /// The record's facts are of another vocabulary.
    Foreign(String),
    /// There was nothing to decide.
    Nothing,
}

fn today(record: &Record<'_>, made: Option<(&Table, Evaluation)>) -> Today {
    if !record.entry.was_decided() {
        return Today::Nothing;
    }
    let word = match &record.entry.facts {
        Ok(word) => *word,
        Err(error) => return Today::Foreign(error.to_string()),
    };
    match evaluate_partial(&TABLE, word) {
        Partial::Needs(needs) => Today::Undetermined(needs.iter().map(|fact| fact.name()).collect()),
        Partial::Decided(index) => {
            let Some(rule) = TABLE.rules.get(index) else { return Today::Nothing };
            let decision = decision_of(rule).name();
            // What the rule came to: it is recorded as a refusal if it could not be carried out.
            let made = made.and_then(|(table, evaluation)| table.rules.get(evaluation.rule));
            let then = made.map(|rule| decision_of(rule).name()).or(record.entry.decision.as_deref());
            if then != Some(decision) {
                Today::Otherwise { decision, rule: rule.id.to_string() }
            } else if record.entry.rule.as_deref() != Some(&rule.id) {
                Today::OtherRule { decision, rule: rule.id.to_string() }
            } else {
                Today::Same { decision }
            }
        }
    }
}

fn today_text(record: &Record<'_>, made: Option<(&Table, Evaluation)>) -> Option<String> {
    Some(match today(record, made) {
        Today::Nothing => return None,
        Today::Same { .. } => "decides the same".to_owned(),
        Today::OtherRule { rule, .. } => format!("decides the same, by {rule}"),
        Today::Otherwise { decision, rule } => format!("would decide otherwise: {decision} by {rule}"),
        Today::Undetermined(needs) => format!("undetermined: it needs {}, which was not asked", needs.join(", ")),
        Today::Foreign(error) => format!("undetermined: {error}"),
    })
}

fn today_json(record: &Record<'_>, made: Option<(&Table, Evaluation)>) -> Value {
    let table = json!({ "name": TABLE.name, "version": TABLE.version, "sha256": TABLE.sha256 });
    let (decision, rule, needs, changes) = match today(record, made) {
        Today::Nothing => return Value::Null,
        Today::Same { decision } => (json!(decision), json!(record.entry.rule), json!([]), json!(false)),
        Today::OtherRule { decision, rule } => (json!(decision), json!(rule), json!([]), json!(false)),
        Today::Otherwise { decision, rule } => (json!(decision), json!(rule), json!([]), json!(true)),
        Today::Undetermined(needs) => (Value::Null, Value::Null, json!(needs), Value::Null),
        Today::Foreign(error) => {
            return json!({ "table": table, "decision": null, "rule": null, "needs": [], "changes": null, "error": error });
        }
    };
    json!({ "table": table, "decision": decision, "rule": rule, "needs": needs, "changes": changes })
}

/// The record with the parts of an explanation beside it.
fn document(record: &Record<'_>, made: Option<(&Table, Evaluation)>) -> Value {
    let mut document: Map<String, Value> = record.document.clone();
    document.insert("schema".to_owned(), json!(EXPLANATION_SCHEMA));
    let (steps, (miss, changes)) = match made {
        Some((table, evaluation)) => {
            let case = record.case(table, evaluation, "");
            (json!(steps_json(&case)), whatif_json(&case))
        }
        None => (Value::Null, (Value::Null, Vec::new())),
    };
    document.insert("steps".to_owned(), steps);
    document.insert("nearest_miss".to_owned(), miss);
    document.insert("would_change".to_owned(), changes.into());
    document.insert("today".to_owned(), today_json(record, made));
    document.into()
}

fn markdown_text(record: &Record<'_>, made: Option<(&Table, Evaluation)>) -> String {
    let outcome = record.outcome();
    match made {
        Some((table, evaluation)) => markdown(&record.case(table, evaluation, &outcome)),
        None => unexplained(record),
    }
}

fn people_text(found: &Found, record: &Record<'_>, made: Option<(&Table, Evaluation)>, terminal: &Terminal) -> String {
    let ink = terminal.ink;
    let clock = Clock { now_ms: now_ms(), zone: TimeZone::system() };
    let outcome = shown(&record.outcome());
    let mut out = match made {
        Some((table, evaluation)) => text(&record.case(table, evaluation, &outcome), ink),
        None => unexplained(record),
    };
    out.push('\n');
    let at = found.at_ms.and_then(|at| i64::try_from(at).ok());
    let mut labelled = |label: &str, value: &str| {
        let _ = writeln!(out, "{}{value}", ink.faint(&format!("{label:<15}")));
    };
    if let Some(today) = today_text(record, made) {
        labelled("today's table", &today);
    }
    labelled("decided", &format!("{} for {}", clock.when(at), shown(&found.agent_uid)));
    if let Some((table, _)) = made {
        let sha256 = table.sha256.get(..12).unwrap_or_default();
        labelled("by the table", &format!("{} version {} ({sha256})", shown(&table.name), table.version));
    }
    labelled("record", &record.entry.id.as_deref().map_or_else(|| NOTHING.to_owned(), shown));
    out
}

/// What can be said of a record whose table or facts are not known here.
fn unexplained(record: &Record<'_>) -> String {
    let entry = &record.entry;
    let decision = entry.decision.as_deref().map_or_else(|| "nothing to decide".to_owned(), shown);
    let by = entry.rule.as_deref().map(|rule| format!(" by {}", shown(rule))).unwrap_or_default();
    let mut out = format!("{}: {decision}{by}\n", shown(&record.outcome()));
    if let Some(reason) = record.text(&["reason"]) {
        let _ = writeln!(out, "{}", shown(reason));
    }
    if !entry.was_decided() {
        return out;
    }
    let why = match &entry.facts {
        Err(error) => format!("its facts are of another version: {error}"),
        Ok(_) => "the table that made it is neither the shipped one nor kept in the store".to_owned(),
    };
    let _ = writeln!(out, "It cannot be explained further: {why}.");
    out
}
