//! Recorded directories: reading them, and telling whether two are one.
//!
//! Directories compare by what they are if both exist, and by their spelling if not. Letter case
//! counts, except in paths of Windows' shape and on systems that fold it themselves: `/cfg/Work`
//! and `/cfg/work` are two logins on Linux.

use super::layout::{self, ProjectFolders};
use crate::gate::facts::{HeadLogin, HeadProject};
use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

/// Whether this system's file names are usually the same in either letter case.
pub(super) const SYSTEM_FOLDS_CASE: bool = cfg!(any(windows, target_vendor = "apple"));

/// What recorded paths are read against. Nothing here is taken from the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The user's home directory, which `~` stands for.
    pub home: Option<PathBuf>,
    /// AgentMux's root, if it is not `~/.agentmux`.
    pub agentmux_home: Option<PathBuf>,
}

impl Places {
    /// A recorded directory that can be used on this system, with a leading `~` expanded. Blank,
    /// relative and other systems' paths (`C:\…` read on Linux) count as not recorded.
    #[must_use]
    pub fn usable(&self, recorded: Option<&str>) -> Option<PathBuf> {
        let recorded = recorded?;
        if recorded.trim().is_empty() || recorded.contains('\0') {
            return None;
        }
        let path = self.expand(recorded);
        path.is_absolute().then(|| path.into_owned())
    }

    /// The ambient login, used by a provider that was given no config dir.
    #[must_use]
    pub fn ambient_config_dir(&self) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(".claude"))
    }

    /// AgentMux's root directory.
    #[must_use]
    pub fn agentmux_root(&self) -> Option<PathBuf> {
        self.agentmux_home.clone().or_else(|| self.home.as_ref().map(|home| home.join(".agentmux")))
    }

    /// Expands `~` and `~/…`; `~name` is left alone.
    fn expand<'a>(&self, path: &'a str) -> Cow<'a, Path> {
        let is_separator = std::path::is_separator;
        match (path.strip_prefix('~'), &self.home) {
            (Some(""), Some(home)) => Cow::Owned(home.clone()),
            (Some(rest), Some(home)) if rest.starts_with(is_separator) => {
                Cow::Owned(home.join(rest.trim_start_matches(is_separator)))
            }
            _ => Cow::Borrowed(Path::new(path)),
        }
    }
}

/// How directories are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// By what they are on disk; by spelling where one is not there.
    AtDisk,
    /// By spelling alone: the answer when the disk takes too long.
    BySpelling,
}

/// Whether two directories are one: the same on disk when both exist, else spelled alike
/// ([`is_same_spelling`]). `~` is not expanded here ([`Places::usable`] does).
#[must_use]
pub fn same_dir(a: &Path, b: &Path) -> bool {
    // A relative path would be looked up from wherever this process happens to be.
    let on_disk = if a.is_absolute() && b.is_absolute() { is_same_on_disk(a, b) } else { None };
    on_disk.unwrap_or_else(|| is_same_spelling(a, b))
}

/// Whether two directories are spelled alike: separators, repeated, trailing and `.` parts do not
/// count; nor does letter case where both have Windows' shape or this system folds it.
#[must_use]
pub fn is_same_spelling(a: &Path, b: &Path) -> bool {
    folded(a) == folded(b)
}

/// The head's recorded login against the spawn's. An unknown login of the spawn is another one.
#[must_use]
pub fn head_login(
    places: &Places,
    recorded_config_dir: Option<&str>,
    config_dir: Option<&str>,
    compare: Compare,
) -> HeadLogin {
    let Some(recorded) = places.usable(recorded_config_dir) else { return HeadLogin::Unrecorded };
    let Some(own) = places.usable(config_dir) else { return HeadLogin::Other };
    let is_own = match compare {
        Compare::BySpelling => is_same_spelling(&recorded, &own),
        Compare::AtDisk => {
            same_dir(&recorded, &own)
                || is_same_on_disk(&layout::projects_dir(&recorded), &layout::projects_dir(&own)) == Some(true)
        }
    };
    if is_own { HeadLogin::Own } else { HeadLogin::Other }
}

