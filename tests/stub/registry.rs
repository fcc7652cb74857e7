//! The registry of live processes that the two newer versions keep in their config dir. A process
//! that is killed hard leaves its entry behind, as the CLI does.

use crate::{Version, own_start_ticks, session};
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// This process's entry, if its version keeps one.
pub(crate) struct Registration {
    entry: Option<PathBuf>,
}

impl Registration {
    /// Writes (or rewrites) the entry of this process.
    pub(crate) fn write(version: Version, config_dir: &Path, session_id: &str, cwd: &Path) -> io::Result<Self> {
        if version == Version::O {
            return Ok(Self { entry: None });
        }
        let folder = config_dir.join("sessions");
        session::create_private_dirs(Version::O, &folder)?;
        let pid = std::process::id();
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let mut entry = json!({"pid": pid, "sessionId": session_id, "cwd": cwd, "startedAt": started as u64,
            "kind": "interactive", "entrypoint": "sdk-cli"});
        if version == Version::L {
            let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
            let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
            entry["procStart"] = own_start_ticks()?.into();
            entry["version"] = version.name().into();
            entry["pidDomain"] = format!("linux:{}:{}", machine.trim(), namespace.display()).into();
            entry["status"] = "busy".into();
        }
        let path = folder.join(format!("{pid}.json"));
        std::fs::write(&path, entry.to_string())?;
        Ok(Self { entry: Some(path) })
    }

    /// Takes the entry away, as an orderly exit does.
    pub(crate) fn remove(&mut self) {
        if let Some(path) = self.entry.take() {
            // Someone cleaning up behind us is no failure.
            drop(std::fs::remove_file(path));
        }
    }
}
