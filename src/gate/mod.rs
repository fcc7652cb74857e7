//! The gate: facts in, a decision with its trace out. Pure: no file, clock or environment; what
//! costs I/O is asked of the [`Probes`] that the caller hands in.

pub mod decision;
pub mod facts;
mod input;

use crate::table;

pub use input::{ChainHead, GateInput, Head, Probes, is_claude};
