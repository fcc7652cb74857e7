//! Finding the file of a session: where a spawn looks, and where it was recorded.

use super::dirs::Places;
use super::layout::{global_twin, session_files};
use super::marker::{Marker, temporary_copy};
use super::open::{OpenError, Regular, open_regular};
use crate::gate::Head;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What is where a session's file should be.
#[derive(Debug)]
pub enum Found {
    /// The file, opened.
    File(SessionFile),
    /// Definitely nothing.
    Missing {
        /// Where it should be, unless there is no such place.
        path: Option<PathBuf>,
        /// A copy that is there and does not count.
        copy: Option<TemporaryCopy>,
    },
    /// Something that could not be opened as a session's file: not the same as nothing.
    Unreadable {
        /// What was looked at.
        path: PathBuf,
        /// Why it could not be opened.
        error: OpenError,
    },
}

/// A session's file, opened for reading.
#[derive(Debug)]
pub struct SessionFile {
    /// Where it is.
    pub path: PathBuf,
    /// The open file.
    pub file: File,
    /// Its size in bytes when it was opened.
    pub size: u64,
}

/// A session's file that was only copied in: it waits to be forked from and removed.
#[derive(Debug)]
pub struct TemporaryCopy {
    /// Where it is.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Whose it is.
    pub marker: Marker,
}

/// Looks for a session's file under a login and a working directory. A temporary copy counts as
/// not there, whoever owns it; the first place that holds anything else decides.
///
/// The id has to be safe ([`is_safe_session_id`](super::layout::is_safe_session_id)); any other is
/// missing everywhere.
#[must_use]
pub fn find(config_dir: &Path, cwd: &Path, session_id: &str) -> Found {
    let mut missing = None;
    let mut copy = None;
    for path in session_files(config_dir, cwd, session_id) {
        match open_regular(&path) {
            Ok(Regular { file, size }) => match temporary_copy(&path, size) {
                Some(marker) => copy = copy.or(Some(TemporaryCopy { path: path.clone(), size, marker })),
                None => return Found::File(SessionFile { path, file, size }),
            },
            Err(OpenError::NotThere) => {}
            Err(error) => return Found::Unreadable { path, error },
        }
        missing = missing.or(Some(path));
    }
    Found::Missing { path: missing, copy }
}

/// Looks for a session's file where it was recorded: under its login and working directory, and
/// if it is not there, under the login's global twin. `None` if no usable place was recorded.
#[must_use]
pub fn find_recorded(head: &Head, places: &Places) -> Option<Found> {
    let config_dir = places.usable(head.config_dir.as_deref())?;
    let cwd = places.usable(head.cwd.as_deref())?;
    let found = find(&config_dir, &cwd, &head.session_id);
    let is_gone = matches!(found, Found::Missing { .. } | Found::Unreadable { error: OpenError::DanglingLink, .. });
    if !is_gone {
        return Some(found);
    }
    match global_twin(&config_dir, places).map(|twin| find(&twin, &cwd, &head.session_id)) {
        Some(there @ (Found::File(_) | Found::Unreadable { .. })) => Some(there),
        _ => Some(found),
    }
}
