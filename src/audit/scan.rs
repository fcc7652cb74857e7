//! Steps through JSON without building anything: for logs of millions of lines of which a few
//! fields each are wanted. The structure is checked; the inside of what is skipped is not (a number
//! may be `1-2`, a text may hold invalid UTF-8), and a text is decoded only when it is asked for.

use std::borrow::Cow;

/// How deep collections may nest, as in `serde_json`.
const MAX_DEPTH: u32 = 128;

/// Where and why the scanner could not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed {
    /// In bytes from where the scanner began.
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

/// A text with its quotes, as it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quoted<'a> {
    bytes: &'a [u8],
    escaped: bool,
}

impl<'a> Quoted<'a> {
    /// What it says; `None` if that is no text.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        if self.escaped {
            serde_json::from_slice(self.bytes).ok().map(Cow::Owned)
        } else {
            self.inside().map(Cow::Borrowed)
        }
    }

    /// What stands between the quotes, escapes and all.
    fn inside(self) -> Option<&'a str> {
        let [_, inside @ .., _] = self.bytes else { return None };
        str::from_utf8(inside).ok()
    }
}

/// A value that was stepped over.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Text(Quoted<'a>),
    /// A number as it is written.
    Number(&'a [u8]),
    /// A collection, `true`, `false` or `null`.
    Other,
}

impl<'a> Value<'a> {
    /// The text, unless there is none in it.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(quoted) => quoted.text().filter(|text| !text.is_empty()),
            _ => None,
        }
    }

    /// The whole number, also if it was written as a string or as a whole float.
    pub(super) fn whole(self) -> Option<u64> {
        let text = match self {
            Self::Text(quoted) => quoted.inside()?.trim(),
            Self::Number(bytes) => str::from_utf8(bytes).ok()?,
            Self::Other => return None,
        };
        text.parse().ok().or_else(|| {
            let number: f64 = text.parse().ok()?;
            let whole = number.fract() == 0.0 && (0.0..MAX_EXACT_FLOAT).contains(&number);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and in range")]
            whole.then_some(number as u64)
        })
    }
}

/// Below this every whole float is one whole number.
const MAX_EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// Most texts in a record are shorter than this; below it, looking byte by byte is faster.
const SHORT_BYTES: usize = 16;

/// Where the next `"` or `\` is.
#[inline]
fn quote_or_escape(bytes: &[u8]) -> Option<usize> {
    let is_one = |byte: &u8| matches!(byte, b'"' | b'\\');
    let (short, rest) = bytes.split_at(bytes.len().min(SHORT_BYTES));
    short.iter().position(is_one).or_else(|| Some(SHORT_BYTES + memchr::memchr2(b'"', b'\\', rest)?))
}

/// A place in JSON text.
#[derive(Debug, Clone)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0 }
    }

    /// Steps over an object. `field` is given each key and must step over its value.
    pub(super) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, Quoted<'a>) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.expect(b'{', "an object")?;
        self.collection(b'}', "`,` or `}`", |scanner| {
            let key = scanner.quoted()?;
            scanner.expect(b':', "`:`")?;
            field(scanner, key)
        })
    }

    /// Steps over a value of any kind; the fields of an object are shown one by one.
    pub(super) fn fields(&mut self, mut show: impl FnMut(&str, Value<'a>)) -> Result<(), Malformed> {
        if self.peek() != Some(b'{') {
            return self.value().map(drop);
        }
        self.object(|scanner, key| {
            let value = scanner.value()?;
            if let Some(key) = key.text() {
                show(&key, value);
            }
            Ok(())
        })
    }

    /// Steps over a value.
    pub(super) fn value(&mut self) -> Result<Value<'a>, Malformed> {
        match self.peek() {
            Some(b'"') => self.quoted().map(Value::Text),
            Some(b'{') => self.object(|scanner, _| scanner.value().map(drop)).map(|()| Value::Other),
            Some(b'[') => {
                self.at += 1;
                self.collection(b']', "`,` or `]`", |scanner| scanner.value().map(drop))?;
                Ok(Value::Other)
            }
            Some(b'-' | b'0'..=b'9') => Ok(Value::Number(self.word())),
            Some(b't' | b'f' | b'n') => match self.word() {
                b"true" | b"false" | b"null" => Ok(Value::Other),
                _ => Err(self.malformed("a value")),
            },
            _ => Err(self.malformed("a value")),
        }
    }

    /// Steps over a value of any kind and gives it as it is written.
    pub(super) fn raw(&mut self) -> Result<&'a [u8], Malformed> {
        let _ = self.peek();
        let start = self.at;
        self.value()?;
        Ok(self.bytes.get(start..self.at).unwrap_or_default())
    }

    /// Makes sure that nothing follows.
    pub(super) fn end(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.malformed("the end")),
        }
    }

    /// Steps over the items of a collection and what closes it.
    fn collection(
        &mut self,
        close: u8,
        expected: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.malformed("less depth"));
        }
        if self.peek() != Some(close) {
            loop {
                item(self)?;
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(byte) if byte == close => break,
                    _ => return Err(self.malformed(expected)),
                }
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    fn quoted(&mut self) -> Result<Quoted<'a>, Malformed> {
        self.expect(b'"', "a text")?;
        let (start, mut escaped) = (self.at - 1, false);
        loop {
            match quote_or_escape(self.rest()) {
                Some(ahead) if self.rest().get(ahead) == Some(&b'\\') => {
                    self.at += ahead + 2;
                    escaped = true;
                }
                Some(ahead) => {
                    self.at += ahead + 1;
                    let bytes = self.bytes.get(start..self.at).unwrap_or_default();
                    return Ok(Quoted { bytes, escaped });
                }
                None => return Err(self.malformed("the end of a text")),
            }
        }
    }

    /// Steps over letters, digits and signs.
    fn word(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Malformed> {
        if self.peek() != Some(byte) {
            return Err(self.malformed(expected));
        }
        self.at += 1;
        Ok(())
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn malformed(&self, expected: &'static str) -> Malformed {
        Malformed { at: self.at, expected }
    }
}
