//! `segments session`: records the session that a provider reported, and settles the copy it was
//! forked from.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::spawn_args::places;
use super::super::terminal::{Terminal, now_ms};
use super::super::words::{session, shown, size};
use super::document::print_segment;
use super::start::unsafe_session;
use super::{DISK_BUDGET, LogArgs, failed, find, note, path_of, started};
use crate::claude::dirs::Places;
use crate::claude::layout::session_files;
use crate::claude::marker::Marker;
use crate::claude::session::{Found, SessionFile, find as find_session};
use crate::claude::turns::{holds_turn, holds_turn_after, last_turn_uuid};
use crate::process::ProcessTable;
use crate::segments::{Event, Segment, Session, append, is_safe_session_id};
use crate::spawn::Deadline;
use crate::spawn::lock::AgentLock;
use crate::spawn::settle::{Fate, Reported, Settled, settle};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Record the session that a segment's provider reported
///
/// Call it once the session's file holds a turn of its own: from then on, the session is what the
/// agent's next spawn resumes. With `--token`, the copy that the provider was given to fork from is
/// settled: removed if it was forked, kept if somebody went on in it. Without one nothing is settled,
/// and the agent's next spawn sweeps.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionArgs {
    /// The segment, as `segments start` printed it
    segment: String,
    /// The session
    #[arg(value_name = "SID", allow_hyphen_values = true)]
    session: String,
    /// Settle the copy that was made with this token (`plan.copy.token` of the decision)
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// When it was reported, in milliseconds since 1970 [default: now]
    #[arg(long, value_name = "MS", allow_hyphen_values = true)]
    at_ms: Option<i64>,
    #[command(flatten)]
    log: LogArgs,
}

pub(super) fn run(args: &SessionArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let uid = args.log.named_agent(&terminal.env)?;
    let mut store = args.log.recorder(&terminal.env)?;
    let segment = started(&mut store, &uid, &args.segment)?;
    if args.session.trim().is_empty() {
        return Err(CliError::usage("the session is blank, and a blank is no session").help("pass its id"));
    }
    if segment.is_claude() && !is_safe_session_id(&args.session) {
        return Err(unsafe_session(&args.session));
    }
    let is_new = segment.session_id.as_deref() != Some(args.session.as_str());
    if is_new {
        let at_ms = Some(args.at_ms.unwrap_or_else(now_ms));
        let provider_session_id = Some(args.session.clone());
        let event = Session { segment_id: args.segment.clone(), provider_session_id, at_ms };
        append(&mut store, &uid, &Event::Session(event), now_ms()).map_err(failed)?;
    }
    let mut notes = Vec::new();
    let places = places(&terminal.env);
    if let Some(text) = no_turn_yet(&segment, &args.session, &places) {
        note(&mut notes, "no-turn-yet", text);
    }
    let token = args.token.as_deref().filter(|token| !token.is_empty());
    let settled = token.map(|token| Settling::of(&segment, &args.session, &uid, token, &places, &path_of(&store)));
    if let Some(settled) = settled.as_ref().filter(|settled| settled.needs_attention) {
        note(&mut notes, "copy-not-settled", settled.text.clone());
    }
    for note in &notes {
        terminal.note(note);
    }
    if args.log.format == Format::Json {
        let recorded = find(&mut store, &uid, &args.segment).map_err(failed)?.unwrap_or_default();
        let settled = settled.as_ref().map_or(Value::Null, Settling::json);
        print_segment(&recorded, [("recorded", json!(is_new)), ("settled", settled)], &notes, &store, terminal)?;
        return Ok(Exit::Done);
    }
    let (segment, id) = (shown(&args.segment), session(&args.session));
    let mut text = if is_new {
        format!("recorded session {id} of segment {segment}\n")
    } else {
        format!("session {id} of segment {segment} was recorded before\n")
    };
    if let Some(settled) = settled.filter(|settled| !settled.needs_attention) {
        text.push_str(&format!("{}\n", settled.text));
    }
    terminal.out(&text)?;
    Ok(Exit::Done)
}

/// A remark if the session's file cannot be resumed yet: its host said so too early, or the provider
/// was never prompted.
fn no_turn_yet(segment: &Segment, session_id: &str, places: &Places) -> Option<String> {
    let start = &segment.start;
    let (config_dir, cwd) = places.usable(start.config_dir.as_deref()).zip(places.usable(Some(&start.cwd)))?;
    let id = Some(session_id.to_owned()).filter(|_| segment.is_claude())?;
    let look = move || match find_session(&config_dir, &cwd, &id) {
        Found::File(file) if holds_turn(&file.path).unwrap_or(true) => None,
        Found::File(SessionFile { path, .. }) | Found::Missing { path: Some(path), .. } => Some(path),
        Found::Missing { path: None, .. } | Found::Unreadable { .. } => None,
    };
    let path = Deadline::after(DISK_BUDGET).run(look)??;
    let path = shown(&path.display().to_string());
    Some(format!("the session holds no turn yet (`{path}`), and the agent's next spawn will look for it nonetheless"))
}

