//! `decide`: one spawn in, the decision and the plan out. Never fails a spawn.

use super::error::CliError;
use super::exit::Exit;
use super::record::record;
use super::spawn_args::SpawnArgs;
use super::terminal::{Terminal, now_ms};
use crate::process::ProcessTable;
use crate::spawn::{Decided, PlanOutcome, decide, decide_and_apply, decision_document};

/// Decide whether the session of a spawn may be resumed.
///
/// Exits 0 whatever was decided and whatever could not be read, so that the spawn goes on; what
/// could not be read is said on standard error and in the JSON.
#[derive(Debug, clap::Args)]
pub(crate) struct DecideArgs {
    #[command(flatten)]
    spawn: SpawnArgs,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: DecideFormat,
    /// Carry the decision out up to the spawn: lock the agent, sweep its leftovers, copy in what is needed
    #[arg(long)]
    apply: bool,
    /// The host holds the agent by a lease of its own, so no lock is taken
    #[arg(long, requires = "apply")]
    locked: bool,
    /// Do not record the decision
    #[arg(long)]
    no_log: bool,
    /// Exit 0 allow, 10 redirect, 11 refuse, 12 relocate, 13 fork, 14 fork_from
    #[arg(long)]
    exit_code: bool,
}

/// How `decide` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum DecideFormat {
    /// One line for people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// The provider's arguments, one a line; nothing when nothing is resumed.
    Args,
}

pub(super) fn run(args: &DecideArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let request = args.spawn.request(terminal)?;
    let processes = ProcessTable::default();
    let at_ms = now_ms();
    // Whoever spawns records the provider with `segments start --pid`; until then the lock lives as
    // long as this command.
    let (mut decided, _guard) = if args.apply {
        decide_and_apply(&request, &processes, args.locked)
    } else {
        (decide(&request, &processes), None)
    };
    if !args.no_log {
        let lost = record(&decided, at_ms, request.budget);
        decided.notes.extend(lost);
    }
    for note in &decided.notes {
        terminal.note(note);
    }
    match args.format {
        DecideFormat::Json => terminal.json(&decision_document(&decided).into())?,
        DecideFormat::Text => terminal.out(&text(&decided, terminal))?,
        DecideFormat::Args => terminal.out(&arguments(&decided, terminal))?,
    }
    Ok(exit(&decided, args.exit_code))
}

/// The outcome, the rule, and the reason.
fn text(decided: &Decided, terminal: &Terminal) -> String {
    let outcome = terminal.ink.strong(&decided.plan.outcome_text(decided.input.effective_candidate()));
    match &decided.gated {
        Some(gated) => {
            let by = format!("{} by {}", gated.decision.kind().name(), gated.rule().id);
            format!("{outcome}   {}\n{}\n", terminal.ink.faint(&by), decided.reason())
        }
        None => format!("{outcome}\n{}\n", decided.reason()),
    }
}

/// Nothing where the file that would be resumed has yet to be copied in.
fn arguments(decided: &Decided, terminal: &Terminal) -> String {
    if decided.plan.copy.as_ref().is_some_and(|copy| copy.token.is_none()) {
        terminal.say("the session's file has to be copied in first: add `--apply`");
        return String::new();
    }
    decided.plan.args.iter().map(|argument| format!("{argument}\n")).collect()
}

fn exit(decided: &Decided, by_decision: bool) -> Exit {
    if decided.plan.outcome == PlanOutcome::Held {
        return Exit::Held;
    }
    if !by_decision {
        return Exit::Done;
    }
    match (&decided.gated, &decided.plan.resume) {
        (Some(gated), Some(_)) => Exit::of(gated.decision.kind()),
        _ if decided.input.candidate.is_some() => Exit::Refuse,
        _ => Exit::Done,
    }
}
