//! Why a run spawned nothing.

use super::arguments::Conflict;
use crate::explain::short;
use crate::spawn::lock::Held;
use std::io;
use std::path::PathBuf;

/// Why a run spawned nothing.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The provider's arguments choose a session themselves.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// Another instance of the agent is alive.
    #[error(transparent)]
    Held(#[from] Held),
    /// Whose conversation is to be resumed is not known.
    #[error("which agent this is was not said{}", given.as_ref().map(|uid| format!(": `{uid}` is no agent uid")).unwrap_or_default())]
    NoAgent {
        /// What was said instead.
        given: Option<String>,
    },
    /// There is no place for a store.
    #[error("there is no place for a store, so the agent's conversation is not known")]
    NoStore,
    /// The agent's conversation is not known.
    #[error("cannot read the agent's chain in the store `{}`: {why}", store.display())]
    ChainUnreadable {
        /// The store.
        store: PathBuf,
        /// What went wrong.
        why: String,
    },
    /// The agent is a fork without a conversation, and of whom was not said.
    #[error("the agent branches from session `{}`, and which agent's that is was not said", short(session))]
    ParentNotNamed {
        /// The session.
        session: String,
    },
    /// The working directory is not there.
    #[error("cannot run anything in `{}`: it is no directory", cwd.display())]
    NoDirectory {
        /// The directory.
        cwd: PathBuf,
    },
    /// The provider could not be started.
    #[error("cannot start `{program}`: {}", reason(source))]
    NotStarted {
        /// The provider.
        program: String,
        /// What went wrong.
        source: io::Error,
    },
    /// The provider was lost sight of.
    #[error("cannot wait for the provider, process {pid}: {}", reason(source))]
    Lost {
        /// Its pid.
        pid: u32,
        /// What went wrong.
        source: io::Error,
    },
}

impl RunError {
    /// What a person can try.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Conflict(conflict) => conflict.instead,
            Self::Held(_) => "wait until it has ended, or end it",
            Self::NoAgent { .. } => {
                "pass `--agent UID`; to go on without one, `--resume SID` names a session and `--new` starts one"
            }
            Self::NoStore => "pass `--store PATH`",
            Self::ChainUnreadable { .. } => {
                "`--resume SID` names the session to resume without it, and `--new` starts a new one"
            }
            Self::ParentNotNamed { .. } => {
                "pass `--forked-from UID` (or `--agents-db PATH`) as before; `--new` starts a new session"
            }
            Self::NoDirectory { .. } => "pass a directory that exists as `--cwd`",
            Self::NotStarted { .. } => "name the provider's program after `--`, as in `-- claude`",
            Self::Lost { .. } => "look whether it still runs; its segment has no end",
        }
    }
}

/// A system's words in the style of ours.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such program".to_owned(),
        io::ErrorKind::PermissionDenied => "it may not be executed".to_owned(),
        _ => crate::spawn::relocate_error::system_words(error),
    }
}
