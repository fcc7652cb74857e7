//! When a session may be recorded: once the provider has reported it and has said something in it.
//!
//! A session that was rejected, or opened and never prompted, must not become the head of its
//! agent's chain. And a fork begins as a copy of its parent's turns, written piece by piece: there
//! only a turn that is not the parent's counts. All of that can be read off the session's file, so a
//! host that chose the new session's id (`--session-id`) need not parse the provider's output.

use crate::claude::session::{Found, find};
use crate::claude::turns::{holds_turn, holds_turn_after, last_turn_uuid, mentions};
use crate::spawn::decide::own_folder;
use crate::spawn::{Decided, SpawnRequest};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What has to be in a session's file before the session counts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Counts {
    /// Nothing: the gate saw the session, and it was recorded when the segment began.
    Recorded,
    /// A turn: it is a new session.
    WithATurn,
    /// A turn, in a file that has grown: the session was resumed without having been seen before.
    Grown { bytes_before: u64 },
    /// A turn that is not the parent's.
    WithATurnOfItsOwn(Parent),
}

/// The session that a fork branches from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parent {
    /// Its file; where it was copied from, if it was.
    path: PathBuf,
    /// The `uuid` of its last turn before the spawn.
    last_turn: Option<String>,
}

/// Watches the session of one spawn.
#[derive(Debug)]
pub struct SessionWatch {
    config_dir: PathBuf,
    cwd: PathBuf,
    /// The session that the provider has open, as far as it is known.
    session_id: Option<String>,
    counts: Counts,
    /// What a session counts with that the provider moves to, or reports first.
    reported: Counts,
    recorded: Option<String>,
    /// The file when it was last read, so that it is read again only after a change.
    seen: Option<(u64, Option<SystemTime>)>,
}

impl SessionWatch {
    /// Begins to watch. To be called when the plan has been carried out, before the spawn: the
    /// parent's last turn is looked up here. `new_session` is the id that the provider is told to
    /// give a new session; a host that leaves it to the provider calls [`reported`](Self::reported).
    ///
    /// `None` if the spawn's login or working directory is not known, so that nothing can be seen.
    #[must_use]
    pub fn before_spawn(request: &SpawnRequest, decided: &Decided, new_session: Option<&str>) -> Option<Self> {
        let (config_dir, cwd) = own_folder(request)?;
        let plan = &decided.plan;
        let (session_id, counts) = match &plan.resume {
            Some(parent) if plan.fork_session => {
                let path = match &plan.copy {
                    Some(copy) => Some(copy.from.clone()),
                    None => file_of(&config_dir, &cwd, parent),
                };
                // An unreadable parent has no last turn to be found, and its fork none of its own.
                let last_turn = path.as_deref().and_then(|path| last_turn_uuid(path).ok().flatten());
                let parent = Parent { path: path.unwrap_or_default(), last_turn };
                (new_session.map(str::to_owned), Counts::WithATurnOfItsOwn(parent))
            }
            Some(session) if plan.record.provider_session_id.is_some() => (Some(session.clone()), Counts::Recorded),
            Some(session) => {
                let path = file_of(&config_dir, &cwd, session);
                let bytes_before = path.and_then(|path| path.metadata().ok()).map_or(0, |file| file.len());
                (Some(session.clone()), Counts::Grown { bytes_before })
            }
            None => (new_session.map(str::to_owned), Counts::WithATurn),
        };
        let recorded = plan.record.provider_session_id.clone();
        let reported = match (&counts, &session_id) {
            (Counts::WithATurnOfItsOwn(_), None) => counts.clone(),
            _ => Counts::WithATurn,
        };
        Some(Self { config_dir, cwd, session_id, counts, reported, recorded, seen: None })
    }

    /// The provider says which session it has open: its first, or another one that it moved to.
    pub fn reported(&mut self, session_id: &str) {
        if self.session_id.as_deref() != Some(session_id) {
            self.session_id = Some(session_id.to_owned());
            self.counts = std::mem::replace(&mut self.reported, Counts::WithATurn);
            self.seen = None;
        }
    }

    /// The session that the provider has open, as far as it is known.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// The session that has to be recorded now, if there is one. Each is given once, until the
    /// provider comes back to it from another. Costs one look at the file's size while that stays
    /// the same.
    pub fn look(&mut self) -> Option<String> {
        let session_id = self.session_id.clone().filter(|id| self.recorded.as_ref() != Some(id))?;
        let path = file_of(&self.config_dir, &self.cwd, &session_id)?;
        let now = state(&path)?;
        if self.seen == Some(now) {
            return None;
        }
        self.seen = Some(now);
        if !self.counts.is_met(&path, now.0) {
            return None;
        }
        self.recorded = Some(session_id.clone());
        Some(session_id)
    }

    /// The session that is recorded on the segment now.
    #[must_use]
    pub fn recorded(&self) -> Option<&str> {
        self.recorded.as_deref()
    }

    /// The size in bytes of the recorded session's file, to be recorded at the segment's end; taken
    /// after the provider was reaped.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let path = file_of(&self.config_dir, &self.cwd, self.recorded.as_deref()?)?;
        Some(path.metadata().ok()?.len())
    }
}

impl Counts {
    fn is_met(&self, path: &Path, bytes: u64) -> bool {
        match self {
            Self::Recorded => true,
            Self::WithATurn => holds_turn(path).unwrap_or(false),
            Self::Grown { bytes_before } => bytes > *bytes_before && holds_turn(path).unwrap_or(false),
            Self::WithATurnOfItsOwn(parent) => parent.is_left_behind_by(path),
        }
    }
}

impl Parent {
    /// Whether the last turn of a fork is none of the parent's. The parent may have gone on before
    /// it was copied, so its file is searched as it is now.
    fn is_left_behind_by(&self, fork: &Path) -> bool {
        let Some(last) = last_turn_uuid(fork).ok().flatten() else { return false };
        if self.last_turn.as_ref() == Some(&last) {
            return false;
        }
        match (mentions(&self.path, &last), &self.last_turn) {
            (Ok(is_parents), _) => !is_parents,
            (Err(_), Some(parents_last)) => holds_turn_after(fork, parents_last).unwrap_or(false),
            (Err(_), None) => false,
        }
    }
}

/// Where the session's file is, if it is there. A copy that waits to be forked is none.
fn file_of(config_dir: &Path, cwd: &Path, session_id: &str) -> Option<PathBuf> {
    match find(config_dir, cwd, session_id) {
        Found::File(file) => Some(file.path),
        Found::Missing { .. } | Found::Unreadable { .. } => None,
    }
}

/// What changes whenever the file is written to.
fn state(path: &Path) -> Option<(u64, Option<SystemTime>)> {
    let metadata: Metadata = path.metadata().ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}
