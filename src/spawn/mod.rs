//! From a decision to a running agent.

pub mod lock;
mod place;
pub mod relocate;
mod relocate_error;
pub mod settle;
mod unfinished;
