//! A whole log, read forward into a chain of segments.
//!
//! Log order is the order. Disorder is repaired locally: everything that decides what a line means
//! stands in the [`REPAIR_WINDOW_BYTES`] before it or belongs to its segment, so that reading
//! backwards ([`tail`](super::tail)) sees the same chain.
//!
//! Lines are borrowed from the log; of each event only what a later one may ask about is kept, for
//! as long as it stands in the window.

use super::anomaly::{Anomaly, AnomalyKind};
use super::event::Event;
use super::line::{Content, EventRef, Flaws, KindRef, LONG_LINE_BYTES, Line, Object, read_line};
use super::segment::{Applied, Draft, Segment};
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// How far before a line what decides its meaning may stand, in bytes. Disorder beyond it is not
/// repaired but reported.
pub const REPAIR_WINDOW_BYTES: u64 = 64 * 1024;

/// A chain and what was found while reading it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folded {
    /// The agent's segments in log order.
    pub segments: Vec<Segment>,
    /// Everything that is not as it should be, in the order of the log.
    pub anomalies: Vec<Anomaly>,
    /// Number of lines.
    pub lines: u64,
    /// Size of the log in bytes.
    pub bytes: u64,
}

/// Reads the whole log of agent `uid`.
#[must_use]
pub fn fold(uid: &str, log: &[u8]) -> Folded {
    fold_within(uid, log, REPAIR_WINDOW_BYTES)
}

/// Reads the whole log of agent `uid` with another repair window; for tests, which shrink it.
#[must_use]
pub fn fold_within(uid: &str, log: &[u8], repair_window_bytes: u64) -> Folded {
    let mut fold = Fold::new(uid, log, repair_window_bytes);
    let mut start = 0;
    while start < log.len() {
        let rest = log.get(start..).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        fold.line(start, start + length);
        start += length + 1;
    }
    fold.finish()
}

/// All events of a log in its order, as they stand: repeated, out of order, of any agent.
pub fn events_in(log: &[u8]) -> impl Iterator<Item = Event> + '_ {
    log.split(|byte| *byte == b'\n').flat_map(|line| {
        read_line(line).objects.into_iter().filter_map(|object| match object.content {
            Content::Event(event) => Some(event.to_event()),
            Content::UnknownEvent(_) | Content::NoSegment | Content::NotAnEvent => None,
        })
    })
}

/// An event in the window.
#[derive(Debug)]
struct Recent {
    /// Where its line begins and ends.
    line: (usize, usize),
    line_number: u64,
    /// Which of its line's events it is.
    index: usize,
    /// Number of the event of the same segment before it, counted from 1 over the whole log; 0 for none.
    previous: u64,
    is_start: bool,
    /// Its line repeats an earlier one, so it counts for nothing but further repetitions.
    ignored: bool,
    /// It found its segment.
    joined: bool,
}

/// What is known of a segment id.
#[derive(Debug, Default)]
struct IdState {
    /// Index of the segment that the id's events belong to now.
    draft: Option<usize>,
    /// Number of its last event, counted as in [`Recent::previous`].
    last: u64,
}

struct Fold<'a> {
    uid: &'a str,
    log: &'a [u8],
    window: u64,
    line_number: u64,
    ids: HashMap<Cow<'a, str>, usize>,
    states: Vec<IdState>,
    /// The id of the event before, which the next one is likely to share.
    last_id: Option<(Cow<'a, str>, usize)>,
    drafts: Vec<Draft>,
    recent: VecDeque<Recent>,
    /// How many events have left the window.
    evicted: u64,
    anomalies: Vec<Anomaly>,
}

impl<'a> Fold<'a> {
    fn new(uid: &'a str, log: &'a [u8], window: u64) -> Self {
        Self {
            uid,
            log,
            window,
            line_number: 0,
            ids: HashMap::new(),
            states: Vec::new(),
            last_id: None,
            drafts: Vec::new(),
            recent: VecDeque::new(),
            evicted: 0,
            anomalies: Vec::new(),
        }
    }

    fn finish(mut self) -> Folded {
        self.evict_before(usize::MAX);
        self.anomalies.sort_by_key(|anomaly| anomaly.line);
        Folded {
            segments: self.drafts.into_iter().filter(|draft| !draft.foreign).map(|draft| draft.segment).collect(),
            anomalies: self.anomalies,
            lines: self.line_number,
            bytes: self.log.len() as u64,
        }
    }

