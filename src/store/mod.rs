//! Append-only files in zones: where segment logs and decision logs are kept.
//!
//! A *file* is named by its zone and its name and only ever grows, one line at a time. This module
//! says what a reader and a writer may rely on ([`Store`], [`Snapshot`]); it knows nothing of what
//! the lines mean. Two implementations: [`MemoryStore`] for tests and embedding, and
//! `SqliteStore`, the database that AgentMux uses too.
//!
//! # Guarantees
//!
//! - A [`Snapshot`] is one consistent view of one file, whatever is appended meanwhile.
//! - [`Store::append`] is one transaction. When it returns `Ok`, the line is there as durably as was
//!   asked; when it returns an error, the file is as it was.
//! - A file that does not end in a newline is closed with one before the new line, so that damage
//!   never swallows what is written after it.
//! - No file, no table and no store are an empty file, not an error.

mod deadline;
mod error;
mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::ops::Range;
use std::time::Duration;

pub use deadline::within_deadline;
pub use error::{StoreError, StoreErrorKind};
pub use memory::MemoryStore;
#[cfg(feature = "sqlite")]
pub use sqlite::{AgentRow, AgentsDb, SqliteStore};

/// Bytes of a file that are kept together; the last part of a file is shorter.
pub const PART_BYTES: u64 = 64 * 1024;

/// How long a writer waits for its turn.
pub const WRITER_WAIT: Duration = Duration::from_secs(5);

/// What an append survives once it has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Power loss: synced to disk. For segment events.
    Full,
    /// A crash of this process; the last moments before a power loss may be gone. For decisions.
    Normal,
}

/// How one line is appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendOptions {
    /// What it survives.
    pub durability: Durability,
    /// The present time, in milliseconds since 1970; becomes the file's modification time.
    pub now_ms: i64,
}

/// What an append did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Offset in bytes at which the line begins.
    pub offset: u64,
    /// Whether the file did not end in a newline and was closed with one first.
    pub closed_torn_tail: bool,
}

/// A file as the store lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// Its zone.
    pub zone: String,
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: i64,
    /// When it was last appended to, in milliseconds since 1970.
    pub modified_ms: i64,
}

/// One file at one moment.
pub trait Snapshot {
    /// Its size in bytes.
    fn size(&self) -> u64;

    /// Appends the bytes of `range`, cut to the file's size, to `into`. Bytes that the store lost
    /// (a missing part) are NUL.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn read_range(&mut self, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), StoreError>;

    /// Appends the whole file to `into`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn read_all(&mut self, into: &mut Vec<u8>) -> Result<(), StoreError> {
        let size = self.size();
        self.read_range(0..size, into)
    }
}

/// Makes the line to append from the file as it is, inside the append's transaction. The line must
/// hold no newline.
pub type MakeLine<'a> = dyn FnMut(&mut dyn Snapshot) -> Result<Vec<u8>, StoreError> + 'a;

/// Append-only files by zone and name.
pub trait Store {
    /// A consistent view of a file; `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, which is not the same as an absent file.
    fn snapshot<'a>(&'a mut self, zone: &str, name: &str) -> Result<Option<Box<dyn Snapshot + 'a>>, StoreError>;

    /// Appends the line that `make` returns, and a newline, in one transaction. Creates the file if
    /// it is missing.
    ///
    /// # Errors
    ///
    /// When `make` fails, or the line cannot be written; the file is then as it was.
    fn append(
        &mut self,
        zone: &str,
        name: &str,
        options: AppendOptions,
        make: &mut MakeLine<'_>,
    ) -> Result<Appended, StoreError>;

    /// Puts a whole file in place if there is none of that name; says whether it did. For files
    /// that are named by their content.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written; there is then no new file.
    fn put_once(&mut self, zone: &str, name: &str, bytes: &[u8], options: AppendOptions) -> Result<bool, StoreError>;

    /// All files of a name, ordered by zone.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn files_named(&mut self, name: &str) -> Result<Vec<FileInfo>, StoreError>;

    /// Appends a line that is known beforehand; see [`Store::append`].
    ///
    /// # Errors
    ///
    /// As [`Store::append`].
    fn append_line(
        &mut self,
        zone: &str,
        name: &str,
        options: AppendOptions,
        line: &[u8],
    ) -> Result<Appended, StoreError> {
        self.append(zone, name, options, &mut |_| Ok(line.to_vec()))
    }
}

/// A new line ready to be written behind a file that ends in `last`: closed first if it was torn,
/// and ended with a newline. The flag says whether it was torn.
fn closed_line(last: Option<u8>, line: &[u8]) -> Result<(Vec<u8>, bool), StoreError> {
    if memchr::memchr(b'\n', line).is_some() {
        return Err(StoreError::new(StoreErrorKind::BadLine, None, "append a line", "it holds a newline"));
    }
    let torn = last.is_some_and(|byte| byte != b'\n');
    let mut bytes = Vec::with_capacity(line.len().saturating_add(2));
    if torn {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line);
    bytes.push(b'\n');
    Ok((bytes, torn))
}
