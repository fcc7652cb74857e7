//! Whether a session file holds a whole conversation.

use super::json;
use super::lines::{Bounds, Line, Lines, LinesBack};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Why a session file is no whole conversation.
#[derive(Debug, thiserror::Error)]
pub enum Incomplete {
    /// There is nothing that was said: no `user` or `assistant` record near either end.
    #[error("it holds no `user` or `assistant` record")]
    NoTurn,
    /// Its last line is cut, or is damaged in another way.
    #[error("its last line is not a whole record")]
    LastLine,
    /// Its last line is longer than a record that is taken in (64 MiB).
    #[error("its last line is longer than 64 MiB")]
    LastLineTooLong,
    /// It could not be read to the end.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// What the end of a file may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// The last line has to be whole: nobody is writing.
    Whole,
    /// A last line that is cut does not count: somebody may be in the middle of it.
    MayBeTorn,
}

/// Whether the first `size` bytes of a session file are a whole conversation: they hold a turn,
/// and the last line that is not blank is one whole JSON object.
///
/// The turn is looked for in the lines that begin in the first 4 MiB and those that end in the
/// last, so the cost does not grow with the file.
///
/// # Errors
///
/// What is missing, or what kept the file from being read.
pub fn check(file: &mut File, size: u64, tail: Tail) -> Result<(), Incomplete> {
    check_within(file, size, tail, Bounds::SHIPPED)
}

/// How many of the first `size` bytes of a session file are whole lines: what can be copied of it
/// while its owner writes. A last line without its LF counts if it is a whole JSON object.
///
/// # Errors
///
/// A last line over 64 MiB, or what kept the file from being read.
pub fn whole_bytes(file: &mut File, size: u64) -> Result<u64, Incomplete> {
    whole_bytes_within(file, size, Bounds::SHIPPED)
}

