//! Giving a file its final name without ever replacing another.

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::path::Path;

/// Why a file did not get its name.
#[derive(Debug)]
pub(super) enum PlaceError {
    /// Something has it.
    Occupied,
    /// The file system can do this in no way.
    NotSupported,
    /// The system refused.
    Io(io::Error),
}

/// Renames `from` to `to`, which must not exist: atomically, or by a link where there is no such rename.
pub(super) fn without_replacing(from: &Path, to: &Path) -> Result<(), PlaceError> {
    match rename_without_replacing(from, to) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => link_and_unlink(from, to),
        Err(Errno::EXIST) => Err(PlaceError::Occupied),
        Err(error) => Err(PlaceError::Io(error.into())),
        Ok(()) => Ok(()),
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_without_replacing(from: &Path, to: &Path) -> Result<(), Errno> {
    rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_without_replacing(_from: &Path, _to: &Path) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// A hard link fails if its name is taken. Killed in between, the file has both names, and the
/// first is one that a sweep removes.
fn link_and_unlink(from: &Path, to: &Path) -> Result<(), PlaceError> {
    match rustix::fs::link(from, to) {
        Ok(()) => fs::remove_file(from).map_err(|error| {
            drop(fs::remove_file(to));
            PlaceError::Io(error)
        }),
        Err(Errno::EXIST) => Err(PlaceError::Occupied),
        // What file systems without links answer.
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => Err(PlaceError::NotSupported),
        Err(error) => Err(PlaceError::Io(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Place = fn(&Path, &Path) -> Result<(), PlaceError>;

    /// Both ways of placing have to keep the same promises.
    const WAYS: [Place; 2] = [without_replacing, link_and_unlink];

    #[test]
    fn a_file_gets_its_name_and_loses_the_old_one() {
        for place in WAYS {
            let dir = tempfile::tempdir().unwrap();
            let (from, to) = (dir.path().join("from"), dir.path().join("to"));
            fs::write(&from, "ours").unwrap();
            place(&from, &to).unwrap();
            assert_eq!(fs::read_to_string(&to).unwrap(), "ours");
            assert!(!from.exists());
        }
    }

    #[test]
    fn whatever_has_the_name_keeps_it() {
        for place in WAYS {
            let dir = tempfile::tempdir().unwrap();
            let (from, to) = (dir.path().join("from"), dir.path().join("to"));
            fs::write(&from, "ours").unwrap();

            fs::write(&to, "theirs").unwrap();
            assert!(matches!(place(&from, &to), Err(PlaceError::Occupied)));
            assert_eq!(fs::read_to_string(&to).unwrap(), "theirs");

            fs::remove_file(&to).unwrap();
            std::os::unix::fs::symlink("nowhere", &to).unwrap();
            assert!(matches!(place(&from, &to), Err(PlaceError::Occupied)), "a dangling link is something too");

            fs::remove_file(&to).unwrap();
            fs::create_dir(&to).unwrap();
            assert!(matches!(place(&from, &to), Err(PlaceError::Occupied)));
            assert_eq!(fs::read_to_string(&from).unwrap(), "ours");
        }
    }
}
