//! Decides before every spawn of a coding agent whether its session may be resumed.

pub mod explain;
pub mod gate;
pub mod table;

pub use gate::decision::{DecisionKind, ResumeGate};
pub use gate::{ChainHead, GateInput, Head, Probes, resume_gate};
