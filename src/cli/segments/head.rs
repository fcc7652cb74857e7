//! `segments head`: which session is the agent's conversation, and why not a newer one.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::terminal::Terminal;
use super::super::words::{NOTHING, directory, shown, size};
use super::document::{head_of_document, segment_json};
use super::list::ended;
use super::{LogArgs, View, failed, shown_path};
use crate::segments::{
    Event, REPAIR_WINDOW_BYTES, SEGMENTS_FILE, Segment, SegmentError, Windows, events_in, fold, head_segment,
    is_safe_session_id, newest_where, zone_for,
};
use crate::store::{SqliteStore, Store};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

const HEAD_SCHEMA: &str = "resume-gate.head/1";

/// Show which session is the agent's head, and why each newer segment is not
///
/// The head is the newest segment, in the order of the log, that has a session. The first line is
/// that session's id. Exits 0 also when there is none.
#[derive(Debug, clap::Args)]
pub(crate) struct HeadArgs {
    #[command(flatten)]
    log: LogArgs,
    /// Leave out this segment, the one that is being spawned
    #[arg(long, value_name = "SEGMENT")]
    current: Option<String>,
}

pub(super) fn run(args: &HeadArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let uid = args.log.named_agent(&terminal.env)?;
    let mut store = args.log.reader(&terminal.env)?;
    LogArgs::note_absence(&store, terminal);
    let answer = Answer::find(&mut store, &uid, args.current.as_deref()).map_err(failed)?;
    if answer.head.is_none() {
        // A log of which nothing can be read is an error here too, and no chain without a head.
        head_segment(&mut store, &uid, args.current.as_deref()).map_err(failed)?;
    }
    if args.log.format == Format::Json {
        let mut document = head_of_document(HEAD_SCHEMA, &store);
        document.extend([
            ("agent_uid".to_owned(), json!(uid)),
            ("head".to_owned(), answer.head.as_ref().map_or(Value::Null, |head| segment_json(head).into())),
            ("skipped".to_owned(), answer.skipped.iter().map(skipped_json).collect()),
        ]);
        terminal.json(&document.into())?;
    } else {
        terminal.out(&answer.text(&uid, &shown_path(&store), &View::of(terminal)))?;
    }
    Ok(Exit::Done)
}

/// The head, and the segments that begin behind it.
#[derive(Debug)]
struct Answer {
    head: Option<Segment>,
    /// In the order of the log.
    skipped: Vec<Skipped>,
}

/// A segment that is newer than the head.
#[derive(Debug)]
struct Skipped {
    segment_id: String,
    reason: Reason,
}

/// Why a segment is not the head.
#[derive(Debug)]
enum Reason {
    /// It is the one that is being spawned.
    Current,
    /// It reported no session.
    NoSession,
    /// It reported this session, which is no id of Claude's.
    UnsafeId(String),
    /// It belongs to this agent.
    OtherAgent(String),
}

impl Reason {
    fn code(&self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::NoSession => "no_session",
            Self::UnsafeId(_) => "unsafe_id",
            Self::OtherAgent(_) => "other_agent",
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Current => "it is the one that is being spawned".to_owned(),
            Self::NoSession => "it has no session".to_owned(),
            Self::UnsafeId(id) => {
                format!("the session it reported, `{}`, cannot be a file name or an argument", shown(id))
            }
            Self::OtherAgent(uid) => format!("it is agent `{}`'s", shown(uid)),
        }
    }
}

