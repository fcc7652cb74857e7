//! What a host says about a spawn, before anything was looked at.

use super::plan::Offered;
use crate::claude::dirs::Places;
use std::path::PathBuf;
use std::time::Duration;

/// The spawn's login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// A config dir that was named: `CLAUDE_CONFIG_DIR` will be set to it.
    Named(String),
    /// The provider's own default, with `CLAUDE_CONFIG_DIR` left unset.
    Default(String),
    /// Not known.
    Unknown,
}

impl Login {
    /// The config dir, if it is known.
    #[must_use]
    pub fn dir(&self) -> Option<&str> {
        match self {
            Self::Named(dir) | Self::Default(dir) => Some(dir),
            Self::Unknown => None,
        }
    }
}

/// Where the agent this one was forked from is said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Parentage {
    /// It is no fork, as far as the host knows.
    #[default]
    None,
    /// It is a fork of the agent with this UID.
    ForkOf(String),
    /// In the AgentMux database at this path.
    AgentsDb(PathBuf),
}

/// One spawn that is about to happen.
#[derive(Debug, Clone)]
pub struct SpawnRequest {
    /// The agent's stable id.
    pub agent_uid: Option<String>,
    /// The provider to be spawned; empty is Claude.
    pub provider: String,
    /// The session the spawn would resume; `None`: the gate is not asked.
    pub candidate: Option<String>,
    /// How the candidate came to be one.
    pub offered: Offered,
    /// A session id that this host already saw the provider reject.
    pub poisoned: Option<String>,
    /// The spawn's login.
    pub login: Login,
    /// The spawn's working directory, absolute; it need not exist.
    pub cwd: String,
    /// Key of the identity signed in, instead of reading it at the login.
    pub identity: Option<String>,
    /// The segment that was already recorded for this spawn.
    pub current: Option<String>,
    /// Where this agent was forked from.
    pub parentage: Parentage,
    /// The store's database file; it need not exist. `None`: there is no place for one.
    pub store: Option<PathBuf>,
    /// What paths are read against.
    pub places: Places,
    /// Longest time for reading the chain, and again for everything else before the decision.
    pub budget: Duration,
}
