//! Segments as JSON: the fields of the log under their own names, put together from its events.

use super::super::terminal::Terminal;
use crate::explain::Note;
use crate::segments::Segment;
use crate::store::SqliteStore;
use serde_json::{Map, Value, json};
use std::io;

/// Schema name of one segment.
const SEGMENT_SCHEMA: &str = "resume-gate.segment/1";

/// One segment. `session_id` is its session, whatever it said at its start.
pub(super) fn segment_json(segment: &Segment) -> Map<String, Value> {
    let mut fields = match serde_json::to_value(&segment.start) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.shift_remove("provider_session_id");
    let end = segment.end.as_ref();
    fields.extend([
        ("session_id".to_owned(), json!(segment.session_id)),
        ("earlier_session_ids".to_owned(), json!(segment.earlier_session_ids)),
        ("session_at_ms".to_owned(), json!(segment.session_at_ms)),
        ("ended_at_ms".to_owned(), json!(end.and_then(|end| end.ended_at_ms))),
        ("end_reason".to_owned(), json!(end.map(|end| &end.end_reason))),
        ("byte_end".to_owned(), json!(end.and_then(|end| end.byte_end))),
        ("provider_bytes_end".to_owned(), json!(segment.provider_bytes_end)),
        ("offset".to_owned(), json!(segment.offset)),
    ]);
    fields
}

/// Prints the document of a segment that was recorded to, with what else was done.
pub(super) fn print_segment(
    segment: &Segment,
    extra: impl IntoIterator<Item = (&'static str, Value)>,
    notes: &[Note],
    store: &SqliteStore,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut document = Map::from_iter([("schema".to_owned(), json!(SEGMENT_SCHEMA))]);
    document.extend(segment_json(segment));
    document.extend(extra.into_iter().map(|(name, value)| (name.to_owned(), value)));
    document.extend([("store".to_owned(), json!(store.path())), ("notes".to_owned(), json!(notes))]);
    terminal.json(&document.into())
}

/// What every document about an agent's log begins with.
pub(super) fn head_of_document(schema: &str, store: &SqliteStore) -> Map<String, Value> {
    Map::from_iter([("schema".to_owned(), json!(schema)), ("store".to_owned(), json!(store.path()))])
}