/// Whether the first `size` bytes hold a turn near either end, as [`check`] looks for it.
pub(super) fn holds_turn<R: Read + Seek>(reader: &mut R, size: u64, bounds: Bounds) -> io::Result<bool> {
    reader.seek(SeekFrom::Start(0))?;
    let mut lines = Lines::new(&mut *reader, size, bounds.edge_bytes, bounds);
    while let Some(line) = lines.next_line()? {
        if is_turn(&line) {
            return Ok(true);
        }
    }
    let mut lines = LinesBack::new(reader, size, size.saturating_sub(bounds.edge_bytes), bounds);
    while let Some(line) = lines.next_line()? {
        if is_turn(&line) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A record's type and uuid, if the line is a whole one.
pub(super) fn record(line: &Line) -> Option<Record> {
    let bytes = line.bytes.as_deref()?;
    let bytes = if line.offset == 0 { json::without_mark(bytes) } else { bytes };
    let [kind, uuid] = json::pick(bytes, ["type", "uuid"]).ok()?;
    let is_turn = matches!(kind, Some(Value::String(kind)) if matches!(kind.as_str(), "user" | "assistant"));
    Some(Record { is_turn, uuid: json::text(uuid) })
}

/// What is needed to know of a line that is one whole JSON object.
pub(super) struct Record {
    /// Whether someone said something: its type is `user` or `assistant`.
    pub(super) is_turn: bool,
    /// Its own id.
    pub(super) uuid: Option<String>,
}

fn is_turn(line: &Line) -> bool {
    record(line).is_some_and(|record| record.is_turn)
}

fn check_within<R: Read + Seek>(reader: &mut R, size: u64, tail: Tail, bounds: Bounds) -> Result<(), Incomplete> {
    let mut whole = size;
    if tail == Tail::MayBeTorn {
        whole = whole_bytes_within(reader, size, bounds)?;
    }
    let Some(last) = last_line(reader, whole, bounds)? else { return Err(Incomplete::NoTurn) };
    if last.bytes.is_none() && whole - last.offset > bounds.line_bytes_max as u64 {
        return Err(Incomplete::LastLineTooLong);
    }
    if record(&last).is_none() {
        return Err(Incomplete::LastLine);
    }
    if holds_turn(reader, whole, bounds)? { Ok(()) } else { Err(Incomplete::NoTurn) }
}

fn whole_bytes_within<R: Read + Seek>(reader: &mut R, size: u64, bounds: Bounds) -> Result<u64, Incomplete> {
    let floor = size.saturating_sub(bounds.line_bytes_max as u64);
    match LinesBack::new(reader, size, floor, bounds).next_line()? {
        None => Ok(0),
        Some(last) if record(&last).is_some() => Ok(size),
        Some(last) if last.offset == 0 || last.offset > floor => Ok(last.offset),
        Some(_) => Err(Incomplete::LastLineTooLong),
    }
}

/// The last line that is not blank.
fn last_line<R: Read + Seek>(reader: &mut R, size: u64, bounds: Bounds) -> io::Result<Option<Line>> {
    let mut lines = LinesBack::new(reader, size, size.saturating_sub(bounds.line_bytes_max as u64), bounds);
    while let Some(line) = lines.next_line()? {
        if !line.is_blank() {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    /// The same question to the whole text at once.
    fn naive_is_complete(text: &[u8], tail: Tail, bounds: Bounds) -> bool {
        let mut lines: Vec<(usize, &[u8])> = Vec::new();
        let mut offset = 0;
        for line in text.split(|&byte| byte == b'\n') {
            lines.push((offset, line));
            offset += line.len() + 1;
        }
        let record = |&(offset, line): &(usize, &[u8])| {
            // A byte-order mark belongs to the line as it is measured, not as it is read.
            let text = if offset == 0 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
            let record = serde_json::from_slice::<serde_json::Map<String, Value>>(text);
            record.ok().filter(|_| line.len() <= bounds.line_bytes_max)
        };
        let mut size = text.len();
        if tail == Tail::MayBeTorn
            && let Some(last) = lines.pop_if(|last| record(last).is_none())
        {
            size = last.0;
            if last.1.len() >= bounds.line_bytes_max {
                return false;
            }
        }
        let last = lines.iter().rfind(|(_, line)| !line.trim_ascii().is_empty());
        let is_near =
            |(offset, line): &(usize, &[u8]), bytes: u64| offset + line.len() > size.saturating_sub(bytes as usize);
        let is_whole = last.is_some_and(|last| is_near(last, bounds.line_bytes_max as u64) && record(last).is_some());
        let is_turn = |line: &&(usize, &[u8])| {
            record(line)
                .is_some_and(|record| matches!(record.get("type").and_then(Value::as_str), Some("user" | "assistant")))
        };
        let mut turns = lines.iter().filter(is_turn);
        is_whole && turns.any(|line| (line.0 as u64) < bounds.edge_bytes || is_near(line, bounds.edge_bytes))
    }

    fn piece() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            4 => Just(br#"{"type":"user","uuid":"u"}"#.to_vec()),
            4 => Just(br#"{"type":"ai-title"}"#.to_vec()),
            1 => (1..80usize).prop_map(|n| format!(r#"{{"x":"{}","type":"assistant"}}"#, "y".repeat(n)).into_bytes()),
            1 => Just(br#"{"type":"user","uuid":"#.to_vec()),
            1 => Just(b"{\"type\":\"user\",\"x\":\"\xe2\x80\"}".to_vec()),
            1 => Just("{\"type\":\"user\",\"x\":\"\u{2028}\u{85}\"}".as_bytes().to_vec()),
            1 => Just(b"\xef\xbb\xbf".to_vec()),
            1 => (1..40usize).prop_map(|n| vec![0; n]),
            1 => (1..40usize).prop_map(|n| vec![b' '; n]),
            1 => Just(b"\r".to_vec()),
            1 => proptest::collection::vec(any::<u8>(), 0..9),
            8 => Just(b"\n".to_vec()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn windows_give_what_reading_it_all_gives(
            pieces in proptest::collection::vec(piece(), 0..24),
            edge_bytes in 0..80u64,
            line_bytes_max in 8..120usize,
            chunk_bytes in 1..40usize,
        ) {
            let text = pieces.concat();
            let bounds = Bounds { edge_bytes, line_bytes_max, chunk_bytes };
            for tail in [Tail::Whole, Tail::MayBeTorn] {
                let checked = check_within(&mut Cursor::new(&text), text.len() as u64, tail, bounds);
                prop_assert_eq!(checked.is_ok(), naive_is_complete(&text, tail, bounds), "{:?} {:?}", tail, checked);
            }
        }

        #[test]
        fn both_directions_give_the_lines_there_are(
            pieces in proptest::collection::vec(piece(), 0..24),
            chunk_bytes in 1..40usize,
        ) {
            let text = pieces.concat();
            let size = text.len() as u64;
            let bounds = Bounds { edge_bytes: 0, line_bytes_max: 60, chunk_bytes };
            let mut expected: Vec<_> = text.split(|&byte| byte == b'\n').map(|line| {
                Some(line.to_vec()).filter(|line| line.len() <= 60 && !line.contains(&0))
            }).collect();
            let mut back = LinesBack::new(Cursor::new(&text), size, 0, bounds);
            let mut from_end = Vec::new();
            while let Some(line) = back.next_line().unwrap() { from_end.push(line.bytes) }
            from_end.reverse();
            // A line that ends at the very beginning ends at the floor, and is not asked for.
            let skipped = usize::from(text.first().is_none_or(|&byte| byte == b'\n'));
            prop_assert_eq!(&from_end, &expected.get(skipped..).unwrap_or_default());
            let mut lines = Lines::new(Cursor::new(&text), size, u64::MAX, bounds);
            let mut from_start = Vec::new();
            while let Some(line) = lines.next_line().unwrap() { from_start.push(line.bytes) }
            // What follows the last LF is a line to neither if it is nothing.
            expected.pop_if(|last| last.as_ref().is_some_and(Vec::is_empty));
            prop_assert_eq!(from_start, expected);
        }
    }
}
