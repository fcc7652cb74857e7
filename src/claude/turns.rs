//! What was said in a session, as far as recording it needs to know.
//!
//! A session counts once its file holds a turn. A fork's file begins as a copy of its parent's
//! turns, with their `uuid`s and written piece by piece: there only a turn after the copy counts.

use super::complete::{self, record};
use super::lines::{Bounds, LinesBack};
use super::open::{OpenError, Regular, open_regular};
use std::io::Read as _;
use std::path::Path;

/// How far from its end a file is searched for a record, in bytes.
const SEARCH_BYTES_MAX: u64 = 1 << 30;
/// How much is read at a time of a file that is searched as a whole, in bytes.
const SCAN_BYTES: usize = 1 << 20;

/// Whether a session file holds a `user` or `assistant` record, near either end of it. One that
/// is not there holds none.
///
/// # Errors
///
/// What kept the file from being read.
pub fn holds_turn(path: &Path) -> Result<bool, OpenError> {
    let Some(Regular { mut file, size }) = if_there(path)? else { return Ok(false) };
    Ok(complete::holds_turn(&mut file, size, Bounds::SHIPPED)?)
}

/// The `uuid` of a session file's last `user` or `assistant` record that has one. `None` if there
/// is none in its last GiB, or no such file.
///
/// # Errors
///
/// What kept the file from being read.
pub fn last_turn_uuid(path: &Path) -> Result<Option<String>, OpenError> {
    let Some(regular) = if_there(path)? else { return Ok(None) };
    let mut lines = back(regular);
    while let Some(line) = lines.next_line()? {
        if let Some(uuid) = record(&line).filter(|record| record.is_turn).and_then(|record| record.uuid) {
            return Ok(Some(uuid));
        }
    }
    Ok(None)
}

/// Whether a session file holds a turn after the record with this `uuid`. Not so if that record
/// is not in its last GiB (yet), or there is no such file.
///
/// # Errors
///
/// What kept the file from being read.
pub fn holds_turn_after(path: &Path, uuid: &str) -> Result<bool, OpenError> {
    let Some(regular) = if_there(path)? else { return Ok(false) };
    let mut lines = back(regular);
    let mut is_after = false;
    while let Some(line) = lines.next_line()? {
        let Some(record) = record(&line) else { continue };
        if record.uuid.as_deref() == Some(uuid) {
            return Ok(is_after);
        }
        is_after |= record.is_turn;
    }
    Ok(false)
}

/// Whether these bytes stand anywhere in a session file, such as a record's `uuid`.
///
/// # Errors
///
/// What kept the file from being read; also that it is not there.
pub fn mentions(path: &Path, text: &str) -> Result<bool, OpenError> {
    let Regular { mut file, .. } = open_regular(path)?;
    let finder = memchr::memmem::Finder::new(text);
    let overlap = text.len().saturating_sub(1);
    let mut window = Vec::with_capacity(SCAN_BYTES + overlap);
    loop {
        let read = file.by_ref().take(SCAN_BYTES as u64).read_to_end(&mut window)?;
        if finder.find(&window).is_some() {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
        window.drain(..window.len().saturating_sub(overlap));
    }
}

fn back(Regular { file, size }: Regular) -> LinesBack<std::fs::File> {
    LinesBack::new(file, size, size.saturating_sub(SEARCH_BYTES_MAX), Bounds::SHIPPED)
}

fn if_there(path: &Path) -> Result<Option<Regular>, OpenError> {
    match open_regular(path) {
        Ok(regular) => Ok(Some(regular)),
        Err(OpenError::NotThere) => Ok(None),
        Err(error) => Err(error),
    }
}
