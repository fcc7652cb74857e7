//! A store that lives in memory: for tests, and for hosts that keep their log elsewhere.

use super::{AppendOptions, Appended, FileInfo, MakeLine, Snapshot, Store, StoreError, closed_line};
use std::collections::BTreeMap;
use std::ops::Range;

/// Files in memory, by zone and name.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    files: BTreeMap<(String, String), MemoryFile>,
}

#[derive(Debug, Clone, Default)]
struct MemoryFile {
    bytes: Vec<u8>,
    created_ms: i64,
    modified_ms: i64,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a file's bytes as they are, damage included.
    pub fn set(&mut self, zone: &str, name: &str, bytes: impl Into<Vec<u8>>) {
        self.files.entry((zone.to_owned(), name.to_owned())).or_default().bytes = bytes.into();
    }

    /// A file's bytes, if there is such a file.
    #[must_use]
    pub fn bytes(&self, zone: &str, name: &str) -> Option<&[u8]> {
        self.files.get(&(zone.to_owned(), name.to_owned())).map(|file| file.bytes.as_slice())
    }
}

impl Snapshot for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_range(&mut self, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), StoreError> {
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        into.extend_from_slice(self.get(at(range.start)..at(range.end)).unwrap_or_default());
        Ok(())
    }
}

impl Store for MemoryStore {
    fn snapshot<'a>(&'a mut self, zone: &str, name: &str) -> Result<Option<Box<dyn Snapshot + 'a>>, StoreError> {
        Ok(self.bytes(zone, name).map(|bytes| Box::new(bytes) as Box<dyn Snapshot + 'a>))
    }

    fn append(
        &mut self,
        zone: &str,
        name: &str,
        options: AppendOptions,
        make: &mut MakeLine<'_>,
    ) -> Result<Appended, StoreError> {
        let mut present = self.bytes(zone, name).unwrap_or_default();
        let last = present.last().copied();
        let (line, closed_torn_tail) = closed_line(last, &make(&mut present)?)?;
        let file = self
            .files
            .entry((zone.to_owned(), name.to_owned()))
            .or_insert_with(|| MemoryFile { created_ms: options.now_ms, ..MemoryFile::default() });
        let offset = file.bytes.len() as u64 + u64::from(closed_torn_tail);
        file.bytes.extend_from_slice(&line);
        file.modified_ms = options.now_ms;
        Ok(Appended { offset, closed_torn_tail })
    }

    fn put_once(&mut self, zone: &str, name: &str, bytes: &[u8], options: AppendOptions) -> Result<bool, StoreError> {
        let key = (zone.to_owned(), name.to_owned());
        if self.files.contains_key(&key) {
            return Ok(false);
        }
        let file = MemoryFile { bytes: bytes.to_vec(), created_ms: options.now_ms, modified_ms: options.now_ms };
        self.files.insert(key, file);
        Ok(true)
    }

    fn files_named(&mut self, name: &str) -> Result<Vec<FileInfo>, StoreError> {
        let named = self.files.iter().filter(|((_, file_name), _)| file_name == name);
        Ok(named
            .map(|((zone, name), file)| FileInfo {
                zone: zone.clone(),
                name: name.clone(),
                size: file.bytes.len() as u64,
                created_ms: file.created_ms,
                modified_ms: file.modified_ms,
            })
            .collect())
    }
}
