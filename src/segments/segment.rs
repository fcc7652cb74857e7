//! One segment of a chain, put together from its events.

use super::event::{Ended, Start};
use super::id::{is_blank, is_safe_session_id};
use super::line::{EventRef, KindRef};
use crate::gate::{Head, is_claude};

/// One provider process of an agent, as its events tell it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Segment {
    /// How it began.
    pub start: Start,
    /// The provider's session: the last id that it reported and that is one.
    pub session_id: Option<String>,
    /// The ids it reported before that one, each once, in the order in which it left them.
    pub earlier_session_ids: Vec<String>,
    /// When its session was reported, in milliseconds since 1970.
    pub session_at_ms: Option<i64>,
    /// How it ended, if an end was recorded: the first one.
    pub end: Option<Ended>,
    /// Size of its session's file at its end, in bytes, if one was recorded and no other session was
    /// reported after it.
    pub provider_bytes_end: Option<u64>,
    /// Offset in bytes of the line that opened it.
    pub offset: u64,
}

impl Segment {
    /// The segment as a head, if it has a session.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        self.session_id.as_deref().map(|session_id| self.head_at(session_id))
    }

    /// The segment as the one that reported `session_id`, if it ever did. What was recorded at its
    /// end describes only its last session.
    #[must_use]
    pub fn head_for(&self, session_id: &str) -> Option<Head> {
        self.reported(session_id).then(|| self.head_at(session_id))
    }

    /// Whether the segment ever reported that session, by any event.
    #[must_use]
    pub fn reported(&self, session_id: &str) -> bool {
        self.session_id.as_deref() == Some(session_id) || self.earlier_session_ids.iter().any(|id| id == session_id)
    }

    /// Whether it is a segment of Claude's.
    #[must_use]
    pub fn is_claude(&self) -> bool {
        is_claude(&self.start.provider)
    }

    fn head_at(&self, session_id: &str) -> Head {
        let is_last = self.session_id.as_deref() == Some(session_id);
        Head {
            segment_id: self.start.segment_id.clone(),
            session_id: session_id.to_owned(),
            identity_key: self.start.identity_key.clone(),
            config_dir: self.start.config_dir.clone(),
            provider: self.start.provider.clone(),
            cwd: (!is_blank(&self.start.cwd)).then(|| self.start.cwd.clone()),
            provider_bytes_end: self.provider_bytes_end.filter(|_| is_last),
        }
    }
}

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applied {
    /// It counts.
    Counts,
    /// A session that is no id.
    BlankSession,
    /// A session of Claude's whose id cannot be a file name.
    UnsafeSession,
    /// A session other than the one whose size was recorded before.
    LeavesSize,
    /// Another end.
    SecondEnd,
}

impl Segment {
    /// Opens a segment; also says what became of the session that its start names, if it names one.
    pub(super) fn open(start: Start, offset: u64) -> (Self, Option<Applied>) {
        let session_id = start.provider_session_id.clone();
        let started_at_ms = start.started_at_ms;
        let mut segment = Self { start, offset, ..Self::default() };
        let applied = session_id.map(|session_id| segment.take_session(Some(&session_id), started_at_ms));
        (segment, applied)
    }

    /// Whether it belongs to another agent than `uid`, in whose log it stands, and never counts.
    pub(super) fn is_foreign(&self, uid: &str) -> bool {
        !self.start.agent_uid.is_empty() && self.start.agent_uid != uid
    }

    /// Takes a session or an end; a start is not taken.
    pub(super) fn take(&mut self, event: &EventRef<'_, '_>) -> Applied {
        match &event.kind {
            KindRef::Start(_) => Applied::Counts,
            KindRef::Session(session) => self.take_session(session.id.as_deref(), session.at_ms),
            KindRef::End(_) if self.end.is_some() => Applied::SecondEnd,
            KindRef::End(ended) => {
                self.provider_bytes_end = ended.provider_bytes_end;
                self.end = Some(ended.clone());
                Applied::Counts
            }
        }
    }

    fn take_session(&mut self, id: Option<&str>, at_ms: Option<i64>) -> Applied {
        let Some(id) = id else { return Applied::BlankSession };
        if self.is_claude() && !is_safe_session_id(id) {
            return Applied::UnsafeSession;
        }
        self.session_at_ms = at_ms;
        let Some(left) = self.session_id.as_mut() else {
            self.session_id = Some(id.to_owned());
            return Applied::Counts;
        };
        if left == id {
            return Applied::Counts;
        }
        let left = std::mem::replace(left, id.to_owned());
        if !self.earlier_session_ids.contains(&left) {
            self.earlier_session_ids.push(left);
        }
        // The size was another session's.
        if self.provider_bytes_end.take().is_some() { Applied::LeavesSize } else { Applied::Counts }
    }
}
