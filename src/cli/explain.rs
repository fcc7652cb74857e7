//! `explain`: why a spawn is decided as it is. Writes nothing.

use super::audit::{SelectArgs, explain_last, explain_one};
use super::error::CliError;
use super::exit::Exit;
use super::input::read_text;
use super::spawn_args::{SpawnArgs, agent_uid};
use super::terminal::Terminal;
use crate::explain::{Case, facts_json, markdown, not_asked, outcome_of_facts, steps_json, text, visible, whatif_json};
use crate::gate::{Evaluation, Partial, TABLE, decision_of, evaluate_partial, parse_fact_set};
use crate::process::ProcessTable;
use crate::spawn::{Decided, EXPLANATION_SCHEMA, decide, explanation_document};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Explain how a spawn is decided: the reason, what was nearly decided, what would change it.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    spawn: SpawnArgs,
    /// Explain a set of facts, a JSON object, instead of a spawn; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "history"])]
    facts: Option<PathBuf>,
    /// Explain the last decision that was recorded for the agent, as of then
    #[arg(long, conflicts_with_all = ["facts", "resume", "history"])]
    last: bool,
    /// Explain the recorded decision with this id, or with an id that ends so
    #[arg(long, value_name = "ID", conflicts_with_all = ["last", "facts", "resume", "history"])]
    decision: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: ExplainFormat,
}

/// How `explain` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum ExplainFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// Markdown, for a ticket or a chat.
    Markdown,
}

pub(super) fn run(args: &ExplainArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    if let Some(path) = &args.facts {
        return explain_facts(path, args.format, terminal);
    }
    let store = &args.spawn.store;
    if let Some(id) = &args.decision {
        return explain_one(id, store, args.format, terminal);
    }
    if args.last {
        let agent = agent_uid(args.spawn.agent.as_deref(), &terminal.env);
        return explain_last(&SelectArgs { agent, ..SelectArgs::default() }, store, args.format, terminal);
    }
    let decided = decide(&args.spawn.request(terminal)?, &ProcessTable::default());
    match args.format {
        ExplainFormat::Json => terminal.json(&explanation_document(&decided).into())?,
        format => terminal.prose(&explained(&decided, format, terminal))?,
    }
    Ok(Exit::Done)
}

/// The explanation as text or Markdown; also where the gate was not asked.
fn explained(decided: &Decided, format: ExplainFormat, terminal: &Terminal) -> String {
    let outcome = decided.plan.outcome_text(decided.input.effective_candidate());
    match (decided.case(&outcome), format) {
        (Some(case), ExplainFormat::Markdown) => markdown(&case),
        (Some(case), _) => text(&case, terminal.ink),
        (None, _) => {
            let mut out = format!("{}\n{}\n", terminal.ink.strong(&outcome), decided.reason());
            for note in &decided.notes {
                out.push_str(&format!("{}  {}\n", terminal.ink.faint("note"), visible(&note.text)));
            }
            out
        }
    }
}

fn explain_facts(path: &Path, format: ExplainFormat, terminal: &Terminal) -> Result<Exit, CliError> {
    let name = path.display();
    let word =
        parse_fact_set(&read_text(Some(path))?).map_err(|error| CliError::usage(format!("`{name}`: {error}")))?;
    let rule = match evaluate_partial(&TABLE, word) {
        Partial::Decided(rule) => rule,
        Partial::Needs(facts) => {
            let needs: Vec<&str> = facts.iter().map(|fact| fact.name()).collect();
            return Err(CliError::usage(format!("`{name}` leaves the decision open: it lacks {}", needs.join(", ")))
                .help("`resume-gate rules facts` lists the facts and their values"));
        }
    };
    let outcome = outcome_of_facts(decision_of(&TABLE.rules[rule]));
    let case = Case { table: &TABLE, evaluation: Evaluation { rule, word }, outcome, evidence: &[], notes: &[] };
    match format {
        ExplainFormat::Text => terminal.prose(&text(&case, terminal.ink))?,
        ExplainFormat::Markdown => terminal.out(&markdown(&case))?,
        ExplainFormat::Json => {
            let (nearest_miss, would_change) = whatif_json(&case);
            terminal.json(&json!({
                "schema": EXPLANATION_SCHEMA,
                "decision": { "kind": case.decision().name() },
                "rule": case.rule().id,
                "reason": case.rule().what,
                "facts": facts_json(&case),
                "not_asked": not_asked(&case),
                "table": { "name": TABLE.name, "version": TABLE.version, "sha256": TABLE.sha256 },
                "steps": steps_json(&case),
                "nearest_miss": nearest_miss,
                "would_change": would_change,
            }))?;
        }
    }
    Ok(Exit::Done)
}
