//! A temporary place with logins, working directories and session files.

use resume_gate::Head;
use resume_gate::claude::dirs::Places;
use resume_gate::claude::layout::session_file;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

/// Lays something in a file's place.
pub(crate) type Lay = fn(&Path);

/// One turn, as short as a record can be.
pub(crate) const TURN: &str = "{\"type\":\"user\",\"uuid\":\"u1\",\"message\":{\"content\":\"hello\"}}\n";
/// A record that is no turn.
pub(crate) const TITLE: &str = "{\"type\":\"ai-title\",\"aiTitle\":\"a user said hello\"}\n";

pub(crate) struct Disk {
    dir: TempDir,
    pub(crate) places: Places,
}

impl Disk {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir(&home).unwrap();
        Self { dir, places: Places { home: Some(home), agentmux_home: None } }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.places.home.clone().unwrap()
    }

    /// A directory that exists.
    pub(crate) fn dir(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Writes a session's file where the provider keeps it.
    pub(crate) fn session(&self, login: &Path, cwd: &Path, id: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = session_file(login, cwd, id).unwrap();
        write(&path, text);
        path
    }
}

pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A head as its segment recorded it.
pub(crate) fn head(id: &str, login: &Path, cwd: &Path, bytes: impl Into<Option<u64>>) -> Head {
    Head {
        session_id: id.into(),
        config_dir: Some(text(login).into()),
        cwd: Some(text(cwd).into()),
        provider_bytes_end: bytes.into(),
        ..Head::default()
    }
}

/// The answer, or a failed test if it takes so long that something must be waiting for ever.
pub(crate) fn promptly<T: Send + 'static>(question: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(question()));
    receiver.recv_timeout(Duration::from_secs(20)).unwrap()
}

#[cfg(unix)]
pub(crate) fn pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}
