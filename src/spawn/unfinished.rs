//! The files of a relocation that is not done: their names, and taking them away again.

use super::lock::sha256_hex;
use super::place::{self, PlaceError};
use super::relocate_error::{RelocateError, failed};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// What the name of an unfinished file ends with.
pub(super) const TEMPORARY_SUFFIX: &str = ".agentmux-tmp";

/// What an agent's unfinished files begin with.
pub(super) fn temporary_prefix(uid: &str) -> String {
    format!(".{}.", sha256_hex(uid).get(..16).unwrap_or_default())
}

pub(super) fn temporary(folder: &Path, uid: &str, token: &str) -> PathBuf {
    folder.join(format!("{}{token}{TEMPORARY_SUFFIX}", temporary_prefix(uid)))
}

pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// What this relocation has made so far; taken away again unless it is kept.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Leftovers {
    /// Creates the folder, privately, and those above it that are not there.
    pub(super) fn create_folder(&mut self, folder: &Path) -> Result<(), RelocateError> {
        let absent: Vec<&Path> = folder
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && fs::symlink_metadata(folder).is_err())
            .collect();
        for folder in absent.into_iter().rev() {
            match DirBuilder::new().mode(0o700).create(folder) {
                Ok(()) => self.folders.push(folder.to_owned()),
                // Another agent was quicker; then it is not ours to remove.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed("create", folder)(error)),
            }
            if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
                sync_folder(above).map_err(failed("sync", above))?;
            }
        }
        Ok(())
    }

    /// Creates a private file that was not there.
    pub(super) fn create(&mut self, path: &Path) -> Result<File, RelocateError> {
        let file = OpenOptions::new()
            .write(true)
            .read(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(failed("create", path))?;
        self.files.push(path.to_owned());
        Ok(file)
    }

    pub(super) fn remove(&mut self, path: &Path) -> Result<(), RelocateError> {
        fs::remove_file(path).map_err(failed("remove", path))?;
        self.files.retain(|file| file != path);
        Ok(())
    }

    /// Gives one of our files its name, unless something has it.
    pub(super) fn place(&mut self, temporary: &Path, place: &Path) -> Result<(), RelocateError> {
        match place::without_replacing(temporary, place) {
            Ok(()) => {
                self.files.retain(|file| file != temporary);
                self.files.push(place.to_owned());
                Ok(())
            }
            Err(PlaceError::Occupied) => Err(RelocateError::Occupied(place.to_owned())),
            Err(PlaceError::NotSupported) => {
                Err(RelocateError::NoSafePlacing(place.parent().unwrap_or(place).to_owned()))
            }
            Err(PlaceError::Io(error)) => Err(failed("place", place)(error)),
        }
    }

    pub(super) fn keep(&mut self) {
        self.files.clear();
        self.folders.clear();
    }
}

impl Drop for Leftovers {
    /// The copy goes before its marker, so that being killed here too leaves no unmarked copy. What
    /// cannot be removed is found by the next sweep.
    fn drop(&mut self) {
        for path in self.files.iter().rev() {
            drop(fs::remove_file(path));
        }
        for folder in self.folders.iter().rev() {
            drop(fs::remove_dir(folder));
        }
    }
}
