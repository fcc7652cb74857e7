//! `segments`: an agent's chain as people see it, and recording it from the command line.

mod check;
mod document;
mod end;
mod head;
mod list;
mod session;
mod start;

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::spawn_args::{StoreArg, agent_uid};
use super::terminal::{Environment, Terminal, now_ms};
use super::words::{Clock, shown};
use crate::explain::{Ink, Note};
use crate::segments::{SEGMENTS_FILE, Segment, SegmentError, Windows, newest_where, zone_for};
use crate::store::{SqliteStore, Store, WRITER_WAIT};
use crate::table::nearest;
use jiff::tz::TimeZone;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest time that looking at a login may take, in milliseconds; a dead network disk would
/// otherwise keep an event from being recorded.
const DISK_BUDGET: Duration = Duration::from_millis(1_000);

/// How many segments an error names, so that a wrong id can be told from a forgotten one.
const NAMED_SEGMENTS: usize = 3;

/// How many of the newest segments a wrong id is compared with.
const COMPARED_SEGMENTS: usize = 1_000;

/// Look at an agent's chain of segments, check its log, and record to it
///
/// A segment is one provider process of an agent. A host on the command line records each with
/// `start`, `session` and `end`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum SegmentsCommand {
    List(list::ListArgs),
    Head(head::HeadArgs),
    Start(Box<start::StartArgs>),
    Session(session::SessionArgs),
    End(end::EndArgs),
    Check(check::CheckArgs),
}

pub(super) fn run(command: &SegmentsCommand, terminal: &Terminal) -> Result<Exit, CliError> {
    match command {
        SegmentsCommand::List(args) => list::run(args, terminal),
        SegmentsCommand::Head(args) => head::run(args, terminal),
        SegmentsCommand::Start(args) => start::run(args, terminal),
        SegmentsCommand::Session(args) => session::run(args, terminal),
        SegmentsCommand::End(args) => end::run(args, terminal),
        SegmentsCommand::Check(args) => check::run(args, terminal),
    }
}

/// Whose log, where, and how the result is printed.
#[derive(Debug, clap::Args)]
struct LogArgs {
    /// The agent's stable id [default: $AGENTMUX_AGENT_UID]
    #[arg(long, value_name = "UID")]
    agent: Option<String>,
    #[command(flatten)]
    store: StoreArg,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl LogArgs {
    /// The agent, if one is named.
    fn agent(&self, env: &Environment) -> Option<String> {
        agent_uid(self.agent.as_deref().filter(|uid| !uid.is_empty()), env)
    }

    /// The agent, where one is needed.
    fn named_agent(&self, env: &Environment) -> Result<String, CliError> {
        let none = || CliError::usage("no agent was named").help("pass `--agent UID`, or set AGENTMUX_AGENT_UID");
        self.agent(env).ok_or_else(none)
    }

    /// The store, to be read; nothing is written to it.
    fn reader(&self, env: &Environment) -> Result<SqliteStore, CliError> {
        SqliteStore::reader(&self.store.locate(env)?, WRITER_WAIT).map_err(|error| failed(error.into()))
    }

    /// Says on standard error that there is no store, lest a misspelt path pass for an empty one.
    fn note_absence(store: &SqliteStore, terminal: &Terminal) {
        if !store.exists() {
            let path = shown(&store.path().display().to_string());
            terminal.note(&Note::new("no-store", format!("there is no store at `{path}` yet")));
        }
    }

    /// The store, to be recorded to; it is made if it is not there.
    fn recorder(&self, env: &Environment) -> Result<SqliteStore, CliError> {
        SqliteStore::recorder(&self.store.locate(env)?, WRITER_WAIT).map_err(|error| failed(error.into()))
    }
}

/// What rendering for people depends on.
#[derive(Debug)]
struct View<'t> {
    ink: Ink,
    columns: Option<usize>,
    home: Option<&'t Path>,
    clock: Clock,
}

impl<'t> View<'t> {
    fn of(terminal: &'t Terminal) -> Self {
        Self {
            ink: terminal.ink,
            columns: terminal.columns,
            home: terminal.env.home.as_deref(),
            clock: Clock { now_ms: now_ms(), zone: TimeZone::system() },
        }
    }
}

fn failed(error: SegmentError) -> CliError {
    CliError::usage(&error).help(error.help())
}

fn note(notes: &mut Vec<Note>, code: &str, text: impl Into<String>) {
    notes.push(Note::new(code, text));
}

/// The newest segment of an agent that `accept` accepts.
fn newest(
    store: &mut dyn Store,
    uid: &str,
    accept: impl FnMut(&Segment) -> bool,
) -> Result<Option<Segment>, SegmentError> {
    let Some(zone) = zone_for(uid) else { return Err(SegmentError::UnusableUid { uid: uid.to_owned() }) };
    let Some(mut log) = store.snapshot(&zone, SEGMENTS_FILE)? else { return Ok(None) };
    Ok(newest_where(&mut *log, uid, Windows::default(), accept)?)
}

/// A segment of an agent by its id.
fn find(store: &mut dyn Store, uid: &str, segment_id: &str) -> Result<Option<Segment>, SegmentError> {
    newest(store, uid, |segment| segment.start.segment_id == segment_id)
}

/// A segment that must be there: an event of one that was never started changes nothing.
fn started(store: &mut SqliteStore, uid: &str, segment_id: &str) -> Result<Segment, CliError> {
    let mut ids: Vec<String> = Vec::new();
    let found = newest(store, uid, |segment| {
        if ids.len() < COMPARED_SEGMENTS {
            ids.push(segment.start.segment_id.clone());
        }
        segment.start.segment_id == segment_id
    });
    if let Some(segment) = found.map_err(failed)? {
        return Ok(segment);
    }
    let path = shown_path(store);
    let error = CliError::usage(format!(
        "the log of agent `{uid}` has no segment `{}`, in the store `{path}`",
        shown(segment_id)
    ));
    let named: Vec<String> =
        ids.iter().take(NAMED_SEGMENTS).map(|segment_id| format!("`{}`", shown(segment_id))).collect();
    Err(match (nearest(segment_id, ids.iter().map(String::as_str)), named.is_empty()) {
        (Some(near), _) => error.help(format!("did you mean `{}`?", shown(near))),
        (None, false) => error.help(format!("the newest ones are {}; nothing was recorded", named.join(", "))),
        (None, true) => error.help("it has none at all: check `--agent` and `--store`; nothing was recorded"),
    })
}

fn shown_path(store: &SqliteStore) -> String {
    shown(&store.path().display().to_string())
}

/// The store's file, for what is done beside it.
fn path_of(store: &SqliteStore) -> PathBuf {
    store.path().to_owned()
}
