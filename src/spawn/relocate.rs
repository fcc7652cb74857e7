//! Copying a session's file to where a spawn will look for it.
//!
//! The copy lives only until the provider has forked it, and two lasting files with one session id
//! must never come of it. So it is made where nobody looks, under a name of our own; a marker that
//! says whose it is stands beside its place before it gets there; and neither the marker nor the copy
//! ever replaces anything. Killed at any moment, this leaves nothing that
//! [`sweep`](super::settle::sweep) cannot tell from a session of someone's. If it fails, it leaves nothing.
//!
//! ```text
//! .<agent>.<token>.agentmux-tmp          written, synced, source checked    → <session>.jsonl
//! .<agent>.<token>-marker.agentmux-tmp   written, synced                    → <session>.jsonl.agentmux-relocated
//! ```
//!
//! The marker is placed first: a marker without a copy is harmless, a copy without a marker is not.

use super::lock::AgentGuard;

pub use super::relocate_error::RelocateError;
use super::relocate_error::failed;
use super::unfinished::{Leftovers, sync_folder, temporary};
use crate::claude::complete::whole_bytes;
use crate::claude::marker::{Marker, MarkerError};
use crate::claude::session::SessionFile;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW};
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use strum::EnumIter;
use uuid::Uuid;

/// Room that has to be left beside the copy, in bytes: for its marker and the folder itself.
pub const FREE_SPACE_MARGIN_BYTES: u64 = 64 << 10;

/// How much is copied between two looks at the observer, in bytes.
const CHUNK_BYTES: u64 = 16 << 20;

/// How often a source that changes meanwhile is copied.
const ATTEMPTS: u32 = 2;

/// What is known of the source's owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Nobody writes: the file must be the same before and after, or the copy is no good.
    AtRest,
    /// Its owner may be appending: the whole lines of what is there first are copied.
    Live,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed {
    /// The source already lies where the spawn looks; nothing was copied.
    InPlace,
    /// A copy was placed, with its marker.
    Copied(PlacedCopy),
}

/// A copy that waits to be forked from and removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedCopy {
    /// The file that was copied.
    pub from: PathBuf,
    /// The copy.
    pub to: PathBuf,
    /// Its marker.
    pub marker: PathBuf,
    /// What tells this copy from any other; [`settle`](super::settle::settle) wants it.
    pub token: String,
    /// Its size.
    pub bytes: u64,
}

/// The moments of a relocation, in order. A caller may watch them go by: tests kill the process at
/// each of them, hosts may log them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, EnumIter)]
pub enum Step {
    /// The destination's folder is there.
    FolderReady,
    /// The unfinished copy was created.
    CopyBegun,
    /// A part of it was written; comes once or more.
    CopyGoesOn,
    /// All of it was written.
    CopyWritten,
    /// It is on the disk, and the source was the same before and after.
    CopyChecked,
    /// The unfinished marker was created.
    MarkerBegun,
    /// It was written and is on the disk.
    MarkerWritten,
    /// The marker is in its place.
    MarkerPlaced,
    /// The copy is in its place.
    CopyPlaced,
    /// The folder is on the disk.
    FolderSynced,
}

/// Copies `source` to `destination` for the agent that `guard` is about.
///
/// # Errors
///
/// See [`RelocateError`]; nothing is left behind, and the plan becomes Refuse.
pub fn relocate(
    guard: &AgentGuard,
    source: SessionFile,
    owner: Source,
    destination: &Path,
) -> Result<Placed, RelocateError> {
    relocate_observed(guard, source, owner, destination, &mut |_| {})
}

/// [`relocate`], telling `observe` of each step as it is done.
///
/// # Errors
///
/// As for [`relocate`].
pub fn relocate_observed(
    guard: &AgentGuard,
    mut source: SessionFile,
    owner: Source,
    destination: &Path,
    observe: &mut dyn FnMut(Step),
) -> Result<Placed, RelocateError> {
    let folder = destination.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut left = Leftovers::default();
    if !check_place(&source, owner, destination)? {
        return Ok(Placed::InPlace);
    }
    left.create_folder(folder)?;
    observe(Step::FolderReady);

    let token = Uuid::new_v4().simple().to_string();
    let copy = temporary(folder, guard.uid(), &token);
    let bytes = write_copy(&mut left, &copy, &mut source, owner, folder, observe)?;
    observe(Step::CopyChecked);

    let marker = Marker {
        owner_uid: guard.uid().to_owned(),
        source: source.path.to_string_lossy().into_owned(),
        bytes,
        token: token.clone(),
    };
    let marker_place = Marker::path_for(destination);
    write_marker(&mut left, &temporary(folder, guard.uid(), &format!("{token}-marker")), &marker, observe)
        .and_then(|temporary| left.place(&temporary, &marker_place))
        .map_err(|error| match error {
            RelocateError::Occupied(_) => claimed(destination),
            other => other,
        })?;
    // The marker is on the disk before the copy has its name: not even a power cut leaves one unmarked.
    sync_folder(folder).map_err(failed("sync", folder))?;
    observe(Step::MarkerPlaced);
    left.place(&copy, destination)?;
    observe(Step::CopyPlaced);
    sync_folder(folder).map_err(failed("sync", folder))?;
    left.keep();
    observe(Step::FolderSynced);
    Ok(Placed::Copied(PlacedCopy { from: source.path, to: destination.to_owned(), marker: marker_place, token, bytes }))
}

