//! `resume-gate run` end to end: real processes, real files, a provider that behaves as one of the
//! three measured versions of Claude Code does.
//!
//! The tests that need nothing but print mode also run against real providers, which are talked into
//! it by a stand-in for their API on the loopback device (`api.rs`), with a home and logins of their own:
//!
//! ```sh
//! npm install --prefix /tmp/claude @anthropic-ai/claude-code@2.1.112
//! RESUME_GATE_REAL_CLAUDE=/tmp/claude/node_modules/.bin/claude cargo test --test run
//! ```
//!
//! Several are separated by colons. Without the variable only the stub is used, and the tests say so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod agree;
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
