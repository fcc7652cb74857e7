//! `segments end`: records that a provider process ended, with the size of its session's file.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::spawn_args::places;
use super::super::terminal::{Terminal, now_ms};
use super::super::words::{shown, size};
use super::document::print_segment;
use super::list::ended;
use super::{DISK_BUDGET, LogArgs, failed, find, note, path_of, started};
use crate::claude::dirs::Places;
use crate::claude::session::{Found, find as find_session};
use crate::explain::Note;
use crate::process::ProcessTable;
use crate::segments::{End, EndReason, Ended, Event, Segment, append, exit_reason, newest_segment_id};
use crate::spawn::Deadline;
use crate::spawn::lock::{AgentLock, lock_path};
use crate::store::SqliteStore;
use serde_json::json;

/// Record that a segment's provider process ended
///
/// Call it after the process was reaped: until then it may still write. The size of its session's
/// file is measured where the segment was recorded; growth beyond it means that somebody else went
/// on in the session. The provider no longer holds the agent.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("how").required(true).args(["reason", "exit_code"]))]
pub(crate) struct EndArgs {
    /// The segment, as `segments start` printed it
    segment: String,
    /// How it ended
    #[arg(long, value_name = "REASON", value_parser = ["exited", "crashed", "closed", "restarted", "stopped"])]
    reason: Option<String>,
    /// The exit status it ended with by itself: exited for 0, else crashed
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    exit_code: Option<i32>,
    /// Size of its session's file in bytes, instead of measuring it
    #[arg(long, value_name = "BYTES")]
    bytes: Option<u64>,
    /// Size of the transcript at the end, in bytes
    #[arg(long, value_name = "BYTES")]
    byte_end: Option<u64>,
    /// When it ended, in milliseconds since 1970 [default: now]
    #[arg(long, value_name = "MS", allow_hyphen_values = true)]
    at_ms: Option<i64>,
    #[command(flatten)]
    log: LogArgs,
}

impl EndArgs {
    fn reason(&self) -> EndReason {
        match (&self.reason, self.exit_code) {
            (Some(reason), _) => EndReason::from(reason.as_str()),
            (None, code) => exit_reason(code.unwrap_or_default()),
        }
    }
}

pub(super) fn run(args: &EndArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let uid = args.log.named_agent(&terminal.env)?;
    let mut store = args.log.recorder(&terminal.env)?;
    let segment = started(&mut store, &uid, &args.segment)?;
    let mut notes = Vec::new();
    let is_first = segment.end.is_none();
    if is_first {
        let measured = || measured(&segment, places(&terminal.env), &mut notes);
        let end = End {
            segment_id: args.segment.clone(),
            ended: Ended {
                ended_at_ms: Some(args.at_ms.unwrap_or_else(now_ms)),
                end_reason: args.reason(),
                byte_end: args.byte_end,
                provider_bytes_end: args.bytes.or_else(measured),
            },
        };
        append(&mut store, &uid, &Event::End(end), now_ms()).map_err(failed)?;
    } else {
        let text = format!("segment `{}` has an end already, and the first one counts", shown(&args.segment));
        note(&mut notes, "second-end", text);
    }
    clear_provider(&mut store, &uid, &args.segment, &mut notes)?;
    let recorded = find(&mut store, &uid, &args.segment).map_err(failed)?.unwrap_or_default();
    for note in &notes {
        terminal.note(note);
    }
    if args.log.format == Format::Json {
        print_segment(&recorded, [("recorded", json!(is_first))], &notes, &store, terminal)?;
        return Ok(Exit::Done);
    }
    let size = recorded.provider_bytes_end.map_or_else(|| "size unknown".to_owned(), size);
    terminal.out(&format!("segment {} {}, {size}\n", shown(&args.segment), ended(&recorded)))?;
    Ok(Exit::Done)
}

/// The size of the segment's session file now, where it was recorded.
fn measured(segment: &Segment, places: Places, notes: &mut Vec<Note>) -> Option<u64> {
    let session_id = segment.session_id.clone().filter(|_| segment.is_claude())?;
    let config_dir = places.usable(segment.start.config_dir.as_deref());
    let cwd = places.usable(Some(&segment.start.cwd));
    let why = match config_dir.zip(cwd) {
        None => "no login and directory of this system are recorded for it".to_owned(),
        Some((config_dir, cwd)) => {
            match Deadline::after(DISK_BUDGET).run(move || find_session(&config_dir, &cwd, &session_id)) {
                Some(Found::File(file)) => return Some(file.size),
                Some(Found::Missing { path: Some(path), .. }) => format!("`{}` is not there", path.display()),
                Some(Found::Missing { .. }) => "it has no place".to_owned(),
                Some(Found::Unreadable { path, error }) => format!("`{}`: {error}", path.display()),
                None => "the disk did not answer in time".to_owned(),
            }
        }
    };
    note(
        notes,
        "size-unknown",
        format!("the size of the session's file is not known, and not recorded: {}", shown(&why)),
    );
    None
}

/// Strikes the provider out of the agent's lock, unless it is a newer segment's. One that has ended
/// holds nothing anyway.
fn clear_provider(store: &mut SqliteStore, uid: &str, segment_id: &str, notes: &mut Vec<Note>) -> Result<(), CliError> {
    let path = path_of(store);
    let is_newest = newest_segment_id(store, uid).map_err(failed)?.as_deref() == Some(segment_id);
    if !is_newest || !lock_path(&path, uid).exists() {
        return Ok(());
    }
    let cleared =
        AgentLock::beside_provider(&path, uid, &ProcessTable::default()).and_then(|mut lock| lock.clear_provider());
    if let Err(error) = cleared {
        note(notes, "lock-unavailable", format!("{error}; its provider is still named there"));
    }
    Ok(())
}
