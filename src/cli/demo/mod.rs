//! `demo`: the six decisions on real logins, session files and a real store, each explained.

mod stage;

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::terminal::Terminal;
use crate::explain::summary;
use crate::process::ProcessTable;
use crate::spawn::{Decided, decide_and_apply, explanation_document};
use serde_json::{Value, json};
use stage::{Played, Scene, Stage};
use std::fmt::Write;

/// Show the six decisions on real files in a temporary place, each explained.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Leave the files in place, to try other commands on them
    #[arg(long)]
    keep: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &DemoArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let folder = tempfile::Builder::new()
        .prefix("resume-gate-demo-")
        .tempdir()
        .map_err(|error| CliError::usage(format!("cannot make a temporary folder: {error}")))?;
    let failed = |error: &dyn std::fmt::Display| {
        CliError::usage(format!("cannot lay the demo out in `{}`: {error}", folder.path().display()))
    };
    let stage = Stage::new(folder.path()).map_err(|error| failed(&error))?;
    if args.format == Format::Json {
        let scenes = Scene::ALL.into_iter().map(|scene| {
            let (decided, _guard) = decide_and_apply(&stage.play(scene)?, &ProcessTable::default(), false);
            Ok(json!({ "story": scene.story(), "explanation": explanation_document(&decided) }))
        });
        let scenes: Vec<Value> = scenes.collect::<Played<_>>().map_err(|error| failed(&error))?;
        let kept = args.keep.then(|| folder.path().display().to_string());
        terminal.json(&json!({ "schema": "resume-gate.demo/1", "kept": kept, "scenes": scenes }))?;
        if args.keep {
            let _kept = folder.keep();
        }
        return Ok(Exit::Done);
    }
    let ink = terminal.ink;
    terminal.out(&format!(
        "Six agents, their logins, session files and a real store in\n{}\n",
        ink.strong(&folder.path().display().to_string())
    ))?;
    for scene in Scene::ALL {
        let request = stage.play(scene).map_err(|error| failed(&error))?;
        let (decided, _guard) = decide_and_apply(&request, &ProcessTable::default(), false);
        let mut out = format!("\n{}\n{}\n\n", ink.faint(&"─".repeat(72)), scene.story());
        out.push_str(&shown(&decided, terminal));
        terminal.prose(&out)?;
    }
    terminal.out(&format!("\n{}\n", ink.faint(&"─".repeat(72))))?;
    if !args.keep {
        return Ok(terminal
            .out("The files are gone again; `resume-gate demo --keep` leaves them to try things on.\n")
            .map(|()| Exit::Done)?);
    }
    let kept = folder.keep();
    let shown = kept.display();
    terminal.out(&format!(
        "The files stay. The whole table behind a decision, and another question:\n\n  \
         export RESUME_GATE_STORE={shown}/store/filestore.db\n  \
         resume-gate explain --agent {agent} --resume {stale} --config-dir {shown}/login --cwd {shown}/work\n  \
         resume-gate segments list --agent {agent}\n",
        agent = Scene::Redirect.agent(),
        stale = stage::STALE,
    ))?;
    Ok(Exit::Done)
}

/// The explanation without its table, and what the host runs now.
fn shown(decided: &Decided, terminal: &Terminal) -> String {
    let outcome = decided.plan.outcome_text(decided.input.effective_candidate());
    let mut out = decided.case(&outcome).map_or_else(String::new, |case| summary(&case, terminal.ink));
    if let Some(copy) = &decided.plan.copy {
        let bytes = copy.bytes.unwrap_or_default();
        let _ = writeln!(out, "{} {bytes} bytes to {}", terminal.ink.faint("copied        "), copy.to.display());
    }
    let command: Vec<&str> = std::iter::once("claude").chain(decided.plan.args.iter().map(String::as_str)).collect();
    let _ = writeln!(out, "{} {}", terminal.ink.faint("host runs     "), terminal.ink.good(&command.join(" ")));
    out
}