/// Whether there is something to copy, and to a place that is free; false if a live source lies there
/// itself. Looking first saves the copying;
/// what makes it safe is that placing never replaces.
fn check_place(source: &SessionFile, owner: Source, destination: &Path) -> Result<bool, RelocateError> {
    match fs::symlink_metadata(destination) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
        Err(error) => return Err(failed("look at", destination)(error)),
        Ok(_) => {
            let of_source = source.file.metadata().map_err(failed("look at", &source.path))?;
            let same = fs::metadata(destination).is_ok_and(|found| identity(&found) == identity(&of_source));
            return match (same, owner) {
                (true, Source::Live) => Ok(false),
                (true, Source::AtRest) => {
                    Err(RelocateError::SameFile { from: source.path.clone(), to: destination.to_owned() })
                }
                (false, _) => match Marker::read(destination) {
                    Ok(_) => Err(claimed(destination)),
                    Err(_) => Err(RelocateError::Occupied(destination.to_owned())),
                },
            };
        }
    }
    match fs::symlink_metadata(Marker::path_for(destination)) {
        Ok(_) => Err(claimed(destination)),
        Err(_) => Ok(true),
    }
}

fn claimed(destination: &Path) -> RelocateError {
    let owner = match Marker::read(destination) {
        Ok(marker) => Some(marker.owner_uid),
        Err(MarkerError::Open(_) | MarkerError::NotWhole) => None,
    };
    RelocateError::Claimed { to: destination.to_owned(), owner }
}

/// Writes the unfinished copy and returns its size. It is whole, synced and fresh.
fn write_copy(
    left: &mut Leftovers,
    temporary: &Path,
    source: &mut SessionFile,
    owner: Source,
    folder: &Path,
    observe: &mut dyn FnMut(Step),
) -> Result<u64, RelocateError> {
    for _ in 0..ATTEMPTS {
        let before = State::of(source)?;
        let bytes = match owner {
            Source::AtRest => before.bytes,
            Source::Live => whole_bytes(&mut source.file, before.bytes)
                .map_err(|error| RelocateError::Cut { path: source.path.clone(), source: error })?,
        };
        if bytes == 0 {
            return Err(RelocateError::NothingWhole(source.path.clone()));
        }
        check_free_space(folder, bytes)?;
        let mut copy = left.create(temporary)?;
        observe(Step::CopyBegun);
        let copied = copy_bytes(source, &mut copy, bytes, temporary, observe)?;
        observe(Step::CopyWritten);
        // The provider deletes by age what it has not touched for a month; a copy is new.
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        rustix::fs::futimens(&copy, &Timestamps { last_access: now, last_modification: now })
            .map_err(|error| failed("date", temporary)(error.into()))?;
        copy.sync_all().map_err(failed("sync", temporary))?;
        let unchanged = owner == Source::Live || State::of(source)? == before;
        if copied == bytes && unchanged {
            return Ok(bytes);
        }
        left.remove(temporary)?;
    }
    Err(RelocateError::SourceChanged(source.path.clone()))
}

/// Copies the first `bytes` bytes; fewer if the source has become shorter.
fn copy_bytes(
    source: &mut SessionFile,
    copy: &mut File,
    bytes: u64,
    temporary: &Path,
    observe: &mut dyn FnMut(Step),
) -> Result<u64, RelocateError> {
    source.file.seek(SeekFrom::Start(0)).map_err(failed("read", &source.path))?;
    let mut copied = 0;
    while copied < bytes {
        let chunk = CHUNK_BYTES.min(bytes - copied);
        let written =
            io::copy(&mut Read::by_ref(&mut source.file).take(chunk), copy).map_err(failed("write", temporary))?;
        observe(Step::CopyGoesOn);
        if written == 0 {
            break;
        }
        copied += written;
    }
    Ok(copied)
}

/// What shows that a source was written to: at its path, since it may also have been replaced.
#[derive(PartialEq, Eq)]
struct State {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl State {
    fn of(source: &SessionFile) -> Result<Self, RelocateError> {
        let metadata = source.file.metadata().map_err(failed("look at", &source.path))?;
        if fs::metadata(&source.path).map_or(true, |found| identity(&found) != identity(&metadata)) {
            return Err(RelocateError::SourceChanged(source.path.clone()));
        }
        Ok(Self { bytes: metadata.len(), modified: metadata.modified().ok() })
    }
}

/// What tells a file from any other, by whatever name and link it is reached.
fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn check_free_space(folder: &Path, bytes: u64) -> Result<(), RelocateError> {
    // A file system that cannot tell will say so when it is full.
    let Ok(room) = rustix::fs::statvfs(folder) else { return Ok(()) };
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    let needed = bytes.saturating_add(FREE_SPACE_MARGIN_BYTES);
    if free < needed {
        return Err(RelocateError::NoSpace { folder: folder.to_owned(), needed, free });
    }
    Ok(())
}

fn write_marker(
    left: &mut Leftovers,
    temporary: &Path,
    marker: &Marker,
    observe: &mut dyn FnMut(Step),
) -> Result<PathBuf, RelocateError> {
    let mut file = left.create(temporary)?;
    observe(Step::MarkerBegun);
    file.write_all(marker.to_text().as_bytes()).and_then(|()| file.sync_all()).map_err(failed("write", temporary))?;
    observe(Step::MarkerWritten);
    Ok(temporary.to_owned())
}
