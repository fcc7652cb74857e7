//! Why a session's file was not copied.

use crate::claude::complete::Incomplete;
use std::io;
use std::path::{Path, PathBuf};

/// Why no copy was placed. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum RelocateError {
    /// Source and destination are one file, by a link or because two logins share a folder.
    #[error("cannot copy `{}`: it is the same file as its destination `{}`", from.display(), to.display())]
    SameFile {
        /// The source.
        from: PathBuf,
        /// The destination.
        to: PathBuf,
    },
    /// Something has the copy's name.
    #[error("cannot place a copy at `{}`: something is there already", .0.display())]
    Occupied(PathBuf),
    /// A marker stands beside the copy's place.
    #[error("cannot place a copy at `{}`: {}", to.display(), claimed_by(owner.as_deref()))]
    Claimed {
        /// The copy's place.
        to: PathBuf,
        /// The agent that the marker names, if it is whole.
        owner: Option<String>,
    },
    /// The source was written to during the copy, and during the second attempt.
    #[error("cannot copy `{}`: it changed while it was copied", .0.display())]
    SourceChanged(PathBuf),
    /// There is no whole line in the source.
    #[error("cannot copy `{}`: it holds no whole line", .0.display())]
    NothingWhole(PathBuf),
    /// The source cannot be cut at a whole line.
    #[error("cannot copy `{}`: {source}", path.display())]
    Cut {
        /// The source.
        path: PathBuf,
        /// Why not.
        source: Incomplete,
    },
    /// The disk is too full for a copy.
    #[error("cannot copy {needed} bytes to `{}`: {free} bytes are free", folder.display())]
    NoSpace {
        /// The destination's folder.
        folder: PathBuf,
        /// Bytes that the copy and the room beside it need.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The file system can place no file without replacing another.
    #[error("cannot place a copy in `{}`: its file system can neither rename without replacing nor link", .0.display())]
    NoSafePlacing(PathBuf),
    /// The system refused.
    #[error("cannot {doing} `{}`: {}", path.display(), system_words(source))]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}

fn claimed_by(owner: Option<&str>) -> String {
    match owner {
        Some(owner) => format!("agent `{owner}` has one there"),
        None => "a marker that cannot be read stands there".to_owned(),
    }
}

/// Makes an error of what the system said about `doing` something to `path`.
pub(super) fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RelocateError {
    move |source| RelocateError::Io { doing, path: path.to_owned(), source }
}

/// What the system said, in the style of our own messages.
pub(super) fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