    fn line(&mut self, start: usize, end: usize) {
        self.line_number += 1;
        let bytes = self.log.get(start..end).unwrap_or_default();
        let Line { objects, flaws } = read_line(bytes);
        self.evict_before(start.saturating_sub(usize::try_from(self.window).unwrap_or(usize::MAX)));
        if flaws != Flaws::default() || end == self.log.len() || bytes.len() > LONG_LINE_BYTES {
            self.note_flaws(start, end, flaws, objects.first.is_some());
        }
        let mut repeated = None;
        for (index, object) in objects.into_iter().enumerate() {
            let Some(event) = self.event_of(start, object) else { continue };
            let id = self.id_of(event.segment_id.clone());
            let ignored = match repeated {
                Some(repeated) => repeated,
                None => {
                    let repeats = self.repeats(id, bytes);
                    if repeats {
                        self.note_at(start, AnomalyKind::RepeatedLine, Some(&event.segment_id));
                    }
                    *repeated.insert(repeats)
                }
            };
            let line = (start, end);
            let joined = ignored || self.event(id, start, &event);
            let is_start = matches!(event.kind, KindRef::Start(_));
            self.remember(
                id,
                Recent { line, line_number: self.line_number, index, previous: 0, is_start, ignored, joined },
            );
        }
    }

