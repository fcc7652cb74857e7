//! A read-only look into an AgentMux database for where an agent came from.

use super::open::{connect, regular_file};
use super::sql_error;
use crate::store::StoreError;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::path::{Path, PathBuf};
use std::time::Duration;

const READING_AGENTS: &str = "read the agents database";

/// What AgentMux's `db_agents` records of an agent's origin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentRow {
    /// The agent that it was made from: as a fork, or as its template.
    pub parent_id: Option<String>,
    /// The branch's name; only a fork has one.
    pub branch_label: Option<String>,
}

/// An AgentMux database, opened for reading.
#[derive(Debug)]
pub struct AgentsDb {
    path: PathBuf,
    connection: Option<Connection>,
}

impl AgentsDb {
    /// Opens the database at `path`; nothing there gives a database that knows no agent. Each wait
    /// for a lock is at most `wait`.
    ///
    /// # Errors
    ///
    /// When there is something at `path` that is no readable database.
    pub fn open(path: &Path, wait: Duration) -> Result<Self, StoreError> {
        let connection = match regular_file(path, READING_AGENTS)? {
            false => None,
            true => Some(connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, wait, READING_AGENTS)?),
        };
        Ok(Self { path: path.to_path_buf(), connection })
    }

    /// What is recorded of an agent; `None` if it, the table or a column is missing.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn agent(&self, id: &str) -> Result<Option<AgentRow>, StoreError> {
        let failed = |error| sql_error(&self.path, READING_AGENTS, &error);
        let Some(connection) = &self.connection else { return Ok(None) };
        let columns = agent_columns(connection).map_err(failed)?;
        if !["id", "parent_id", "branch_label"].iter().all(|wanted| columns.iter().any(|column| column == wanted)) {
            return Ok(None);
        }
        connection
            .prepare_cached("SELECT parent_id, branch_label FROM db_agents WHERE id = ?1")
            .and_then(|mut statement| {
                statement
                    .query_row([id], |row| Ok(AgentRow { parent_id: row.get(0)?, branch_label: row.get(1)? }))
                    .optional()
            })
            .map_err(failed)
    }
}

fn agent_columns(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT name FROM pragma_table_info('db_agents')")?;
    statement.query_map([], |row| row.get(0))?.collect()
}
