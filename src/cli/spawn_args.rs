//! The flags that describe one spawn, shared by `decide` and `explain`.

use super::error::CliError;
use super::terminal::{Environment, Terminal};
use crate::claude::dirs::Places;
use crate::spawn::{Login, Offered, Parentage, SpawnRequest};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest time in milliseconds that reading the chain, and everything else before the decision,
/// may take by default.
pub(super) const DEFAULT_BUDGET_MS: u64 = 1_000;
/// Longest budget in milliseconds; one that asks for more gets this.
const MAX_BUDGET_MS: u64 = 600_000;

/// The spawn that is about to happen.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SpawnArgs {
    /// The agent's stable id [default: $AGENTMUX_AGENT_UID]
    #[arg(long, value_name = "UID", allow_hyphen_values = true)]
    pub agent: Option<String>,
    /// The session the pane holds and would resume
    #[arg(long, value_name = "SID", allow_hyphen_values = true)]
    pub resume: Option<String>,
    /// The session whose history the pane shows, where it holds none
    #[arg(long, value_name = "SID", allow_hyphen_values = true)]
    pub history: Option<String>,
    /// The spawn's login [default: $CLAUDE_CONFIG_DIR, else ~/.claude]
    #[arg(long, value_name = "DIR")]
    pub config_dir: Option<String>,
    /// The spawn's working directory [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
    /// The provider to be spawned
    #[arg(long, value_name = "NAME", default_value = "claude")]
    pub provider: String,
    /// A session id that the provider already rejected
    #[arg(long, value_name = "SID", allow_hyphen_values = true)]
    pub poisoned: Option<String>,
    /// The agent this one was forked from
    #[arg(long, value_name = "UID", allow_hyphen_values = true, conflicts_with = "agents_db")]
    pub forked_from: Option<String>,
    /// An AgentMux database that says which agent this one was forked from
    #[arg(long, value_name = "PATH")]
    pub agents_db: Option<PathBuf>,
    /// Key of the identity signed in at the login, instead of reading it there
    #[arg(long, value_name = "KEY")]
    pub identity: Option<String>,
    /// The segment that was already recorded for this spawn, left out of the chain
    #[arg(long, value_name = "SEGMENT", allow_hyphen_values = true)]
    pub current: Option<String>,
    #[command(flatten)]
    pub store: StoreArg,
    /// Longest time for reading the chain, and again for everything else before the decision
    #[arg(long, value_name = "MS", default_value_t = DEFAULT_BUDGET_MS)]
    pub budget: u64,
}

/// Which store to use.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct StoreArg {
    /// The store [default: $RESUME_GATE_STORE, else AgentMux's if there is one, else our own]
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

impl StoreArg {
    /// Where the store is; it need not exist.
    ///
    /// # Errors
    /// If nothing names one and there is no home directory to look in.
    pub(crate) fn locate(&self, env: &Environment) -> Result<PathBuf, CliError> {
        if let Some(path) = self.store.clone().or_else(|| env.store.clone()) {
            return Ok(path);
        }
        let no_home = || {
            CliError::usage("no store was named, and there is no home directory to look in").help("pass --store PATH")
        };
        let agentmux = places(env).agentmux_root().map(|root| root.join("shared/agents/transcripts/filestore.db"));
        if let Some(path) = agentmux.filter(|path| may_be_there(path)) {
            return Ok(path);
        }
        let data = env.data_home.clone().or_else(|| env.home.as_ref().map(|home| home.join(".local/share")));
        Ok(data.ok_or_else(no_home)?.join("resume-gate/filestore.db"))
    }
}

/// Whether something is at `path`, or may be: only what is certainly not there gives way to another
/// store, since a store that cannot be looked at says nothing about the chains in it.
fn may_be_there(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// The agent's id from the flag or the environment.
pub(super) fn agent_uid(flag: Option<&str>, env: &Environment) -> Option<String> {
    flag.map(str::to_owned).or_else(|| env.agent_uid.clone())
}

/// What paths are read against.
pub(super) fn places(env: &Environment) -> Places {
    Places { home: env.home.clone(), agentmux_home: env.agentmux_home.clone() }
}

/// The login from the flag, the environment, or the default. One whose name is no text is not
/// known: the provider will use it, and no other may stand in for it.
pub(super) fn login(flag: Option<&str>, env: &Environment) -> Login {
    let given = flag.filter(|dir| !dir.is_empty()).map(OsString::from).or_else(|| env.claude_config_dir.clone());
    let Ok(named) = given.map(OsString::into_string).transpose() else {
        return Login::Unknown;
    };
    match (named, &env.home) {
        (Some(dir), _) if dir.starts_with('~') => Login::Named(dir),
        (Some(dir), _) => Login::Named(absolute(&dir)),
        (None, Some(home)) => Login::Default(home.join(".claude").to_string_lossy().into_owned()),
        (None, None) => Login::Unknown,
    }
}

/// The working directory from the flag, made absolute, or the current one. One that was deleted
/// is still known by how the shell spelled it.
pub(super) fn cwd(flag: Option<&str>, env: &Environment) -> String {
    match flag {
        Some(dir) if dir.starts_with('~') => dir.to_owned(),
        Some(dir) => absolute(dir),
        None => {
            let current = std::env::current_dir().ok().or_else(|| env.pwd.clone()).unwrap_or_default();
            current.to_string_lossy().into_owned()
        }
    }
}

/// A relative path made absolute, without looking at the disk.
fn absolute(dir: &str) -> String {
    std::path::absolute(dir).map_or_else(|_| dir.to_owned(), |path| path.to_string_lossy().into_owned())
}

impl SpawnArgs {
    /// What the library is asked.
    ///
    /// # Errors
    /// If both a held session and one from history are given.
    pub(super) fn request(&self, terminal: &Terminal) -> Result<SpawnRequest, CliError> {
        let env = &terminal.env;
        // A blank id is none: hosts pass what they have.
        let given = |id: &Option<String>| id.clone().filter(|id| !id.trim().is_empty());
        let (candidate, offered) = match (given(&self.resume), given(&self.history)) {
            (Some(_), Some(_)) => {
                return Err(CliError::usage("a spawn has one candidate, and both `--resume` and `--history` name one")
                    .help("pass `--resume` if the pane holds the session, else `--history`"));
            }
            (Some(id), None) => (Some(id), Offered::Held),
            (None, Some(id)) => (Some(id), Offered::History),
            (None, None) => (None, Offered::Held),
        };
        let parentage = match (&self.forked_from, &self.agents_db) {
            (Some(parent), _) => Parentage::ForkOf(parent.clone()),
            (None, Some(path)) => Parentage::AgentsDb(path.clone()),
            (None, None) => Parentage::None,
        };
        Ok(SpawnRequest {
            agent_uid: agent_uid(self.agent.as_deref(), env),
            provider: self.provider.clone(),
            candidate,
            offered,
            poisoned: self.poisoned.clone(),
            login: login(self.config_dir.as_deref(), env),
            cwd: cwd(self.cwd.as_deref(), env),
            identity: self.identity.clone(),
            current: self.current.clone(),
            parentage,
            store: self.store.locate(env).ok(),
            places: places(env),
            budget: Duration::from_millis(self.budget.min(MAX_BUDGET_MS)),
        })
    }
}
