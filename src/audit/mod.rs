//! What was decided, read back: the decision log, replay against another table, coverage, counts
//! and the report. Pure: the log's bytes, the tables and the clock are handed in.
//!
//! ```text
//! decide, run ── stamp ──► a line of decisions.jsonl
//! decisions.jsonl ── entries ─► Entry (what counting needs) ──► replay · coverage · stats
//!                          └─► Record (all of one)         ──► explanation · report
//! ```

mod coverage;
mod entry;
pub mod log;
mod record;
mod replay;
mod report;
mod scan;
mod stats;

pub use coverage::{ConditionCoverage, Coverage, RuleCoverage};
pub use entry::{Entry, Line, Unreadable, entries};
pub use record::{Record, Stamp, stamp};
pub use replay::{Change, Example, MAX_EXAMPLES, Replay, Undetermined};
pub use report::{MAX_ROWS, MAX_SEGMENTS_PER_AGENT, Report};
pub use stats::{Count, Stats};
