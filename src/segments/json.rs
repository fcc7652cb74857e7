//! A JSON reader for log lines: one pass, nothing built, fields handed out as they stand.
//!
//! It reads what is there to be read and leaves judgement to [`line`](super::line): an object is
//! accepted when it is whole, strings are checked for raw control characters (a cut or overwritten
//! line has them), and text is unescaped only when someone asks for it.
//!
//! Two things make it fast. A line is looked over once for bytes that need care; most have none,
//! and then a string ends at the next quote. And objects of one kind have the same keys in the same
//! order, so the reader compares with the key it expects before it searches for one.

use std::borrow::Cow;

/// The deepest nesting of a value that is skipped over; deeper is taken for damage.
const MAX_DEPTH: usize = 64;

/// A value of an object's field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A string.
    Text(Text<'a>),
    /// A number, as spelled.
    Number(&'a [u8]),
    /// `null`.
    Null,
    /// Anything else: true, false, a list or an object.
    Other,
}

/// A string as it stands between its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text<'a> {
    /// It says what it says.
    Plain(&'a str),
    /// It holds escapes.
    Escaped(&'a str),
    /// It is not UTF-8.
    NotUtf8,
}

impl<'a> Text<'a> {
    /// Its text; `None` if it is not UTF-8 or holds an escape that means nothing.
    pub(super) fn decode(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Plain(text) => Some(Cow::Borrowed(text)),
            Self::Escaped(text) => unescape(text).map(Cow::Owned),
            Self::NotUtf8 => None,
        }
    }
}

/// Takes the fields of an object as they are read.
pub(super) trait Fields<'a> {
    /// The key that probably comes next, as bytes that stand for themselves.
    fn expected(&self) -> &'static [u8];

    /// Takes the field with that key.
    fn take_expected(&mut self, value: Value<'a>);

    /// Takes a field with any key.
    fn take(&mut self, key: Text<'a>, value: Value<'a>);
}

/// A line to read objects from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    bytes: &'a [u8],
    /// The line as text, if all of it is.
    text: Option<&'a str>,
    /// It holds no backslash and no control character.
    is_plain: bool,
}

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        // Without a branch per byte, so that it is done many bytes at a time.
        let careful = bytes.iter().fold(0, |found, byte| found | u8::from(*byte < b' ') | u8::from(*byte == b'\\'));
        Self { bytes, text: std::str::from_utf8(bytes).ok(), is_plain: careful == 0 }
    }

    /// Whether all of it is UTF-8.
    pub(super) fn is_utf8(&self) -> bool {
        self.text.is_some()
    }

    /// Reads the object that begins at `start`; returns the offset just behind it.
    pub(super) fn read_object(self, start: usize, fields: &mut impl Fields<'a>) -> Result<usize, Broken> {
        let mut reader = Reader { source: self, rest: self.bytes.get(start..).unwrap_or_default() };
        reader.object(MAX_DEPTH, fields)?;
        Ok(reader.at())
    }
}

/// The offset at which an object turned out not to be whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken(pub(super) usize);

/// Fields of an object within: nobody asks for them.
struct Skipped;

impl<'a> Fields<'a> for Skipped {
    fn expected(&self) -> &'static [u8] {
        b""
    }

    fn take_expected(&mut self, _value: Value<'a>) {}

    fn take(&mut self, _key: Text<'a>, _value: Value<'a>) {}
}

