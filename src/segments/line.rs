//! One line of a segment log, damaged or not, to the events on it. Borrowed throughout: reading a
//! line allocates nothing unless it is damaged or its strings hold escapes.

use super::event::{End, EndReason, Ended, Event, Rung, Session, Start};
use super::id::is_blank;
use super::json::{self, Broken, Source, Text, Value};
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

/// A session event, borrowed from its line.
#[derive(Debug)]
pub(super) struct SessionRef<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) at_ms: Option<i64>,
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
                if fields.get(Field::Event).is_some() {
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
        let Some(Value::Text(word)) = fields.get(Field::Event) else { return Self::NotAnEvent };
        let word = word.decode().unwrap_or_default();
        if !matches!(&*word, "start" | "session" | "end") {
            return Self::UnknownEvent(word.into_owned());
        }
        let mut decoder = Decoder { fields, bad };
        let Some(segment_id) = decoder.text(Field::SegmentId) else { return Self::NoSegment };
        let kind = match &*word {
            "start" => KindRef::Start(fields),
            "session" => KindRef::Session(SessionRef {
                id: decoder.text(Field::ProviderSessionId),
                at_ms: decoder.integer(Field::AtMs),
            }),
            _ => KindRef::End(Ended {
                ended_at_ms: decoder.integer(Field::EndedAtMs),
                end_reason: EndReason::from(decoder.text(Field::EndReason).as_deref().unwrap_or_default()),
                byte_end: decoder.size(Field::ByteEnd),
                provider_bytes_end: decoder.size(Field::ProviderBytesEnd),
            }),
        };
        Self::Event(EventRef { segment_id, kind })
    }
}

/// Decodes fields, and collects those that make no sense.
struct Decoder<'f, 'a> {
    fields: &'f Fields<'a>,
    bad: &'f mut Vec<&'static str>,
}

impl<'a> Decoder<'_, 'a> {
    /// A string that is there and not blank.
    fn text(&mut self, field: Field) -> Option<Cow<'a, str>> {
        match self.fields.get(field)? {
            Value::Null => None,
            Value::Text(text) => match text.decode() {
                Some(text) => (!is_blank(&text)).then_some(text),
                None => self.bad(field),
            },
            _ => self.bad(field),
        }
    }

    fn owned(&mut self, field: Field) -> Option<String> {
        self.text(field).map(Cow::into_owned)
    }

    /// A whole number, written as a number, as a float without a fraction, or as a string of one.
    fn integer(&mut self, field: Field) -> Option<i64> {
        self.number(field).and_then(|number| i64::try_from(number).ok().or_else(|| self.bad(field)))
    }

    /// A size in bytes; a negative one is unknown.
    fn size(&mut self, field: Field) -> Option<u64> {
        self.number(field).and_then(|number| u64::try_from(number).ok().or_else(|| self.bad(field)))
    }

    fn number(&mut self, field: Field) -> Option<i128> {
        let parsed = match self.fields.get(field)? {
            Value::Null => return None,
            Value::Number(spelled) => std::str::from_utf8(spelled).ok().and_then(whole_number),
            Value::Text(text) => {
                let text = text.decode();
                if text.as_deref().is_some_and(is_blank) {
                    return None;
                }
                text.and_then(|text| whole_number(text.trim()))
            }
            Value::Other => None,
        };
        parsed.or_else(|| self.bad(field))
    }

    fn bad<T>(&mut self, field: Field) -> Option<T> {
        self.bad.push(field.name());
        None
    }
}

fn whole_number(text: &str) -> Option<i128> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let looks_like_a_number = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    let number: f64 = text.parse().ok().filter(|_| looks_like_a_number)?;
    // Beyond 2^64 nothing that is recorded makes sense; the cast is exact below.
    (number.fract() == 0.0 && number.abs() <= 18_446_744_073_709_551_616.0).then_some(number as i128)
}

/// Declares the fields we read, with their names on disk.
macro_rules! fields {
    ($($field:ident = $name:literal),+ $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Field { $($field),+ }

        impl Field {
            const COUNT: usize = [$(Self::$field),+].len();

            fn named(name: &[u8]) -> Option<Self> {
                match name {
                    $($name => Some(Self::$field),)+
                    _ => None,
                }
            }

            fn name(self) -> &'static str {
                std::str::from_utf8(self.spelled()).unwrap_or_default()
            }

            fn spelled(self) -> &'static [u8] {
                match self { $(Self::$field => $name),+ }
            }
        }
    };
}

