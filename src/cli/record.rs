//! Writes the record of a decision. Whatever goes wrong is a note: the spawn goes on as decided.

use crate::audit::{Stamp, log, stamp};
use crate::explain::Note;
use crate::gate::{TABLE, TABLE_SOURCE};
use crate::spawn::{Decided, decision_document};
use crate::store::{SqliteStore, within_deadline};
use std::time::Duration;

/// The least time that recording gets, however long deciding took.
const LEAST: Duration = Duration::from_millis(100);

/// Appends the record of a decision made at `at_ms` to its agent's log, within what deciding left
/// of its two budgets. An agent without a usable id has no log.
pub(super) fn record(decided: &Decided, at_ms: i64, budget: Duration) -> Option<Note> {
    let uid = decided.agent_uid.clone().filter(|uid| crate::segments::is_agent_uid(uid))?;
    let path = decided.store.clone()?;
    let left = (budget + budget).saturating_sub(decided.took).max(LEAST);
    let duration_us = u64::try_from(decided.took.as_micros()).unwrap_or(u64::MAX);
    let stamped = Stamp::new(u64::try_from(at_ms).unwrap_or_default(), duration_us);
    let line = stamp(decision_document(decided), stamped);
    let written = within_deadline(left, move || {
        let mut store = SqliteStore::recorder(&path, left)?;
        log::append(&mut store, &uid, &line, (&TABLE.sha256, TABLE_SOURCE), at_ms)
    });
    let reason = match written {
        Some(Ok(_)) => return None,
        Some(Err(error)) => error.to_string(),
        None => format!("the store did not answer within {} ms", left.as_millis()),
    };
    Some(Note::new("not-recorded", format!("this decision is not in the decision log: {reason}")))
}
