//! Taking copies away again: settling one that has been forked, sweeping what a killed spawn left.
//!
//! A copy is removed only if its marker is whole and names this agent (when settling, also this very
//! copy, by its token), and only while it is as it was made. One that grew was continued by someone,
//! and nobody's turns are thrown away: it becomes an ordinary session by losing its marker, and the
//! report says so. Another agent's copies and files without a marker are never touched, nor is
//! anything whose name is not exactly one of ours, such as a session's `<id>/` folder.

use super::lock::AgentGuard;
use super::relocate_error::system_words;
use super::unfinished::{TEMPORARY_SUFFIX, sync_folder, temporary_prefix};
use crate::claude::layout::is_safe_session_id;
use crate::claude::marker::{MARKER_SUFFIX, Marker};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What became of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It and its marker are gone.
    Removed,
    /// There was only the marker, and it is gone.
    MarkerAlone,
    /// It was continued by someone. It stays, as a session of its own; its marker is gone.
    Continued {
        /// Its size when it was made, in bytes.
        bytes: u64,
        /// Its size now; `None` if something that is no regular file is in its place.
        bytes_now: Option<u64>,
    },
    /// The provider resumed it in place. It stays, and two files now have one session id; its marker is gone.
    ResumedInPlace,
}

/// A copy that was dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleared {
    /// The copy.
    pub path: PathBuf,
    /// What its marker said.
    pub marker: Marker,
    /// What became of it.
    pub fate: Fate,
}

/// What could not be done; the next sweep tries again.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} `{}`: {}", path.display(), system_words(source))]
pub struct SweepError {
    /// What was being done.
    pub doing: &'static str,
    /// To what.
    pub path: PathBuf,
    /// What went wrong.
    pub source: io::Error,
}

/// What a sweep did.
#[derive(Debug, Default)]
pub struct Sweep {
    /// This agent's copies.
    pub copies: Vec<Cleared>,
    /// Unfinished files of this agent that were removed.
    pub temporaries: Vec<PathBuf>,
    /// What could not be done.
    pub errors: Vec<SweepError>,
}

/// The session that the provider reported after it was given a copy to fork from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// A new one: it forked.
    NewSession,
    /// The copy's own: it went on in the copy.
    SameSession,
}

/// What settling did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The copy was dealt with.
    Cleared(Cleared),
    /// No marker is there: swept, or settled before.
    NothingThere,
    /// The marker there is another copy's, or cannot be relied on. Nothing was touched.
    NotOurs,
}

/// Settles the copy at `copy` that was made with `token`, now that the provider has reported its
/// session and has a turn of its own in it.
///
/// A spawn that was superseded may come late: then the copy is its successor's and has another token.
///
/// # Errors
///
/// What could not be removed; the next sweep does it.
pub fn settle(guard: &AgentGuard, copy: &Path, token: &str, reported: Reported) -> Result<Settled, SweepError> {
    let marker_path = Marker::path_for(copy);
    if let Err(error) = fs::symlink_metadata(&marker_path) {
        return match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(Settled::NothingThere),
            _ => Err(SweepError { doing: "look at", path: marker_path, source: error }),
        };
    }
    let ours = |marker: &Marker| marker.owner_uid == guard.uid() && marker.token == token;
    let Some(marker) = own_marker(copy, ours) else { return Ok(Settled::NotOurs) };
    let cleared = match reported {
        Reported::NewSession => clear(copy, marker)?,
        Reported::SameSession => {
            remove(&marker_path)?;
            Cleared { path: copy.to_owned(), marker, fate: Fate::ResumedInPlace }
        }
    };
    sync(folder_of(copy))?;
    Ok(Settled::Cleared(cleared))
}

/// Removes what earlier spawns of the agent left in a project folder: copies by its markers, and
/// unfinished files by their names. A folder that is not there holds nothing.
#[must_use]
pub fn sweep(guard: &AgentGuard, folder: &Path) -> Sweep {
    let mut swept = Sweep::default();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return swept,
        Err(source) => {
            swept.errors.push(SweepError { doing: "list", path: folder.to_owned(), source });
            return swept;
        }
    };
    for entry in entries {
        let name = match entry {
            Ok(entry) => entry.file_name(),
            Err(source) => {
                swept.errors.push(SweepError { doing: "list", path: folder.to_owned(), source });
                break;
            }
        };
        if let Some(session_file) = marked_session_file(&name) {
            let copy = folder.join(session_file);
            if let Some(marker) = own_marker(&copy, |marker| marker.owner_uid == guard.uid()) {
                match clear(&copy, marker) {
                    Ok(cleared) => swept.copies.push(cleared),
                    Err(error) => swept.errors.push(error),
                }
            }
        } else if is_temporary_of(&name, guard.uid()) {
            let path = folder.join(&name);
            if is_regular(&path) {
                match remove(&path) {
                    Ok(()) => swept.temporaries.push(path),
                    Err(error) => swept.errors.push(error),
                }
            }
        }
    }
    if !swept.copies.is_empty() || !swept.temporaries.is_empty() {
        swept.errors.extend(sync(folder).err());
    }
    swept
}

/// Removes a copy that is as it was made and, when that is on the disk, its marker: stopped in between,
/// the marker that is left names a copy that is not there.
fn clear(copy: &Path, marker: Marker) -> Result<Cleared, SweepError> {
    let fate = match fs::symlink_metadata(copy) {
        Ok(metadata) if metadata.is_file() && metadata.len() == marker.bytes => {
            remove(copy)?;
            sync(folder_of(copy))?;
            Fate::Removed
        }
        Ok(metadata) => {
            let bytes_now = metadata.is_file().then_some(metadata.len());
            Fate::Continued { bytes: marker.bytes, bytes_now }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Fate::MarkerAlone,
        Err(source) => return Err(SweepError { doing: "look at", path: copy.to_owned(), source }),
    };
    remove(&Marker::path_for(copy))?;
    Ok(Cleared { path: copy.to_owned(), marker, fate })
}

/// The marker beside a copy, if it is a whole one in a file of its own and `ours`.
fn own_marker(copy: &Path, ours: impl Fn(&Marker) -> bool) -> Option<Marker> {
    if !is_regular(&Marker::path_for(copy)) {
        return None;
    }
    Marker::read(copy).ok().filter(ours)
}

/// The name of the session file that a file name is the marker of.
fn marked_session_file(name: &OsStr) -> Option<&str> {
    let session_file = name.to_str()?.strip_suffix(MARKER_SUFFIX)?;
    is_safe_session_id(session_file.strip_suffix(".jsonl")?).then_some(session_file)
}

fn is_temporary_of(name: &OsStr, uid: &str) -> bool {
    let token = || name.to_str()?.strip_prefix(&temporary_prefix(uid))?.strip_suffix(TEMPORARY_SUFFIX);
    token().is_some_and(|token| {
        !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    })
}

fn is_regular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Removes a file; one that is gone already is as good.
fn remove(path: &Path) -> Result<(), SweepError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(SweepError { doing: "remove", path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync(folder: &Path) -> Result<(), SweepError> {
    sync_folder(folder).map_err(|source| SweepError { doing: "sync", path: folder.to_owned(), source })
}
