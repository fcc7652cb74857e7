//! `rules diff`: exactly what another table decides otherwise.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::input::candidate_or_shipped;
use super::super::terminal::Terminal;
use super::show::conditions_json;
use crate::explain::Ink;
use crate::gate::facts::VOCABULARY;
use crate::table::{self, Change, Diff, Edit, Move, Table, conditions_text};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

const DIFF_SCHEMA: &str = "resume-gate.rules-diff/1";

/// With one file, the shipped table is compared with it.
pub(super) fn diff(a: &Path, b: Option<&Path>, format: Format, terminal: &Terminal) -> Result<Exit, CliError> {
    let (from, to) = if b.is_some() { (Some(a), b) } else { (None, Some(a)) };
    let (first, second) = (candidate_or_shipped(from, terminal)?, candidate_or_shipped(to, terminal)?);
    let found = table::diff(&first, &second, &VOCABULARY);
    match format {
        Format::Json => terminal.json(&document(&first, &second, &found))?,
        Format::Text => terminal.out(&text(&first, &second, &found, terminal.ink))?,
    }
    Ok(Exit::Done)
}

fn name(decision: usize) -> &'static str {
    VOCABULARY.decisions.get(decision).copied().unwrap_or_default()
}

fn text(first: &Table, second: &Table, diff: &Diff, ink: Ink) -> String {
    let count = |changes: bool| -> usize {
        diff.changes.iter().filter(|change| change.changes_decision() == changes).map(|change| change.count).sum()
    };
    let (decisions, rules) = (count(true), count(false));
    let mut out = match (decisions, rules) {
        (0, 0) => format!("{}\n", ink.strong(&format!("all {} combinations are decided alike", diff.combinations))),
        _ => {
            let lead = format!("{decisions} of {} combinations are decided otherwise", diff.combinations);
            let same = if rules == 0 { String::new() } else { format!(", {rules} by another rule") };
            format!("{}{same}\n", ink.strong(&lead))
        }
    };
    for change in &diff.changes {
        change_text(&mut out, change, ink);
    }
    if !diff.edits.is_empty() {
        let _ = writeln!(out, "\n{}", ink.faint("rows"));
        for edit in &diff.edits {
            let _ = writeln!(out, "  {}", edit_text(edit));
        }
    }
    if decisions > 0 && first.version == second.version {
        let _ = writeln!(out, "\n{} both are version {}: raise it", ink.warn("note:"), first.version);
    }
    out
}

fn change_text(out: &mut String, change: &Change, ink: Ink) {
    let (from, to) = (name(change.from), name(change.to));
    let how = if change.changes_decision() { format!("{from} → {to}") } else { format!("{from} as before") };
    let _ = writeln!(out, "\n{}   {}", ink.strong(&how), ink.faint(&combinations(change.count)));
    for Move { from_rule, to_rule, count } in &change.moves {
        let by = if from_rule == to_rule { from_rule.clone() } else { format!("{from_rule} → {to_rule}") };
        let _ = writeln!(out, "  {} {by}   {}", ink.faint("by  "), ink.faint(&count.to_string()));
    }
    for when in &change.when.conjunctions {
        let _ = writeln!(out, "  {} {}", ink.faint("when"), conditions_text(&VOCABULARY, when));
    }
}

fn combinations(count: usize) -> String {
    if count == 1 { "1 combination".to_owned() } else { format!("{count} combinations") }
}

fn edit_text(edit: &Edit) -> String {
    match edit {
        Edit::Added { id, at } => format!("added    {id}, as rule {at}"),
        Edit::Removed { id, at } => format!("removed  {id}, which was rule {at}"),
        Edit::Moved { id, from, to } => format!("moved    {id} from {from} to {to}"),
        Edit::Changed { id, keys } => format!("changed  {id}: {}", keys.join(", ")),
    }
}

fn document(first: &Table, second: &Table, diff: &Diff) -> Value {
    let of = |table: &Table| json!({ "name": table.name, "version": table.version, "sha256": table.sha256 });
    let changes = diff.changes.iter().map(|change| {
        json!({
            "from": name(change.from),
            "to": name(change.to),
            "combinations": change.count,
            "rules": change.moves.iter().map(|one| json!({ "from": one.from_rule, "to": one.to_rule, "combinations": one.count })).collect::<Vec<_>>(),
            "when": change.when.conjunctions.iter().map(|when| conditions_json(when)).collect::<Vec<_>>(),
            "smallest": change.when.smallest,
        })
    });
    json!({
        "schema": DIFF_SCHEMA,
        "from": of(first),
        "to": of(second),
        "combinations": diff.combinations,
        "unchanged": diff.unchanged,
        "changes": changes.collect::<Vec<_>>(),
        "rows": diff.edits.iter().map(edit_json).collect::<Vec<_>>(),
    })
}

fn edit_json(edit: &Edit) -> Value {
    match edit {
        Edit::Added { id, at } => json!({ "rule": id, "edit": "added", "to": at }),
        Edit::Removed { id, at } => json!({ "rule": id, "edit": "removed", "from": at }),
        Edit::Moved { id, from, to } => json!({ "rule": id, "edit": "moved", "from": from, "to": to }),
        Edit::Changed { id, keys } => json!({ "rule": id, "edit": "changed", "keys": keys }),
    }
}