fields! {
    Event = b"event",
    SegmentId = b"segment_id",
    AgentUid = b"agent_uid",
    DefinitionId = b"definition_id",
    Provider = b"provider",
    ConfigDir = b"config_dir",
    ProviderSessionId = b"provider_session_id",
    Cwd = b"cwd",
    Channel = b"channel",
    AgentmuxVersion = b"agentmux_version",
    BlockId = b"block_id",
    Zone = b"zone",
    ByteStart = b"byte_start",
    StartedAtMs = b"started_at_ms",
    ContinuityRung = b"continuity_rung",
    PredecessorSegmentId = b"predecessor_segment_id",
    LeaseEpoch = b"lease_epoch",
    IdentityKey = b"identity_key",
    ForkedFrom = b"forked_from",
    AtMs = b"at_ms",
    EndedAtMs = b"ended_at_ms",
    EndReason = b"end_reason",
    ByteEnd = b"byte_end",
    ProviderBytesEnd = b"provider_bytes_end",
}

/// The values of an object's known fields; of a repeated field the last. Used for one object after
/// another, so that reading a line does not clear them all.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    /// One bit per field that is there.
    present: u32,
    values: [Value<'a>; Field::COUNT],
    /// The field that was read last.
    last: Field,
    /// The field that followed each field when it was last seen.
    followers: [Field; Field::COUNT],
}

impl Default for Fields<'_> {
    fn default() -> Self {
        let first = Field::Event;
        Self { present: 0, values: [Value::Null; Field::COUNT], last: first, followers: [first; Field::COUNT] }
    }
}

impl<'a> json::Fields<'a> for Fields<'a> {
    fn expected(&self) -> &'static [u8] {
        self.follower().spelled()
    }

    fn take_expected(&mut self, value: Value<'a>) {
        self.set(self.follower(), value);
    }

    fn take(&mut self, key: Text<'a>, value: Value<'a>) {
        let field = match key {
            Text::Plain(key) => Field::named(key.as_bytes()),
            key => key.decode().and_then(|key| Field::named(key.as_bytes())),
        };
        let Some(field) = field else { return };
        if let Some(follower) = self.followers.get_mut(self.last as usize) {
            *follower = field;
        }
        self.set(field, value);
    }
}

impl<'a> Fields<'a> {
    /// Reads the object that begins at `start`; returns the offset just behind it.
    fn read(&mut self, source: Source<'a>, start: usize) -> Result<usize, Broken> {
        self.present = 0;
        source.read_object(start, self)
    }

    fn follower(&self) -> Field {
        self.followers.get(self.last as usize).copied().unwrap_or(Field::Event)
    }

    fn set(&mut self, field: Field, value: Value<'a>) {
        if let Some(slot) = self.values.get_mut(field as usize) {
            *slot = value;
            self.present |= 1 << field as u32;
            self.last = field;
        }
    }

    fn get(&self, field: Field) -> Option<Value<'a>> {
        let is_there = self.present & (1 << field as u32) != 0;
        self.values.get(field as usize).copied().filter(|_| is_there)
    }

    /// The start that the fields describe. `bad` collects fields that make no sense.
    pub(super) fn start(&self, segment_id: &str, bad: &mut Vec<&'static str>) -> Start {
        let mut fields = Decoder { fields: self, bad };
        Start {
            segment_id: segment_id.to_owned(),
            agent_uid: fields.owned(Field::AgentUid).unwrap_or_default(),
            definition_id: fields.owned(Field::DefinitionId),
            provider: fields.owned(Field::Provider).unwrap_or_default(),
            config_dir: fields.owned(Field::ConfigDir),
            provider_session_id: fields.owned(Field::ProviderSessionId),
            cwd: fields.owned(Field::Cwd).unwrap_or_default(),
            channel: fields.owned(Field::Channel).unwrap_or_default(),
            agentmux_version: fields.owned(Field::AgentmuxVersion).unwrap_or_default(),
            block_id: fields.owned(Field::BlockId).unwrap_or_default(),
            zone: fields.owned(Field::Zone),
            byte_start: fields.size(Field::ByteStart),
            started_at_ms: fields.integer(Field::StartedAtMs),
            continuity_rung: Rung::from(fields.text(Field::ContinuityRung).as_deref().unwrap_or_default()),
            predecessor_segment_id: fields.owned(Field::PredecessorSegmentId),
            lease_epoch: fields.integer(Field::LeaseEpoch),
            identity_key: fields.owned(Field::IdentityKey),
            forked_from: fields.owned(Field::ForkedFrom),
        }
    }
}
