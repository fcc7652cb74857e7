//! `audit replay`: what recorded decisions would be under a table.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::input::candidate_or_shipped;
use super::super::terminal::Terminal;
use super::super::words::shown;
use super::select::reader;
use super::{CommonArgs, RulesArg, head, say_unreadable, table_json, table_with};
use crate::audit::{Change, Example, Replay, Undetermined};
use crate::explain::Ink;
use crate::gate::TABLE;
use crate::table::Table;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

const REPLAY_SCHEMA: &str = "resume-gate.replay/1";

/// Decide recorded decisions again, and show exactly which change
///
/// A record that lacks a fact the table needs is undetermined, never unchanged.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    rules: RulesArg,
    /// Exit 1 if a record gets another decision
    #[arg(long)]
    fail_on_change: bool,
}

pub(super) fn run(args: &ReplayArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let selection = args.common.select.selection()?;
    let table = candidate_or_shipped(args.rules.rules.as_deref(), terminal)?;
    let mut store = reader(&args.common.store, terminal)?;
    let mut unknown = BTreeSet::new();
    let mut replay = Replay::new(&table, vec![&TABLE]);
    let mut unreadable = selection.each(&mut store, |entry| {
        if let Some(sha256) =
            entry.table.as_deref().filter(|sha256| *sha256 != TABLE.sha256 && !unknown.contains(*sha256))
        {
            unknown.insert(sha256.to_owned());
        }
        replay.add(entry);
    })?;
    // Once more with the tables that made them, if there were others than the shipped one.
    let mut older = Vec::new();
    for sha256 in unknown {
        older.extend(table_with(&mut store, &sha256)?);
    }
    if !older.is_empty() {
        let made_by = std::iter::once(&TABLE).chain(older.iter().map(AsRef::as_ref)).collect();
        replay = Replay::new(&table, made_by);
        unreadable = selection.each(&mut store, |entry| replay.add(entry))?;
    }
    match args.common.format {
        Format::Json => {
            let mut document = head(REPLAY_SCHEMA, &store);
            document.extend([
                ("table".to_owned(), table_json(&table)),
                ("records".to_owned(), json!(replay.records)),
                ("unchanged".to_owned(), json!(replay.unchanged)),
                ("changed".to_owned(), json!(replay.changed())),
                ("changed_rule_only".to_owned(), json!(replay.changed_rule_only())),
                ("undetermined".to_owned(), json!(replay.undetermined_count())),
                ("without_candidate".to_owned(), json!(replay.without_candidate)),
                ("unreadable".to_owned(), json!(unreadable)),
                ("changes".to_owned(), replay.changes().iter().map(change_json).collect()),
                ("open".to_owned(), replay.undetermined().iter().map(undetermined_json).collect()),
            ]);
            terminal.json(&document.into())?;
        }
        Format::Text => {
            terminal.out(&text(&replay, &table, terminal.ink))?;
            say_unreadable(unreadable, terminal);
        }
    }
    Ok(if args.fail_on_change && replay.changed() > 0 { Exit::Found } else { Exit::Done })
}

fn change_json(change: &Change<'_>) -> Value {
    json!({
        "from": { "decision": name_json(change.from_decision), "rule": name_json(change.from_rule) },
        "to": { "decision": change.to_decision.name(), "rule": change.to_rule },
        "records": change.count,
        "examples": change.examples.iter().map(|example| &example.id).collect::<Vec<_>>(),
    })
}

fn undetermined_json(open: &Undetermined<'_>) -> Value {
    json!({
        "needs": open.needs.iter().map(|fact| fact.name()).collect::<Vec<_>>(),
        "error": open.error.map(ToString::to_string),
        "records": open.count,
        "examples": open.examples.iter().map(|example| &example.id).collect::<Vec<_>>(),
    })
}

fn name_json(name: &str) -> Value {
    if name.is_empty() { Value::Null } else { name.into() }
}

fn text(replay: &Replay<'_>, table: &Table, ink: Ink) -> String {
    let sha256 = table.sha256.get(..12).unwrap_or_default();
    let records = if replay.records == 1 { "record" } else { "records" };
    let mut out = format!(
        "{}   {}\n",
        ink.strong(&format!("{} of {} {records} change", replay.changed(), replay.records)),
        ink.faint(&format!("under {} version {} ({sha256})", table.name, table.version))
    );
    for (count, what) in [
        (replay.unchanged, "unchanged"),
        (replay.changed_rule_only(), "decided the same by another rule"),
        (replay.undetermined_count(), "undetermined"),
        (replay.without_candidate, "without a session to decide on"),
    ] {
        if count > 0 || what == "unchanged" {
            let _ = writeln!(out, "{count:>8} {what}");
        }
    }
    for change in replay.changes() {
        let (from, to) = (named(change.from_decision), change.to_decision.name());
        let how = if change.changes_decision() { format!("{from} → {to}") } else { format!("{from} as before") };
        let _ = writeln!(out, "\n{}   {}", ink.strong(&how), ink.faint(&records_text(change.count)));
        let (from, to) = (named(change.from_rule), change.to_rule);
        let by = if from == to { from } else { format!("{from} → {to}") };
        let _ = writeln!(out, "  {} {by}", ink.faint("by  "));
        examples(&mut out, change.examples, ink);
    }
    for open in replay.undetermined() {
        let _ = writeln!(out, "\n{}   {}", ink.strong("undetermined"), ink.faint(&records_text(open.count)));
        let why = match open.error {
            Some(error) => shown(&error.to_string()),
            None => {
                let needs: Vec<&str> = open.needs.iter().map(|fact| fact.name()).collect();
                format!("needs {}", needs.join(", "))
            }
        };
        let _ = writeln!(out, "  {why}");
        examples(&mut out, open.examples, ink);
    }
    out
}

fn named(name: &str) -> String {
    if name.is_empty() { "nothing".to_owned() } else { shown(name) }
}

fn records_text(count: u64) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{count} records") }
}

fn examples(out: &mut String, examples: &[Example], ink: Ink) {
    for Example { id, agent_uid } in examples {
        let _ = writeln!(out, "  {} {} {}", ink.faint("e.g."), named(id), ink.faint(&shown(agent_uid)));
    }
}
