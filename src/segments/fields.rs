//! The fields of an event that we read, and what their values mean: tolerant of each on its own.

use super::event::{EndReason, Ended, Rung, Start};
use super::id::is_blank;
use super::json::{self, Broken, Source, Text, Value};
use std::borrow::Cow;

/// A session event, borrowed from its line.
#[derive(Debug)]
pub(super) struct SessionRef<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) at_ms: Option<i64>,
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
    pub(super) fn read(&mut self, source: Source<'a>, start: usize) -> Result<usize, Broken> {
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

    /// What kind of event they say they are, if they say so.
    pub(super) fn event_word(&self) -> Option<Cow<'a, str>> {
        match self.get(Field::Event)? {
            Value::Text(word) => Some(word.decode().unwrap_or_default()),
            _ => None,
        }
    }

    /// The segment that the event belongs to. `bad` collects fields that make no sense, here and below.
    pub(super) fn segment_id(&self, bad: &mut Vec<&'static str>) -> Option<Cow<'a, str>> {
        Decoder { fields: self, bad }.text(Field::SegmentId)
    }

    /// The session that the fields describe.
    pub(super) fn session(&self, bad: &mut Vec<&'static str>) -> SessionRef<'a> {
        let mut fields = Decoder { fields: self, bad };
        SessionRef { id: fields.text(Field::ProviderSessionId), at_ms: fields.integer(Field::AtMs) }
    }

    /// The end that the fields describe.
    pub(super) fn ended(&self, bad: &mut Vec<&'static str>) -> Ended {
        let mut fields = Decoder { fields: self, bad };
        Ended {
            ended_at_ms: fields.integer(Field::EndedAtMs),
            end_reason: EndReason::from(fields.text(Field::EndReason).as_deref().unwrap_or_default()),
            byte_end: fields.size(Field::ByteEnd),
            provider_bytes_end: fields.size(Field::ProviderBytesEnd),
        }
    }

    /// The start that the fields describe.
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
