//! The newest segments of a log, read backward from its end.
//!
//! A spawn asks for the head on every start, and the head is nearly always a few lines from the
//! end. Reading backward gives exactly what [`fold`](super::fold()) gives, because whatever decides
//! what a line means stands within the repair window before it or belongs to its segment.
//!
//! Two ways, tried in turn. The *near* one reads the last lines, and looks for other lines that
//! name a segment by searching for its id's bytes. The *far* one, for a head that is long ago,
//! reads every line once and keeps what may still be asked for: memory does not grow with the
//! distance.

use super::fields::Fields;
use super::fold::REPAIR_WINDOW_BYTES;
use super::line::{KindRef, events_on, read_line};
use super::segment::Segment;
use crate::store::{Snapshot, StoreError};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

/// How much of a log is read at a time when reading backward, in bytes; the store keeps as much in
/// one part.
pub const TAIL_WINDOW_BYTES: u64 = 64 * 1024;

/// How many starts are looked at the near way before a head counts as far.
const NEAR_STARTS: usize = 8;

/// How far from the end the near way goes, in tail windows.
const NEAR_WINDOWS: u64 = 4;

/// The windows that reading backward works in. Tests shrink them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// See [`REPAIR_WINDOW_BYTES`].
    pub repair_bytes: u64,
    /// See [`TAIL_WINDOW_BYTES`]; at least 1.
    pub tail_bytes: u64,
}

impl Default for Windows {
    fn default() -> Self {
        Self { repair_bytes: REPAIR_WINDOW_BYTES, tail_bytes: TAIL_WINDOW_BYTES }
    }
}

/// The newest segment of agent `uid` that `accept` accepts, as a fold of the whole log has it.
///
/// # Errors
///
/// When the log cannot be read.
pub fn newest_where(
    log: &mut dyn Snapshot,
    uid: &str,
    windows: Windows,
    mut accept: impl FnMut(&Segment) -> bool,
) -> Result<Option<Segment>, StoreError> {
    let mut suffix = Suffix::new(log, windows.tail_bytes);
    match near(&mut suffix, uid, windows, &mut accept)? {
        Near::Answer(segment) => Ok(segment.map(|segment| *segment)),
        Near::TooFar => far(Suffix::new(log, windows.tail_bytes), uid, windows, &mut accept),
    }
}

/// Whether a log holds something and nothing of it can be read: no
/// object is on any line, whole or recovered.
pub(super) fn is_lost(log: &mut dyn Snapshot) -> Result<bool, StoreError> {
    let mut suffix = Suffix::new(log, TAIL_WINDOW_BYTES);
    let mut next = suffix.size;
    let mut lost = false;
    while let Some(range) = suffix.line_ending_at(next)? {
        next = range.start;
        let mut reads = false;
        let flaws = read_line(suffix.bytes(range), &mut Fields::default(), |_| reads = true);
        if reads {
            return Ok(false);
        }
        lost |= flaws.lost;
        suffix.forget_from(next);
    }
    Ok(lost)
}

enum Near {
    Answer(Option<Box<Segment>>),
    TooFar,
}

fn near(
    suffix: &mut Suffix<'_>,
    uid: &str,
    windows: Windows,
    accept: &mut impl FnMut(&Segment) -> bool,
) -> Result<Near, StoreError> {
    let limit = suffix.size.saturating_sub(windows.tail_bytes.saturating_mul(NEAR_WINDOWS));
    let mut starts = 0;
    let mut next = suffix.size;
    while let Some(range) = suffix.line_ending_at(next)? {
        next = range.start;
        for (index, segment_id) in starts_of(suffix.bytes(range.clone())).into_iter().rev() {
            starts += 1;
            if let Some(segment) = resolve_near(suffix, windows, &segment_id, (range.start, index))?
                && !segment.is_foreign(uid)
                && accept(&segment)
            {
                return Ok(Near::Answer(Some(Box::new(segment))));
            }
        }
        if (next < limit || starts >= NEAR_STARTS) && next > 0 {
            return Ok(Near::TooFar);
        }
    }
    Ok(Near::Answer(None))
}

