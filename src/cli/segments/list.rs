//! `segments list`: an agent's chain as a story, or the agents there are.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::layout::{Line, Piece, Tone, render, tail};
use super::super::terminal::Terminal;
use super::super::words::{NOTHING, anomalies, count, directory, session, shown, size, span};
use super::document::{head_of_document, segment_json};
use super::{LogArgs, View, failed};
use crate::segments::{AgentLog, Folded, Segment, agents, head_segment, head_session, segments};
use crate::store::SqliteStore;
use serde_json::{Value, json};
use std::collections::HashMap;

const LIST_SCHEMA: &str = "resume-gate.segments/1";
const AGENTS_SCHEMA: &str = "resume-gate.agents/1";

/// How many segments, or agents, a terminal is shown unless more are asked for.
const SHOWN_IN_TERMINAL: usize = 50;

/// How much of a directory a terminal is shown, in columns.
const DIRECTORY_COLUMNS: usize = 32;

/// List an agent's segments, the newest last, or the agents there are
///
/// Without an agent, lists the agents that have a log. Times are local and shown only: the order is
/// the log's. In a terminal, the last 50 are listed and lines are cut to its width.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    log: LogArgs,
    /// List the last N
    #[arg(long, value_name = "N", conflicts_with = "all")]
    last: Option<usize>,
    /// List all, in a terminal too
    #[arg(long)]
    all: bool,
}

impl ListArgs {
    /// How many of `total` are passed over.
    fn left_out(&self, total: usize, terminal: &Terminal) -> usize {
        let people = terminal.is_terminal && self.log.format == Format::Text && !self.all;
        let limit = self.last.or(people.then_some(SHOWN_IN_TERMINAL)).unwrap_or(total);
        total.saturating_sub(limit)
    }
}

pub(super) fn run(args: &ListArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let mut store = args.log.reader(&terminal.env)?;
    match args.log.agent(&terminal.env) {
        Some(uid) => list(args, &uid, &mut store, terminal),
        None => list_agents(args, &mut store, terminal),
    }
}

fn list(args: &ListArgs, uid: &str, store: &mut SqliteStore, terminal: &Terminal) -> Result<Exit, CliError> {
    LogArgs::note_absence(store, terminal);
    let folded = segments(store, uid).map_err(failed)?;
    if folded.segments.is_empty() {
        // A log of which nothing can be read is an error, and no empty chain.
        head_segment(store, uid, None).map_err(failed)?;
    }
    let rows = story(&folded.segments);
    let left_out = args.left_out(rows.len(), terminal);
    let shown = rows.get(left_out..).unwrap_or_default();
    if args.log.format == Format::Json {
        let mut document = head_of_document(LIST_SCHEMA, store);
        document.extend([
            ("agent_uid".to_owned(), json!(uid)),
            ("total".to_owned(), json!(rows.len())),
            ("head".to_owned(), rows.iter().find(|row| row.is_head).map_or(Value::Null, row_reference)),
            ("segments".to_owned(), shown.iter().map(row_json).collect()),
            ("anomalies".to_owned(), json!(folded.anomalies.len())),
        ]);
        terminal.json(&document.into())?;
        return Ok(Exit::Done);
    }
    let view = View::of(terminal);
    let path = directory(&store.path().display().to_string(), view.home);
    terminal.out(&chain_text(uid, &rows, left_out, &path, &view))?;
    if let Some(text) = anomalies_text(uid, &folded) {
        terminal.say(&format!("{} {text}", terminal.err_ink.warn("note:")));
    }
    Ok(Exit::Done)
}

fn anomalies_text(uid: &str, folded: &Folded) -> Option<String> {
    let number = folded.anomalies.len() as u64;
    (number > 0).then(|| format!("{} in the log: `resume-gate segments check --agent {uid}`", anomalies(number)))
}

/// A segment with what it is to those before it.
#[derive(Debug)]
struct Row<'s> {
    /// From 1, in the order of the log.
    number: usize,
    segment: &'s Segment,
    is_head: bool,
    /// It follows another segment than the one before it.
    gap: Option<Gap<'s>>,
    /// The lease it was started under is another than this one, the last that was recorded before.
    lease_before: Option<i64>,
    /// Somebody else was signed in than at the last segment that says who.
    is_other_identity: bool,
}

/// What a segment says that it follows, where that is not the one before it.
#[derive(Debug)]
struct Gap<'s> {
    predecessor: &'s str,
    /// Its number in the chain, if it has one.
    number: Option<usize>,
}