impl Answer {
    /// Reads back to the head, and what stands behind it again.
    fn find(store: &mut SqliteStore, uid: &str, current: Option<&str>) -> Result<Self, SegmentError> {
        let Some(zone) = zone_for(uid) else { return Err(SegmentError::UnusableUid { uid: uid.to_owned() }) };
        let Some(mut log) = store.snapshot(&zone, SEGMENTS_FILE)? else {
            return Ok(Self { head: None, skipped: Vec::new() });
        };
        let is_current = |segment: &Segment| current == Some(segment.start.segment_id.as_str());
        let is_head = |segment: &Segment| segment.session_id.is_some() && !is_current(segment);
        let head = newest_where(&mut *log, uid, Windows::default(), is_head)?;
        // What decides a line's meaning stands within two windows before it.
        let behind = head.as_ref().map(|head| head.offset);
        let from = behind.unwrap_or_default().saturating_sub(2 * REPAIR_WINDOW_BYTES);
        let mut bytes = Vec::new();
        log.read_range(from..log.size(), &mut bytes)?;
        if from > 0 {
            // The rest of a line that begins farther back says nothing; its length stays.
            bytes.iter_mut().take_while(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
        let own: HashMap<String, Segment> = fold(uid, &bytes)
            .segments
            .into_iter()
            .filter(|segment| behind.is_none_or(|behind| from + segment.offset > behind))
            .map(|segment| (segment.start.segment_id.clone(), segment))
            .collect();
        let behind = usize::try_from(behind.unwrap_or_default() - from).unwrap_or_default();
        let skipped = skipped(uid, &own, bytes.get(behind..).unwrap_or_default(), &is_current);
        Ok(Self { head, skipped })
    }

    fn text(&self, uid: &str, store: &str, view: &View<'_>) -> String {
        let ink = view.ink;
        let mut out = String::new();
        let mut line = |label: &str, text: &str| {
            let _ = writeln!(out, "{}{text}", ink.faint(&format!("{label:<11}")));
        };
        let lead = match &self.head {
            Some(head) => {
                let start = &head.start;
                let when = view.clock.when(start.started_at_ms);
                line("why", "it is the newest segment of the log that has a session");
                line("segment", &format!("{}, started {when}, {}", shown(&start.segment_id), ended(head)));
                if !head.is_claude() {
                    line("provider", &shown(&start.provider));
                }
                let place =
                    |path: Option<&str>| path.map_or_else(|| NOTHING.to_owned(), |path| directory(path, view.home));
                line("login", &place(start.config_dir.as_deref()));
                line("directory", &place(Some(start.cwd.as_str()).filter(|cwd| !cwd.is_empty())));
                line(
                    "size",
                    &head.provider_bytes_end.map_or_else(
                        || "not recorded at its end".to_owned(),
                        |bytes| format!("{} at its end", size(bytes)),
                    ),
                );
                ink.strong(&shown(head.session_id.as_deref().unwrap_or_default()))
            }
            None => format!("agent `{uid}` has no head: no segment with a session in `{store}`"),
        };
        for skipped in &self.skipped {
            line("not", &format!("{}: {}", shown(&skipped.segment_id), skipped.reason.text()));
        }
        format!("{lead}\n{out}")
    }
}

/// What became of every segment whose start stands in `log`, which begins at the head's.
fn skipped(
    uid: &str,
    own: &HashMap<String, Segment>,
    log: &[u8],
    is_current: &dyn Fn(&Segment) -> bool,
) -> Vec<Skipped> {
    let mut unsafe_ids: HashMap<String, String> = HashMap::new();
    let mut reported = |segment_id: &str, session: Option<&String>| {
        if let Some(id) = session.filter(|id| !is_safe_session_id(id) && !id.trim().is_empty()) {
            unsafe_ids.insert(segment_id.to_owned(), id.clone());
        }
    };
    let mut seen = HashSet::new();
    let mut skipped = Vec::new();
    for event in events_in(log) {
        match event {
            Event::Session(session) => reported(&session.segment_id, session.provider_session_id.as_ref()),
            Event::End(_) => {}
            Event::Start(start) => {
                reported(&start.segment_id, start.provider_session_id.as_ref());
                let reason = match own.get(&start.segment_id) {
                    _ if !start.agent_uid.is_empty() && start.agent_uid != uid => Reason::OtherAgent(start.agent_uid),
                    Some(segment) if is_current(segment) => Reason::Current,
                    Some(_) => Reason::NoSession,
                    None => continue,
                };
                if seen.insert(start.segment_id.clone()) {
                    skipped.push(Skipped { segment_id: start.segment_id, reason });
                }
            }
        }
    }
    for skipped in &mut skipped {
        if let (Reason::NoSession, Some(id)) = (&skipped.reason, unsafe_ids.remove(&skipped.segment_id)) {
            skipped.reason = Reason::UnsafeId(id);
        }
    }
    skipped
}

fn skipped_json(skipped: &Skipped) -> Value {
    json!({
        "segment_id": skipped.segment_id,
        "code": skipped.reason.code(),
        "text": skipped.reason.text(),
    })
}
