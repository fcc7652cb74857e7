//! Which live provider process has a session open, by the provider's own registry.
//!
//! Versions from 2.1 keep `<config dir>/sessions/<pid>.json` while a process runs, and leave it
//! behind when killed hard. Beside it lie `.key` files, which are nobody's business.

use super::json;
use super::open::read_small;
use crate::process::ProcessTable;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// How many files of one registry are read.
const ENTRIES_MAX: usize = 4096;

/// The largest file that is read as an entry, in bytes.
const ENTRY_BYTES_MAX: u64 = 256 << 10;

/// How much later than its entry says a process may seem to have started, in ms: clocks step, and
/// a pid is not reused that fast.
const START_TOLERANCE_MS: u64 = 10_000;

/// A live process that has a session open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its pid.
    pub pid: u32,
    /// The registry's file that says so.
    pub entry: PathBuf,
}

/// The live process that has the session open, if this login's registry names one. Entries that
/// cannot be read, are another machine's or container's, or whose process has ended, name none.
#[must_use]
pub fn holder(config_dir: &Path, session_id: &str, processes: &ProcessTable) -> Option<Holder> {
    let own_domain = processes.pid_domain();
    let entries = fs::read_dir(config_dir.join("sessions")).ok()?;
    let paths = entries.flatten().map(|entry| entry.path()).filter(|path| is_entry(path));
    paths.take(ENTRIES_MAX).find_map(|path| {
        let entry = Entry::parse(&read_small(&path, ENTRY_BYTES_MAX).ok()?)?;
        let is_holder =
            entry.session_id == session_id && entry.is_of_domain(own_domain.as_deref()) && entry.is_running(processes);
        is_holder.then_some(Holder { pid: entry.pid, entry: path })
    })
}

/// The session that a running process has open now, by this login's registry. A process can move
/// to another session while it runs. `None` if it has not registered (yet), or the version keeps
/// no registry.
#[must_use]
pub fn session_of(config_dir: &Path, pid: u32, processes: &ProcessTable) -> Option<String> {
    let path = config_dir.join("sessions").join(format!("{pid}.json"));
    let entry = Entry::parse(&read_small(&path, ENTRY_BYTES_MAX).ok()?)?;
    // The file may be left over from an earlier process with this pid.
    let own_domain = processes.pid_domain();
    let is_its = entry.pid == pid && entry.is_of_domain(own_domain.as_deref()) && entry.is_running(processes);
    is_its.then_some(entry.session_id)
}

/// `<pid>.json`.
fn is_entry(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_suffix(".json").is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What an entry says of a process.
struct Entry {
    pid: u32,
    session_id: String,
    /// When it registered, in ms since 1970.
    started_at_ms: Option<u64>,
    /// When it started, in clock ticks since boot.
    start_ticks: Option<u64>,
    pid_domain: Option<String>,
}

impl Entry {
    fn parse(text: &[u8]) -> Option<Self> {
        let names = ["pid", "sessionId", "startedAt", "procStart", "pidDomain"];
        let [pid, session_id, started_at, proc_start, pid_domain] = json::pick(json::without_mark(text), names).ok()?;
        Some(Self {
            pid: u32::try_from(pid?.as_u64()?).ok().filter(|&pid| pid > 0)?,
            session_id: json::text(session_id)?,
            started_at_ms: started_at.as_ref().and_then(Value::as_u64),
            start_ticks: json::text(proc_start).and_then(|ticks| ticks.parse().ok()),
            pid_domain: json::text(pid_domain),
        })
    }

    /// Whether its pid is counted where we count. Older versions do not say; where we cannot tell
    /// our own place, no entry that names one is ours.
    fn is_of_domain(&self, own: Option<&str>) -> bool {
        self.pid_domain.is_none() || self.pid_domain.as_deref() == own
    }

    /// Whether its pid is in use by the process that registered.
    fn is_running(&self, processes: &ProcessTable) -> bool {
        match (self.start_ticks, self.started_at_ms) {
            (Some(ticks), _) => processes.is_running(self.pid, ticks),
            (None, Some(registered)) => processes
                .started_at_ms(self.pid)
                .is_some_and(|started| started <= registered.saturating_add(START_TOLERANCE_MS)),
            // A pid alone may be anybody's by now.
            (None, None) => false,
        }
    }
}
