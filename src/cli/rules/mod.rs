//! `rules`: the table as people and tools read it.

mod check;
mod diff;
mod export;
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
    /// Compare two tables over every possible combination of facts
    ///
    /// Says exactly which combinations another decision or another rule gets, in the fewest conditions.
    Diff {
        /// The table to compare; with one file, it is compared with the shipped table
        a: PathBuf,
        /// The table to compare it with
        b: Option<PathBuf>,
        /// How to print it
        #[arg(long, value_enum, default_value_t)]
        format: super::Format,
    },
    /// Print the JSON Schema of a table file, so that editors complete and check it
    Schema,
    /// Draw the table
    Graph {
        /// How to draw it
        #[arg(long, value_enum, default_value_t)]
        format: export::GraphFormat,
        /// Draw this table instead of the shipped one
        #[arg(long, value_name = "FILE")]
        rules: Option<PathBuf>,
    },
    /// Write the table for other tools
    Export {
        /// What to write
        #[arg(long, value_enum)]
        format: export::ExportFormat,
        /// Write this table instead of the shipped one
        #[arg(long, value_name = "FILE")]
        rules: Option<PathBuf>,
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
        RulesCommand::Diff { a, b, format } => diff::diff(a, b.as_deref(), *format, terminal),
        RulesCommand::Schema => export::schema(terminal),
        RulesCommand::Graph { format, rules } => export::graph(*format, rules.as_deref(), terminal),
        RulesCommand::Export { format, rules } => export::export(*format, rules.as_deref(), terminal),
        RulesCommand::Check { file, format } => check::check(file.as_deref(), *format, terminal),
    }
}
