//! The decision table: what is said about a broken one, what is proven about a sound one, and that
//! no file, however hostile, brings the reader down.
#![allow(
    unreachable_pub,
    clippy::allow_attributes,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod support;

#[path = "table/diagnostics.rs"]
mod diagnostics;
#[path = "table/hostile.rs"]
mod hostile;
#[path = "table/kitchen.rs"]
mod kitchen;
#[path = "table/mutants.rs"]
mod mutants;
#[path = "table/proofs.rs"]
mod proofs;

/// The table that ships, as it stands in the repository.
const SHIPPED: &str = include_str!("../rules/resume_gate.yaml");
