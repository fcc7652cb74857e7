//! One line of a segment log, damaged or not, to the events on it. Borrowed throughout: reading a
//! line allocates nothing unless it is damaged or its strings hold escapes.

use super::event::{End, Ended, Event, Session};
use super::fields::{Fields, SessionRef};
use super::json::Source;
use std::borrow::Cow;

/// A line longer than this is worth a remark, in bytes.
pub(super) const LONG_LINE_BYTES: usize = 1024 * 1024;

/// How much of a damaged line may be read over again to find whole events on it, as a multiple of
/// its length. Natural damage needs two or three; the bound keeps a crafted line from costing its square.
const RECOVERY_WORK_FACTOR: usize = 8;

/// How many last beginnings of an event are tried when that work is used up.
const LAST_RESORT_TRIES: usize = 16;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What is wrong with a line itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Flaws {
    /// It begins with a byte order mark.
    pub(super) byte_order_mark: bool,
    /// It ends in a carriage return.
    pub(super) carriage_return: bool,
    /// It holds a NUL byte outside its events.
    pub(super) nul: bool,
    /// It holds bytes that are not UTF-8.
    pub(super) not_utf8: bool,
    /// It is not one whole object.
    pub(super) broken: bool,
    /// It is broken, and nothing on it could be read.
    pub(super) lost: bool,
}

/// An object that claims to be an event.
#[derive(Debug)]
pub(super) struct Object<'f, 'a> {
    pub(super) content: Content<'f, 'a>,
    /// Known fields whose value makes no sense; they count as unknown.
    pub(super) bad_fields: Vec<&'static str>,
}

/// What such an object says.
#[derive(Debug)]
pub(super) enum Content<'f, 'a> {
    /// An event of a segment.
    Event(EventRef<'f, 'a>),
    /// An event of a kind this build does not know.
    UnknownEvent(String),
    /// An event that names no segment.
    NoSegment,
    /// No event at all.
    NotAnEvent,
}

/// An event, borrowed from its line.
#[derive(Debug)]
pub(super) struct EventRef<'f, 'a> {
    pub(super) segment_id: Cow<'a, str>,
    pub(super) kind: KindRef<'f, 'a>,
}

/// What an event says of its segment.
#[derive(Debug)]
pub(super) enum KindRef<'f, 'a> {
    /// Not decoded: most starts that are looked at are never kept.
    Start(&'f Fields<'a>),
    Session(SessionRef<'a>),
    End(Ended),
}

impl EventRef<'_, '_> {
    /// Whether it is a start.
    pub(super) fn is_start(&self) -> bool {
        matches!(self.kind, KindRef::Start(_))
    }

    /// The event on its own.
    pub(super) fn to_event(&self) -> Event {
        let segment_id = self.segment_id.clone().into_owned();
        match &self.kind {
            KindRef::Start(fields) => Event::Start(fields.start(&segment_id, &mut Vec::new())),
            KindRef::Session(session) => Event::Session(Session {
                segment_id,
                provider_session_id: session.id.clone().map(Cow::into_owned),
                at_ms: session.at_ms,
            }),
            KindRef::End(ended) => Event::End(End { segment_id, ended: ended.clone() }),
        }
    }
}

/// Reads a line, without its newline, and shows each object on it that claims to be an event.
/// `fields` is room to work in.
pub(super) fn read_line<'a>(line: &'a [u8], fields: &mut Fields<'a>, mut found: impl FnMut(Object<'_, 'a>)) -> Flaws {
    let mut flaws = Flaws::default();
    let content = strip(line, &mut flaws);
    if content.is_empty() {
        return Flaws::default();
    }
    let source = Source::new(content);
    flaws.not_utf8 = !source.is_utf8();
    if fields.read(source, 0) == Ok(content.len()) {
        found(Object::of(fields));
    } else {
        flaws.broken = true;
        flaws.nul = memchr::memchr(0, content).is_some();
        flaws.lost = !recover(content, source, fields, found);
    }
    flaws
}

/// Reads a line and shows each event on it with its place among the line's objects.
pub(super) fn events_on<'a>(line: &'a [u8], mut found: impl FnMut(usize, &EventRef<'_, 'a>)) {
    let mut index = 0;
    read_line(line, &mut Fields::default(), |object| {
        if let Content::Event(event) = &object.content {
            found(index, event);
        }
        index += 1;
    });
}

/// The line without byte order marks and blanks around it.
fn strip<'a>(line: &'a [u8], flaws: &mut Flaws) -> &'a [u8] {
    let mut content = line;
    while let Some(rest) = content.strip_prefix(BYTE_ORDER_MARK) {
        flaws.byte_order_mark = true;
        content = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r'] = content {
        flaws.carriage_return |= content.last() == Some(&b'\r');
        content = rest;
    }
    while let [b' ' | b'\t', rest @ ..] = content {
        content = rest;
    }
    content
}

/// Finds the whole events on a damaged line: a torn line with the next one behind it, two lines
/// without a newline between them, a run of NUL bytes around an event. Says whether there was one.
fn recover<'a>(
    content: &[u8],
    source: Source<'a>,
    fields: &mut Fields<'a>,
    mut found: impl FnMut(Object<'_, 'a>),
) -> bool {
    let mut work = content.len().saturating_mul(RECOVERY_WORK_FACTOR);
    let mut any = false;
    let mut at = 0;
    while let Some(brace) = content.get(at..).and_then(|rest| memchr::memchr(b'{', rest)) {
        let start = at + brace;
        match fields.read(source, start) {
            Ok(end) => {
                if fields.event_word().is_some() {
                    any = true;
                    found(Object::of(fields));
                }
                at = end;
            }
            Err(broken) => {
                at = start + 1;
                let used = broken.0.saturating_sub(start);
                if used > work {
                    return recover_last(content, at, source, fields, found) || any;
                }
                work -= used;
            }
        }
    }
    any
}

/// Finds the last whole event behind `from`, on a line that is too costly to be searched.
fn recover_last<'a>(
    content: &[u8],
    from: usize,
    source: Source<'a>,
    fields: &mut Fields<'a>,
    mut found: impl FnMut(Object<'_, 'a>),
) -> bool {
    let rest = content.get(from..).unwrap_or_default();
    let mut begins = memchr::memmem::rfind_iter(rest, b"{\"event\"").take(LAST_RESORT_TRIES);
    let is_there = begins.any(|start| fields.read(source, from + start).is_ok());
    if is_there {
        found(Object::of(fields));
    }
    is_there
}

impl<'f, 'a> Object<'f, 'a> {
    fn of(fields: &'f Fields<'a>) -> Self {
        let mut bad_fields = Vec::new();
        let content = Content::of(fields, &mut bad_fields);
        Self { content, bad_fields }
    }
}

impl<'f, 'a> Content<'f, 'a> {
    fn of(fields: &'f Fields<'a>, bad: &mut Vec<&'static str>) -> Self {
        let Some(word) = fields.event_word() else { return Self::NotAnEvent };
        if !matches!(&*word, "start" | "session" | "end") {
            return Self::UnknownEvent(word.into_owned());
        }
        let Some(segment_id) = fields.segment_id(bad) else { return Self::NoSegment };
        let kind = match &*word {
            "start" => KindRef::Start(fields),
            "session" => KindRef::Session(fields.session(bad)),
            _ => KindRef::End(fields.ended(bad)),
        };
        Self::Event(EventRef { segment_id, kind })
    }
}