struct Reader<'a> {
    source: Source<'a>,
    /// What is still to be read.
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn at(&self) -> usize {
        self.source.bytes.len() - self.rest.len()
    }

    fn broken<T>(&self) -> Result<T, Broken> {
        Err(Broken(self.at()))
    }

    fn blank(&mut self) {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn pass(&mut self, word: &[u8]) -> Result<(), Broken> {
        match self.rest.strip_prefix(word) {
            Some(rest) => self.rest = rest,
            None => return self.broken(),
        }
        Ok(())
    }

    /// Passes the comma before the next item, or the end of the list or object; says which.
    fn has_next(&mut self, end: u8) -> Result<bool, Broken> {
        self.blank();
        match self.rest {
            [b',', rest @ ..] => self.rest = rest,
            [byte, rest @ ..] if *byte == end => {
                self.rest = rest;
                return Ok(false);
            }
            _ => return self.broken(),
        }
        self.blank();
        Ok(true)
    }

    fn is_empty(&mut self, end: u8) -> bool {
        self.blank();
        match self.rest {
            [byte, rest @ ..] if *byte == end => self.rest = rest,
            _ => return false,
        }
        true
    }

    fn object(&mut self, depth: usize, fields: &mut impl Fields<'a>) -> Result<(), Broken> {
        self.pass(b"{")?;
        if self.is_empty(b'}') {
            return Ok(());
        }
        loop {
            if self.expected_key(fields.expected()) {
                fields.take_expected(self.value(depth)?);
            } else {
                let key = self.text()?;
                self.blank();
                self.pass(b":")?;
                self.blank();
                let value = self.value(depth)?;
                fields.take(key, value);
            }
            if !self.has_next(b'}')? {
                return Ok(());
            }
        }
    }

    /// Passes the key if it is the expected one, with nothing but a colon between it and its value.
    fn expected_key(&mut self, key: &[u8]) -> bool {
        let [b'"', rest @ ..] = self.rest else { return false };
        let Some((inside, [b'"', b':', value @ ..])) = rest.split_at_checked(key.len()) else { return false };
        let is_it = inside == key && !matches!(value, [b' ' | b'\t' | b'\r' | b'\n', ..]);
        if is_it {
            self.rest = value;
        }
        is_it
    }

    fn list(&mut self, depth: usize) -> Result<(), Broken> {
        self.pass(b"[")?;
        if self.is_empty(b']') {
            return Ok(());
        }
        loop {
            self.value(depth)?;
            if !self.has_next(b']')? {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, Broken> {
        match self.rest {
            [b'"', ..] => self.text().map(Value::Text),
            [b'n', ..] => self.pass(b"null").map(|()| Value::Null),
            [b't', ..] => self.pass(b"true").map(|()| Value::Other),
            [b'f', ..] => self.pass(b"false").map(|()| Value::Other),
            [b'-' | b'0'..=b'9', ..] => Ok(self.number()),
            [b'{', ..] if depth > 0 => self.object(depth - 1, &mut Skipped).map(|()| Value::Other),
            [b'[', ..] if depth > 0 => self.list(depth - 1).map(|()| Value::Other),
            _ => self.broken(),
        }
    }

    fn number(&mut self) -> Value<'a> {
        let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
        let length = self.rest.iter().position(|byte| !is_part(byte)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at_checked(length).unwrap_or_default();
        self.rest = rest;
        Value::Number(number)
    }

    fn text(&mut self) -> Result<Text<'a>, Broken> {
        self.pass(b"\"")?;
        let start = self.at();
        let mut escaped = false;
        if self.source.is_plain {
            let Some(length) = quote(self.rest) else { return Err(Broken(self.source.bytes.len())) };
            self.rest = self.rest.get(length..).unwrap_or_default();
        } else {
            loop {
                let stop = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
                let length = self.rest.iter().position(stop).unwrap_or(self.rest.len());
                self.rest = self.rest.get(length..).unwrap_or_default();
                match self.rest {
                    [b'"', ..] => break,
                    [b'\\', _, rest @ ..] => {
                        escaped = true;
                        self.rest = rest;
                    }
                    _ => return self.broken(),
                }
            }
        }
        let inside = start..self.at();
        self.pass(b"\"")?;
        let text = match self.source.text {
            Some(text) => text.get(inside),
            None => self.source.bytes.get(inside).and_then(|bytes| std::str::from_utf8(bytes).ok()),
        };
        Ok(match text {
            Some(text) if escaped => Text::Escaped(text),
            Some(text) => Text::Plain(text),
            None => Text::NotUtf8,
        })
    }
}

/// Offset of the first quote, eight bytes at a time.
fn quote(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
    let (words, rest) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let zero_where_quote = u64::from_le_bytes(*word) ^ QUOTES;
        // A borrow can only mark bytes above a real hit, so the lowest mark is exact.
        let marks = zero_where_quote.wrapping_sub(ONES) & !zero_where_quote & HIGH;
        if marks != 0 {
            return Some(number * 8 + (marks.trailing_zeros() / 8) as usize);
        }
    }
    let inside = rest.iter().position(|byte| *byte == b'"')?;
    Some(bytes.len() - rest.len() + inside)
}

fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(rest.get(..at)?);
        let kind = *rest.as_bytes().get(at + 1)?;
        rest = rest.get(at + 2..)?;
        match kind {
            b'"' | b'\\' | b'/' => out.push(char::from(kind)),
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                let first = code_unit(rest)?;
                rest = rest.get(4..)?;
                if let Some(char) = char::from_u32(first) {
                    out.push(char);
                } else {
                    // Half of a pair; without the other half it is no text.
                    let second = code_unit(rest.strip_prefix("\\u")?)?;
                    rest = rest.get(6..)?;
                    out.push(char::decode_utf16([first as u16, u16::try_from(second).ok()?]).next()?.ok()?);
                }
            }
            _ => return None,
        }
    }
    out.push_str(rest);
    Some(out)
}

fn code_unit(text: &str) -> Option<u32> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}
