//! Recording an agent's segments, and asking about its chain.
//!
//! Everything here takes a [`Store`]; a log that cannot be read is an error, a missing one an empty
//! chain. The present time is always handed in.

use super::event::{End, EndReason, Ended, Event, Session, Start};
use super::fold::{Folded, fold};
use super::id::{SEGMENTS_FILE, is_blank, uid_of_zone, zone_for};
use super::lineage::{Lineage, fork_parent};
use super::segment::Segment;
use super::tail::{Windows, is_lost, newest_where};
use crate::gate::{ChainHead, Head, is_claude};
use crate::store::{AppendOptions, Appended, Durability, Snapshot, Store, StoreError, StoreErrorKind};
use std::collections::HashSet;

/// Why a chain could not be read, or an event not recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A string that is no agent UID has no log.
    #[error("`{uid}` is no agent uid: only letters, digits, `_` and `-` may stand in one")]
    UnusableUid {
        /// What was given.
        uid: String,
    },
    /// A log that holds something of which nothing can be read: not the same as an empty one.
    #[error("could not read the segments of agent `{uid}`: all {bytes} bytes of their log are damaged")]
    Lost {
        /// The agent.
        uid: String,
        /// Size of its log in bytes.
        bytes: u64,
    },
    /// An event without an id says nothing.
    #[error("could not record the {event}: its {id} is blank")]
    BlankId {
        /// The event.
        event: &'static str,
        /// The id that is missing.
        id: &'static str,
    },
}

impl SegmentError {
    /// What a person can try.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Store(error) => error.help(),
            Self::UnusableUid { .. } => "pass the agent's uid as its host knows it",
            Self::Lost { .. } => "restore the store from a copy; `resume-gate segments check` says what is in the log",
            Self::BlankId { .. } => "pass the id as it was reported",
        }
    }
}

/// Appends an event to an agent's log. It is on disk when this returns.
///
/// # Errors
///
/// When `uid` is none, or the store cannot be written; the log is then as it was.
pub fn append(store: &mut dyn Store, uid: &str, event: &Event, now_ms: i64) -> Result<Appended, SegmentError> {
    let zone = usable_zone(uid)?;
    let line = encode(event)?;
    Ok(store.append_line(&zone, SEGMENTS_FILE, synced(now_ms), &line)?)
}

/// Records that a provider process was started, and returns its segment's id. Fills in what is
/// blank: the id (a UUID v4), the time, and the predecessor (the newest segment, found in the same
/// transaction).
///
/// # Errors
///
/// When the start's agent is none, or the store cannot be written; the log is then as it was.
pub fn record_start(store: &mut dyn Store, start: &Start, now_ms: i64) -> Result<String, SegmentError> {
    let zone = usable_zone(&start.agent_uid)?;
    let mut start = start.clone();
    if is_blank(&start.segment_id) {
        start.segment_id = uuid::Uuid::new_v4().to_string();
    }
    start.started_at_ms.get_or_insert(now_ms);
    let segment_id = start.segment_id.clone();
    store.append(&zone, SEGMENTS_FILE, synced(now_ms), &mut |log| {
        if start.predecessor_segment_id.is_none() {
            let newest = newest_where(log, &start.agent_uid, Windows::default(), |_| true)?;
            start.predecessor_segment_id = newest.map(|segment| segment.start.segment_id);
        }
        encode(&Event::Start(start.clone()))
    })?;
    Ok(segment_id)
}

/// Records the session that a segment's provider reported.
///
/// # Errors
///
/// When an id is blank, `uid` is none, or the store cannot be written; the log is then as it was.
pub fn record_session(
    store: &mut dyn Store,
    uid: &str,
    segment_id: &str,
    provider_session_id: &str,
    at_ms: i64,
) -> Result<Appended, SegmentError> {
    not_blank("session", "segment id", segment_id)?;
    not_blank("session", "session id", provider_session_id)?;
    let session = Session {
        segment_id: segment_id.to_owned(),
        provider_session_id: Some(provider_session_id.to_owned()),
        at_ms: Some(at_ms),
    };
    append(store, uid, &Event::Session(session), at_ms)
}

/// Records that a segment ended, without the size of its session's file.
///
/// # Errors
///
/// As [`record_end_with_provider_bytes`].
pub fn record_end(
    store: &mut dyn Store,
    uid: &str,
    segment_id: &str,
    reason: EndReason,
    byte_end: Option<u64>,
    ended_at_ms: i64,
) -> Result<Appended, SegmentError> {
    record_end_with_provider_bytes(store, uid, segment_id, reason, byte_end, None, ended_at_ms)
}

