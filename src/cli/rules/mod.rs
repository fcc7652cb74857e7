//! `rules`: the table as people and tools read it.

mod check;
mod show;

pub use show::list_markdown;

use super::error::CliError;
use super::exit::Exit;
use super::terminal::Terminal;
use std::path::PathBuf;

/// Look at the rule table, and check an edited one.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum RulesCommand {
    /// List the rules in order: the first whose conditions all hold decides
    List {
        /// How to print it
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
        /// List this table instead of the shipped one
        #[arg(long, value_name = "FILE")]
        rules: Option<PathBuf>,
    },
    /// Show one rule: what it means, why it is there, what to do next
    Show {
        /// The rule's id
        id: String,
        /// How to print it
        #[arg(long, value_enum, default_value_t)]
        format: super::Format,
        /// Look in this table instead of the shipped one
        #[arg(long, value_name = "FILE")]
        rules: Option<PathBuf>,
    },
    /// List the facts a rule may test, their values, and when each applies
    Facts {
        /// How to print it
        #[arg(long, value_enum, default_value_t)]
        format: super::Format,
    },
    /// Check a table against every possible combination of facts
    Check {
        /// The table file [default: the shipped table]
        file: Option<PathBuf>,
        /// How to print it
        #[arg(long, value_enum, default_value_t)]
        format: super::Format,
    },
}

/// How `rules list` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum ListFormat {
    /// An aligned table.
    #[default]
    Text,
    /// A JSON document.
    Json,
    /// A Markdown table.
    Markdown,
}

pub(super) fn run(command: &RulesCommand, terminal: &Terminal) -> Result<Exit, CliError> {
    match command {
        RulesCommand::List { format, rules } => show::list(*format, rules.as_deref(), terminal),
        RulesCommand::Show { id, format, rules } => show::show(id, *format, rules.as_deref(), terminal),
        RulesCommand::Facts { format } => show::facts(*format, terminal),
        RulesCommand::Check { file, format } => check::check(file.as_deref(), *format, terminal),
    }
}
