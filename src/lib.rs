//! Decides before every spawn of a coding agent whether its session may be resumed.

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

pub use gate::decision::{DecisionKind, ResumeGate};
pub use gate::{ChainHead, GateInput, Head, Probes, resume_gate};
