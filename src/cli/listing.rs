//! Listings that the README carries; a test compares them with what stands there.

use super::exit::Exit;
use std::fmt::Write;
use strum::IntoEnumIterator;

pub use super::rules::list_markdown as rules;

/// The exit codes as a Markdown table.
#[must_use]
pub fn exit_codes() -> String {
    let mut out = "| status | meaning |\n| --- | --- |\n".to_owned();
    for exit in Exit::iter() {
        let code = match exit {
            Exit::Provider(_) => "other".to_owned(),
            _ => exit.code().to_string(),
        };
        let _ = writeln!(out, "| {code} | {} |", exit.meaning());
    }
    out
}
