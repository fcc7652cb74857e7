//! One live instance of an agent: the lock under which its copies are swept, made and placed.
//!
//! The lock is an exclusive `flock` on `locks/<sha256 of the agent's uid>.lock` beside the store. The
//! kernel lets go of it when its holder ends, however that ends, so it is never stale; the file is
//! never deleted, since whoever had it open would then hold a lock that nobody else can see.
//!
//! What the kernel does not know is that a provider may outlive the host that spawned it. So the
//! file also names processes, by pid and start: the holder, for messages, and the provider. While the
//! named provider is still the same running process, a free lock counts as held.
//!
//! The record is one short write of a fixed length over the same bytes, so that a holder killed at any
//! moment leaves the old record or the new one.

use super::relocate_error::system_words;
use crate::process::ProcessTable;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt::{self, Write as _};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The record's length on disk, padded with blanks.
const RECORD_BYTES: usize = 256;

/// How long [`AgentLock::beside_provider`] waits for another's bookkeeping to end.
const BOOKKEEPING_PATIENCE: Duration = Duration::from_millis(500);

/// How often it looks.
const BOOKKEEPING_POLL: Duration = Duration::from_millis(5);

/// Why an agent's lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another instance of the agent is alive. Nothing may be done and nothing spawned.
    #[error(transparent)]
    Held(#[from] Held),
    /// The lock cannot be had for another reason. Nothing may be copied; all else may go on.
    #[error("cannot {doing} the agent's lock `{}`: {}", path.display(), system_words(source))]
    Unavailable {
        /// What was being done to it.
        doing: &'static str,
        /// The lock file, or its folder.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}

/// An agent that another process holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Held {
    /// The agent.
    pub uid: String,
    /// The process that has the lock; `None` if it is free and the provider alone holds the agent,
    /// or if the holder has not written its name yet.
    pub holder: Option<u32>,
    /// The provider, if one is recorded and running.
    pub provider: Option<u32>,
}

impl Held {
    /// The process to name to a person: the holder, else the provider.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.holder.or(self.provider)
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "agent `{}` is held by ", self.uid)?;
        match (self.holder, self.provider) {
            (Some(holder), Some(provider)) => write!(f, "process {holder}, whose provider is process {provider}"),
            (Some(holder), None) => write!(f, "process {holder}"),
            (None, Some(provider)) => write!(f, "its provider, process {provider}, which is still running"),
            (None, None) => write!(f, "another process"),
        }
    }
}

/// A process by what does not get reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Process {
    pid: u32,
    /// In clock ticks since boot.
    start_ticks: u64,
}

impl Process {
    fn find(pid: u32, processes: &ProcessTable) -> Option<Self> {
        Some(Self { pid, start_ticks: processes.start_ticks(pid)? })
    }

    fn is_running(self, processes: &ProcessTable) -> bool {
        processes.is_running(self.pid, self.start_ticks)
    }
}

/// What the lock file says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Record {
    holder: Option<Process>,
    provider: Option<Process>,
}

/// The agent's lock, held until this is dropped.
#[derive(Debug)]
pub struct AgentLock {
    uid: String,
    path: PathBuf,
    file: File,
    record: Record,
    processes: ProcessTable,
}

impl AgentLock {
    /// Takes the lock of `uid` beside `store` for a spawn, without waiting.
    ///
    /// # Errors
    ///
    /// [`LockError::Held`] if a process has it, or if the provider named in it still runs;
    /// [`LockError::Unavailable`] if it cannot be created, taken or written.
    pub fn acquire(store: &Path, uid: &str, processes: &ProcessTable) -> Result<Self, LockError> {
        let lock = Self::open(store, uid, processes)?;
        if !lock.try_flock()? {
            return Err(lock.held_by_holder().into());
        }
        lock.taken(true)
    }

    /// Takes the lock for bookkeeping about a provider that may be running: to name it, to strike it
    /// out, to settle its copy. Whoever else does that is done in a moment, so this waits a little.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](Self::acquire), but a running provider is no obstacle.
    pub fn beside_provider(store: &Path, uid: &str, processes: &ProcessTable) -> Result<Self, LockError> {
        let lock = Self::open(store, uid, processes)?;
        let began = Instant::now();
        while !lock.try_flock()? {
            if began.elapsed() >= BOOKKEEPING_PATIENCE {
                return Err(lock.held_by_holder().into());
            }
            std::thread::sleep(BOOKKEEPING_POLL);
        }
        lock.taken(false)
    }