/// Records that a segment ended. `provider_bytes_end` is the size of its session's file after the
/// provider was reaped; without it, later growth cannot be seen.
///
/// # Errors
///
/// When the segment id is blank, `uid` is none, or the store cannot be written; the log is then as
/// it was.
pub fn record_end_with_provider_bytes(
    store: &mut dyn Store,
    uid: &str,
    segment_id: &str,
    reason: EndReason,
    byte_end: Option<u64>,
    provider_bytes_end: Option<u64>,
    ended_at_ms: i64,
) -> Result<Appended, SegmentError> {
    not_blank("end", "segment id", segment_id)?;
    let ended = Ended { ended_at_ms: Some(ended_at_ms), end_reason: reason, byte_end, provider_bytes_end };
    append(store, uid, &Event::End(End { segment_id: segment_id.to_owned(), ended }), ended_at_ms)
}

/// An agent's whole chain, and everything that is not as it should be in its log.
///
/// # Errors
///
/// When `uid` is none, or the log cannot be read.
pub fn segments(store: &mut dyn Store, uid: &str) -> Result<Folded, SegmentError> {
    let mut log = Vec::new();
    with_log(store, uid, |snapshot| snapshot.read_all(&mut log))?;
    Ok(fold(uid, &log))
}

/// What the gate has to know of an agent's chain, leaving out the segment `current`, which is being
/// spawned. Map an error to [`ChainHead::Unknown`], and say why.
///
/// # Errors
///
/// When `uid` is none, or the log cannot be read.
pub fn chain_head(store: &mut dyn Store, uid: &str, current: Option<&str>) -> Result<ChainHead, SegmentError> {
    let segment = head_segment(store, uid, current)?;
    Ok(segment.and_then(|segment| segment.head()).map_or(ChainHead::Empty, ChainHead::Headed))
}

/// The segment that is the head: the newest one with a session, leaving out `current`.
///
/// # Errors
///
/// When `uid` is none, or the log cannot be read, or nothing of what it holds.
pub fn head_segment(store: &mut dyn Store, uid: &str, current: Option<&str>) -> Result<Option<Segment>, SegmentError> {
    let mut found = None;
    let mut lost = None;
    with_log(store, uid, |log| {
        found = newest_where(log, uid, Windows::default(), |segment| is_head(segment, current))?;
        if found.is_none() && is_lost(log)? {
            lost = Some(log.size());
        }
        Ok(())
    })?;
    match lost {
        Some(bytes) => Err(SegmentError::Lost { uid: uid.to_owned(), bytes }),
        None => Ok(found),
    }
}

/// The head of a folded chain, leaving out the segment `current`.
#[must_use]
pub fn head_session<'s>(segments: &'s [Segment], current: Option<&str>) -> Option<&'s Segment> {
    segments.iter().rev().find(|segment| is_head(segment, current))
}

/// The newest segment of a chain, with or without a session.
///
/// # Errors
///
/// When `uid` is none, or the log cannot be read.
pub fn newest_segment(store: &mut dyn Store, uid: &str) -> Result<Option<Segment>, SegmentError> {
    newest(store, uid, |_| true)
}

/// Id of the newest segment of a chain.
///
/// # Errors
///
/// When `uid` is none, or the log cannot be read.
pub fn newest_segment_id(store: &mut dyn Store, uid: &str) -> Result<Option<String>, SegmentError> {
    Ok(newest_segment(store, uid)?.map(|segment| segment.start.segment_id))
}

/// The sessions of a folded chain other than `head`, each once, the newest first: what a person
/// could resume by hand when the head is gone.
#[must_use]
pub fn earlier_sessions(segments: &[Segment], head: &str) -> Vec<Head> {
    let mut seen = HashSet::from([head]);
    let mut found = Vec::new();
    for segment in segments.iter().rev() {
        let ids = segment.session_id.iter().chain(segment.earlier_session_ids.iter().rev());
        found.extend(ids.filter(|id| seen.insert(id)).filter_map(|id| segment.head_for(id)));
    }
    found
}

