//! Decides before every spawn of a coding agent whether its session may be resumed, and says why.
//!
//! A host starts agents as provider processes, `claude --resume <session>`. The provider resumes
//! whatever id it is given, so a stale id silently continues an old branch of a conversation. This
//! crate knows the agent's conversation as a chain of segments, puts a few facts about the spawn
//! through one ordered decision table, and gives a decision, a plan, and a trace.
//!
//! # Where things are
//!
//! | module | what it is for | what it leaves to others |
//! | --- | --- | --- |
//! | [`table`] | the table's model, file, proofs | what a fact means |
//! | [`gate`] | facts, evaluation, trace; pure | every look at the disk: [`Probes`] |
//! | [`explain`] | a trace as text, JSON, Markdown; pure | printing |
//! | [`segments`] | the chain: events, fold, head | where the log is kept |
//! | [`store`] | append-only files, in memory or in SQLite; all SQL | what the lines mean |
//! | `claude` | all that is known of Claude Code's files | writing any of them |
//! | `spawn` | from a request to a plan carried out | printing, clock, environment |
//! | `audit` | decision records, replay, coverage, report | printing, the store's SQL |
//! | `cli` | the command; prints, reads clock and environment | everything else |
//!
//! Arrows point one way, `cli → spawn → gate, segments, claude → store, table`; a test holds them.
//! Without features the crate is what a host embeds: the gate, its compiled table, the chain.
//! `host` adds the store on disk, Claude Code's files and the spawn; `yaml` reads candidate tables
//! at run time; `cli` is the command.
//!
//! # What always holds
//!
//! For a Claude spawn whose chain is readable, over every possible combination of facts (proven when
//! the crate is built, see `rules/resume_gate.yaml`):
//!
//! - with a live head, nothing but the head is ever resumed;
//! - a conversation never crosses from one identity to another;
//! - nothing is resumed whose file is not here, and nothing is copied over a file that is;
//! - a head that somebody continued, or has open, is forked and never appended to;
//! - a fork without a conversation of its own never writes to its parent's.
//!
//! And of the code around the table: another login's files are never written; no two lasting files
//! have one session id; every outcome but a plain allow is visible; an error inside the gate is a
//! fact in the trace, not a failed spawn.
//!
//! # Where it departs from AgentMux, and why
//!
//! - What stands last in the log is newest, not what has the latest time: clocks step, and the store
//!   serialises appends.
//! - A chain that cannot be read is not an empty one and never leads to a fork from the parent:
//!   nothing is known then.
//! - A fork without a conversation branches from the session it was made at even if the parent moved
//!   on, and never resumes that session itself: a newer CLI would append to the parent's file from
//!   any directory.
//! - A head of another provider is refused: its id means nothing to this one.
//! - A stub under the head's id is refused, and an empty file counts as none: the CLI finds no
//!   conversation in it, and the real one is elsewhere.
//! - A head that a live process has open is forked: the CLI takes no lock, and one of two branches
//!   would be lost.
//! - A missing file of the own login is refused only for the project folder it was recorded for: for
//!   another folder of the login the provider did write it, elsewhere, and a newer CLI finds it there.
//! - An I/O error on the head's file lets the head itself go on as candidate and refuses any other:
//!   resuming another session would be worse than not resuming.
//! - Directories compare by what they are where both exist, else by spelling, with letter case folded
//!   only where the system folds it: `/cfg/Work` and `/cfg/work` are two logins on Linux.
//! - The ambient `~/.claude`, named explicitly, has no known identity: its own account file may be
//!   stale.

pub mod audit;
#[cfg(feature = "host")]
pub mod claude;
#[cfg(feature = "cli")]
pub mod cli;
pub mod explain;
pub mod gate;
#[cfg(feature = "host")]
pub mod process;
pub mod segments;
#[cfg(feature = "host")]
pub mod spawn;
pub mod store;
pub mod table;

pub use gate::{ChainHead, DecisionKind, GateInput, Head, Probes, ResumeGate, resume_gate};

/// The README's example, kept running.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
