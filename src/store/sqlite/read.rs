//! Reading files out of the database.

use super::{READING, has_table, sql_error};
use crate::store::{FileInfo, PART_BYTES, Snapshot, StoreError, StoreErrorKind};
use rusqlite::{Connection, OptionalExtension, Transaction};
use std::ops::{Deref, Range};
use std::path::Path;

/// The most bytes that may be missing between two parts before the file counts as corrupt; it
/// bounds what a wrong part number can make us allocate.
const MAX_GAP_BYTES: u64 = 16 * 1024 * 1024;

/// One file, read inside the transaction that it holds.
pub(super) struct FileSnapshot<'a, C> {
    connection: C,
    path: &'a Path,
    zone: String,
    name: String,
    size: u64,
}

impl<'a, C: Deref<Target = Connection>> FileSnapshot<'a, C> {
    /// A view of a file whose row records that size.
    pub(super) fn of_size(connection: C, path: &'a Path, zone: &str, name: &str, size: u64) -> Self {
        Self { connection, path, zone: zone.to_owned(), name: name.to_owned(), size }
    }
}

impl<'a, 'c> FileSnapshot<'a, Transaction<'c>> {
    /// A view of a file for as long as `transaction` lasts; `None` if there is no such file.
    pub(super) fn open(
        transaction: Transaction<'c>,
        path: &'a Path,
        zone: &str,
        name: &str,
    ) -> Result<Option<Self>, StoreError> {
        let size = file_size(&transaction, path, READING, zone, name)?;
        Ok(size.map(|size| Self::of_size(transaction, path, zone, name, size)))
    }
}

impl<C: Deref<Target = Connection>> Snapshot for FileSnapshot<'_, C> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_range(&mut self, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), StoreError> {
        let range = range.start.min(self.size)..range.end.min(self.size);
        if range.is_empty() {
            return Ok(());
        }
        let failed = |error| sql_error(self.path, READING, &error);
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT partidx, data FROM db_file_data
                 WHERE zoneid = ?1 AND name = ?2 AND partidx BETWEEN ?3 AND ?4 ORDER BY partidx",
            )
            .map_err(failed)?;
        let (first, last) = (range.start / PART_BYTES, (range.end - 1) / PART_BYTES);
        let mut rows =
            statement.query((&self.zone, &self.name, first.cast_signed(), last.cast_signed())).map_err(failed)?;
        let mut at = range.start;
        while let Some(row) = rows.next().map_err(failed)? {
            let index: i64 = row.get(0).map_err(failed)?;
            let data = row.get_ref(1).and_then(|data| Ok(data.as_bytes_or_null()?)).map_err(failed)?;
            let begin = index.cast_unsigned().saturating_mul(PART_BYTES);
            let end = begin.saturating_add(data.map_or(0, <[u8]>::len).min(PART_BYTES as usize) as u64);
            let wanted = at.max(begin)..range.end.min(end);
            if wanted.is_empty() {
                continue;
            }
            self.fill_gap(wanted.start - at, into)?;
            let inside = (wanted.start - begin) as usize..(wanted.end - begin) as usize;
            into.extend_from_slice(data.and_then(|data| data.get(inside)).unwrap_or_default());
            at = wanted.end;
        }
        self.fill_gap(range.end - at, into)
    }
}

impl<C> FileSnapshot<'_, C> {
    /// Stands in for lost bytes, so that the offsets of the others stay right.
    fn fill_gap(&self, bytes: u64, into: &mut Vec<u8>) -> Result<(), StoreError> {
        if bytes > MAX_GAP_BYTES {
            let detail = format!("{bytes} bytes of `{}` in zone `{}` are missing", self.name, self.zone);
            return Err(StoreError::new(StoreErrorKind::Corrupt, Some(self.path), READING, detail));
        }
        into.resize(into.len() + bytes as usize, 0);
        Ok(())
    }
}

/// The size that a file's row records; `None` without such a file or without our tables.
pub(super) fn file_size(
    connection: &Connection,
    path: &Path,
    doing: &'static str,
    zone: &str,
    name: &str,
) -> Result<Option<u64>, StoreError> {
    let found = connection
        .prepare_cached("SELECT size FROM db_wave_file WHERE zoneid = ?1 AND name = ?2")
        .and_then(|mut statement| statement.query_row((zone, name), |row| row.get::<_, i64>(0)).optional());
    let size = none_without_tables(connection, found).map_err(|error| sql_error(path, doing, &error))?.flatten();
    let size = size.map(u64::try_from).transpose();
    size.map_err(|_| {
        let detail = format!("the recorded size of `{name}` in zone `{zone}` is negative");
        StoreError::new(StoreErrorKind::Corrupt, Some(path), doing, detail)
    })
}

/// All files of a name, ordered by zone.
pub(super) fn files_named(connection: &Connection, path: &Path, name: &str) -> Result<Vec<FileInfo>, StoreError> {
    let found = connection
        .prepare_cached("SELECT zoneid, size, createdts, modts FROM db_wave_file WHERE name = ?1 ORDER BY zoneid")
        .and_then(|mut statement| {
            let rows = statement.query_map([name], |row| {
                Ok(FileInfo {
                    zone: row.get(0)?,
                    name: name.to_owned(),
                    size: u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0),
                    created_ms: row.get(2)?,
                    modified_ms: row.get(3)?,
                })
            })?;
            rows.collect()
        });
    let files = none_without_tables(connection, found).map_err(|error| sql_error(path, READING, &error))?;
    Ok(files.unwrap_or_default())
}

/// Turns the error that comes of our tables not being there into nothing. They may go at any time:
/// a transaction of ours that made them may have been rolled back.
fn none_without_tables<T>(connection: &Connection, found: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match found {
        Err(error) => {
            let both = has_table(connection, "db_wave_file")? && has_table(connection, "db_file_data")?;
            if both { Err(error) } else { Ok(None) }
        }
        Ok(found) => Ok(Some(found)),
    }
}
