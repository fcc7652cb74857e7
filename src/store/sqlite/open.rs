//! Opening a store, and making one.

use super::{READING, SqliteStore, WRITING, check_format, sql_error};
use crate::store::{StoreError, StoreErrorKind};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How long to pause before asking again for a lock that SQLite itself does not wait for.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

impl SqliteStore {
    /// Opens a store to read it. Writes nothing of ours; a path where nothing is gives an empty
    /// store. Each wait for a lock is at most `wait`.
    ///
    /// The connection itself may write where the file's owner lets it, and is told not to: only so
    /// can SQLite take back what a killed writer left half done, which it does before it reads.
    ///
    /// # Errors
    ///
    /// When there is something at `path` that is no readable store of a format we know.
    pub fn reader(path: &Path, wait: Duration) -> Result<Self, StoreError> {
        let connection = match regular_file(path, READING)? {
            false => None,
            true => Some(connect_store(path, OpenFlags::SQLITE_OPEN_READ_WRITE, wait, READING)?),
        };
        if let Some(connection) = &connection {
            let forbidden = connection.pragma_update(None, "query_only", true);
            forbidden.map_err(|error| sql_error(path, READING, &error))?;
        }
        Ok(Self { path: path.to_path_buf(), connection, may_write: false })
    }

    /// Opens a store to read it and to record in it, and makes one if there is none. A writer waits
    /// for its turn for at most `wait` ([`WRITER_WAIT`](crate::store::WRITER_WAIT) unless there is a
    /// reason).
    ///
    /// # Errors
    ///
    /// When there is something at `path` that is no store of a format we know, or none could be
    /// made.
    pub fn recorder(path: &Path, wait: Duration) -> Result<Self, StoreError> {
        if !regular_file(path, WRITING)? {
            create_file(path).map_err(|error| io_error(path, "create the store", &error))?;
            // Something else may have won the race; it is looked at like anything found there.
            regular_file(path, WRITING)?;
        }
        let connection = connect_store(path, OpenFlags::SQLITE_OPEN_READ_WRITE, wait, WRITING)?;
        if is_blank(&connection).map_err(|error| sql_error(path, WRITING, &error))? {
            choose_wal(&connection, path, wait)?;
        }
        Ok(Self { path: path.to_path_buf(), connection: Some(connection), may_write: true })
    }
}

/// Whether a regular file (or a link to one) is at `path`; anything else there is an error. Opening
/// a pipe would hang, so this comes first.
pub(super) fn regular_file(path: &Path, doing: &'static str) -> Result<bool, StoreError> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(found) => {
            let what = if found.is_dir() { "there is a directory in its place" } else { "it is no regular file" };
            Err(StoreError::new(StoreErrorKind::NotAFile, Some(path), doing, what))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_error(path, doing, &error)),
    }
}

/// A connection to an existing store whose format we know.
fn connect_store(
    path: &Path,
    access: OpenFlags,
    wait: Duration,
    doing: &'static str,
) -> Result<Connection, StoreError> {
    let connection = connect(path, access, wait, doing)?;
    check_format(&connection, path, doing)?;
    Ok(connection)
}

/// A connection to an existing database.
pub(super) fn connect(
    path: &Path,
    access: OpenFlags,
    wait: Duration,
    doing: &'static str,
) -> Result<Connection, StoreError> {
    let failed = |error| sql_error(path, doing, &error);
    // No URI flag, and never a bare name: `file:…` and `:memory:` are paths like any other.
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(spelled_as_path(path), flags).map_err(failed)?;
    connection.busy_timeout(wait.min(Duration::from_secs(60 * 60))).map_err(failed)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    Ok(connection)
}

fn spelled_as_path(path: &Path) -> PathBuf {
    if path.is_absolute() { path.to_path_buf() } else { Path::new(".").join(path) }
}

/// Whether the database has no page yet: the file is empty, and nobody has written to its WAL.
fn is_blank(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0)).map(|pages| pages == 0)
}

/// Makes a blank database WAL. SQLite does not wait for the lock that this needs, so it is asked
/// for again until `wait` is over.
fn choose_wal(connection: &Connection, path: &Path, wait: Duration) -> Result<(), StoreError> {
    let mut pauses = wait.as_millis() / RETRY_PAUSE.as_millis();
    loop {
        let changed = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match changed {
            Ok(_) => return Ok(()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && pauses > 0 => {
                pauses -= 1;
                thread::sleep(RETRY_PAUSE);
            }
            Err(error) => return Err(sql_error(path, "create the store", &error)),
        }
    }
}

/// Makes an empty private file, and its folder. A lost race is no error.
fn create_file(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_dir_builder().create(folder)?;
    }
    match private_file_options().open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

fn private_dir_builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn private_file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn io_error(path: &Path, doing: &'static str, error: &io::Error) -> StoreError {
    let kind = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreErrorKind::Full,
        ErrorKind::ReadOnlyFilesystem => StoreErrorKind::ReadOnly,
        ErrorKind::PermissionDenied | ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            StoreErrorKind::Denied
        }
        _ => StoreErrorKind::Io,
    };
    StoreError::new(kind, Some(path), doing, error.to_string())
}
