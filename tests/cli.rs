//! The command line, end to end: the real binary on real databases, files and processes in
//! temporary places.
#![cfg(unix)]
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod support;

#[path = "support/agentmux.rs"]
mod agentmux;
#[path = "support/command.rs"]
mod command;
#[path = "support/world.rs"]
mod world;

#[path = "cli/accounts.rs"]
mod accounts;
#[path = "cli/eval.rs"]
mod eval;
#[path = "cli/in_the_way.rs"]
mod in_the_way;
#[path = "cli/invocation.rs"]
mod invocation;
#[path = "cli/outcomes.rs"]
mod outcomes;
#[path = "cli/processes.rs"]
mod processes;
#[path = "cli/reports.rs"]
mod reports;
#[path = "cli/reports_paths.rs"]
mod reports_paths;
#[path = "cli/session_ids.rs"]
mod session_ids;
#[path = "cli/stores.rs"]
mod stores;
#[path = "cli/tables.rs"]
mod tables;
