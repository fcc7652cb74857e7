//! `resume-gate run` end to end: real processes, real files, a provider that behaves as one of the
//! three measured versions of Claude Code does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod api;
mod basics;
mod host;
mod plan;
mod refusals;
mod rejected;
mod signals;
mod terminal;
mod watch;
mod world;