    /// The agent it is the lock of.
    #[must_use]
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Names the provider, so that it holds the agent for as long as it runs, whatever becomes of
    /// this process. One that has already ended is not named.
    ///
    /// # Errors
    ///
    /// [`LockError::Held`] if another provider of this agent is named and running;
    /// [`LockError::Unavailable`] if the file cannot be written.
    pub fn set_provider(&mut self, pid: u32) -> Result<(), LockError> {
        if let Some(provider) = self.running_provider().filter(|&provider| provider != pid) {
            return Err(Held { uid: self.uid.clone(), holder: None, provider: Some(provider) }.into());
        }
        self.write(Record { provider: Process::find(pid, &self.processes), ..self.record })
    }

    /// Strikes the provider out; it has ended.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`] if the file cannot be written.
    pub fn clear_provider(&mut self) -> Result<(), LockError> {
        self.write(Record { provider: None, ..self.record })
    }

    fn open(store: &Path, uid: &str, processes: &ProcessTable) -> Result<Self, LockError> {
        let path = lock_path(store, uid);
        if let Some(folder) = path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .map_err(|source| unavailable("create the folder of", folder, source))?;
        }
        // The standard library opens files close-on-exec: no child inherits the lock.
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(|source| unavailable("open", &path, source))?;
        Ok(Self { uid: uid.to_owned(), path, file, record: Record::default(), processes: processes.clone() })
    }

    fn try_flock(&self) -> Result<bool, LockError> {
        match rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(unavailable("take", &self.path, error.into())),
        }
    }

    fn held_by_holder(&self) -> Held {
        let record = self.read().unwrap_or_default();
        let running = |process: Option<Process>| Some(process.filter(|found| found.is_running(&self.processes))?.pid);
        Held { uid: self.uid.clone(), holder: running(record.holder), provider: running(record.provider) }
    }

    /// The lock is ours: reads who is named in it and adds our name.
    fn taken(mut self, respecting_provider: bool) -> Result<Self, LockError> {
        self.record = self.read().map_err(|source| unavailable("read", &self.path, source))?;
        let provider = self.running_provider();
        if respecting_provider && provider.is_some() {
            return Err(Held { uid: self.uid.clone(), holder: None, provider }.into());
        }
        let holder = Process::find(std::process::id(), &self.processes);
        self.write(Record { holder, provider: self.record.provider.filter(|_| provider.is_some()) })?;
        Ok(self)
    }

    fn running_provider(&self) -> Option<u32> {
        Some(self.record.provider.filter(|provider| provider.is_running(&self.processes))?.pid)
    }

    /// What the file says; one that is new or makes no sense names nobody.
    fn read(&self) -> io::Result<Record> {
        let mut bytes = [0; RECORD_BYTES];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(serde_json::from_slice(bytes.get(..filled).unwrap_or_default()).unwrap_or_default())
    }

    fn write(&mut self, record: Record) -> Result<(), LockError> {
        let mut text = serde_json::to_string(&record).unwrap_or_default();
        text.extend(std::iter::repeat_n(' ', (RECORD_BYTES - 1).saturating_sub(text.len())));
        text.push('\n');
        self.file.write_all_at(text.as_bytes(), 0).map_err(|source| unavailable("write", &self.path, source))?;
        self.record = record;
        Ok(())
    }
}

impl Drop for AgentLock {
    /// Unlocks rather than merely closing: a child that another thread is just spawning has a copy
    /// of the descriptor until it executes its program.
    fn drop(&mut self) {
        // The kernel unlocks it at the latest when the process ends.
        let _unlocked = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// Where the lock of `uid` is, for the store at `store`. One store has one lock for an agent, by
/// whatever links it is reached.
#[must_use]
pub fn lock_path(store: &Path, uid: &str) -> PathBuf {
    let store = store.canonicalize().unwrap_or_else(|_| store.to_owned());
    let folder = store.parent().unwrap_or(Path::new("")).join("locks");
    folder.join(format!("{}.lock", sha256_hex(uid)))
}

fn unavailable(doing: &'static str, path: &Path, source: io::Error) -> LockError {
    LockError::Unavailable { doing, path: path.to_owned(), source }
}

/// The SHA-256 of a text in lower case hex digits.
pub(super) fn sha256_hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _written = write!(hex, "{byte:02x}");
        hex
    })
}

/// Permission to sweep, copy and place for one agent: nobody else does so meanwhile.
#[derive(Debug)]
pub enum AgentGuard {
    /// By this crate's own lock.
    Lock(AgentLock),
    /// By a lease that the host keeps itself; it answers for it.
    HostLease {
        /// The agent it is about.
        uid: String,
    },
}

impl AgentGuard {
    /// The agent it is about.
    #[must_use]
    pub fn uid(&self) -> &str {
        match self {
            Self::Lock(lock) => lock.uid(),
            Self::HostLease { uid } => uid,
        }
    }
}

impl From<AgentLock> for AgentGuard {
    fn from(lock: AgentLock) -> Self {
        Self::Lock(lock)
    }
}
