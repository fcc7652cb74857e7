//! Checks the decision table and compiles it to a static, with the library's own code for both.

#[path = "src/gate/decision.rs"]
pub mod decision;
#[path = "src/gate/facts.rs"]
pub mod facts;

/// The library's `table` module; listed here because the library has part of it behind a feature.
#[path = "src/table"]
pub mod table {
    mod check;
    mod diagnostic;
    mod draft;
    mod emit;
    mod fields;
    mod index;
    mod load;
    mod model;
    mod names;
    mod parse;
    mod render;
    mod tree;
    mod words;

    pub use diagnostic::*;
    pub use emit::emit;
    pub use index::*;
    pub use load::{Loaded, load, load_candidate};
    pub use model::*;
    pub use names::nearest;
    pub use render::*;
    pub use tree::Place;
    pub use words::*;
}

use std::path::PathBuf;
use std::process::ExitCode;

const TABLE: &str = "rules/resume_gate.yaml";

fn main() -> ExitCode {
    for input in ["build.rs", TABLE, "src/table", "src/gate/decision.rs", "src/gate/facts.rs"] {
        println!("cargo::rerun-if-changed={input}");
    }
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problems) => {
            for problem in problems {
                println!("cargo::error={problem}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Compiles the table, or says everything that keeps it from that, one line each.
fn build() -> Result<(), Vec<String>> {
    let source = std::fs::read(TABLE).map_err(|error| vec![format!("cannot read {TABLE}: {error}")])?;
    let loaded = table::load(&source, &facts::VOCABULARY);
    let table = loaded.table.as_ref().ok_or_else(|| loaded.build_errors(TABLE))?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("resume_gate.rs");
    std::fs::write(&out, table::emit(table, TABLE))
        .map_err(|error| vec![format!("cannot write {}: {error}", out.display())])
}
