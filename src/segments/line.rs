//! One line of a segment log, damaged or not, to the events on it. Borrowed throughout: reading a
//! line allocates nothing unless it is damaged or its strings hold escapes.

use super::event::{End, EndReason, Event, Rung, Session, Start};
use super::id::is_blank;
use super::json::{Text, Value, read_object};
use std::borrow::Cow;

/// A line longer than this is worth a remark, in bytes.
pub(super) const LONG_LINE_BYTES: usize = 1024 * 1024;

/// How much of a damaged line may be read over again to find whole events on it, as a multiple of
/// its length. Natural damage needs a few; the bound keeps a crafted line from costing its square.
const RECOVERY_WORK_FACTOR: usize = 32;

/// How many last beginnings of an event are tried when that work is used up.
const LAST_RESORT_TRIES: usize = 16;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line as it was read.
#[derive(Debug, Default)]
pub(super) struct Line<'a> {
    /// The objects on it that claim to be events, in order.
    pub(super) objects: Objects<'a>,
    /// What is wrong with the line itself.
    pub(super) flaws: Flaws,
}

/// Objects of a line: hardly ever more than one.
#[derive(Debug, Default)]
pub(super) struct Objects<'a> {
    pub(super) first: Option<Object<'a>>,
    pub(super) more: Vec<Object<'a>>,
}

impl<'a> Objects<'a> {
    fn push(&mut self, object: Object<'a>) {
        if self.first.is_none() {
            self.first = Some(object);
        } else {
            self.more.push(object);
        }
    }

    /// All of them in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Object<'a>> {
        self.first.iter().chain(&self.more)
    }
}

impl<'a> IntoIterator for Objects<'a> {
    type Item = Object<'a>;
    type IntoIter = std::iter::Chain<std::option::IntoIter<Object<'a>>, std::vec::IntoIter<Object<'a>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.more)
    }
}

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
}

/// An object that claims to be an event.
#[derive(Debug)]
pub(super) struct Object<'a> {
    pub(super) content: Content<'a>,
    /// Known fields whose value makes no sense; they count as unknown.
    pub(super) bad_fields: Vec<&'static str>,
}

/// What such an object says.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "lives on the stack, one at a time; a box would cost each line")]
pub(super) enum Content<'a> {
    /// An event of a segment.
    Event(EventRef<'a>),
    /// An event of a kind this build does not know.
    UnknownEvent(String),
    /// An event that names no segment.
    NoSegment,
    /// No event at all.
    NotAnEvent,
}

/// An event, borrowed from its line.
#[derive(Debug)]
pub(super) struct EventRef<'a> {
    pub(super) segment_id: Cow<'a, str>,
    pub(super) kind: KindRef<'a>,
}

/// What an event says of its segment.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "lives on the stack, one at a time; a box would cost each line")]
pub(super) enum KindRef<'a> {
    Start(StartRef<'a>),
    Session { id: Option<Cow<'a, str>>, at_ms: Option<i64> },
    End { ended_at_ms: Option<i64>, end_reason: EndReason, byte_end: Option<u64>, provider_bytes_end: Option<u64> },
}

/// The fields of a start, not yet decoded; most starts that are read are never kept.
#[derive(Debug)]
pub(super) struct StartRef<'a> {
    pub(super) agent_uid: Option<Cow<'a, str>>,
    fields: Fields<'a>,
}

impl StartRef<'_> {
    /// The start with everything it says. `bad` collects fields that make no sense.
    pub(super) fn decode(&self, segment_id: &str, bad: &mut Vec<&'static str>) -> Start {
        let mut fields = Decoder { fields: &self.fields, bad };
        Start {
            segment_id: segment_id.to_owned(),
            agent_uid: self.agent_uid.as_deref().unwrap_or_default().to_owned(),
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

impl EventRef<'_> {
    /// The event on its own.
    pub(super) fn to_event(&self) -> Event {
        let segment_id = self.segment_id.clone().into_owned();
        match &self.kind {
            KindRef::Start(start) => Event::Start(start.decode(&segment_id, &mut Vec::new())),
            KindRef::Session { id, at_ms } => Event::Session(Session {
                segment_id,
                provider_session_id: id.clone().map(Cow::into_owned),
                at_ms: *at_ms,
            }),
            KindRef::End { ended_at_ms, end_reason, byte_end, provider_bytes_end } => Event::End(End {
                segment_id,
                ended_at_ms: *ended_at_ms,
                end_reason: end_reason.clone(),
                byte_end: *byte_end,
                provider_bytes_end: *provider_bytes_end,
            }),
        }
    }
}

/// Reads a line, without its newline.
pub(super) fn read_line(line: &[u8]) -> Line<'_> {
    let mut flaws = Flaws::default();
    let mut start = 0;
    while line.get(start..).is_some_and(|rest| rest.starts_with(BYTE_ORDER_MARK)) {
        flaws.byte_order_mark = true;
        start += BYTE_ORDER_MARK.len();
    }
    let mut end = line.len();
    while let Some(b' ' | b'\t' | b'\r') = line.get(start..end).and_then(<[u8]>::last) {
        flaws.carriage_return |= line.get(end - 1) == Some(&b'\r');
        end -= 1;
    }
    while let Some(b' ' | b'\t') = line.get(start..end).and_then(<[u8]>::first) {
        start += 1;
    }
    let content = line.get(start..end).unwrap_or_default();
    let mut objects = Objects::default();
    if content.is_empty() {
        flaws.carriage_return = false;
        return Line { objects, flaws };
    }
    let mut fields = Fields::default();
    match read_object(content, 0, |key, value| fields.set(key, value)) {
        Ok(object) if object.end == content.len() => {
            flaws.not_utf8 = !object.utf8;
            objects.push(Object::of(fields));
        }
        _ => {
            flaws.broken = true;
            flaws.nul = memchr::memchr(0, content).is_some();
            flaws.not_utf8 = std::str::from_utf8(content).is_err();
            recover(content, &mut objects);
        }
    }
    Line { objects, flaws }
}