fn resolve_near(
    suffix: &mut Suffix<'_>,
    windows: Windows,
    segment_id: &str,
    place: (u64, usize),
) -> Result<Option<Segment>, StoreError> {
    let window = windows.repair_bytes;
    let mut ranges = suffix.lines_naming(segment_id, place.0.saturating_sub(window))?;
    if ranges.first().is_some_and(|first| first.start < place.0) {
        // A line that ran ahead counts only if it repeats none in its own window.
        ranges = suffix.lines_naming(segment_id, place.0.saturating_sub(window.saturating_mul(2)))?;
    }
    let lines: Vec<LineAt<'_>> =
        ranges.into_iter().map(|range| LineAt { offset: range.start, bytes: suffix.bytes(range) }).collect();
    Ok(resolve(&lines, window, segment_id, place))
}

/// Lines of one segment id in order, with their offsets. A line may be kept for several ids.
type KeptLines = VecDeque<(u64, Rc<[u8]>)>;

fn far(
    mut suffix: Suffix<'_>,
    uid: &str,
    windows: Windows,
    accept: &mut impl FnMut(&Segment) -> bool,
) -> Result<Option<Segment>, StoreError> {
    let reach = windows.repair_bytes.saturating_mul(2);
    let mut lines_of: HashMap<String, KeptLines> = HashMap::new();
    let mut waiting: VecDeque<((u64, usize), String)> = VecDeque::new();
    let mut next = suffix.size;
    loop {
        let line = suffix.line_ending_at(next)?;
        let all_read = line.is_none();
        if let Some(range) = line {
            next = range.start;
            let bytes = suffix.bytes(range);
            let mut shared: Option<Rc<[u8]>> = None;
            let first_start = waiting.len();
            events_on(bytes, |index, event| {
                let id = event.segment_id.clone().into_owned();
                if event.is_start() {
                    // The last start on the line is the newest, so it comes first.
                    waiting.insert(first_start, ((next, index), id.clone()));
                }
                let lines = lines_of.entry(id).or_default();
                if lines.front().is_none_or(|(offset, _)| *offset != next) {
                    lines.push_front((next, shared.get_or_insert_with(|| Rc::from(bytes)).clone()));
                }
            });
            suffix.forget_from(next);
        }
        while waiting.front().is_some_and(|((start, _), _)| all_read || next <= start.saturating_sub(reach)) {
            let Some((place, segment_id)) = waiting.pop_front() else { break };
            let Some(kept) = lines_of.get_mut(&segment_id) else { continue };
            let lines: Vec<LineAt<'_>> = kept.iter().map(|(offset, bytes)| LineAt { offset: *offset, bytes }).collect();
            let Some(segment) = resolve(&lines, windows.repair_bytes, &segment_id, place) else { continue };
            if !segment.is_foreign(uid) && accept(&segment) {
                return Ok(Some(segment));
            }
            // What stands behind its start belongs to this segment and to no older one.
            kept.retain(|(offset, _)| *offset < place.0 || (*offset == place.0 && place.1 > 0));
            if kept.is_empty() {
                lines_of.remove(&segment_id);
            }
        }
        if all_read {
            return Ok(None);
        }
    }
}

/// A line that holds events of the segment in question.
struct LineAt<'b> {
    offset: u64,
    bytes: &'b [u8],
}

/// The segment that the start at `place` (line and place on it) opens, if it opens one. `lines` are
/// all lines with events of its id, in order: from two repair windows before `place` (one, if none
/// of the others stands before `place`) to the end of the log or the id's next segment.
fn resolve(lines: &[LineAt<'_>], window: u64, segment_id: &str, place: (u64, usize)) -> Option<Segment> {
    let in_window = |earlier: u64, later: u64| later - earlier <= window;
    let mut segment = None;
    let mut starts: Vec<(u64, usize)> = Vec::new();
    for line in lines {
        events_on(line.bytes, |index, event| {
            if let KindRef::Start(fields) = event.kind
                && event.segment_id == segment_id
            {
                let at = (line.offset, index);
                starts.push(at);
                if at == place {
                    segment = Some(Segment::open(fields.start(segment_id, &mut Vec::new()), line.offset).0);
                }
            }
        });
    }
    let opens = |at: (u64, usize)| !starts.iter().any(|start| *start < at && in_window(start.0, at.0));
    if !opens(place) {
        return None;
    }
    let end = starts.iter().find(|start| **start > place && opens(**start));
    let mut segment = segment?;
    for (number, line) in lines.iter().enumerate() {
        let repeats = |other: &LineAt<'_>| in_window(other.offset, line.offset) && other.bytes == line.bytes;
        if lines.get(..number).unwrap_or_default().iter().any(repeats) {
            continue;
        }
        events_on(line.bytes, |index, event| {
            let at = (line.offset, index);
            let ran_ahead = at < place && in_window(at.0, place.0);
            let follows = at > place && end.is_none_or(|end| at < *end);
            if event.segment_id == segment_id && (ran_ahead || follows) {
                segment.take(event);
            }
        });
    }
    Some(segment)
}

/// Place on the line and segment id of each start on it.
fn starts_of(line: &[u8]) -> Vec<(usize, String)> {
    let mut starts = Vec::new();
    events_on(line, |index, event| {
        if event.is_start() {
            starts.push((index, event.segment_id.clone().into_owned()));
        }
    });
    starts
}

/// The end of a log, as far as it was read.
struct Suffix<'l> {
    log: &'l mut dyn Snapshot,
    size: u64,
    /// Offset of the first byte in `bytes`.
    base: u64,
    bytes: Vec<u8>,
    window: u64,
}

