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
use super::fields::{Fields, SessionRef};
use super::line::{Content, EventRef, Flaws, KindRef, LONG_LINE_BYTES, Object, events_on, read_line};
use super::segment::{Applied, Segment};
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// How far before a line what decides its meaning may stand, in bytes. Disorder beyond it is not
/// repaired but reported.
pub const REPAIR_WINDOW_BYTES: u64 = 64 * 1024;

/// What a segment's events take in a log, about: room is made for so many.
const TYPICAL_SEGMENT_BYTES: usize = 1024;

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
    let mut fields = Fields::default();
    let mut start = 0;
    while start < log.len() {
        let rest = log.get(start..).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        fold.line(&mut fields, start, start + length);
        start += length + 1;
    }
    fold.finish()
}

/// All events of a log in its order, as they stand: repeated, out of order, of any agent.
pub fn events_in(log: &[u8]) -> impl Iterator<Item = Event> + '_ {
    log.split(|byte| *byte == b'\n').flat_map(|line| {
        let mut events = Vec::new();
        events_on(line, |_, event| events.push(event.to_event()));
        events
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
    segment: Option<usize>,
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
    segments: Vec<Segment>,
    /// Whether a segment of another agent is among them.
    any_foreign: bool,
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
            ids: HashMap::with_capacity(log.len() / TYPICAL_SEGMENT_BYTES),
            states: Vec::with_capacity(log.len() / TYPICAL_SEGMENT_BYTES),
            last_id: None,
            segments: Vec::with_capacity(log.len() / TYPICAL_SEGMENT_BYTES),
            any_foreign: false,
            recent: VecDeque::new(),
            evicted: 0,
            anomalies: Vec::new(),
        }
    }

    fn finish(mut self) -> Folded {
        self.evict_before(usize::MAX);
        self.anomalies.sort_by_key(|anomaly| anomaly.line);
        if self.any_foreign {
            self.segments.retain(|segment| !segment.is_foreign(self.uid));
        }
        Folded {
            segments: self.segments,
            anomalies: self.anomalies,
            lines: self.line_number,
            bytes: self.log.len() as u64,
        }
    }

    fn line(&mut self, fields: &mut Fields<'a>, start: usize, end: usize) {
        self.line_number += 1;
        self.evict_before(start.saturating_sub(usize::try_from(self.window).unwrap_or(usize::MAX)));
        let bytes = self.log.get(start..end).unwrap_or_default();
        let mut index = 0;
        let mut repeats = None;
        let flaws = read_line(bytes, fields, |object| {
            self.object((start, end), index, &mut repeats, &object);
            index += 1;
        });
        if flaws != Flaws::default() || end == self.log.len() || bytes.len() > LONG_LINE_BYTES {
            self.note_flaws(start, end, flaws);
        }
    }

    /// Takes an object of a line. `repeats` is whether the line repeats an earlier one, once known.
    fn object(&mut self, line: (usize, usize), index: usize, repeats: &mut Option<bool>, object: &Object<'_, 'a>) {
        let start = line.0;
        for field in &object.bad_fields {
            self.note_at(start, AnomalyKind::BadValue, Some(field));
        }
        let event = match &object.content {
            Content::Event(event) => event,
            Content::UnknownEvent(word) => return self.note_at(start, AnomalyKind::UnknownEvent, Some(word)),
            Content::NoSegment => return self.note_at(start, AnomalyKind::NoSegmentId, None),
            Content::NotAnEvent => return self.note_at(start, AnomalyKind::NotAnEvent, None),
        };
        let id = self.id_of(event.segment_id.clone());
        let ignored = match *repeats {
            Some(repeats) => repeats,
            None => {
                let found = self.repeats(id, line);
                if found {
                    self.note_at(start, AnomalyKind::RepeatedLine, Some(&event.segment_id));
                }
                *repeats.insert(found)
            }
        };
        let joined = ignored || self.event(id, start, event);
        let is_start = event.is_start();
        let line_number = self.line_number;
        self.remember(id, Recent { line, line_number, index, previous: 0, is_start, ignored, joined });
    }

    /// Takes an event; says whether it found its segment.
    fn event(&mut self, id: usize, start: usize, event: &EventRef<'_, 'a>) -> bool {
        match &event.kind {
            KindRef::Start(_) if self.in_window(id).any(|recent| recent.is_start) => {
                self.note_at(start, AnomalyKind::RepeatedStart, Some(&event.segment_id));
                return true;
            }
            KindRef::Start(fields) => {
                self.open(id, start, &event.segment_id, fields);
                return true;
            }
            KindRef::End(ended) => self.note_word(start, ended.end_reason.is_known(), ended.end_reason.as_str()),
            KindRef::Session(_) => {}
        }
        let Some(segment) = self.states.get(id).and_then(|state| state.segment) else { return false };
        self.apply(segment, start, self.line_number, event);
        true
    }

    fn open(&mut self, id: usize, start: usize, segment_id: &str, fields: &Fields<'a>) {
        let mut bad = Vec::new();
        let (segment, session) = Segment::open(fields.start(segment_id, &mut bad), start as u64);
        for field in bad {
            self.note_at(start, AnomalyKind::BadValue, Some(field));
        }
        let rung = &segment.start.continuity_rung;
        self.note_word(start, rung.is_known(), rung.as_str());
        if segment.is_foreign(self.uid) {
            self.any_foreign = true;
            self.note_at(start, AnomalyKind::OtherAgent, Some(&segment.start.agent_uid));
        }
        if session == Some(Applied::UnsafeSession) {
            self.note_at(start, AnomalyKind::UnsafeSession, segment.start.provider_session_id.as_deref());
        }
        let number = self.segments.len();
        self.segments.push(segment);
        if self.states.get_mut(id).and_then(|state| state.segment.replace(number)).is_some() {
            self.note_at(start, AnomalyKind::SegmentIdReused, Some(segment_id));
        }
        self.take_what_ran_ahead(id, number, segment_id);
    }

    /// Lets a new segment take the sessions and ends of its id that stand in the window before it.
    fn take_what_ran_ahead(&mut self, id: usize, segment: usize, segment_id: &str) {
        let is_ahead = |recent: &Recent| !recent.ignored && !recent.is_start;
        let mut ahead: Vec<u64> =
            self.numbered_in_window(id).filter(|(_, recent)| is_ahead(recent)).map(|(number, _)| number).collect();
        ahead.reverse();
        for number in ahead {
            let Some(recent) = self.recent.get_mut((number - self.evicted - 1) as usize) else { continue };
            recent.joined = true;
            let (line, line_number, wanted) = (recent.line, recent.line_number, recent.index);
            self.note(line.0, line_number, AnomalyKind::RanAhead, Some(segment_id));
            events_on(self.log.get(line.0..line.1).unwrap_or_default(), |index, event| {
                if index == wanted {
                    self.apply(segment, line.0, line_number, event);
                }
            });
        }
    }

    fn apply(&mut self, segment: usize, start: usize, line_number: u64, event: &EventRef<'_, '_>) {
        let Some(segment) = self.segments.get_mut(segment) else { return };
        let kind = match segment.take(event) {
            Applied::Counts => return,
            Applied::BlankSession => AnomalyKind::BlankSession,
            Applied::UnsafeSession => AnomalyKind::UnsafeSession,
            Applied::LeavesSize => AnomalyKind::SizeLeft,
            Applied::SecondEnd => AnomalyKind::SecondEnd,
        };
        let subject = match &event.kind {
            KindRef::Session(SessionRef { id: Some(id), .. }) => id,
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
    fn repeats(&self, id: usize, line: (usize, usize)) -> bool {
        let length = line.1 - line.0;
        let mut candidates = self.in_window(id).filter(|recent| recent.line.1 - recent.line.0 == length);
        candidates.any(|recent| self.log.get(recent.line.0..recent.line.1) == self.log.get(line.0..line.1))
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
                let line = self.log.get(recent.line.0..recent.line.1).unwrap_or_default();
                events_on(line, |index, event| {
                    if index == recent.index {
                        self.note(recent.line.0, recent.line_number, AnomalyKind::NoStart, Some(&event.segment_id));
                    }
                });
            }
        }
    }

    fn note_word(&mut self, start: usize, is_known: bool, word: &str) {
        if !is_known && !word.is_empty() {
            self.note_at(start, AnomalyKind::UnknownWord, Some(word));
        }
    }

    fn note_flaws(&mut self, start: usize, end: usize, flaws: Flaws) {
        let last = end == self.log.len() && start < end;
        let found = [
            (flaws.byte_order_mark, AnomalyKind::ByteOrderMark),
            (flaws.carriage_return, AnomalyKind::CarriageReturn),
            (flaws.nul, AnomalyKind::NulBytes),
            (flaws.not_utf8, AnomalyKind::InvalidUtf8),
            (flaws.lost, AnomalyKind::TornLine),
            (flaws.broken && !flaws.lost, AnomalyKind::FusedLine),
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
