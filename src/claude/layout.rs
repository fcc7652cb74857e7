//! Where Claude Code keeps a session: `<config dir>/projects/<project>/<session id>.jsonl`.

use super::dirs::{self, Places};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

pub use crate::segments::is_safe_session_id;

/// A project folder's name is cut after this many UTF-16 units of the path it stands for.
pub const PROJECT_UNITS_MAX: usize = 200;

/// The longest file name that common file systems take, in bytes.
const FILE_NAME_BYTES_MAX: usize = 255;

/// The name of the project folder for a physical path: each UTF-16 unit that is no ASCII letter
/// or digit becomes a dash, and what is over [`PROJECT_UNITS_MAX`] is replaced by a hash.
///
/// Measured on Claude Code 2.1.112 and 2.1.332; 2.0.77 never cuts ([`uncut_project_name`]).
#[must_use]
pub fn project_name(path: &str) -> String {
    let uncut = uncut_project_name(path);
    match uncut.get(..PROJECT_UNITS_MAX) {
        Some(start) if uncut.len() > PROJECT_UNITS_MAX => format!("{start}-{}", base36(path_hash(path))),
        _ => uncut,
    }
}

/// The name of the project folder as versions before the cut made it, however long.
#[must_use]
pub fn uncut_project_name(path: &str) -> String {
    let dashed = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    };
    path.encode_utf16().map(dashed).collect()
}

/// The absolute value of Java's string hash over the path's UTF-16 units.
fn path_hash(path: &str) -> u32 {
    path.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit))).unsigned_abs()
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// The names that a working directory's project folder can have, the likeliest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFolders {
    names: Vec<String>,
}

impl ProjectFolders {
    /// The folders for a working directory, looked up on disk: named after the physical path,
    /// then after the path as it is spelled; each also uncut where the name is cut.
    ///
    /// A directory that is gone goes by its spelling, and then by what is left of it: the links
    /// among its ancestors were resolved when the provider named the folder.
    #[must_use]
    pub fn of(cwd: &Path) -> Self {
        let spelled = lexical(cwd);
        match fs::canonicalize(cwd) {
            Ok(physical) => Self::named_after([dirs::plain(&physical), spelled]),
            Err(_) => {
                let resolved = resolve_what_is_left(&spelled);
                Self::named_after([spelled, resolved])
            }
        }
    }

    /// The folders for a working directory by its spelling alone, without a look at the disk.
    #[must_use]
    pub fn by_spelling(cwd: &Path) -> Self {
        Self::named_after([lexical(cwd)])
    }

    fn named_after<const N: usize>(paths: [PathBuf; N]) -> Self {
        let mut names: Vec<String> = Vec::with_capacity(2 * N);
        for path in paths {
            let path = path.to_string_lossy();
            let uncut = Some(uncut_project_name(&path)).filter(|name| name.len() <= FILE_NAME_BYTES_MAX);
            for name in [Some(project_name(&path)), uncut].into_iter().flatten() {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        Self { names }
    }

    /// The project folder that a current provider uses: where a copy for it is put.
    #[must_use]
    pub fn primary(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// All names, the likeliest first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Whether both stand for one project folder. Systems that fold case do so here too.
    #[must_use]
    pub fn is_same_project(&self, other: &Self) -> bool {
        if dirs::SYSTEM_FOLDS_CASE {
            self.primary().eq_ignore_ascii_case(other.primary())
        } else {
            self.primary() == other.primary()
        }
    }
}

/// The folder that holds a login's project folders.
#[must_use]
pub fn projects_dir(config_dir: &Path) -> PathBuf {
    config_dir.join("projects")
}

/// Every path where a session of this login and working directory can be, in the order to look.
/// Empty for an id that is no file name.
#[must_use]
pub fn session_files(config_dir: &Path, cwd: &Path, session_id: &str) -> Vec<PathBuf> {
    session_files_in(config_dir, &ProjectFolders::of(cwd), session_id)
}

/// [`session_files`] for project folders that are known already.
#[must_use]
pub fn session_files_in(config_dir: &Path, folders: &ProjectFolders, session_id: &str) -> Vec<PathBuf> {
    if !is_safe_session_id(session_id) {
        return Vec::new();
    }
    let file_name = format!("{session_id}.jsonl");
    folders.names().map(|name| projects_dir(config_dir).join(name).join(&file_name)).collect()
}

/// Where a current provider, spawned with this login and working directory, keeps the session:
/// the place for a copy. `None` for an id that is no file name.
#[must_use]
pub fn session_file(config_dir: &Path, cwd: &Path, session_id: &str) -> Option<PathBuf> {
    session_files(config_dir, cwd, session_id).into_iter().next()
}

/// The place of a login's files in the installation's shared folder: for a config dir
/// `…/identities/<id>/<rest>`, `<agentmux>/shared/identities/<id>/<rest>`. `None` for any other
/// shape, and for a config dir that lies there itself.
#[must_use]
pub fn global_twin(config_dir: &Path, places: &Places) -> Option<PathBuf> {
    let parts: Vec<Component<'_>> = config_dir.components().collect();
    let at = parts.iter().rposition(|part| part.as_os_str() == "identities")?;
    let below = parts.get(at + 1..)?;
    if below.len() < 2 || !below.iter().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let twin = places.agentmux_root()?.join("shared").join("identities").join(below.iter().collect::<PathBuf>());
    (!dirs::is_same_spelling(&twin, config_dir)).then_some(twin)
}

/// The path as a process in it would see it spelled: no repeated or trailing separators and no
/// `.` or `..`.
fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            _ => clean.push(part),
        }
    }
    dirs::plain(&clean)
}

/// Resolves the links of the longest ancestor that still exists.
fn resolve_what_is_left(path: &Path) -> PathBuf {
    let mut gone: Vec<OsString> = Vec::new();
    for ancestor in path.ancestors() {
        if let Ok(physical) = fs::canonicalize(ancestor) {
            return gone.iter().rev().fold(dirs::plain(&physical), |path, name| path.join(name));
        }
        gone.extend(ancestor.file_name().map(OsString::from));
    }
    path.to_path_buf()
}
