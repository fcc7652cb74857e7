//! Copies of sessions: placed, forked from by a real process, killed at every step, settled, swept.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod clearing;
mod disks;
mod killing;
mod placing;
mod provider;
mod world;
