//! A YAML document as it is written: duplicate keys are kept, and every key and value can be found
//! again in the text. The only file that knows `serde_yaml`.
//!
//! `serde_yaml` tells a place only when reading fails. So the tree is read without places, and the
//! few that a diagnostic needs are found by reading again along a path, with a seed that fails there.

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::cell::Cell;
use std::fmt;

// The bounds keep a hostile file from costing more than a few seconds. The shipped table has
// 14 KiB, 900 values and 100 brackets.

/// How large a source may be, in bytes.
const MAX_SOURCE_BYTES: usize = 128 * 1024;
/// How many keys and values it may hold once its aliases are expanded.
const MAX_VALUES: usize = 10_000;
/// How many flow collections it may hold: the scanner's time grows with the square of their depth.
const MAX_BRACKETS: usize = 4_000;

/// A value of the document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    /// Null, or nothing at all.
    Nothing,
    /// A string.
    Text(String),
    /// A whole number that fits.
    Integer(u64),
    /// Any other scalar, as text, and a collection or scalar with a tag.
    Other(&'static str),
    /// A list.
    List(Vec<Node>),
    /// A mapping in the order written.
    Map(Vec<(Node, Node)>),
}

/// One step from a collection into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The list's item with this index.
    Item(usize),
    /// The key of the mapping's entry with this index.
    Key(usize),
    /// The value of the mapping's entry with this index.
    Value(usize),
}

/// A place in a source: line and column from 1, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters.
    pub column: u32,
}

impl Place {
    /// The beginning of a source.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The place of byte `index` of `source`.
    pub(super) fn of(source: &str, index: usize) -> Self {
        let before = source.get(..index).unwrap_or_default();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        // Searching for a character is fast in an unoptimised build script too; a loop is not.
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self { line: number(before.matches('\n').count()), column: number(line.chars().count()) }
    }
}

/// Why a source is no tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// It breaks YAML's rules; in `serde_yaml`'s words.
    Syntax { detail: String, place: Place },
    /// It goes beyond a bound; says which.
    TooLarge { what: &'static str, limit: usize },
}

/// Reads `source` whole.
pub(super) fn read(source: &str) -> Result<Node, Unreadable> {
    if source.len() > MAX_SOURCE_BYTES {
        return Err(Unreadable::TooLarge { what: "bytes", limit: MAX_SOURCE_BYTES });
    }
    if source.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() > MAX_BRACKETS {
        return Err(Unreadable::TooLarge { what: "opening brackets", limit: MAX_BRACKETS });
    }
    if let Some(at) = source.find(|c| !is_allowed(c)) {
        let detail = "control characters are not allowed".to_owned();
        return Err(Unreadable::Syntax { detail, place: Place::of(source, at) });
    }
    let left = Cell::new(MAX_VALUES);
    NodeSeed { left: &left }.deserialize(serde_yaml::Deserializer::from_str(source)).map_err(|error| {
        if left.get() == 0 {
            return Unreadable::TooLarge { what: "keys and values", limit: MAX_VALUES };
        }
        let detail = without_places(&error.to_string());
        let place = match error.location() {
            Some(at) => Place::of(source, at.index()),
            // Of the errors without a place only this one is about a part of the file.
            None if detail.contains("more than one document") => last_document(source),
            None => Place::START,
        };
        Unreadable::Syntax { detail, place }
    })
}

/// Whether YAML allows a character at all; `libyaml` does not say where one is that it does not.
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}

/// Where the last document of a source with more than one begins.
fn last_document(source: &str) -> Place {
    let line = (1..).zip(source.lines()).filter(|(_, line)| line.starts_with("---")).last();
    line.map_or(Place::START, |(line, _)| Place { line, column: 1 })
}

/// Where the value or key at the end of `path` begins; the beginning if there is no such thing.
pub(super) fn locate(source: &str, path: &[Step]) -> Place {
    match (Seek { path }).deserialize(serde_yaml::Deserializer::from_str(source)) {
        Err(error) => error.location().map_or(Place::START, |at| Place::of(source, at.index())),
        Ok(()) => Place::START,
    }
}

/// An error's text without the places, which `serde_yaml` puts into it as ` at line 3 column 5`.
fn without_places(text: &str) -> String {
    let mut pieces = text.split(" at line ");
    let mut clean = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = rest.strip_prefix(" column ").unwrap_or(rest);
        clean.push_str(rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    clean
}

/// Reads a value into a [`Node`].
#[derive(Clone, Copy)]
struct NodeSeed<'a> {
    /// How many more values may be read.
    left: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        match self.left.get().checked_sub(1) {
            Some(left) if left > 0 => self.left.set(left),
            _ => {
                self.left.set(0);
                return Err(D::Error::custom("too many values"));
            }
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeSeed<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Nothing)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Nothing)
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Integer(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Other("a negative number"))
    }

    fn visit_u128<E>(self, _: u128) -> Result<Node, E> {
        Ok(Node::Other("a huge number"))
    }

    fn visit_i128<E>(self, _: i128) -> Result<Node, E> {
        Ok(Node::Other("a negative number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Other("a fractional number"))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Other(if value { "`true`" } else { "`false`" }))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Node, A::Error> {
        use serde::de::VariantAccess as _;
        let (IgnoredAny, value) = access.variant::<IgnoredAny>()?;
        value.newtype_variant::<IgnoredAny>()?;
        Ok(Node::Other("a tagged value"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry_seed(self, self)? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }
}

/// Goes along a path and fails at its end.
#[derive(Clone, Copy)]
struct Seek<'a> {
    path: &'a [Step],
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// What is not overridden here fails, and so gives the place of what it was called for.
impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the end of the path")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let Some((Step::Item(index), path)) = self.path.split_first() else {
            return Err(A::Error::custom("here"));
        };
        for _ in 0..*index {
            access.next_element::<IgnoredAny>()?;
        }
        access.next_element_seed(Seek { path }).map(|_| ())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let (index, wants_key, path) = match self.path.split_first() {
            Some((Step::Key(index), path)) => (*index, true, path),
            Some((Step::Value(index), path)) => (*index, false, path),
            _ => return Err(A::Error::custom("here")),
        };
        for _ in 0..index {
            access.next_entry::<IgnoredAny, IgnoredAny>()?;
        }
        if wants_key {
            access.next_key_seed(Seek { path }).map(|_| ())
        } else {
            access.next_key::<IgnoredAny>()?;
            access.next_value_seed(Seek { path })
        }
    }
}