/// Whether the head's recorded directory maps to the spawn's project folder. The folder's name
/// decides, not the directory: that is what the provider goes by. A directory that was not
/// recorded, or is of no use here, is another project.
#[must_use]
pub fn head_project(places: &Places, recorded_cwd: Option<&str>, cwd: &str, compare: Compare) -> HeadProject {
    let (Some(recorded), Some(own)) = (places.usable(recorded_cwd), places.usable(Some(cwd))) else {
        return HeadProject::Different;
    };
    let folders = match compare {
        Compare::AtDisk => ProjectFolders::of,
        Compare::BySpelling => ProjectFolders::by_spelling,
    };
    if folders(&recorded).is_same_project(&folders(&own)) { HeadProject::Same } else { HeadProject::Different }
}

/// Whether two paths lead to one file or directory; `None` if one of them leads nowhere.
#[cfg(unix)]
pub(super) fn is_same_on_disk(a: &Path, b: &Path) -> Option<bool> {
    use std::os::unix::fs::MetadataExt;
    // Not opened: that needs more rights than a look does, and hangs on a pipe.
    let (a, b) = (a.metadata().ok()?, b.metadata().ok()?);
    Some(a.dev() == b.dev() && a.ino() == b.ino())
}

/// Whether two paths lead to one file or directory; `None` if one of them leads nowhere.
#[cfg(not(unix))]
pub(super) fn is_same_on_disk(a: &Path, b: &Path) -> Option<bool> {
    same_file::is_same_file(a, b).ok()
}

/// A path of Windows without the prefix that its resolved paths carry (`\\?\`); any other as it is.
pub(super) fn plain(path: &Path) -> PathBuf {
    match path.to_str().and_then(|text| text.strip_prefix(r"\\?\")) {
        Some(rest) if cfg!(windows) => match rest.strip_prefix("UNC\\") {
            Some(share) => PathBuf::from(format!(r"\\{share}")),
            None => PathBuf::from(rest),
        },
        _ => path.to_path_buf(),
    }
}

/// A path's spelling with everything folded that does not tell directories apart.
fn folded(path: &Path) -> String {
    let text = path.to_string_lossy();
    if is_windows_shaped(&text) {
        return folded_windows(&text);
    }
    let mut folded = String::with_capacity(text.len());
    for part in path.components() {
        match part {
            Component::CurDir => continue,
            Component::RootDir => {}
            _ => folded.push_str(&part.as_os_str().to_string_lossy()),
        }
        folded.push('/');
    }
    if SYSTEM_FOLDS_CASE { folded.to_lowercase() } else { folded }
}

fn folded_windows(text: &str) -> String {
    let text = text.replace('\\', "/");
    let (root, rest) = match text.strip_prefix("//?/UNC/").or_else(|| text.strip_prefix("//?/")) {
        Some(rest) if text.starts_with("//?/UNC/") => ("//", rest),
        Some(rest) => ("", rest),
        None => text.strip_prefix("//").map_or(("", text.as_str()), |rest| ("//", rest)),
    };
    let parts = rest.split('/').filter(|part| !matches!(*part, "" | "."));
    let mut folded = String::from(root);
    for part in parts {
        folded.push_str(&part.to_lowercase());
        folded.push('/');
    }
    folded
}

/// Whether a path is spelled the way Windows does: `C:` followed by a separator or nothing, or
/// two backslashes in front.
fn is_windows_shaped(path: &str) -> bool {
    match path.as_bytes() {
        [b'\\', b'\\', ..] => true,
        [drive, b':', rest @ ..] => drive.is_ascii_alphabetic() && matches!(rest, [] | [b'/' | b'\\', ..]),
        _ => false,
    }
}
