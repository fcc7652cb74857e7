//! `audit`: every recorded decision found, explained, replayed, counted, and drawn.

mod counts;
mod coverage;
mod list;
mod replay;
mod report;
mod select;
mod show;
mod time;

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::spawn_args::StoreArg;
use super::terminal::Terminal;
use crate::audit::log;
use crate::gate::TABLE;
use crate::gate::facts::VOCABULARY;
use crate::store::{SqliteStore, StoreError};
use crate::table::{Table, load_candidate};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::path::PathBuf;

pub(super) use select::SelectArgs;
pub(super) use show::{explain_last, explain_one};

/// Find, explain, replay and count the decisions that were made
///
/// Reads the decision logs; writes nothing to the store.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum AuditCommand {
    List(Box<list::ListArgs>),
    Show(Box<show::ShowArgs>),
    Stats(Box<counts::StatsArgs>),
    Replay(Box<replay::ReplayArgs>),
    Coverage(Box<coverage::CoverageArgs>),
    Report(Box<report::ReportArgs>),
}

pub(super) fn run(command: &AuditCommand, terminal: &Terminal) -> Result<Exit, CliError> {
    match command {
        AuditCommand::List(args) => list::run(args, terminal),
        AuditCommand::Show(args) => show::run(args, terminal),
        AuditCommand::Stats(args) => counts::run(args, terminal),
        AuditCommand::Replay(args) => replay::run(args, terminal),
        AuditCommand::Coverage(args) => coverage::run(args, terminal),
        AuditCommand::Report(args) => report::run(args, terminal),
    }
}

/// Which decisions, and how the result is printed.
#[derive(Debug, clap::Args)]
struct CommonArgs {
    #[command(flatten)]
    select: select::SelectArgs,
    #[command(flatten)]
    store: StoreArg,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Which table decides again.
#[derive(Debug, clap::Args)]
struct RulesArg {
    /// The table to decide with; it may break its promises [default: the shipped table]
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

fn failed(error: StoreError) -> CliError {
    let help = error.help();
    CliError::usage(error).help(help)
}

/// What every document begins with.
fn head(schema: &str, store: &SqliteStore) -> Map<String, Value> {
    Map::from_iter([("schema".to_owned(), json!(schema)), ("store".to_owned(), json!(store.path()))])
}

fn table_json(table: &Table) -> Value {
    json!({ "name": table.name, "version": table.version, "sha256": table.sha256 })
}

/// The table with this fingerprint, if it ships or is kept; its promises count for nothing here.
fn table_with(store: &mut SqliteStore, sha256: &str) -> Result<Option<Cow<'static, Table>>, CliError> {
    if TABLE.sha256 == sha256 {
        return Ok(Some(Cow::Borrowed(&TABLE)));
    }
    let source = log::table_source(store, sha256).map_err(failed)?;
    let table = source.and_then(|source| load_candidate(&source, &VOCABULARY).table);
    // What is kept under a fingerprint and has another one is not that table.
    Ok(table.filter(|table| table.sha256 == sha256).map(Cow::Owned))
}

/// A note on lines that are no record; nothing is ever left out without a word.
fn say_unreadable(unreadable: u64, terminal: &Terminal) {
    if unreadable > 0 {
        let lines = if unreadable == 1 { "1 line is".to_owned() } else { format!("{unreadable} lines are") };
        terminal.say(&format!("{} {lines} no decision record", terminal.err_ink.warn("note:")));
    }
}