/// What became of the copy.
#[derive(Debug)]
struct Settling {
    outcome: &'static str,
    path: Option<PathBuf>,
    text: String,
    /// It is still there, or not what was expected.
    needs_attention: bool,
}

impl Settling {
    /// Settles the copy that the segment's login, directory and parent name, if it is the token's.
    fn of(segment: &Segment, session_id: &str, uid: &str, token: &str, places: &Places, store: &Path) -> Self {
        let start = &segment.start;
        let place = places.usable(start.config_dir.as_deref()).zip(places.usable(Some(&start.cwd)));
        let parent = start.forked_from.as_deref().filter(|_| segment.is_claude());
        let (Some((config_dir, cwd)), Some(parent)) = (place, parent) else {
            let text = "the segment names no copy: a login, a directory and the session it was forked from";
            return Self { outcome: "nothing_there", path: None, text: text.to_owned(), needs_attention: true };
        };
        let files = session_files(&config_dir, &cwd, parent);
        let is_marked = |file: &&PathBuf| Marker::path_for(file).symlink_metadata().is_ok();
        let Some(copy) = files.iter().find(is_marked) else {
            let text = "there is no copy to settle: it was swept or settled before";
            return Self { outcome: "nothing_there", path: None, text: text.to_owned(), needs_attention: false };
        };
        let path = shown(&copy.display().to_string());
        let so = |outcome, needs_attention, text| Self { outcome, path: Some(copy.clone()), text, needs_attention };
        let reported = if session_id == parent { Reported::SameSession } else { Reported::NewSession };
        if reported == Reported::NewSession && is_being_forked(copy, uid, token, &config_dir, &cwd, session_id) {
            let text = format!(
                "the session has no turn of its own yet, so the copy `{path}` stays; call this again once it has, or leave it to the next spawn"
            );
            return so("too_early", true, text);
        }
        let guard = match AgentLock::beside_provider(store, uid, &ProcessTable::default()) {
            Ok(lock) => lock.into(),
            Err(error) => {
                return so("not_done", true, format!("{error}; the copy `{path}` is left to the agent's next spawn"));
            }
        };
        match settle(&guard, copy, token, reported) {
            Ok(Settled::Cleared(cleared)) => {
                let (outcome, needs_attention, text) = fate_text(cleared.fate, &path);
                so(outcome, needs_attention, text)
            }
            Ok(Settled::NothingThere) => so("nothing_there", false, format!("the copy `{path}` is gone already")),
            Ok(Settled::NotOurs) => {
                so("not_ours", true, format!("the copy `{path}` has another token or owner; it was not touched"))
            }
            Err(error) => so("failed", true, format!("{error}; the agent's next spawn tries again")),
        }
    }

    fn json(&self) -> Value {
        json!({ "outcome": self.outcome, "path": self.path, "text": self.text })
    }
}

fn fate_text(fate: Fate, path: &str) -> (&'static str, bool, String) {
    match fate {
        Fate::Removed => ("removed", false, format!("removed the copy `{path}` and its marker")),
        Fate::MarkerAlone => ("marker_alone", false, format!("removed the marker of `{path}`; the copy was gone")),
        Fate::Continued { bytes, bytes_now } => {
            let now = bytes_now.map_or_else(|| "no file".to_owned(), size);
            let text = format!(
                "somebody went on in the copy `{path}` ({} when it was made, {now} now): it stays, as a session of its own",
                size(bytes)
            );
            ("continued", true, text)
        }
        Fate::ResumedInPlace => {
            let text =
                format!("the provider went on in the copy `{path}`: it stays, and two files have one session id");
            ("resumed_in_place", true, text)
        }
    }
}

/// Whether the token's copy, still as it was made, is yet being forked: the new session's file is
/// there, and holds nothing but turns of its parent's. A file that is not there is no reason to
/// doubt who reported the session.
fn is_being_forked(copy: &Path, uid: &str, token: &str, config_dir: &Path, cwd: &Path, session_id: &str) -> bool {
    let as_made = Marker::read(copy).is_ok_and(|marker| {
        marker.owner_uid == uid
            && marker.token == token
            && copy.symlink_metadata().is_ok_and(|now| now.len() == marker.bytes)
    });
    let forked = match find_session(config_dir, cwd, session_id) {
        Found::File(file) => file.path,
        Found::Unreadable { .. } => return as_made,
        Found::Missing { .. } => return false,
    };
    let has_own_turn = match last_turn_uuid(copy) {
        Ok(Some(last)) => holds_turn_after(&forked, &last),
        Ok(None) => holds_turn(&forked),
        Err(error) => Err(error),
    };
    as_made && !has_own_turn.unwrap_or(false)
}