fn story(chain: &[Segment]) -> Vec<Row<'_>> {
    let head = head_session(chain, None).map(|head| head.offset);
    let numbers: HashMap<&str, usize> =
        (1..).zip(chain).map(|(number, segment)| (segment.start.segment_id.as_str(), number)).collect();
    let (mut before, mut lease, mut identity) = (None, None, None);
    let mut rows = Vec::with_capacity(chain.len());
    for (number, segment) in (1..).zip(chain) {
        let start = &segment.start;
        let predecessor = start.predecessor_segment_id.as_deref().filter(|id| !id.trim().is_empty());
        let gap = predecessor
            .filter(|id| Some(*id) != before)
            .map(|predecessor| Gap { predecessor, number: numbers.get(predecessor).copied() });
        rows.push(Row {
            number,
            segment,
            is_head: head == Some(segment.offset) && segment.session_id.is_some(),
            gap,
            lease_before: lease.filter(|lease| start.lease_epoch.is_some_and(|now| now != *lease)),
            is_other_identity: matches!((identity, &start.identity_key), (Some(old), Some(new)) if old != new),
        });
        before = Some(start.segment_id.as_str());
        lease = start.lease_epoch.or(lease);
        identity = start.identity_key.as_ref().or(identity);
    }
    rows
}

fn row_reference(row: &Row<'_>) -> Value {
    json!({
        "number": row.number,
        "segment_id": row.segment.start.segment_id,
        "session_id": row.segment.session_id,
    })
}

fn row_json(row: &Row<'_>) -> Value {
    let mut fields = serde_json::Map::from_iter([
        ("number".to_owned(), json!(row.number)),
        ("is_head".to_owned(), json!(row.is_head)),
        ("gap".to_owned(), json!(row.gap.is_some())),
        ("lease_changed".to_owned(), json!(row.lease_before.is_some())),
    ]);
    fields.extend(segment_json(row.segment));
    fields.into()
}

