//! Opening files that someone else owns: never blocking, and judged by what was opened.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Why a file could not be opened for what it should be.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing has that name.
    #[error("not there")]
    NotThere,
    /// The name, or a folder above it, is a link whose target is gone. What it should lead to may
    /// be on a disk that is not mounted, so this is not the same as not being there.
    #[error("a link on the way leads nowhere")]
    DanglingLink,
    /// Something else has that name.
    #[error("it is {0}, not a regular file")]
    NotRegular(&'static str),
    /// It is larger than what would be read of such a file.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// The system refused.
    #[error("{}", lower_first(.0))]
    Io(#[from] io::Error),
}

/// A regular file that was opened for reading.
#[derive(Debug)]
pub(super) struct Regular {
    pub(super) file: File,
    /// Its size in bytes when it was opened.
    pub(super) size: u64,
}

/// Opens a regular file, through links. A pipe, a socket or a folder in its place is an error at once.
pub(super) fn open_regular(path: &Path) -> Result<Regular, OpenError> {
    let file = match options().open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound && leads_nowhere(path) => {
            return Err(OpenError::DanglingLink);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(OpenError::NotThere),
        Err(error) => return Err(error.into()),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(OpenError::NotRegular(if metadata.is_dir() { "a folder" } else { "a pipe or device" }));
    }
    Ok(Regular { file, size: metadata.len() })
}

/// Reads a regular file of at most `bytes_max` bytes.
pub(super) fn read_small(path: &Path, bytes_max: u64) -> Result<Vec<u8>, OpenError> {
    let Regular { file, size } = open_regular(path)?;
    if size > bytes_max {
        return Err(OpenError::TooLarge(bytes_max));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    // It may have grown since.
    if bytes.len() as u64 > bytes_max { Err(OpenError::TooLarge(bytes_max)) } else { Ok(bytes) }
}

/// Whether what is there of a missing file's path ends in a link to nothing: the file itself, or
/// any folder above. A link to a folder that lacks the rest is a folder like any other.
fn leads_nowhere(path: &Path) -> bool {
    let mut there = path.ancestors().filter_map(|part| Some((part, fs::symlink_metadata(part).ok()?)));
    there.next().is_some_and(|(part, metadata)| metadata.is_symlink() && fs::metadata(part).is_err())
}

#[cfg(unix)]
fn options() -> fs::OpenOptions {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    // Opening a pipe that nobody writes to would wait for ever; a terminal must not become ours.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    options.read(true).custom_flags(flags.cast_signed());
    options
}

#[cfg(not(unix))]
fn options() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    options
}

/// A system's message in the style of ours.
fn lower_first(error: &io::Error) -> String {
    let text = error.to_string();
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
