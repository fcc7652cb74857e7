//! From a request to a running agent: what a host makes of the gate.
//!
//! [`decide`] gathers the facts of a [`SpawnRequest`] from the store and from Claude Code's files,
//! asks the gate, and turns its decision into a [`SpawnPlan`]. [`lock`], [`relocate`] and
//! [`settle`] carry a plan out.
//!
//! ```text
//! request ─► chain (store, deadline 1) ─┐
//!            identity, probes (disk, 2) ─┴─► gate ─► plan ─► lock ─► sweep ─► relocate ─► spawn ─► settle
//! ```

mod apply;
mod chain;
mod deadline;
mod decide;
mod document;
pub mod lock;
mod notes;
mod place;
mod plan;
mod probes;
pub mod relocate;
mod relocate_error;
mod request;
pub mod run;
pub mod settle;
mod unfinished;

pub use apply::decide_and_apply;
pub use deadline::Deadline;
pub use decide::{Decided, decide};
pub use document::{DECISION_SCHEMA, EXPLANATION_SCHEMA, decision_document, explanation_document};
pub use plan::{CopyPlan, Offered, PlanOutcome, Recording, SpawnPlan, Withheld, plan};
pub use probes::DiskProbes;
pub use request::{Login, Parentage, SpawnRequest};
