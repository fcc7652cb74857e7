//! Writing files into the database.

use super::read::{FileSnapshot, file_size};
use super::{WRITING, begin, sql_error};
use crate::store::{
    AppendOptions, Appended, Durability, MakeLine, PART_BYTES, Snapshot, StoreError, StoreErrorKind, closed_line,
};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use std::path::Path;

/// Columns of newer files that count a file's content. We do not count, so they become unknown.
const COUNTER_COLUMNS: [&str; 5] = ["gen", "lines", "lines_size", "lines_tail", "lines_modts"];

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS db_wave_file (
        zoneid TEXT NOT NULL,
        name TEXT NOT NULL,
        size INTEGER NOT NULL DEFAULT 0,
        createdts INTEGER NOT NULL DEFAULT 0,
        modts INTEGER NOT NULL DEFAULT 0,
        opts TEXT NOT NULL DEFAULT '{}',
        meta TEXT NOT NULL DEFAULT '{}',
        PRIMARY KEY (zoneid, name)
    );
    CREATE TABLE IF NOT EXISTS db_file_data (
        zoneid TEXT NOT NULL,
        name TEXT NOT NULL,
        partidx INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (zoneid, name, partidx)
    );";

/// Appends one line; see [`Store::append`](crate::store::Store::append).
pub(super) fn append(
    connection: &mut Connection,
    path: &Path,
    zone: &str,
    name: &str,
    options: AppendOptions,
    make: &mut MakeLine<'_>,
) -> Result<Appended, StoreError> {
    let transaction = begin_write(connection, path, options.durability)?;
    let size = match file_size(&transaction, path, WRITING, zone, name)? {
        Some(size) => size,
        None => insert_row(&transaction, path, zone, name, options.now_ms).map(|()| 0)?,
    };
    let mut present = FileSnapshot::of_size(&*transaction, path, zone, name, size);
    let mut last = Vec::with_capacity(1);
    present.read_range(size.saturating_sub(1)..size, &mut last)?;
    let (bytes, closed_torn_tail) = closed_line(last.first().copied(), &make(&mut present)?)?;
    write_at(&transaction, path, zone, name, size, &bytes)?;
    update_row(&transaction, path, zone, name, size + bytes.len() as u64, options.now_ms)?;
    transaction.commit().map_err(|error| sql_error(path, WRITING, &error))?;
    Ok(Appended { offset: size + u64::from(closed_torn_tail), closed_torn_tail })
}

/// Puts a whole file in place if there is none of that name.
pub(super) fn put_once(
    connection: &mut Connection,
    path: &Path,
    zone: &str,
    name: &str,
    bytes: &[u8],
    options: AppendOptions,
) -> Result<bool, StoreError> {
    let transaction = begin_write(connection, path, options.durability)?;
    if file_size(&transaction, path, WRITING, zone, name)?.is_some() {
        return Ok(false);
    }
    insert_row(&transaction, path, zone, name, options.now_ms)?;
    write_at(&transaction, path, zone, name, 0, bytes)?;
    update_row(&transaction, path, zone, name, bytes.len() as u64, options.now_ms)?;
    transaction.commit().map_err(|error| sql_error(path, WRITING, &error))?;
    Ok(true)
}

/// Takes the write lock on a database that has our tables, or has room for them.
fn begin_write<'c>(
    connection: &'c mut Connection,
    path: &Path,
    durability: Durability,
) -> Result<Transaction<'c>, StoreError> {
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    let failed = |error| sql_error(path, WRITING, &error);
    connection.pragma_update(None, "synchronous", synchronous).map_err(failed)?;
    let transaction = begin(connection, path, TransactionBehavior::Immediate, WRITING)?;
    let (ours, all) = count_tables(&transaction).map_err(failed)?;
    if ours == 0 && all > 0 {
        let detail = "it is a database of another program: it has tables, but none of a file store";
        return Err(StoreError::new(StoreErrorKind::NotAStore, Some(path), WRITING, detail));
    }
    if ours < 2 {
        transaction.execute_batch(SCHEMA).map_err(failed)?;
        if all == 0 {
            transaction.pragma_update(None, "user_version", super::FORMAT_VERSION).map_err(failed)?;
        }
    }
    Ok(transaction)
}

