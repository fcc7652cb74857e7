//! From a decision to a running agent.

pub mod lock;
