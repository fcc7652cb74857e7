//! Why a store could not be read or written.

use std::path::{Path, PathBuf};

/// What kept a store from being read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("could not {doing}{}: {detail}", place(.path.as_deref()))]
pub struct StoreError {
    /// The kind of trouble.
    pub kind: StoreErrorKind,
    /// The store's file, if it has one.
    pub path: Option<PathBuf>,
    /// What was being done, as in "read the store".
    pub doing: &'static str,
    /// What went wrong, in words.
    pub detail: String,
}

/// The kinds of trouble with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum StoreErrorKind {
    /// Its format is newer than this program knows: neither read nor written.
    NewerFormat,
    /// There is a directory, a pipe or the like in its place.
    NotAFile,
    /// The file is no SQLite database.
    NotADatabase,
    /// It is a database of some other program.
    NotAStore,
    /// The operating system denied access, or a folder could not be made.
    Denied,
    /// Another process held its lock for longer than we wait.
    Busy,
    /// Its content contradicts itself.
    Corrupt,
    /// No space is left.
    Full,
    /// It can be read but not written.
    ReadOnly,
    /// It was not read within the time allowed.
    Deadline,
    /// The line to be appended is not one line.
    BadLine,
    /// Anything else that reading or writing ran into.
    Io,
}

impl StoreErrorKind {
    /// What a person can try, one sentence without a full stop.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::NewerFormat => "update resume-gate; until then this store is neither read nor written",
            Self::NotAFile => "point `--store` at a database file, or move away what is in its place",
            Self::NotADatabase => "check that `--store` names the right file; it is left as it is",
            Self::NotAStore => "point `--store` at an AgentMux file store, or at a file that does not exist yet",
            Self::Denied => "check the owner and mode of the file and its folder",
            Self::Busy => "another program is writing; try again, and look for a process that hangs in a transaction",
            Self::Corrupt => "look at it with `sqlite3 FILE 'pragma integrity_check'`; it is left as it is",
            Self::Full => "free space on its file system, then record the event again",
            Self::ReadOnly => "make the file and its folder writable, or choose another with `--store`",
            Self::Deadline => "allow more time with `--budget`, and look for a process that holds the store",
            Self::BadLine => "pass one line without a newline",
            Self::Io => "check the disk and its mount",
        }
    }
}

impl StoreError {
    /// An error of `kind` while `doing` something to the store at `path`.
    pub fn new(kind: StoreErrorKind, path: Option<&Path>, doing: &'static str, detail: impl Into<String>) -> Self {
        Self { kind, path: path.map(Path::to_path_buf), doing, detail: detail.into() }
    }

    /// What a person can try.
    #[must_use]
    pub fn help(&self) -> &'static str {
        self.kind.help()
    }
}

fn place(path: Option<&Path>) -> String {
    path.map(|path| format!(" `{}`", path.display())).unwrap_or_default()
}
