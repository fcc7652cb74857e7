//! From a request to a running agent: what a host makes of the gate.
//!
//! ```text
//! request ─► chain (store, deadline 1) ─┐
//!            identity, probes (disk, 2) ─┴─► gate ─► plan ─► lock ─► sweep ─► relocate ─► spawn ─► settle
//! ```
//!
//! # Wiring it into a host
//!
//! `examples/host.rs` is all of this in one file that runs. Around a host's own way of starting and
//! watching processes, it comes to six calls:
//!
//! 1. **Ask.** Fill in a [`SpawnRequest`] from what the pane knows and hand it to
//!    [`decide_and_apply`], *after* the agent's previous process was reaped. Out come a [`Decided`],
//!    whose [`plan`](Decided::plan) is carried out as far as the copy, and a guard that holds the
//!    agent. [`PlanOutcome::Held`]: spawn nothing. Show the notes; they are for people.
//! 2. **Spawn** with [`plan.args`](SpawnPlan::args), and, where nothing is resumed or a session is
//!    forked, `--session-id` with a UUID of your own. Just before, begin to watch:
//!    [`SessionWatch::before_spawn`](run::SessionWatch::before_spawn).
//! 3. **Name the provider** in the lock ([`AgentLock::set_provider`](lock::AgentLock::set_provider)):
//!    it holds the agent for as long as it lives, even if the host is killed.
//! 4. **Record the start** ([`record_start`](crate::segments::record_start) of
//!    [`Decided::segment_start`], completed with the pane and the version).
//! 5. **Look** now and then ([`SessionWatch::look`](run::SessionWatch::look)). What it gives is to be
//!    recorded ([`record_session`](crate::segments::record_session)), and the copy to be
//!    [settled](settle::settle). A provider that reports another session is passed on by
//!    [`SessionWatch::reported`](run::SessionWatch::reported).
//! 6. **Reap, then record the end** with [`SessionWatch::bytes`](run::SessionWatch::bytes)
//!    ([`record_end_with_provider_bytes`](crate::segments::record_end_with_provider_bytes)); strike the
//!    provider out of the lock and drop the guard. A size taken earlier makes the next spawn believe
//!    that somebody else went on in the session.
//!
//! ```
//! use resume_gate::claude::dirs::Places;
//! use resume_gate::process::ProcessTable;
//! use resume_gate::spawn::{Login, Offered, Parentage, PlanOutcome, SpawnRequest, decide_and_apply};
//! use std::time::Duration;
//!
//! # let place = tempfile::tempdir()?;
//! # let (config_dir, cwd) = (place.path().join("login"), place.path().join("work"));
//! let request = SpawnRequest {
//!     agent_uid: Some("u1".into()),
//!     provider: "claude".into(),
//!     candidate: None, // the session that the pane holds
//!     offered: Offered::Held,
//!     poisoned: None,
//!     login: Login::Named(config_dir.to_string_lossy().into()),
//!     cwd: cwd.to_string_lossy().into(),
//!     identity: None, // found out at the login
//!     current: None,
//!     parentage: Parentage::None,
//!     store: Some(place.path().join("filestore.db")),
//!     places: Places::default(),
//!     budget: Duration::from_secs(1),
//! };
//! let (decided, guard) = decide_and_apply(&request, &ProcessTable::default(), false);
//! assert_eq!(decided.plan.outcome, PlanOutcome::Fresh);
//! assert!(decided.plan.args.is_empty());
//!
//! // While the guard lives, nobody else spawns this agent.
//! let (second, _) = decide_and_apply(&request, &ProcessTable::default(), false);
//! assert_eq!(second.plan.outcome, PlanOutcome::Held);
//! drop(guard);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! **When the provider rejects** what it was given ([`rejection`](crate::claude::rejection)), poison
//! that id and ask once more: the candidate only if
//! [`recovery_allowed`](crate::segments::recovery_allowed) lets it through, else none. Never twice.
//!
//! **Preflight.** [`decide`] answers the same question, reads only, and takes no lock; a host may show
//! what would happen before anybody presses a key. It answers as [`decide_and_apply`] does, before a
//! sweep and after, because copies that wait to be forked count as missing.
//!
//! **A host with a lease of its own** on its agents passes `host_lease`; then no lock is taken, and the
//! host answers for there being one process an agent.
//!
//! Nothing here waits long: see [`SpawnRequest::budget`]. What could not be read in time is a fact
//! like any other, and a note.

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
