//! Decision logs in the store, and the tables that made the decisions, each kept once under its
//! fingerprint. Logs are read in windows, from either end, so that a long one costs no memory.

use super::entry::{Entry, Line, Unreadable, entries};
use crate::segments::{DECISIONS_FILE, decisions_zone_for, uid_of_decisions_zone};
use crate::store::{AppendOptions, Durability, Snapshot, Store, StoreError};
use std::ops::ControlFlow;

/// Zone of the tables that made decisions.
pub const TABLES_ZONE: &str = "resume-gate:tables";

/// How much of a log is read at a time, in bytes.
const WINDOW_BYTES: u64 = 4 << 20;
/// Longest line that is looked at, in bytes; a record has a few thousand.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Name of the file that keeps the table with this SHA-256 (in hex).
#[must_use]
pub fn table_file(sha256: &str) -> String {
    format!("{sha256}.yaml")
}

/// Appends a record to an agent's log, and keeps the table that made it if it is not kept yet.
/// Says whether it did: for a UID that is none there is no log.
///
/// # Errors
/// When the store cannot be written; a log is then as it was.
pub fn append(
    store: &mut dyn Store,
    agent_uid: &str,
    record: &str,
    (sha256, source): (&str, &[u8]),
    now_ms: i64,
) -> Result<bool, StoreError> {
    let Some(zone) = decisions_zone_for(agent_uid) else { return Ok(false) };
    let options = AppendOptions { durability: Durability::Normal, now_ms };
    // The table first: a record whose table is missing cannot be explained.
    if store.snapshot(TABLES_ZONE, &table_file(sha256))?.is_none() {
        store.put_once(TABLES_ZONE, &table_file(sha256), source, options)?;
    }
    store.append_line(&zone, DECISIONS_FILE, options, record.as_bytes())?;
    Ok(true)
}

/// The source of the table with this SHA-256, if it is kept.
///
/// # Errors
/// When the store cannot be read.
pub fn table_source(store: &mut dyn Store, sha256: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(mut file) = store.snapshot(TABLES_ZONE, &table_file(sha256))? else { return Ok(None) };
    let mut source = Vec::new();
    file.read_all(&mut source)?;
    Ok(Some(source))
}

/// The agents that have a decision log, ordered by UID, with its size in bytes.
///
/// # Errors
/// When the store cannot be read.
pub fn logged_agents(store: &mut dyn Store) -> Result<Vec<(String, u64)>, StoreError> {
    let files = store.files_named(DECISIONS_FILE)?;
    let mut agents: Vec<(String, u64)> =
        files.iter().filter_map(|file| Some((uid_of_decisions_zone(&file.zone)?.to_owned(), file.size))).collect();
    agents.sort_unstable();
    Ok(agents)
}

/// What is handed each line of a log: the line with what it says, or why it is no record.
pub type Each<'e> = dyn FnMut(Result<(Line<'_>, Entry<'_>), Unreadable>) -> ControlFlow<()> + 'e;

/// Goes through an agent's log from its beginning until `each` breaks.
///
/// # Errors
/// When the store cannot be read.
pub fn forwards(store: &mut dyn Store, agent_uid: &str, each: &mut Each<'_>) -> Result<ControlFlow<()>, StoreError> {
    with_log(store, agent_uid, |log| {
        let (mut start, mut window) = (0, WINDOW_BYTES);
        let mut bytes = Vec::new();
        while start < log.size() {
            bytes.clear();
            log.read_range(start..start.saturating_add(window), &mut bytes)?;
            let at_end = start.saturating_add(bytes.len() as u64) >= log.size();
            let whole = if at_end { Some(bytes.len()) } else { memchr::memrchr(b'\n', &bytes).map(|at| at + 1) };
            // A line longer than what is looked at is taken in pieces, each of which is no record.
            let Some(whole) = whole.or((window >= MAX_LINE_BYTES).then_some(bytes.len())).filter(|whole| *whole > 0)
            else {
                window = window.saturating_mul(2);
                continue;
            };
            for read in entries(bytes.get(..whole).unwrap_or_default()) {
                if each(at(read, start)).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            (start, window) = (start.saturating_add(whole as u64), WINDOW_BYTES);
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Goes through an agent's log from its end until `each` breaks.
///
/// # Errors
/// When the store cannot be read.
pub fn backwards(store: &mut dyn Store, agent_uid: &str, each: &mut Each<'_>) -> Result<ControlFlow<()>, StoreError> {
    with_log(store, agent_uid, |log| {
        let (mut end, mut window) = (log.size(), WINDOW_BYTES);
        let mut bytes = Vec::new();
        while end > 0 {
            let start = end.saturating_sub(window);
            bytes.clear();
            log.read_range(start..end, &mut bytes)?;
            // What stands before the first newline began in front of the window.
            let first = if start == 0 { Some(0) } else { memchr::memchr(b'\n', &bytes).map(|at| at + 1) };
            let Some(first) =
                first.filter(|first| *first < bytes.len()).or((window >= MAX_LINE_BYTES || start == 0).then_some(0))
            else {
                window = window.saturating_mul(2);
                continue;
            };
            for read in entries(bytes.get(first..).unwrap_or_default()).rev() {
                if each(at(read, start.saturating_add(first as u64))).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            (end, window) = (start.saturating_add(first as u64), WINDOW_BYTES);
        }
        Ok(ControlFlow::Continue(()))
    })
}

fn with_log(
    store: &mut dyn Store,
    agent_uid: &str,
    read: impl FnOnce(&mut dyn Snapshot) -> Result<ControlFlow<()>, StoreError>,
) -> Result<ControlFlow<()>, StoreError> {
    let Some(zone) = decisions_zone_for(agent_uid) else { return Ok(ControlFlow::Continue(())) };
    match store.snapshot(&zone, DECISIONS_FILE)? {
        Some(mut log) => read(&mut *log),
        None => Ok(ControlFlow::Continue(())),
    }
}

/// What was read of a window that begins at `start`, with its place in the log.
fn at<'a>(read: Result<(Line<'a>, Entry<'a>), Unreadable>, start: u64) -> Result<(Line<'a>, Entry<'a>), Unreadable> {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    match read {
        Ok((line, entry)) => Ok((Line { offset: line.offset.saturating_add(start), ..line }, entry)),
        Err(error) => Err(Unreadable { offset: error.offset.saturating_add(start), ..error }),
    }
}
