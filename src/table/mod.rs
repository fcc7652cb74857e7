//! The decision table: its model, its file, the proofs about it, and the static form it is
//! compiled to. Knows nothing of agents: it works on whatever [`Vocabulary`] it is handed. The
//! build script shares these files by `#[path]`, so they refer to each other by `super::` only.
//!
//! ```text
//! bytes ── tree ──► parse ──► check ──► load ──► Table ── emit ──► source of a static
//!          YAML     names     proofs      │
//!                                         └──► diagnostics ── render ──► text with carets
//! ```
//!
//! Two tables are compared by `diff`, and `cover` says of which combinations in the fewest words.

#[cfg(feature = "yaml")]
mod check;
mod cover;
#[cfg(feature = "yaml")]
mod diagnostic;
mod diff;
#[cfg(feature = "yaml")]
mod draft;
#[cfg(feature = "yaml")]
mod emit;
mod export;
#[cfg(feature = "yaml")]
mod fields;
mod graph;
mod index;
#[cfg(feature = "yaml")]
mod load;
mod model;
mod names;
#[cfg(feature = "yaml")]
mod parse;
#[cfg(feature = "yaml")]
mod render;
mod schema;
#[cfg(feature = "yaml")]
mod tree;
mod words;

pub use cover::{Cover, cover};
#[cfg(feature = "yaml")]
pub use diagnostic::{Clash, Code, Diagnostic, Label, Masker, Misnamed, Problem, Severity, Shown};
pub use diff::{Change, Diff, Edit, Move, diff};
#[cfg(feature = "yaml")]
pub use emit::emit;
pub use export::{DmnVersion, NOT_APPLICABLE, csv, dmn};
pub use graph::{dot, mermaid};
pub use index::{INDEXED_RULES, Index};
#[cfg(feature = "yaml")]
pub use load::{Loaded, load, load_candidate};
pub use model::{
    Applies, Claim, ClaimKind, Condition, FactSpec, FactWord, Invariant, Rule, State, Table, Verdict, Vocabulary,
    lay_out,
};
pub use names::nearest;
#[cfg(feature = "yaml")]
pub use render::{Part, parts, render};
pub use schema::json_schema;
#[cfg(feature = "yaml")]
pub use tree::Place;
pub use words::{any_of, claim_text, combination_text, conditions_text, value_names};
