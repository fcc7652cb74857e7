//! One line of a decision log, as far as counting and replaying need it: borrowed, no tree.
//!
//! Reading is tolerant per field: a field that is absent or of another type than expected is
//! absent, and the line still counts. Facts are the exception: a set that this version's
//! vocabulary cannot express is kept as the error it is, so that nobody takes it for known.

use crate::gate::decision::DecisionKind;
use crate::gate::{FactSetBuilder, FactSetError};
use crate::table::FactWord;
use std::borrow::Cow;

use super::scan::{Malformed, Scanner};

/// What one line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The record's id, a UUID v7 if this program wrote it.
    pub id: Option<Cow<'a, str>>,
    /// When it was decided, in milliseconds since 1970.
    pub at_ms: Option<u64>,
    /// How long deciding took, in microseconds.
    pub duration_us: Option<u64>,
    /// The agent.
    pub agent_uid: Option<Cow<'a, str>>,
    /// Id of the rule that decided; none if there was no candidate, so nothing to decide.
    pub rule: Option<Cow<'a, str>>,
    /// The decision's name as recorded; a later version may know more of them than this one.
    pub decision: Option<Cow<'a, str>>,
    /// What the spawn was to do: `resume`, `fork`, `fresh` or `held`.
    pub outcome: Option<Cow<'a, str>>,
    /// SHA-256 of the table that decided, in hex.
    pub table: Option<Cow<'a, str>>,
    /// The facts, or why this version cannot express them.
    pub facts: Result<FactWord, FactSetError>,
}

impl Entry<'_> {
    /// The decision, if this version knows it.
    #[must_use]
    pub fn kind(&self) -> Option<DecisionKind> {
        self.decision.as_deref()?.parse().ok()
    }

    /// Whether the gate was asked at all: without a candidate there is nothing to decide.
    #[must_use]
    pub fn was_decided(&self) -> bool {
        self.rule.is_some() || self.decision.is_some()
    }
}

/// A line that is no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no decision record at byte {offset}: {detail}")]
pub struct Unreadable {
    /// Where the line begins in the log, in bytes.
    pub offset: usize,
    /// What is wrong with it.
    pub detail: String,
}

/// One line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it begins in the log, in bytes.
    pub offset: usize,
    /// Its bytes, without what ends it.
    pub bytes: &'a [u8],
}

/// How every record that this program writes begins; inside a JSON string its quotes are escaped.
const RECORD_START: &[u8] = b"{\"schema\":\"resume-gate.decision/";

/// The records of a log, oldest first; backwards with `rev`. Each line comes with what it says,
/// or stands where it could not be read. Blank lines and runs of NUL, which a crash leaves, are
/// skipped, and a record that was appended to a torn line comes after it as one of its own.
pub fn entries(log: &[u8]) -> impl DoubleEndedIterator<Item = Result<(Line<'_>, Entry<'_>), Unreadable>> {
    lines(log).flat_map(|line| {
        let read = line.entry().map(|entry| (line, entry));
        let fused = match &read {
            Ok(_) => None,
            Err(_) => memchr::memmem::rfind(line.bytes, RECORD_START).filter(|at| *at > 0),
        };
        let appended = fused.map(|at| {
            let line = Line { offset: line.offset + at, bytes: line.bytes.get(at..).unwrap_or_default() };
            line.entry().map(|entry| (line, entry))
        });
        std::iter::once(read).chain(appended)
    })
}

/// The lines of a log that hold something.
fn lines(log: &[u8]) -> impl DoubleEndedIterator<Item = Line<'_>> {
    Lines { log, start: 0, end: log.len() }.filter_map(Line::trimmed)
}

/// Lines from both ends of what is left between `start` and `end`.
struct Lines<'a> {
    log: &'a [u8],
    start: usize,
    end: usize,
}

impl<'a> Lines<'a> {
    fn left(&self) -> Option<&'a [u8]> {
        self.log.get(self.start..self.end).filter(|left| !left.is_empty())
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let left = self.left()?;
        let length = memchr::memchr(b'\n', left).map_or(left.len(), |newline| newline + 1);
        let line = Line { offset: self.start, bytes: left.get(..length)? };
        self.start += length;
        Some(line)
    }
}

impl DoubleEndedIterator for Lines<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let left = self.left()?;
        // The newline that ends the line itself is not the one before it.
        let before = left.get(..left.len() - 1)?;
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        self.end = self.start + start;
        Some(Line { offset: self.end, bytes: left.get(start..)? })
    }
}

impl<'a> Line<'a> {
    /// The line at the beginning of `text`, which is one record without anything around it.
    #[must_use]
    pub fn of(text: &'a str) -> Self {
        Self { offset: 0, bytes: text.as_bytes() }
    }

    /// What the line says.
    ///
    /// # Errors
    /// If it is no JSON object.
    pub fn entry(&self) -> Result<Entry<'a>, Unreadable> {
        let mut entry = Entry {
            id: None,
            at_ms: None,
            duration_us: None,
            agent_uid: None,
            rule: None,
            decision: None,
            outcome: None,
            table: None,
            facts: Ok(FactWord::EMPTY),
        };
        let mut set = FactSetBuilder::default();
        let mut wrong = None;
        let mut scanner = Scanner::new(self.bytes);
        scanner
            .object(|scanner, key| {
                match key.text().as_deref() {
                    Some("id") => entry.id = scanner.value()?.text(),
                    Some("at_ms") => entry.at_ms = scanner.value()?.whole(),
                    Some("duration_us") => entry.duration_us = scanner.value()?.whole(),
                    Some("agent_uid") => entry.agent_uid = scanner.value()?.text(),
                    Some("rule") => entry.rule = scanner.value()?.text(),
                    Some("decision") => entry.decision = text_at(scanner, "kind")?,
                    Some("plan") => entry.outcome = text_at(scanner, "outcome")?,
                    Some("table") => entry.table = text_at(scanner, "sha256")?,
                    Some("facts") => scanner.fields(|fact, value| {
                        let value = value.text();
                        if wrong.is_none() {
                            wrong = set.give(fact, value.as_deref().unwrap_or_default()).err();
                        }
                    })?,
                    _ => drop(scanner.value()?),
                }
                Ok(())
            })
            .and_then(|()| scanner.end())
            .map_err(|Malformed { at, expected }| Unreadable {
                offset: self.offset,
                detail: format!("expected {expected} after {at} bytes"),
            })?;
        entry.facts = wrong.map_or_else(|| set.finish(), Err);
        Ok(entry)
    }

    fn trimmed(mut self) -> Option<Self> {
        let filler = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
        if let Some(rest) = self.bytes.strip_prefix("\u{feff}".as_bytes()) {
            self = Line { offset: self.offset + 3, bytes: rest };
        }
        while let [first, rest @ ..] = self.bytes
            && filler(first)
        {
            self = Line { offset: self.offset + 1, bytes: rest };
        }
        while let [rest @ .., last] = self.bytes
            && filler(last)
        {
            self.bytes = rest;
        }
        (!self.bytes.is_empty()).then_some(self)
    }
}

/// The text under one key of the object that comes next.
fn text_at<'a>(scanner: &mut Scanner<'a>, key: &str) -> Result<Option<Cow<'a, str>>, Malformed> {
    let mut found = None;
    scanner.fields(|name, value| {
        if name == key {
            found = value.text();
        }
    })?;
    Ok(found)
}
