//! The gate's questions about the disk, each answered with a fact and what was seen on the way.
//!
//! None of these blocks on what lies in a file's place, but a disk can be slow: who has a
//! deadline runs them on a thread of its own, and takes [`Compare::BySpelling`] and the values
//! that stand for "could not be had" when it is missed.

use super::busy;
use super::complete::{self, Tail};
use super::dirs::{Compare, Places, head_login, is_same_on_disk};
use super::layout::is_safe_session_id;
use super::session::{self, Found, SessionFile, TemporaryCopy};
use crate::gate::facts::{FactValue, ForkRecord, HeadBusy, HeadFile, HeadLogin, HeadRecord};
use crate::gate::{Evidence, Head};
use crate::process::ProcessTable;
use std::cmp::Ordering;
use std::path::PathBuf;

/// What was seen, before it is known what it amounts to.
#[derive(Default)]
struct Sight {
    path: Option<PathBuf>,
    size: Option<u64>,
    recorded: Option<u64>,
    error: Option<String>,
}

impl Sight {
    fn error(error: impl ToString) -> Self {
        Self { error: Some(error.to_string()), ..Self::default() }
    }

    /// A place where nothing is, or nothing but a copy that does not count.
    fn nothing(path: Option<PathBuf>, copy: Option<TemporaryCopy>) -> Self {
        match copy {
            None => Self { path, ..Self::default() },
            Some(TemporaryCopy { path, size, marker }) => Self {
                path: Some(path),
                size: Some(size),
                recorded: None,
                error: Some(format!("a temporary copy made for agent `{}`, which does not count", marker.owner_uid)),
            },
        }
    }

    fn of<V: FactValue + Into<&'static str>>(self, value: V) -> (V, Evidence) {
        let Self { path, size, recorded, error } = self;
        (value, Evidence { fact: V::FACT, value: value.into(), path, size, recorded, error })
    }
}

/// The head's file under the spawn's login and working directory, against the size that the
/// head's segment recorded; if it recorded none and its login is another one, against the present
/// size of the file there.
#[must_use]
pub fn head_file(places: &Places, head: &Head, config_dir: Option<&str>, cwd: &str) -> (HeadFile, Evidence) {
    let Some(own) = places.usable(config_dir) else {
        return Sight::error("the spawn's config dir is not known").of(HeadFile::Unreadable);
    };
    let Some(own_cwd) = places.usable(Some(cwd)) else {
        return Sight::error("the spawn's working directory is not known").of(HeadFile::Unreadable);
    };
    if !is_safe_session_id(&head.session_id) {
        return Sight::error("the session id is no file name").of(HeadFile::Unreadable);
    }
    let file = match session::find(&own, &own_cwd, &head.session_id) {
        Found::File(file) => file,
        Found::Missing { path, copy } => return Sight::nothing(path, copy).of(HeadFile::Missing),
        Found::Unreadable { path, error } => {
            return Sight { path: Some(path), ..Sight::error(error) }.of(HeadFile::Unreadable);
        }
    };
    let recorded = head.provider_bytes_end.or_else(|| {
        let login = || head_login(places, head.config_dir.as_deref(), config_dir, Compare::AtDisk);
        if file.size > 0 && login() == HeadLogin::Other { present_size(places, head, &file) } else { None }
    });
    let value = match recorded {
        _ if file.size == 0 => HeadFile::Empty,
        None => HeadFile::Unsized,
        Some(recorded) => match file.size.cmp(&recorded) {
            Ordering::Less => HeadFile::Shrunk,
            Ordering::Equal => HeadFile::AsLeft,
            Ordering::Greater => HeadFile::Grown,
        },
    };
    Sight { path: Some(file.path), size: Some(file.size), recorded, error: None }.of(value)
}

/// The present size in bytes of the head's file where it was recorded, which is another file or
/// the very one that was found. One without bytes is none.
fn present_size(places: &Places, head: &Head, found: &SessionFile) -> Option<u64> {
    match session::find_recorded(head, places)? {
        // Seen at one moment only: it may be growing.
        Found::File(there) if is_same_on_disk(&there.path, &found.path) == Some(true) => Some(found.size),
        Found::File(there) => Some(there.size).filter(|&size| size > 0),
        Found::Missing { .. } | Found::Unreadable { .. } => None,
    }
}

/// Whether a live provider process has the head's session open, by the registry of the spawn's
/// login or of the one where the head was recorded. The evidence's path is the registry's entry,
/// whose name is the process's pid.
#[must_use]
pub fn head_busy(
    places: &Places,
    processes: &ProcessTable,
    head: &Head,
    config_dir: Option<&str>,
) -> (HeadBusy, Evidence) {
    let own = places.usable(config_dir);
    let recorded = places.usable(head.config_dir.as_deref()).filter(|recorded| Some(recorded) != own.as_ref());
    let mut logins = own.iter().chain(&recorded);
    match logins.find_map(|login| busy::holder(login, &head.session_id, processes)) {
        Some(holder) => Sight { path: Some(holder.entry), ..Sight::default() }.of(HeadBusy::Yes),
        None => Sight::default().of(HeadBusy::No),
    }
}

/// The head's file at the login where it was recorded.
#[must_use]
pub fn head_record(places: &Places, head: &Head) -> (HeadRecord, Evidence) {
    let (record, sight) = record(places, head, Tail::Whole);
    sight.of(match record {
        ForkRecord::Complete => HeadRecord::Complete,
        ForkRecord::Incomplete => HeadRecord::Incomplete,
        ForkRecord::Missing | ForkRecord::Unrecorded => HeadRecord::Missing,
    })
}

/// The file of the parent's session where it was recorded. Its owner may be writing.
#[must_use]
pub fn fork_record(places: &Places, point: &Head) -> (ForkRecord, Evidence) {
    let (record, sight) = record(places, point, Tail::MayBeTorn);
    sight.of(record)
}

/// A session's file where it was recorded; the parent's values name every case there is.
fn record(places: &Places, head: &Head, tail: Tail) -> (ForkRecord, Sight) {
    match session::find_recorded(head, places) {
        None => {
            let why = "no usable config dir and working directory were recorded";
            (ForkRecord::Unrecorded, Sight::error(why))
        }
        Some(Found::Missing { path, copy }) => (ForkRecord::Missing, Sight::nothing(path, copy)),
        Some(Found::Unreadable { path, error }) => {
            (ForkRecord::Incomplete, Sight { path: Some(path), ..Sight::error(error) })
        }
        Some(Found::File(SessionFile { path, mut file, size })) => {
            let checked = complete::check(&mut file, size, tail);
            let value = if checked.is_ok() { ForkRecord::Complete } else { ForkRecord::Incomplete };
            let error = checked.err().map(|why| why.to_string());
            (value, Sight { path: Some(path), size: Some(size), recorded: None, error })
        }
    }
}
