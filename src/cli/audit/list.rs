//! `audit list`: decisions, newest first.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::layout::{Line, Tone, render};
use super::super::terminal::{Terminal, now_ms};
use super::super::words::{Clock, NOTHING, shown};
use super::select::{Found, reader};
use super::{CommonArgs, head};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

const LIST_SCHEMA: &str = "resume-gate.decisions/1";

/// How many decisions are listed unless more are asked for.
const LISTED: usize = 20;

/// List decisions, newest first
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// List up to N
    #[arg(long, value_name = "N", default_value_t = LISTED)]
    limit: usize,
    /// Pass over the newest N
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: usize,
}

pub(super) fn run(args: &ListArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let selection = args.common.select.selection()?;
    let mut store = reader(&args.common.store, terminal)?;
    // One more than is listed tells whether there are more.
    let wanted = args.skip.saturating_add(args.limit);
    let mut found = selection.newest(&mut store, wanted.saturating_add(1))?;
    let more = found.len() > wanted;
    found.truncate(wanted);
    let page = found.get(args.skip..).unwrap_or_default();
    if args.common.format == Format::Json {
        let records: Result<Vec<Value>, CliError> =
            page.iter().map(|found| Ok(Value::Object(found.record()?.document))).collect();
        let mut document = head(LIST_SCHEMA, &store);
        document.insert("decisions".to_owned(), records?.into());
        document.insert("next_skip".to_owned(), json!(more.then_some(wanted)));
        terminal.json(&document.into())?;
        return Ok(Exit::Done);
    }
    let clock = Clock { now_ms: now_ms(), zone: TimeZone::system() };
    let mut lines = page.iter().map(|found| line(found, &clock)).collect::<Result<Vec<Line>, CliError>>()?;
    if lines.is_empty() {
        let path = shown(&store.path().display().to_string());
        lines.push(Line::Alone(vec![(Tone::Plain, format!("no such decision is recorded in `{path}`"))]));
    }
    if more {
        lines.push(Line::Alone(vec![(Tone::Faint, format!("… `--skip {wanted}` lists older ones"))]));
    }
    terminal.out(&render(&lines, terminal.ink, terminal.columns))?;
    Ok(Exit::Done)
}

fn line(found: &Found, clock: &Clock) -> Result<Line, CliError> {
    let record = found.record()?;
    let text = |text: Option<&str>| text.map_or_else(|| NOTHING.to_owned(), shown);
    let at = found.at_ms.and_then(|at| i64::try_from(at).ok());
    Ok(Line::Cells(vec![
        (Tone::Plain, clock.when(at)),
        (Tone::Plain, shown(&found.agent_uid)),
        (Tone::Strong, text(record.entry.decision.as_deref())),
        (Tone::Plain, text(record.entry.rule.as_deref())),
        (Tone::Plain, shown(&record.outcome())),
        (Tone::Faint, text(record.entry.id.as_deref())),
    ]))
}