/// How many of our two tables there are, and how many in all.
fn count_tables(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    connection
        .prepare_cached(
            "SELECT coalesce(sum(name IN ('db_wave_file', 'db_file_data')), 0), count(*)
             FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
}

fn insert_row(connection: &Connection, path: &Path, zone: &str, name: &str, now_ms: i64) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO db_wave_file (zoneid, name, size, createdts, modts, opts, meta)
             VALUES (?1, ?2, 0, ?3, ?3, '{}', '{}')",
        )
        .and_then(|mut statement| statement.execute((zone, name, now_ms)))
        .map(drop)
        .map_err(|error| sql_error(path, WRITING, &error))
}

/// Records a file's new size and time, and that its counters are unknown.
fn update_row(
    connection: &Connection,
    path: &Path,
    zone: &str,
    name: &str,
    size: u64,
    now_ms: i64,
) -> Result<(), StoreError> {
    let failed = |error| sql_error(path, WRITING, &error);
    let mut sql = String::from("UPDATE db_wave_file SET size = ?3, modts = ?4");
    for column in counter_columns(connection).map_err(failed)? {
        sql.push_str(", ");
        sql.push_str(column);
        sql.push_str(" = NULL");
    }
    sql.push_str(" WHERE zoneid = ?1 AND name = ?2");
    connection
        .prepare_cached(&sql)
        .and_then(|mut statement| statement.execute((zone, name, size.cast_signed(), now_ms)))
        .map(drop)
        .map_err(failed)
}

/// The counter columns that this database has and that may be unknown. Asked each time: its owner may add them meanwhile.
fn counter_columns(connection: &Connection) -> rusqlite::Result<Vec<&'static str>> {
    let mut statement =
        connection.prepare_cached("SELECT name FROM pragma_table_info('db_wave_file') WHERE \"notnull\" = 0")?;
    let columns = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(COUNTER_COLUMNS.into_iter().filter(|counter| columns.iter().any(|column| column == counter)).collect())
}

/// Writes `bytes` at offset `size`, where the file ends. What a part holds beyond that is no
/// content and gives way; what it lacks before it is lost and becomes NUL.
fn write_at(
    connection: &Connection,
    path: &Path,
    zone: &str,
    name: &str,
    size: u64,
    bytes: &[u8],
) -> Result<(), StoreError> {
    let failed = |error| sql_error(path, WRITING, &error);
    let mut rest = bytes;
    let mut index = size / PART_BYTES;
    let inside = (size % PART_BYTES) as usize;
    let mut part = if inside == 0 { Vec::new() } else { read_part(connection, zone, name, index).map_err(failed)? };
    part.resize(inside, 0);
    let mut replace = connection
        .prepare_cached("INSERT OR REPLACE INTO db_file_data (zoneid, name, partidx, data) VALUES (?1, ?2, ?3, ?4)")
        .map_err(failed)?;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.len().min(PART_BYTES as usize - part.len()));
        part.extend_from_slice(now);
        replace.execute((zone, name, index.cast_signed(), &part)).map_err(failed)?;
        part.clear();
        rest = later;
        index += 1;
    }
    Ok(())
}

fn read_part(connection: &Connection, zone: &str, name: &str, index: u64) -> rusqlite::Result<Vec<u8>> {
    let mut statement =
        connection.prepare_cached("SELECT data FROM db_file_data WHERE zoneid = ?1 AND name = ?2 AND partidx = ?3")?;
    let part = statement.query_row((zone, name, index.cast_signed()), |row| {
        Ok(row.get_ref(0)?.as_bytes_or_null()?.unwrap_or_default().to_vec())
    });
    Ok(part.optional()?.unwrap_or_default())
}
