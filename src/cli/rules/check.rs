//! `rules check`: the build's proofs for any table file, with the offending line.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::input::{diagnostic_text, read_table};
use super::super::terminal::Terminal;
use crate::explain::Ink;
use crate::gate::TABLE_SOURCE;
use crate::gate::facts::VOCABULARY;
use crate::table::{self, Diagnostic, Label, Loaded, Place, Severity};
use serde_json::{Value, json};
use std::path::Path;

/// The file that ships, as its diagnostics name it.
const SHIPPED_PATH: &str = "rules/resume_gate.yaml";

pub(super) fn check(file: Option<&Path>, format: Format, terminal: &Terminal) -> Result<Exit, CliError> {
    let (name, source) = match file {
        Some(path) => (path.display().to_string(), read_table(path)?),
        None => (SHIPPED_PATH.to_owned(), TABLE_SOURCE.to_vec()),
    };
    let loaded = table::load(&source, &VOCABULARY);
    match format {
        Format::Json => terminal.json(&json!({
            "schema": "resume-gate.rules-check/1",
            "file": name,
            "ok": loaded.table.is_some(),
            "diagnostics": loaded.diagnostics.iter().map(diagnostic_json).collect::<Vec<_>>(),
        }))?,
        Format::Text => terminal.out(&report(&name, &source, &loaded, terminal.ink))?,
    }
    Ok(if loaded.table.is_some() { Exit::Done } else { Exit::Found })
}

fn report(name: &str, source: &[u8], loaded: &Loaded, ink: Ink) -> String {
    let mut out = String::new();
    for diagnostic in &loaded.diagnostics {
        out.push_str(&diagnostic_text(source, name, diagnostic, ink));
        out.push('\n');
    }
    let errors = loaded.diagnostics.iter().filter(|diagnostic| diagnostic.severity() == Severity::Error).count();
    out.push_str(&match &loaded.table {
        Some(table) => format!(
            "{name}: {} rules decide all {} possible combinations of facts, and every claim holds\n",
            table.rules.len(),
            VOCABULARY.combinations().len()
        ),
        None => format!("{name}: {errors} {}\n", if errors == 1 { "error" } else { "errors" }),
    });
    out
}

fn diagnostic_json(diagnostic: &Diagnostic) -> Value {
    let severity: &str = diagnostic.severity().into();
    let place = |place: Place| json!({ "line": place.line, "column": place.column });
    let label = |label: &Label| json!({ "at": place(label.place), "text": label.text });
    json!({
        "code": diagnostic.code().name(),
        "severity": severity,
        "at": place(diagnostic.place),
        "message": diagnostic.message(),
        "help": diagnostic.help(),
        "labels": diagnostic.labels.iter().map(label).collect::<Vec<_>>(),
    })
}
