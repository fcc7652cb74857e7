//! Claude Code's disk format: the only place that knows it.
//!
//! Everything here reads; nothing writes. Facts were measured on Claude Code 2.0.77, 2.1.112 and
//! 2.1.332. Files that another program owns are opened without blocking and then looked at as
//! open files, are read up to a bound, and never make anything here panic: what cannot be read is
//! an answer of its own, with its path and error as [`Evidence`](crate::gate::Evidence).
//!
//! - [`layout`]: where a session of a login and a working directory is;
//! - [`dirs`]: recorded directories, and whether two are one;
//! - [`identity`]: who is signed in at a login;
//! - [`session`], [`complete`], [`turns`]: session files, from outside and from inside;
//! - [`marker`]: the note beside a session file that was only copied in;
//! - [`busy`]: which live process has a session open;
//! - [`probes`]: the gate's questions, answered from all of these;
//! - [`rejection`]: what the provider says when it will not resume.

mod json;
mod lines;
mod open;

pub mod busy;
pub mod complete;
pub mod dirs;
pub mod identity;
pub mod layout;
pub mod marker;
pub mod probes;
pub mod rejection;
pub mod session;
pub mod turns;

pub use open::OpenError;