impl<'l> Suffix<'l> {
    fn new(log: &'l mut dyn Snapshot, window: u64) -> Self {
        let size = log.size();
        Self { log, size, base: size, bytes: Vec::new(), window: window.max(1) }
    }

    /// Reads back to `offset`, and on to a multiple of the window.
    fn reach(&mut self, offset: u64) -> Result<(), StoreError> {
        if offset >= self.base {
            return Ok(());
        }
        let mut base = offset - offset % self.window;
        if self.base == self.size {
            // The head is nearly always in the last window, and its repair window in the one before.
            base = base.saturating_sub(self.window);
        }
        let mut bytes = Vec::with_capacity(self.bytes.len() + (self.base - base) as usize);
        self.log.read_range(base..self.base, &mut bytes)?;
        bytes.append(&mut self.bytes);
        (self.bytes, self.base) = (bytes, base);
        Ok(())
    }

    /// Drops what was read from `offset` on.
    fn forget_from(&mut self, offset: u64) {
        self.bytes.truncate(self.index(offset));
    }

    fn index(&self, offset: u64) -> usize {
        offset.saturating_sub(self.base) as usize
    }

    /// Bytes that were read.
    fn bytes(&self, range: Range<u64>) -> &[u8] {
        self.bytes.get(self.index(range.start)..self.index(range.end)).unwrap_or_default()
    }

    /// The line, without its newline, that ends where the one beginning at `next` begins (or the
    /// log ends); none before the first.
    fn line_ending_at(&mut self, next: u64) -> Result<Option<Range<u64>>, StoreError> {
        if next == 0 {
            return Ok(None);
        }
        self.reach(next - 1)?;
        let end = if self.bytes(next - 1..next) == b"\n" { next - 1 } else { next };
        let mut searched = end;
        loop {
            if let Some(found) = memchr::memrchr(b'\n', self.bytes(self.base..searched)) {
                return Ok(Some(self.base + found as u64 + 1..end));
            }
            if self.base == 0 {
                return Ok(Some(0..end));
            }
            searched = self.base;
            // A long line is read in growing steps, so that joining them stays cheap.
            let step = (end - self.base).max(1);
            self.reach(self.base.saturating_sub(step))?;
        }
    }

    /// All lines beginning at `from` or later that may hold an event of that segment.
    fn lines_naming(&mut self, segment_id: &str, from: u64) -> Result<Vec<Range<u64>>, StoreError> {
        self.reach(from.saturating_sub(1))?;
        // An id of plain characters can be spelled differently only by `\u` escapes.
        let is_plain = segment_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        let needles: &[&[u8]] = if is_plain { &[segment_id.as_bytes(), b"\\u"] } else { &[b"{"] };
        let mut lines = Vec::new();
        for needle in needles {
            let mut at = from;
            while let Some(found) = memchr::memmem::find(self.bytes(at..self.size), needle) {
                let hit = at + found as u64;
                let start = memchr::memrchr(b'\n', self.bytes(self.base..hit))
                    .map_or(self.base, |newline| self.base + newline as u64 + 1);
                let end =
                    memchr::memchr(b'\n', self.bytes(hit..self.size)).map_or(self.size, |newline| hit + newline as u64);
                // Without a newline before it, the line may begin before what was read.
                if start >= from && (start > self.base || self.base == 0) {
                    lines.push(start..end);
                }
                at = end;
            }
        }
        lines.sort_unstable_by_key(|line| line.start);
        lines.dedup();
        Ok(lines)
    }
}