/// Finds the whole events on a damaged line: a torn line with the next one behind it, two lines
/// without a newline between them, a run of NUL bytes around an event.
fn recover<'a>(content: &'a [u8], objects: &mut Objects<'a>) {
    let mut work = content.len().saturating_mul(RECOVERY_WORK_FACTOR);
    let mut at = 0;
    while let Some(found) = content.get(at..).and_then(|rest| memchr::memchr(b'{', rest)) {
        let start = at + found;
        let mut fields = Fields::default();
        match read_object(content, start, |key, value| fields.set(key, value)) {
            Ok(object) => {
                if fields.get(Field::Event).is_some() {
                    objects.push(Object::of(fields));
                }
                at = object.end;
            }
            Err(broken) => {
                at = start + 1;
                let used = broken.0.saturating_sub(start);
                if used > work {
                    return recover_last(content, at, objects);
                }
                work -= used;
            }
        }
    }
}

/// Finds the last whole event on the rest of a line that is too costly to be searched.
fn recover_last<'a>(content: &'a [u8], from: usize, objects: &mut Objects<'a>) {
    let rest = content.get(from..).unwrap_or_default();
    for start in memchr::memmem::rfind_iter(rest, b"{\"event\"").take(LAST_RESORT_TRIES) {
        let mut fields = Fields::default();
        if read_object(rest, start, |key, value| fields.set(key, value)).is_ok() {
            return objects.push(Object::of(fields));
        }
    }
}

impl<'a> Object<'a> {
    fn of(fields: Fields<'a>) -> Self {
        let mut bad_fields = Vec::new();
        let content = Content::of(fields, &mut bad_fields);
        Self { content, bad_fields }
    }
}

impl<'a> Content<'a> {
    fn of(fields: Fields<'a>, bad: &mut Vec<&'static str>) -> Self {
        let Some(Value::Text(word)) = fields.get(Field::Event) else { return Self::NotAnEvent };
        let is = |known: &[u8]| word.plain() == Some(known);
        let known = is(b"start") || is(b"session") || is(b"end");
        let decoded = if known { None } else { word.decode() };
        let word = decoded.as_deref();
        let (is_start, is_session, is_end) = (
            is(b"start") || word == Some("start"),
            is(b"session") || word == Some("session"),
            is(b"end") || word == Some("end"),
        );
        if !(is_start || is_session || is_end) {
            return Self::UnknownEvent(word.unwrap_or_default().to_owned());
        }
        let mut decoder = Decoder { fields: &fields, bad };
        let Some(segment_id) = decoder.text(Field::SegmentId) else { return Self::NoSegment };
        let kind = if is_start {
            let agent_uid = decoder.text(Field::AgentUid);
            KindRef::Start(StartRef { agent_uid, fields })
        } else if is_session {
            KindRef::Session { id: decoder.text(Field::ProviderSessionId), at_ms: decoder.integer(Field::AtMs) }
        } else {
            KindRef::End {
                ended_at_ms: decoder.integer(Field::EndedAtMs),
                end_reason: EndReason::from(decoder.text(Field::EndReason).as_deref().unwrap_or_default()),
                byte_end: decoder.size(Field::ByteEnd),
                provider_bytes_end: decoder.size(Field::ProviderBytesEnd),
            }
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
                let name: &[u8] = match self { $(Self::$field => $name),+ };
                std::str::from_utf8(name).unwrap_or_default()
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

/// The values of an object's known fields; of a repeated field the last.
#[derive(Debug, Default)]
struct Fields<'a> {
    values: [Option<Value<'a>>; Field::COUNT],
}

impl<'a> Fields<'a> {
    fn set(&mut self, key: Text<'a>, value: Value<'a>) {
        let field = match key.plain() {
            Some(plain) => Field::named(plain),
            None => key.decode().and_then(|key| Field::named(key.as_bytes())),
        };
        if let Some(slot) = field.and_then(|field| self.values.get_mut(field as usize)) {
            *slot = Some(value);
        }
    }

    fn get(&self, field: Field) -> Option<Value<'a>> {
        self.values.get(field as usize).copied().flatten()
    }
}
