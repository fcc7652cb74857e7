//! The segment index: which conversation an agent had, process by process.
//!
//! One append-only log per agent holds the events; folded in log order they are the agent's chain
//! of [`Segment`]s. This module knows what the events mean and how a damaged log is read. Where the
//! log is kept is [`store`](crate::store)'s business, and what a session is on disk is not known
//! here at all.

mod anomaly;
mod event;
mod fields;
mod fold;
mod id;
mod index;
mod json;
mod line;
mod lineage;
#[cfg(feature = "sqlite")]
mod lineage_db;
mod segment;
mod tail;

pub use anomaly::{Anomaly, AnomalyKind, Severity};
pub use event::{End, EndReason, Ended, Event, Rung, Session, Start, exit_reason, kill_reason, rung_for_spawn};
pub use fold::{Folded, REPAIR_WINDOW_BYTES, events_in, fold, fold_within};
pub use id::{
    DECISIONS_FILE, SEGMENTS_FILE, decisions_zone_for, is_agent_uid, is_safe_session_id, uid_of_decisions_zone,
    uid_of_zone, zone_for,
};
pub use index::{
    AgentLog, SegmentError, agents, append, chain_head, earlier_sessions, fork_point, fork_source_head, head_segment,
    head_session, newest_segment, newest_segment_id, record_end, record_end_with_provider_bytes, record_session,
    record_start, recovery_allowed, segments, with_legacy_identity,
};
pub use lineage::{ForkedFrom, Lineage, fork_parent};
pub use segment::Segment;
pub use tail::{TAIL_WINDOW_BYTES, Windows, newest_where};
