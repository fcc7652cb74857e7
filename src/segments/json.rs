//! A JSON reader for log lines: one pass, nothing built, fields handed out as they stand.
//!
//! It reads what is there to be read and leaves judgement to [`line`](super::line): an object is
//! accepted when it is whole, strings are checked for raw control characters (a cut or overwritten
//! line has them), and text is decoded only when someone asks for it.

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
pub(super) struct Text<'a> {
    raw: &'a [u8],
    escaped: bool,
    ascii: bool,
}

impl<'a> Text<'a> {
    /// Its text; `None` if it is not UTF-8 or holds an escape that means nothing.
    pub(super) fn decode(self) -> Option<Cow<'a, str>> {
        let text = std::str::from_utf8(self.raw).ok()?;
        if self.escaped { unescape(text).map(Cow::Owned) } else { Some(Cow::Borrowed(text)) }
    }

    /// Its bytes, if they need no decoding.
    pub(super) fn plain(self) -> Option<&'a [u8]> {
        (!self.escaped).then_some(self.raw)
    }

    fn is_utf8(self) -> bool {
        self.ascii || std::str::from_utf8(self.raw).is_ok()
    }
}

/// A whole object was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Object {
    /// Offset just behind its closing brace.
    pub(super) end: usize,
    /// Whether all its keys and strings are UTF-8.
    pub(super) utf8: bool,
}

/// The offset at which an object turned out not to be whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken(pub(super) usize);

/// Reads the object that begins at `start`, and shows each field of it in turn.
pub(super) fn read_object<'a>(
    bytes: &'a [u8],
    start: usize,
    mut field: impl FnMut(Text<'a>, Value<'a>),
) -> Result<Object, Broken> {
    let mut reader = Reader { bytes, at: start, utf8: true };
    reader.object(MAX_DEPTH, &mut field)?;
    Ok(Object { end: reader.at, utf8: reader.utf8 })
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    utf8: bool,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blank(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Result<(), Broken> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(Broken(self.at))
    }

    fn object(&mut self, depth: usize, field: &mut impl FnMut(Text<'a>, Value<'a>)) -> Result<(), Broken> {
        self.take(b'{')?;
        self.blank();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = self.text()?;
            self.blank();
            self.take(b':')?;
            self.blank();
            let value = self.value(depth)?;
            field(key, value);
            self.blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Broken(self.at)),
            }
            self.blank();
        }
    }

    fn list(&mut self, depth: usize) -> Result<(), Broken> {
        self.take(b'[')?;
        self.blank();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth)?;
            self.blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Broken(self.at)),
            }
            self.blank();
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, Broken> {
        match self.peek() {
            Some(b'"') => self.text().map(Value::Text),
            Some(b'n') => self.word(b"null").map(|()| Value::Null),
            Some(b't') => self.word(b"true").map(|()| Value::Other),
            Some(b'f') => self.word(b"false").map(|()| Value::Other),
            Some(b'-' | b'0'..=b'9') => Ok(self.number()),
            Some(b'{') if depth > 0 => self.object(depth - 1, &mut |_, _| ()).map(|()| Value::Other),
            Some(b'[') if depth > 0 => self.list(depth - 1).map(|()| Value::Other),
            _ => Err(Broken(self.at)),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Broken> {
        if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            return Ok(());
        }
        Err(Broken(self.at))
    }

    fn number(&mut self) -> Value<'a> {
        let start = self.at;
        while let Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Value::Number(self.bytes.get(start..self.at).unwrap_or_default())
    }

    fn text(&mut self) -> Result<Text<'a>, Broken> {
        self.take(b'"')?;
        let start = self.at;
        let (mut escaped, mut ascii) = (false, true);
        loop {
            self.at += plain_prefix(self.bytes.get(self.at..).unwrap_or_default(), &mut ascii);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                _ => return Err(Broken(self.at)),
            }
        }
        let raw = self.bytes.get(start..self.at).ok_or(Broken(self.at))?;
        self.at += 1;
        let text = Text { raw, escaped, ascii };
        self.utf8 = self.utf8 && text.is_utf8();
        Ok(text)
    }
}

/// How many bytes come before the first quote, backslash or control character; clears `ascii` when
/// one of them is not ASCII. Eight bytes at a time.
fn plain_prefix(bytes: &[u8], ascii: &mut bool) -> usize {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    const QUOTE: u64 = u64::from_ne_bytes([b'"'; 8]);
    const BACKSLASH: u64 = u64::from_ne_bytes([b'\\'; 8]);
    const SPACE: u64 = u64::from_ne_bytes([b' '; 8]);
    let mut seen = 0;
    let (words, _) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        let (quote, backslash) = (word ^ QUOTE, word ^ BACKSLASH);
        // A borrow can only mark bytes above a real hit, so the lowest mark is exact.
        let stops = ((quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(SPACE) & !word))
            & HIGH;
        if stops != 0 {
            let length = (stops.trailing_zeros() / 8) as usize;
            let before = (1_u64 << (8 * length)) - 1;
            *ascii &= word & HIGH & before == 0;
            return seen + length;
        }
        *ascii &= word & HIGH == 0;
        seen += 8;
    }
    for byte in bytes.get(seen..).unwrap_or_default() {
        if matches!(byte, b'"' | b'\\' | 0..=0x1f) {
            break;
        }
        *ascii &= byte.is_ascii();
        seen += 1;
    }
    seen
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
