//! The store as an SQLite database in AgentMux's file-store format. The only place with SQL.
//!
//! # Locking
//!
//! Several processes, ours and AgentMux's, share the file. Every write is one `BEGIN IMMEDIATE`
//! transaction, which takes the write lock first, so that a read inside it is not outdated; a
//! writer waits for its turn up to the limit it was opened with. Every read is one transaction over
//! row and parts.
//!
//! # Compatibility
//!
//! A database that we create is WAL with mode 0600 in a folder of mode 0700. An existing one keeps
//! its journal mode and everything that is not ours. `user_version` above 1 is a newer format:
//! checked in every transaction, neither read nor written. Five counter columns of newer files
//! describe content that we change without counting; they become NULL in the same statement.
//!
//! # Failure
//!
//! Nothing is repaired, migrated, vacuumed, checkpointed on close, or deleted. An error rolls back.

mod agents;
mod open;
mod read;
mod write;

use super::{AppendOptions, Appended, FileInfo, MakeLine, Snapshot, Store, StoreError, StoreErrorKind};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};

pub use agents::{AgentRow, AgentsDb};

/// The newest `user_version` this program knows.
const FORMAT_VERSION: i64 = 1;

/// A file store in an SQLite database.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    /// Absent when there is no database and none was to be made.
    connection: Option<Connection>,
    may_write: bool,
}

impl SqliteStore {
    /// The database's path as it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a database at that path.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.connection.is_some()
    }
}

impl Store for SqliteStore {
    fn snapshot<'a>(&'a mut self, zone: &str, name: &str) -> Result<Option<Box<dyn Snapshot + 'a>>, StoreError> {
        let Self { path, connection, .. } = self;
        let Some(connection) = connection else { return Ok(None) };
        let transaction = begin(connection, path, TransactionBehavior::Deferred, READING)?;
        let snapshot = read::FileSnapshot::open(transaction, path, zone, name)?;
        Ok(snapshot.map(|snapshot| Box::new(snapshot) as Box<dyn Snapshot + 'a>))
    }

    fn append(
        &mut self,
        zone: &str,
        name: &str,
        options: AppendOptions,
        make: &mut MakeLine<'_>,
    ) -> Result<Appended, StoreError> {
        let path = self.path.clone();
        let connection = self.for_writing()?;
        write::append(connection, &path, zone, name, options, make)
    }

    fn put_once(&mut self, zone: &str, name: &str, bytes: &[u8], options: AppendOptions) -> Result<bool, StoreError> {
        let path = self.path.clone();
        let connection = self.for_writing()?;
        write::put_once(connection, &path, zone, name, bytes, options)
    }

    fn files_named(&mut self, name: &str) -> Result<Vec<FileInfo>, StoreError> {
        let Self { path, connection, .. } = self;
        let Some(connection) = connection else { return Ok(Vec::new()) };
        let transaction = begin(connection, path, TransactionBehavior::Deferred, READING)?;
        read::files_named(&transaction, path, name)
    }
}

impl SqliteStore {
    fn for_writing(&mut self) -> Result<&mut Connection, StoreError> {
        let connection = self.connection.as_mut().filter(|_| self.may_write);
        connection.ok_or_else(|| {
            StoreError::new(StoreErrorKind::ReadOnly, Some(&self.path), WRITING, "it was opened for reading only")
        })
    }
}

const READING: &str = "read the store";
const WRITING: &str = "write to the store";

/// Begins a transaction on a database whose format we know.
fn begin<'c>(
    connection: &'c mut Connection,
    path: &Path,
    behavior: TransactionBehavior,
    doing: &'static str,
) -> Result<Transaction<'c>, StoreError> {
    let failed = |error| sql_error(path, doing, &error);
    let transaction = connection.transaction_with_behavior(behavior).map_err(failed)?;
    check_format(&transaction, path, doing)?;
    Ok(transaction)
}

/// Refuses a newer format.
fn check_format(connection: &Connection, path: &Path, doing: &'static str) -> Result<(), StoreError> {
    let failed = |error| sql_error(path, doing, &error);
    let mut statement = connection.prepare_cached("PRAGMA user_version").map_err(failed)?;
    let version: i64 = statement.query_row([], |row| row.get(0)).map_err(failed)?;
    if version > FORMAT_VERSION {
        let detail = format!("its format version is {version}, and this program knows up to {FORMAT_VERSION}");
        return Err(StoreError::new(StoreErrorKind::NewerFormat, Some(path), doing, detail));
    }
    Ok(())
}

/// Whether the database has a table of that name.
fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)")?
        .query_row([name], |row| row.get(0))
}

/// Puts an error of SQLite's into our words.
fn sql_error(path: &Path, doing: &'static str, error: &rusqlite::Error) -> StoreError {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            StoreErrorKind::Busy
        }
        Some(ErrorCode::DatabaseCorrupt) => StoreErrorKind::Corrupt,
        Some(ErrorCode::NotADatabase) => StoreErrorKind::NotADatabase,
        Some(ErrorCode::DiskFull) => StoreErrorKind::Full,
        Some(ErrorCode::ReadOnly) => StoreErrorKind::ReadOnly,
        Some(ErrorCode::PermissionDenied | ErrorCode::CannotOpen | ErrorCode::AuthorizationForStatementDenied) => {
            StoreErrorKind::Denied
        }
        Some(_) => StoreErrorKind::Io,
        // A value of another type than its column declares.
        None => StoreErrorKind::Corrupt,
    };
    StoreError::new(kind, Some(path), doing, error.to_string())
}
