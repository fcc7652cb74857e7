//! The lines of a session file, from either end, in bounded memory.
//!
//! Lines end in LF and nothing else: U+2028 and U+0085 are data. A line that is longer than the
//! bound, or holds a NUL byte (no JSON does; a hole in a sparse file is full of them), is
//! *broken*: its bytes are not kept, and it can be skipped without reading all of it.

use std::io::{self, Read, Seek, SeekFrom};

/// How much of a file is looked at, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// At either end of a file, as far as a turn is looked for.
    pub(super) edge_bytes: u64,
    /// The longest line that is taken in.
    pub(super) line_bytes_max: usize,
    /// Read at a time, at first.
    pub(super) chunk_bytes: usize,
}

impl Bounds {
    /// The bounds for real files.
    pub(super) const SHIPPED: Self = Self { edge_bytes: 4 << 20, line_bytes_max: 64 << 20, chunk_bytes: 64 << 10 };

    /// How much more to read of a line of which so much is known. Growing with the line keeps the
    /// work in proportion to it; one byte over the bound is enough to know it for broken.
    fn step(&self, known: usize) -> u64 {
        let to_bound = (self.line_bytes_max + 1).saturating_sub(known);
        known.max(self.chunk_bytes).min(to_bound.max(self.chunk_bytes)) as u64
    }
}

/// One line without its LF.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Where it begins in the file, in bytes.
    pub(super) offset: u64,
    /// What it says; `None` if it is broken.
    pub(super) bytes: Option<Vec<u8>>,
    /// Whether an LF follows.
    pub(super) is_ended: bool,
}

impl Line {
    /// Whether there is nothing on it.
    pub(super) fn is_blank(&self) -> bool {
        self.bytes.as_ref().is_some_and(|bytes| bytes.trim_ascii().is_empty())
    }
}

/// The lines that begin before `ceiling`, in order.
pub(super) struct Lines<R> {
    reader: R,
    bounds: Bounds,
    size: u64,
    ceiling: u64,
    /// Read ahead; what is before `next` was given out.
    ahead: Vec<u8>,
    next: usize,
    /// Where the byte at `next` is in the file.
    offset: u64,
}

impl<R: Read> Lines<R> {
    /// Of a reader that stands at the beginning of `size` bytes.
    pub(super) fn new(reader: R, size: u64, ceiling: u64, bounds: Bounds) -> Self {
        Self { reader, bounds, size, ceiling, ahead: Vec::new(), next: 0, offset: 0 }
    }

    /// The next line. An error if the file has become shorter than it was.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line>> {
        let offset = self.offset;
        if offset >= self.ceiling.min(self.size) {
            return Ok(None);
        }
        let mut is_broken = false;
        let mut searched = 0;
        loop {
            let unread = self.ahead.get(self.next..).unwrap_or_default();
            let fresh = unread.get(searched..).unwrap_or_default();
            let end = memchr::memchr(b'\n', fresh);
            is_broken = is_broken
                || memchr::memchr(0, fresh.get(..end.unwrap_or(fresh.len())).unwrap_or_default()).is_some()
                || end.map_or(unread.len(), |at| searched + at) > self.bounds.line_bytes_max;
            if let Some(at) = end {
                let line = self.take(searched + at, is_broken);
                self.take(1, true);
                return Ok(Some(Line { offset, bytes: line, is_ended: true }));
            }
            searched = unread.len();
            if is_broken {
                self.take(searched, true);
                searched = 0;
            }
            // A broken line is good for nothing, and none that begins after it may be wanted.
            let is_enough = is_broken && self.offset >= self.ceiling;
            if is_enough || !self.fill()? {
                return Ok(Some(Line { offset, bytes: self.take(searched, is_broken), is_ended: false }));
            }
        }
    }

    /// Moves on by `count` bytes and gives them, unless they are worth nothing.
    fn take(&mut self, count: usize, is_broken: bool) -> Option<Vec<u8>> {
        let end = self.next + count;
        let bytes = if is_broken { None } else { self.ahead.get(self.next..end).map(<[u8]>::to_vec) };
        self.next = end;
        self.offset += count as u64;
        bytes
    }

    /// Reads on; false at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        self.ahead.drain(..self.next);
        self.next = 0;
        let known = self.ahead.len();
        let left = self.size.saturating_sub(self.offset + known as u64);
        let wanted = left.min(self.bounds.step(known));
        self.ahead.resize(known + usize::try_from(wanted).unwrap_or(0), 0);
        self.reader.read_exact(self.ahead.get_mut(known..).unwrap_or_default())?;
        Ok(wanted > 0)
    }
}

/// The lines that end after `floor`, from the last one back.
pub(super) struct LinesBack<R> {
    reader: R,
    bounds: Bounds,
    floor: u64,
    /// Read so far and not given out: the bytes from `start` up to the end of the next line.
    behind: Vec<u8>,
    start: u64,
    is_ended: bool,
    is_done: bool,
}

impl<R: Read + Seek> LinesBack<R> {
    /// Of the first `size` bytes of a reader.
    pub(super) fn new(reader: R, size: u64, floor: u64, bounds: Bounds) -> Self {
        let is_done = size == 0;
        Self { reader, bounds, floor, behind: Vec::new(), start: size, is_ended: false, is_done }
    }

    /// The line before. The first one given is what follows the last LF, which may be nothing.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line>> {
        if self.is_done || self.start + self.behind.len() as u64 <= self.floor {
            return Ok(None);
        }
        let mut unsearched = self.behind.len();
        let mut is_broken = false;
        loop {
            if let Some(at) = memchr::memrchr(b'\n', self.behind.get(..unsearched).unwrap_or_default()) {
                let line = self.behind.split_off(at + 1);
                self.behind.pop();
                return Ok(Some(self.give(self.start + at as u64 + 1, line, is_broken)));
            }
            if self.start == 0 {
                self.is_done = true;
                let line = std::mem::take(&mut self.behind);
                return Ok(Some(self.give(0, line, is_broken)));
            }
            let fresh = self.behind.get(..unsearched).unwrap_or_default();
            is_broken =
                is_broken || self.behind.len() > self.bounds.line_bytes_max || memchr::memchr(0, fresh).is_some();
            if is_broken {
                self.behind.clear();
                if self.start <= self.floor {
                    self.is_done = true;
                    return Ok(Some(self.give(self.start, Vec::new(), true)));
                }
            }
            unsearched = self.fill()?;
        }
    }

    fn give(&mut self, offset: u64, line: Vec<u8>, is_broken: bool) -> Line {
        let is_broken = is_broken || line.len() > self.bounds.line_bytes_max || memchr::memchr(0, &line).is_some();
        let is_ended = std::mem::replace(&mut self.is_ended, true);
        Line { offset, bytes: (!is_broken).then_some(line), is_ended }
    }

    /// Reads what stands before; how many bytes that was.
    fn fill(&mut self) -> io::Result<usize> {
        let wanted = self.start.min(self.bounds.step(self.behind.len()));
        let mut bytes = vec![0; usize::try_from(wanted).unwrap_or(0)];
        self.reader.seek(SeekFrom::Start(self.start - wanted))?;
        self.reader.read_exact(&mut bytes)?;
        let count = bytes.len();
        bytes.append(&mut self.behind);
        self.behind = bytes;
        self.start -= wanted;
        Ok(count)
    }
}
