//! Whether the provider rejected what it was given to resume.

use super::process::Ended;
use crate::claude::layout::session_files;
use crate::claude::rejection::{is_rejection, is_still_running};
use crate::spawn::decide::own_folder;
use crate::spawn::{SpawnPlan, SpawnRequest};
use std::path::PathBuf;
use std::time::SystemTime;

/// How a resume that did not happen was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejected {
    /// The provider knows no such session.
    Dead,
    /// The session is alive, in a process of the provider's own.
    StillRunning,
}

/// The file that a provider that goes on writes to: the session's, or a fork's new one.
#[derive(Debug)]
pub(super) struct Written {
    /// Where it can be.
    paths: Vec<PathBuf>,
    is_new: bool,
    before: Option<State>,
}

/// What changes whenever a file is written to: its size in bytes and its time.
type State = (u64, Option<SystemTime>);

impl Written {
    /// Looks at the file before the spawn. `None` if nothing is resumed.
    pub(super) fn before_spawn(request: &SpawnRequest, plan: &SpawnPlan, new_session: Option<&str>) -> Option<Self> {
        let resumed = plan.resume.as_deref()?;
        let session = new_session.unwrap_or(resumed);
        let paths = own_folder(request).map(|(config_dir, cwd)| session_files(&config_dir, &cwd, session));
        let mut written = Self { paths: paths.unwrap_or_default(), is_new: new_session.is_some(), before: None };
        written.before = written.now();
        Some(written)
    }

    /// The file's state; none where there is nothing in it: one version makes the new session's
    /// file before it finds that there is nothing to fork.
    fn now(&self) -> Option<State> {
        let written = self.paths.iter().filter_map(|path| path.metadata().ok()).find(|file| file.len() > 0)?;
        Some((written.len(), written.modified().ok()))
    }

    /// Whether the resume was rejected. Whoever wrote to the session has not rejected it, whatever
    /// it said (an error of the API ends with the same status); whoever failed and left it as it was
    /// has. A session that is not here, or not any more, is not written to here, so that only words
    /// count.
    pub(super) fn rejected(&self, ended: &Ended) -> Option<Rejected> {
        let now = self.now();
        let is_as_before = now == self.before;
        if !ended.has_failed() || (now.is_some() && !is_as_before) {
            return None;
        }
        if is_still_running(&ended.stderr) {
            return Some(Rejected::StillRunning);
        }
        let is_seen = is_as_before && (now.is_some() || (self.is_new && !self.paths.is_empty()));
        (is_seen || is_rejection(&ended.stderr)).then_some(Rejected::Dead)
    }
}
