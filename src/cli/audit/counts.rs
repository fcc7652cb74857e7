//! `audit stats`: what was decided, counted.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::layout::{Line, Tone, render};
use super::super::terminal::{Terminal, now_ms};
use super::super::words::{Clock, shown};
use super::select::reader;
use super::{CommonArgs, head, say_unreadable};
use crate::audit::{Count, Stats};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

const STATS_SCHEMA: &str = "resume-gate.stats/1";

/// How many agents people are shown.
const AGENTS: usize = 10;

/// Count decisions by decision, rule, outcome, agent and table
#[derive(Debug, clap::Args)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) fn run(args: &StatsArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let selection = args.common.select.selection()?;
    let mut store = reader(&args.common.store, terminal)?;
    let mut stats = Stats::default();
    stats.unreadable = selection.each(&mut store, |entry| stats.add(entry))?;
    if args.common.format == Format::Json {
        let counts = |counts: Vec<Count<'_>>| -> Map<String, Value> {
            counts.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect()
        };
        let mut document = head(STATS_SCHEMA, &store);
        document.extend([
            ("records".to_owned(), json!(stats.records)),
            ("without_candidate".to_owned(), json!(stats.without_candidate)),
            ("unreadable".to_owned(), json!(stats.unreadable)),
            ("from_ms".to_owned(), json!(stats.at_ms.as_ref().map(|range| range.start()))),
            ("to_ms".to_owned(), json!(stats.at_ms.as_ref().map(|range| range.end()))),
            ("decisions".to_owned(), counts(stats.decisions()).into()),
            ("rules".to_owned(), counts(stats.rules()).into()),
            ("outcomes".to_owned(), counts(stats.outcomes()).into()),
            ("agents".to_owned(), counts(stats.agents()).into()),
            ("tables".to_owned(), counts(stats.tables()).into()),
            (
                "duration_us".to_owned(),
                json!({ "median": stats.duration_us(50), "p95": stats.duration_us(95), "max": stats.duration_us(100) }),
            ),
        ]);
        terminal.json(&document.into())?;
        return Ok(Exit::Done);
    }
    terminal.out(&text(&stats, terminal))?;
    say_unreadable(stats.unreadable, terminal);
    Ok(Exit::Done)
}

fn text(stats: &Stats, terminal: &Terminal) -> String {
    let clock = Clock { now_ms: now_ms(), zone: TimeZone::system() };
    let decisions = if stats.records == 1 { "decision" } else { "decisions" };
    let mut lines = vec![Line::Alone(vec![(Tone::Strong, format!("{} {decisions}", stats.records))])];
    let mut about = |text: String| lines.push(Line::Alone(vec![(Tone::Faint, text)]));
    if let Some(range) = &stats.at_ms {
        let when = |at: u64| clock.when(i64::try_from(at).ok());
        about(format!("from {} to {}", when(*range.start()), when(*range.end())));
    }
    if let (Some(median), Some(late), Some(max)) =
        (stats.duration_us(50), stats.duration_us(95), stats.duration_us(100))
    {
        about(format!("each took {} (median), 95 % took {} or less, the slowest {}", ms(median), ms(late), ms(max)));
    }
    if stats.without_candidate > 0 {
        about(format!("{} without a session to decide on", stats.without_candidate));
    }
    let agents = stats.agents();
    let more = agents.len().saturating_sub(AGENTS);
    let agents = agents.into_iter().take(AGENTS).collect();
    for (title, counts) in
        [("decisions", stats.decisions()), ("rules", stats.rules()), ("outcomes", stats.outcomes()), ("agents", agents)]
    {
        if counts.is_empty() {
            continue;
        }
        lines.push(Line::Alone(vec![(Tone::Plain, String::new())]));
        lines.push(Line::Alone(vec![(Tone::Faint, title.to_owned())]));
        for (name, count) in counts {
            lines.push(Line::Cells(vec![(Tone::Plain, format!("{count:>8}")), (Tone::Plain, shown(name))]));
        }
    }
    if more > 0 {
        lines.push(Line::Alone(vec![(Tone::Faint, format!("          … {more} more agents"))]));
    }
    render(&lines, terminal.ink, terminal.columns)
}

fn ms(us: u64) -> String {
    format!("{}.{:02} ms", us / 1000, us % 1000 / 10)
}