/// The head of the chain of the agent that `uid` was forked from, with its identity filled in by
/// `key_of` (see [`with_legacy_identity`]). `None`: no fork, or the parent has no head.
///
/// # Errors
///
/// When the lineage or the parent's log cannot be read: then the agent's chain is
/// [`ChainHead::Unknown`] to the gate.
pub fn fork_source_head(
    store: &mut dyn Store,
    lineage: &dyn Lineage,
    uid: &str,
    key_of: impl FnOnce(&str) -> Option<String>,
) -> Result<Option<Head>, SegmentError> {
    let Some(parent) = fork_parent(lineage, uid)? else { return Ok(None) };
    let head = head_segment(store, &parent, None)?.and_then(|segment| segment.head());
    Ok(head.map(|head| with_legacy_identity(head, key_of)))
}

/// The newest segment of the parent's chain that ever reported `session_id`, by any event, as a
/// head at that session. Its identity may need [`with_legacy_identity`].
///
/// # Errors
///
/// When `parent` is no agent, or its log cannot be read.
pub fn fork_point(store: &mut dyn Store, parent: &str, session_id: &str) -> Result<Option<Head>, SegmentError> {
    let segment = newest(store, parent, |segment| segment.reported(session_id))?;
    Ok(segment.and_then(|segment| segment.head_for(session_id)))
}

/// Whether a session that the provider rejected may be offered to the gate again: only the head
/// may, or anything when no head is known. Nothing older is ever picked up instead.
#[must_use]
pub fn recovery_allowed(candidate: &str, head: Option<&str>) -> bool {
    head.is_none_or(|head| head == candidate)
}

/// Fills in the identity of a head of Claude's that was recorded before identities were, from the
/// login that it was recorded at. `key_of` reads the key of a config dir. A recorded key always
/// stays.
#[must_use]
pub fn with_legacy_identity(mut head: Head, key_of: impl FnOnce(&str) -> Option<String>) -> Head {
    if head.identity_key.is_none()
        && is_claude(&head.provider)
        && let Some(config_dir) = head.config_dir.as_deref()
    {
        head.identity_key = key_of(config_dir);
    }
    head
}

/// An agent that has a log in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLog {
    /// The agent.
    pub uid: String,
    /// Size of its log in bytes.
    pub bytes: u64,
    /// When the log was begun, in milliseconds since 1970.
    pub created_ms: i64,
    /// When it was last written to, in milliseconds since 1970.
    pub modified_ms: i64,
}

/// The agents that have a log in the store, ordered by UID.
///
/// # Errors
///
/// When the store cannot be read.
pub fn agents(store: &mut dyn Store) -> Result<Vec<AgentLog>, SegmentError> {
    let files = store.files_named(SEGMENTS_FILE)?;
    let mut agents: Vec<AgentLog> = files
        .into_iter()
        .filter_map(|file| {
            let uid = uid_of_zone(&file.zone)?.to_owned();
            Some(AgentLog { uid, bytes: file.size, created_ms: file.created_ms, modified_ms: file.modified_ms })
        })
        .collect();
    agents.sort_by(|one, other| one.uid.cmp(&other.uid));
    Ok(agents)
}

fn is_head(segment: &Segment, current: Option<&str>) -> bool {
    segment.session_id.is_some() && current != Some(segment.start.segment_id.as_str())
}

fn newest(
    store: &mut dyn Store,
    uid: &str,
    accept: impl FnMut(&Segment) -> bool,
) -> Result<Option<Segment>, SegmentError> {
    let mut found = None;
    let mut accept = Some(accept);
    with_log(store, uid, |log| {
        if let Some(accept) = accept.take() {
            found = newest_where(log, uid, Windows::default(), accept)?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// Shows `read` the agent's log, if there is one.
fn with_log(
    store: &mut dyn Store,
    uid: &str,
    mut read: impl FnMut(&mut dyn Snapshot) -> Result<(), StoreError>,
) -> Result<(), SegmentError> {
    let zone = usable_zone(uid)?;
    if let Some(mut log) = store.snapshot(&zone, SEGMENTS_FILE)? {
        read(&mut *log)?;
    }
    Ok(())
}

fn usable_zone(uid: &str) -> Result<String, SegmentError> {
    zone_for(uid).ok_or_else(|| SegmentError::UnusableUid { uid: uid.to_owned() })
}

fn synced(now_ms: i64) -> AppendOptions {
    AppendOptions { durability: Durability::Full, now_ms }
}

fn encode(event: &Event) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(event)
        .map_err(|error| StoreError::new(StoreErrorKind::BadLine, None, "write an event as JSON", error.to_string()))
}

fn not_blank(event: &'static str, id: &'static str, text: &str) -> Result<(), SegmentError> {
    if is_blank(text) { Err(SegmentError::BlankId { event, id }) } else { Ok(()) }
}
