//! The note beside a session file that was only copied in, to be forked from and removed again.

use super::json;
use super::open::{OpenError, read_small};
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a marker's file name has after the session file's.
pub const MARKER_SUFFIX: &str = ".agentmux-relocated";

/// The largest file that is read as a marker, in bytes.
const MARKER_BYTES_MAX: u64 = 64 << 10;

/// Whose copy a session file is, and of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Marker {
    /// UID of the agent that the copy was made for.
    pub owner_uid: String,
    /// The file that was copied.
    pub source: String,
    /// The copy's size in bytes.
    pub bytes: u64,
    /// What tells this copy from any other.
    pub token: String,
}

/// A marker that cannot be relied on.
#[derive(Debug, thiserror::Error)]
pub enum MarkerError {
    /// It cannot be read at all.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It is cut, or lacks something.
    #[error("the marker is not whole")]
    NotWhole,
}

impl Marker {
    /// Where the marker of a session file is.
    #[must_use]
    pub fn path_for(session_file: &Path) -> PathBuf {
        let mut name = OsString::from(session_file);
        name.push(MARKER_SUFFIX);
        PathBuf::from(name)
    }

    /// Reads the marker of a session file.
    ///
    /// # Errors
    ///
    /// [`OpenError::NotThere`] for none; anything but a whole marker is an error too.
    pub fn read(session_file: &Path) -> Result<Self, MarkerError> {
        let bytes = read_small(&Self::path_for(session_file), MARKER_BYTES_MAX)?;
        Self::parse(&bytes).ok_or(MarkerError::NotWhole)
    }

    /// Reads a marker's text: one JSON object with all four members, of the right types and with
    /// an owner and a token. Members that a newer version adds are let pass.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let [owner, source, bytes, token] = json::pick(text, ["owner_uid", "source", "bytes", "token"]).ok()?;
        let marker = Self {
            owner_uid: json::text(owner)?,
            source: json::text(source)?,
            bytes: bytes?.as_u64()?,
            token: json::text(token)?,
        };
        (!marker.owner_uid.is_empty() && !marker.token.is_empty()).then_some(marker)
    }

    /// The marker as its file holds it.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Strings and a number always serialise.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// The marker of a session file that is such a copy and still as it was made: a whole marker is
/// beside it, and its size is the marker's. One that grew was continued by someone, and is a
/// session like any other; so is what a link in its place leads to, since a copy is never a link.
#[must_use]
pub fn temporary_copy(session_file: &Path, size: u64) -> Option<Marker> {
    if session_file.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        return None;
    }
    Marker::read(session_file).ok().filter(|marker| marker.bytes == size)
}