/// The chain for people; depends on nothing but what it is handed.
fn chain_text(uid: &str, rows: &[Row<'_>], left_out: usize, store: &str, view: &View<'_>) -> String {
    if rows.is_empty() {
        return format!("agent `{uid}` has no segments in `{store}`\n");
    }
    let head = match rows.iter().find(|row| row.is_head) {
        Some(row) => format!("{}, the head is {}", count(rows.len() as u64, "segment"), row.number),
        None => format!("{}, none of them has a session", count(rows.len() as u64, "segment")),
    };
    let mut lines = vec![Line::Alone(vec![
        (Tone::Strong, format!("agent {uid}")),
        (Tone::Plain, format!("   {head}   ")),
        (Tone::Faint, store.to_owned()),
    ])];
    if left_out > 0 {
        let earlier = count(left_out as u64, "earlier segment");
        lines.push(Line::Alone(vec![(Tone::Faint, format!("… {earlier}; `--all` or `--last N` lists more"))]));
    }
    let listed = rows.get(left_out..).unwrap_or_default();
    let has_transcript = listed.iter().any(|row| transcript(row.segment).is_some());
    let mut titles = vec!["    #", "session", "began", "started", "ended", "size", "login", "directory"];
    if has_transcript {
        titles.insert(6, "transcript");
    }
    lines.push(Line::Cells(titles.into_iter().map(|title| (Tone::Faint, title.to_owned())).collect()));
    for row in listed {
        lines.push(Line::Cells(cells(row, has_transcript, view)));
        lines.extend(remarks(row).into_iter().map(Line::Under));
    }
    render(&lines, view.ink, view.columns)
}

fn cells(row: &Row<'_>, has_transcript: bool, view: &View<'_>) -> Vec<Piece> {
    let (segment, start) = (row.segment, &row.segment.start);
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    let place = |path: Option<&str>| or_nothing(path.filter(|path| !path.is_empty()).map(|path| place(path, view)));
    let tone = if row.is_head { Tone::Strong } else { Tone::Plain };
    let mut cells = vec![
        (tone, format!("{}{:>3}", if row.is_head { "→ " } else { "  " }, row.number)),
        (tone, or_nothing(segment.session_id.as_deref().map(session))),
        (Tone::Plain, began(segment)),
        (Tone::Plain, view.clock.when(start.started_at_ms)),
        (Tone::Plain, ended(segment)),
        (Tone::Plain, or_nothing(segment.provider_bytes_end.map(size))),
        (Tone::Plain, place(start.config_dir.as_deref())),
        (Tone::Plain, place(Some(&start.cwd))),
    ];
    if has_transcript {
        cells.insert(6, (Tone::Plain, or_nothing(transcript(segment).map(size))));
    }
    cells
}

/// A directory; in a terminal, the end of a long one.
fn place(path: &str, view: &View<'_>) -> String {
    let directory = directory(path, view.home);
    if view.columns.is_some() { tail(&directory, DIRECTORY_COLUMNS) } else { directory }
}

fn began(segment: &Segment) -> String {
    let start = &segment.start;
    let text = match start.continuity_rung.as_str() {
        "" => "unknown".to_owned(),
        rung => shown(rung),
    };
    if segment.is_claude() { text } else { format!("{} {text}", shown(&start.provider)) }
}

pub(super) fn ended(segment: &Segment) -> String {
    let Some(end) = &segment.end else { return "no end recorded".to_owned() };
    let reason = match end.end_reason.as_str() {
        "" => "ended".to_owned(),
        reason => shown(reason),
    };
    let lasted = end.ended_at_ms.zip(segment.start.started_at_ms).and_then(|(end, start)| end.checked_sub(start));
    match lasted.and_then(|ms| u64::try_from(ms).ok()) {
        Some(ms) => format!("{reason} after {}", span(ms)),
        None => reason,
    }
}

/// How much of the transcript the segment wrote, in bytes.
fn transcript(segment: &Segment) -> Option<u64> {
    segment.end.as_ref()?.byte_end?.checked_sub(segment.start.byte_start.unwrap_or_default())
}

/// What makes a segment more than the next one of its chain.
fn remarks(row: &Row<'_>) -> Vec<Piece> {
    let mut remarks = Vec::new();
    if let Some(parent) = row.segment.start.forked_from.as_deref().filter(|parent| !parent.is_empty()) {
        // In a cell it would push how the others ended off a terminal.
        remarks.push((Tone::Plain, format!("forked from {}", session(parent))));
    }
    if let Some(gap) = &row.gap {
        let before = match row.number {
            1 => String::new(),
            number => format!(", not {}", number - 1),
        };
        let follows = match gap.number {
            Some(number) => format!("gap: it follows {number}{before}"),
            None => format!("gap: it follows `{}`, which is not in this log", session(gap.predecessor)),
        };
        remarks.push((Tone::Warn, follows));
    }
    if let (Some(before), Some(now)) = (row.lease_before, row.segment.start.lease_epoch) {
        remarks.push((Tone::Warn, format!("lease {before} → {now}")));
    }
    if row.is_other_identity {
        remarks.push((Tone::Warn, "somebody else is signed in than before".to_owned()));
    }
    if !row.segment.earlier_session_ids.is_empty() {
        let earlier: Vec<String> = row.segment.earlier_session_ids.iter().map(|id| session(id)).collect();
        remarks.push((Tone::Faint, format!("its process left {} before", earlier.join(", "))));
    }
    remarks
}

/// An agent with its log's head, or why it has none.
type AgentRow = (AgentLog, Result<Option<Segment>, String>);

fn list_agents(args: &ListArgs, store: &mut SqliteStore, terminal: &Terminal) -> Result<Exit, CliError> {
    let mut logs = agents(store).map_err(failed)?;
    logs.sort_by_key(|log| log.modified_ms);
    let left_out = args.left_out(logs.len(), terminal);
    let total = logs.len();
    let mut rows: Vec<AgentRow> = Vec::new();
    for log in logs.into_iter().skip(left_out) {
        // One log that cannot be read hides no other.
        let head = head_segment(store, &log.uid, None).map_err(|error| error.to_string());
        rows.push((log, head));
    }
    if args.log.format == Format::Json {
        let mut document = head_of_document(AGENTS_SCHEMA, store);
        document.insert("total".to_owned(), json!(total));
        document.insert("agents".to_owned(), rows.iter().map(agent_json).collect());
        terminal.json(&document.into())?;
        return Ok(Exit::Done);
    }
    terminal.out(&agents_text(&rows, left_out, store, &View::of(terminal)))?;
    Ok(Exit::Done)
}

fn agent_json((log, head): &AgentRow) -> Value {
    json!({
        "agent_uid": log.uid,
        "bytes": log.bytes,
        "created_ms": log.created_ms,
        "modified_ms": log.modified_ms,
        "head": head.as_ref().ok().and_then(Option::as_ref).map(segment_json),
        "error": head.as_ref().err(),
    })
}

fn agents_text(rows: &[AgentRow], left_out: usize, store: &SqliteStore, view: &View<'_>) -> String {
    let path = directory(&store.path().display().to_string(), view.home);
    match (rows.is_empty(), store.exists()) {
        (false, _) => {}
        (true, false) => return format!("there is no store at `{path}` yet\n"),
        (true, true) => return format!("no agent has segments in `{path}`\n"),
    }
    let total = count((rows.len() + left_out) as u64, "agent");
    let mut lines = vec![Line::Alone(vec![(Tone::Strong, total), (Tone::Faint, format!("   {path}"))])];
    if left_out > 0 {
        let others = count(left_out as u64, "agent");
        let text = format!("… {others} not heard of for longer; `--all` or `--last N` lists more");
        lines.push(Line::Alone(vec![(Tone::Faint, text)]));
    }
    let titles = ["agent", "head", "last recorded", "log", "login", "directory"];
    lines.push(Line::Cells(titles.map(|title| (Tone::Faint, title.to_owned())).into()));
    for (log, head) in rows {
        let mut cells = vec![
            (Tone::Strong, log.uid.clone()),
            (Tone::Plain, view.clock.when(Some(log.modified_ms))),
            (Tone::Plain, size(log.bytes)),
        ];
        match head {
            Ok(Some(head)) => {
                let config_dir =
                    head.start.config_dir.as_deref().map_or_else(|| NOTHING.to_owned(), |dir| place(dir, view));
                cells.insert(1, (Tone::Plain, session(head.session_id.as_deref().unwrap_or_default())));
                cells.extend([config_dir, place(&head.start.cwd, view)].map(|text| (Tone::Plain, text)));
            }
            Ok(None) => cells.insert(1, (Tone::Faint, NOTHING.to_owned())),
            Err(_) => cells.insert(1, (Tone::Warn, "unreadable".to_owned())),
        }
        lines.push(Line::Cells(cells));
        if let Err(error) = head {
            lines.push(Line::Under((Tone::Warn, shown(error))));
        }
    }
    render(&lines, view.ink, view.columns)
}

#[cfg(test)]
mod tests {
    use super::super::View;
    use super::{chain_text, story};
    use crate::cli::words::Clock;
    use crate::explain::Ink;
    use crate::segments::{Rung, Segment, Start};
    use jiff::tz::TimeZone;
    use unicode_width::UnicodeWidthStr;

    fn segment(number: u64) -> Segment {
        let start = Start {
            segment_id: format!("g{number}"),
            config_dir: Some("/home/ann/.claude".into()),
            cwd: "/home/ann/a/very/long/way/to/a/working/directory/of/no/importance".into(),
            started_at_ms: Some(1_000_000_000_000),
            continuity_rung: Rung::Native,
            predecessor_segment_id: (number > 1).then(|| format!("g{}", number - 1)),
            ..Start::default()
        };
        Segment { start, session_id: Some(format!("s{number}")), offset: number, ..Segment::default() }
    }

    fn text(columns: Option<usize>, left_out: usize) -> String {
        let chain: Vec<Segment> = (1..=3).map(segment).collect();
        let clock = Clock { now_ms: 1_000_000_060_000, zone: TimeZone::UTC };
        let view = View { ink: Ink::Plain, columns, home: Some("/home/ann".as_ref()), clock };
        chain_text("u1", &story(&chain), left_out, "/store", &view)
    }

    #[test]
    fn in_a_terminal_no_line_is_wider_than_it_and_of_a_directory_the_end_is_shown() {
        let narrow = text(Some(60), 0);
        assert!(narrow.lines().all(|line| line.width() <= 60), "{narrow}");
        assert!(narrow.contains("→   3  s3       native  2001-09-09 01:46 (1 min ago)"), "{narrow}");
        let wide = text(Some(200), 0);
        assert!(wide.contains("~/.claude  …king/directory/of/no/importance\n"), "{wide}");
        assert!(text(None, 0).contains("~/a/very/long/way/to/a/working/directory/of/no/importance\n"));
    }

    #[test]
    fn at_80_columns_a_fork_leaves_room_for_how_segments_ended() {
        let forked = Segment {
            start: Start { forked_from: Some("5e550000-1111-2222-3333-000000000000".into()), ..segment(1).start },
            ..segment(1)
        };
        let clock = Clock { now_ms: 1_000_000_060_000, zone: TimeZone::UTC };
        let view = View { ink: Ink::Plain, columns: Some(80), home: None, clock };
        let text = chain_text("u1", &story(&[forked]), 0, "/store", &view);
        assert!(text.contains("no end recorded") && text.contains("\n       forked from 5e550000…\n"), "{text}");
    }

    #[test]
    fn a_cut_list_says_how_many_are_missing_and_keeps_the_numbers() {
        let cut = text(None, 2);
        let lines: Vec<&str> = cut.lines().collect();
        assert_eq!(lines.len(), 4, "{cut}");
        assert_eq!(lines.first(), Some(&"agent u1   3 segments, the head is 3   /store"));
        assert_eq!(lines.get(1), Some(&"… 2 earlier segments; `--all` or `--last N` lists more"));
        assert!(lines.get(3).is_some_and(|line| line.starts_with("→   3  s3")), "{cut}");
    }
}