    /// The event of an object, if it is one of a segment.
    fn event_of(&mut self, start: usize, object: Object<'a>) -> Option<EventRef<'a>> {
        for field in object.bad_fields {
            self.note_at(start, AnomalyKind::BadValue, Some(field));
        }
        match object.content {
            Content::Event(event) => return Some(event),
            Content::UnknownEvent(word) => self.note_at(start, AnomalyKind::UnknownEvent, Some(&word)),
            Content::NoSegment => self.note_at(start, AnomalyKind::NoSegmentId, None),
            Content::NotAnEvent => self.note_at(start, AnomalyKind::NotAnEvent, None),
        }
        None
    }

    /// Takes an event; says whether it found its segment.
    fn event(&mut self, id: usize, start: usize, event: &EventRef<'a>) -> bool {
        if let KindRef::Start(fields) = &event.kind {
            let mut bad = Vec::new();
            if self.in_window(id).any(|recent| recent.is_start) {
                self.note_at(start, AnomalyKind::RepeatedStart, Some(&event.segment_id));
                return true;
            }
            let fields = fields.decode(&event.segment_id, &mut bad);
            for field in bad {
                self.note_at(start, AnomalyKind::BadValue, Some(field));
            }
            let rung = &fields.continuity_rung;
            if !rung.is_known() && !rung.as_str().is_empty() {
                self.note_at(start, AnomalyKind::UnknownWord, Some(rung.as_str()));
            }
            self.open(id, start, fields);
            return true;
        }
        if let KindRef::End { end_reason, .. } = &event.kind
            && !end_reason.is_known()
            && !end_reason.as_str().is_empty()
        {
            self.note_at(start, AnomalyKind::UnknownWord, Some(end_reason.as_str()));
        }
        let Some(draft) = self.states.get(id).and_then(|state| state.draft) else { return false };
        self.apply(draft, start, self.line_number, event);
        true
    }

    fn open(&mut self, id: usize, start: usize, fields: super::event::Start) {
        let segment_id = fields.segment_id.clone();
        let (draft, session) = Draft::open(fields, start as u64, self.uid);
        if draft.foreign {
            self.note_at(start, AnomalyKind::OtherAgent, Some(&draft.segment.start.agent_uid));
        }
        if session == Some(Applied::UnsafeSession) {
            self.note_at(start, AnomalyKind::UnsafeSession, draft.segment.start.provider_session_id.as_deref());
        }
        let number = self.drafts.len();
        self.drafts.push(draft);
        let earlier = self.states.get_mut(id).and_then(|state| state.draft.replace(number));
        if earlier.is_some() {
            self.note_at(start, AnomalyKind::SegmentIdReused, Some(&segment_id));
        }
        let mut ahead: Vec<(u64, (usize, usize), u64, usize)> = self
            .numbered_in_window(id)
            .filter(|(_, recent)| !recent.ignored && !recent.is_start)
            .map(|(number, recent)| (number, recent.line, recent.line_number, recent.index))
            .collect();
        ahead.reverse();
        for (event_number, (from, to), line_number, index) in ahead {
            if let Some(recent) = self.recent.get_mut((event_number - self.evicted - 1) as usize) {
                recent.joined = true;
            }
            self.note(from, line_number, AnomalyKind::RanAhead, Some(&segment_id));
            let objects = read_line(self.log.get(from..to).unwrap_or_default()).objects;
            if let Some(Object { content: Content::Event(event), .. }) = objects.into_iter().nth(index) {
                self.apply(number, from, line_number, &event);
            }
        }
    }

    fn apply(&mut self, draft: usize, start: usize, line_number: u64, event: &EventRef<'_>) {
        let Some(draft) = self.drafts.get_mut(draft) else { return };
        let kind = match draft.apply(event) {
            Applied::Counts => return,
            Applied::BlankSession => AnomalyKind::BlankSession,
            Applied::UnsafeSession => AnomalyKind::UnsafeSession,
            Applied::LeavesSize => AnomalyKind::SizeLeft,
            Applied::SecondEnd => AnomalyKind::SecondEnd,
        };
        let subject = match &event.kind {
            KindRef::Session { id: Some(id), .. } => id,
            _ => &event.segment_id,
        };
        self.note(start, line_number, kind, Some(subject));
    }

    /// The number that stands for a segment id.
    fn id_of(&mut self, id: Cow<'a, str>) -> usize {
        if let Some((last, number)) = &self.last_id
            && *last == id
        {
            return *number;
        }
        let number = match self.ids.entry(id.clone()) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                self.states.push(IdState::default());
                *entry.insert(self.states.len() - 1)
            }
        };
        self.last_id = Some((id, number));
        number
    }

    /// Whether a line of that segment id in the window equals `line`.
    fn repeats(&self, id: usize, line: &[u8]) -> bool {
        self.in_window(id).any(|recent| self.log.get(recent.line.0..recent.line.1) == Some(line))
    }

    /// The id's events in the window, the last one first.
    fn in_window(&self, id: usize) -> impl Iterator<Item = &Recent> {
        self.numbered_in_window(id).map(|(_, recent)| recent)
    }

    fn numbered_in_window(&self, id: usize) -> impl Iterator<Item = (u64, &Recent)> {
        let mut next = self.states.get(id).map_or(0, |state| state.last);
        std::iter::from_fn(move || {
            let number = next;
            let place = number.checked_sub(self.evicted + 1)?;
            let recent = self.recent.get(place as usize)?;
            next = recent.previous;
            Some((number, recent))
        })
    }

    fn remember(&mut self, id: usize, mut recent: Recent) {
        let number = self.evicted + self.recent.len() as u64 + 1;
        if let Some(state) = self.states.get_mut(id) {
            recent.previous = std::mem::replace(&mut state.last, number);
        }
        self.recent.push_back(recent);
    }

    /// Forgets events of lines that begin before `offset`.
    fn evict_before(&mut self, offset: usize) {
        while self.recent.front().is_some_and(|recent| recent.line.0 < offset) {
            let Some(recent) = self.recent.pop_front() else { return };
            self.evicted += 1;
            if !recent.joined {
                let objects = read_line(self.log.get(recent.line.0..recent.line.1).unwrap_or_default()).objects;
                if let Some(Object { content: Content::Event(event), .. }) = objects.into_iter().nth(recent.index) {
                    self.note(recent.line.0, recent.line_number, AnomalyKind::NoStart, Some(&event.segment_id));
                }
            }
        }
    }

    fn note_flaws(&mut self, start: usize, end: usize, flaws: Flaws, has_objects: bool) {
        let last = end == self.log.len() && start < end;
        let found = [
            (flaws.byte_order_mark, AnomalyKind::ByteOrderMark),
            (flaws.carriage_return, AnomalyKind::CarriageReturn),
            (flaws.nul, AnomalyKind::NulBytes),
            (flaws.not_utf8, AnomalyKind::InvalidUtf8),
            (flaws.broken && !has_objects, AnomalyKind::TornLine),
            (flaws.broken && has_objects, AnomalyKind::FusedLine),
            (end - start > LONG_LINE_BYTES, AnomalyKind::LongLine),
            (last && !flaws.broken, AnomalyKind::NoFinalNewline),
        ];
        for (_, kind) in found.into_iter().filter(|(is, _)| *is) {
            self.note_at(start, kind, None);
        }
    }

    fn note_at(&mut self, start: usize, kind: AnomalyKind, subject: Option<&str>) {
        self.note(start, self.line_number, kind, subject);
    }

    fn note(&mut self, start: usize, line: u64, kind: AnomalyKind, subject: Option<&str>) {
        self.anomalies.push(Anomaly { offset: start as u64, line, kind, subject: subject.map(str::to_owned) });
    }
}
