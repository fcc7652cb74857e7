//! Whether a provider that took some of its standard input and then gave up can be followed by
//! another one that finds all of it.

use rustix::fs::{FileType, SeekFrom, fstat, seek, tell};
use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

/// The device whose input is always empty.
const NULL_DEVICE: &str = "/dev/null";

/// A standard input, as it was before the first provider.
#[derive(Debug)]
pub enum Input {
    /// Nothing is lost by reading it: a terminal, or nothing at all.
    Repeatable,
    /// A regular file, with the offset at which the provider began to read.
    File {
        /// The file.
        file: File,
        /// In bytes.
        offset: u64,
    },
    /// What has been read is gone.
    Once,
}

impl Input {
    /// Looks at an input before it is handed to a provider. One that was closed has been replaced
    /// by the null device when this process began.
    #[must_use]
    pub fn of(input: impl AsFd) -> Self {
        let fd = input.as_fd();
        if fd.is_terminal() {
            return Self::Repeatable;
        }
        let Ok(stat) = fstat(fd) else { return Self::Repeatable };
        let null = || std::fs::metadata(NULL_DEVICE).is_ok_and(|null| null.rdev() == stat.st_rdev);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::CharacterDevice if null() => Self::Repeatable,
            FileType::RegularFile => match (tell(fd), fd.try_clone_to_owned()) {
                (Ok(offset), Ok(file)) => Self::File { file: OwnedFd::into(file), offset },
                _ => Self::Once,
            },
            _ => Self::Once,
        }
    }

    /// Makes the next provider find what the first one found; false if that cannot be.
    pub(super) fn offer_again(&self) -> bool {
        match self {
            Self::Repeatable => true,
            // The provider reads by the same open file, so that its offset is ours to set.
            Self::File { file, offset } => seek(file, SeekFrom::Start(*offset)).is_ok(),
            Self::Once => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Input;
    use std::fs::File;
    use std::io::{Read as _, Write as _};

    #[test]
    fn a_file_is_rewound_to_where_the_provider_began() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"read before, read by the provider").unwrap();
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(13)).unwrap();
        let input = Input::of(&file);
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "read by the provider");
        assert!(input.offer_again());
        text.clear();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "read by the provider");
    }

    #[test]
    fn the_null_device_can_be_read_again_and_a_pipe_cannot() {
        assert!(Input::of(File::open("/dev/null").unwrap()).offer_again());
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(!Input::of(reader).offer_again());
        assert!(!Input::of(File::open("/dev/zero").unwrap()).offer_again());
    }
}
