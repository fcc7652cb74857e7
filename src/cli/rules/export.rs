//! `rules schema`, `rules graph` and `rules export`: the table for editors, pictures and other tools.

use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::input::candidate_or_shipped;
use super::super::terminal::Terminal;
use crate::gate::facts::VOCABULARY;
use crate::table::{DmnVersion, csv, dmn, dot, json_schema, mermaid};
use std::path::Path;

/// How `rules graph` draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum GraphFormat {
    /// A Mermaid flowchart, for Markdown.
    #[default]
    Mermaid,
    /// DOT, for Graphviz.
    Dot,
}

/// What `rules export` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExportFormat {
    /// Comma-separated values, for spreadsheets.
    Csv,
    /// DMN 1.5, for Kie and other current modellers.
    Dmn,
    /// The same as DMN 1.3, which is what Camunda's modeller reads.
    #[value(name = "dmn13")]
    Dmn13,
}

pub(super) fn schema(terminal: &Terminal) -> Result<Exit, CliError> {
    terminal.out(&format!("{:#}\n", json_schema(&VOCABULARY)))?;
    Ok(Exit::Done)
}

pub(super) fn graph(format: GraphFormat, rules: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let table = candidate_or_shipped(rules, terminal)?;
    terminal.out(&match format {
        GraphFormat::Mermaid => mermaid(&table, &VOCABULARY),
        GraphFormat::Dot => dot(&table, &VOCABULARY),
    })?;
    Ok(Exit::Done)
}

pub(super) fn export(format: ExportFormat, rules: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let table = candidate_or_shipped(rules, terminal)?;
    terminal.out(&match format {
        ExportFormat::Csv => csv(&table, &VOCABULARY),
        ExportFormat::Dmn => dmn(&table, &VOCABULARY, DmnVersion::V1_5),
        ExportFormat::Dmn13 => dmn(&table, &VOCABULARY, DmnVersion::V1_3),
    })?;
    Ok(Exit::Done)
}
