//! Two logins of one person, a working directory, and what lies in their folders.

use resume_gate::claude::layout;
use resume_gate::claude::marker::Marker;
use resume_gate::claude::session::{Found, SessionFile, find};
use resume_gate::process::ProcessTable;
use resume_gate::spawn::lock::{AgentGuard, AgentLock};
use resume_gate::spawn::relocate::{Placed, PlacedCopy, RelocateError, Source, relocate};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A session id, as the provider makes them.
pub(crate) const B: &str = "b0b0b0b0-0000-4000-8000-00000000000b";
/// The agent under test.
pub(crate) const U1: &str = "u1";
/// Another agent.
pub(crate) const U2: &str = "u2";

/// A conversation of one turn in the provider's format.
pub(crate) fn conversation() -> String {
    let user = r#"{"parentUuid":null,"type":"user","message":{"role":"user","content":"hello"},"uuid":"11111111-1111-4111-8111-111111111111"}"#;
    let assistant = r#"{"parentUuid":"11111111-1111-4111-8111-111111111111","type":"assistant","message":{"role":"assistant","content":[]},"uuid":"22222222-2222-4222-8222-222222222222"}"#;
    format!("{user}\n{assistant}\n")
}

pub(crate) struct World {
    _dir: Option<TempDir>,
    pub(crate) root: PathBuf,
    pub(crate) cwd: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = Self::at(dir.path());
        Self { _dir: Some(dir), ..world }
    }

    /// The world in a folder that someone else takes away.
    pub(crate) fn at(root: &Path) -> Self {
        let root = root.canonicalize().unwrap();
        let cwd = root.join("w");
        fs::create_dir_all(&cwd).unwrap();
        Self { _dir: None, root, cwd }
    }

    pub(crate) fn login(&self, name: &str) -> PathBuf {
        self.root.join("cfg").join(name)
    }

    /// The file of a session under a login and the working directory.
    pub(crate) fn session(&self, login: &str, id: &str) -> PathBuf {
        layout::session_file(&self.login(login), &self.cwd, id).unwrap()
    }

    /// The folder in which the spawn under a login looks.
    pub(crate) fn project(&self, login: &str) -> PathBuf {
        self.session(login, "any").parent().unwrap().to_owned()
    }

    /// Writes a session file and the folders above it.
    pub(crate) fn write(&self, login: &str, id: &str, text: &str) -> PathBuf {
        let path = self.session(login, id);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a session file with a marker beside it that says whose copy it is.
    pub(crate) fn write_copy(&self, login: &str, id: &str, text: &str, owner: &str, token: &str) -> PathBuf {
        let path = self.write(login, id, text);
        let marker = Marker {
            owner_uid: owner.into(),
            source: "/elsewhere".into(),
            bytes: text.len() as u64,
            token: token.into(),
        };
        fs::write(Marker::path_for(&path), marker.to_text()).unwrap();
        path
    }

    pub(crate) fn open(&self, login: &str, id: &str) -> SessionFile {
        match find(&self.login(login), &self.cwd, id) {
            Found::File(file) => file,
            other => panic!("the session is not there: {other:?}"),
        }
    }

    pub(crate) fn guard(&self, uid: &str) -> AgentGuard {
        AgentLock::acquire(&self.root.join("data/filestore.db"), uid, &ProcessTable::default()).unwrap().into()
    }

    /// Copies a session from login `a` to login `b` for `uid`.
    pub(crate) fn relocate(&self, uid: &str, id: &str) -> Result<PlacedCopy, RelocateError> {
        let guard = AgentGuard::HostLease { uid: uid.into() };
        match relocate(&guard, self.open("a", id), Source::AtRest, &self.session("b", id))? {
            Placed::Copied(copy) => Ok(copy),
            Placed::InPlace => panic!("something at rest is never taken in place"),
        }
    }

    /// Everything under a folder: path from there, and content (none for a folder, the target for a link).
    pub(crate) fn listing(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut open = vec![folder.to_owned()];
        while let Some(next) = open.pop() {
            for entry in fs::read_dir(&next).into_iter().flatten() {
                let path = entry.unwrap().path();
                let kind = fs::symlink_metadata(&path).unwrap();
                let content = if kind.is_symlink() {
                    Some(fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
                } else if kind.is_dir() {
                    open.push(path.clone());
                    None
                } else {
                    Some(fs::read(&path).unwrap())
                };
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), content);
            }
        }
        found
    }
}
