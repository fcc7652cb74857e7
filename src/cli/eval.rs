//! `eval`: fact sets in, decisions out, one a line.

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::input::{read_text, table_or_shipped};
use super::terminal::Terminal;
use crate::gate::{Partial, decision_of, evaluate_partial, parse_fact_set};
use crate::table::Table;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

const SCHEMA: &str = "resume-gate.evaluation/1";

/// Evaluate fact sets: JSON objects, one a line, to decisions, one a line.
///
/// Facts may be left out. A rule misses as soon as a known condition fails and hits when all are
/// known and hold; where the first rule that is neither needs more, `needs` says what.
#[derive(Debug, clap::Args)]
pub(crate) struct EvalArgs {
    /// The fact sets; `-` or nothing reads standard input.
    file: Option<PathBuf>,
    /// How to print them
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Evaluate under this table instead of the shipped one.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

pub(super) fn run(args: &EvalArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let table = table_or_shipped(args.rules.as_deref(), terminal)?;
    let input = read_text(args.file.as_deref())?;
    let mut out = String::new();
    let mut exit = Exit::Done;
    for (index, line) in input.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let document = evaluation(&table, line).unwrap_or_else(|error| {
            exit = Exit::Usage;
            let line = index + 1;
            json!({ "schema": SCHEMA, "line": line, "error": format!("line {line}: {error}") })
        });
        let _ = match args.format {
            Format::Json => writeln!(out, "{document}"),
            Format::Text => writeln!(out, "{}", text(&document)),
        };
    }
    terminal.out(&out)?;
    Ok(exit)
}

/// One line for people: the decision and its rule, what is missing, or what is wrong.
fn text(document: &Value) -> String {
    let word = |name: &str| document.get(name).and_then(Value::as_str);
    match (word("error"), word("decision"), word("rule")) {
        (Some(error), ..) => format!("error: {error}"),
        (None, Some(decision), Some(rule)) => format!("{decision} by {rule}"),
        _ => {
            let needs = document.get("needs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let needs: Vec<&str> = needs.iter().filter_map(Value::as_str).collect();
            format!("open, needs {}", needs.join(", "))
        }
    }
}

fn evaluation(table: &Table, line: &str) -> Result<Value, crate::gate::FactSetError> {
    let word = parse_fact_set(line)?;
    Ok(match evaluate_partial(table, word) {
        Partial::Decided(index) => {
            let rule = &table.rules[index];
            json!({ "schema": SCHEMA, "decision": decision_of(rule).name(), "rule": rule.id, "needs": [] })
        }
        Partial::Needs(facts) => {
            let needs: Vec<&str> = facts.iter().map(|fact| fact.name()).collect();
            json!({ "schema": SCHEMA, "decision": null, "rule": null, "needs": needs })
        }
    })
}
