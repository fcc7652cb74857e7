//! The decision table: its model, its file, the proofs about it, and the static form it is
//! compiled to. Knows nothing of agents: it works on whatever [`Vocabulary`] it is handed. The
//! build script shares this module by `#[path]`, so it refers to itself by `super::` only.

mod model;

pub use model::{
    Applies, Claim, ClaimKind, Condition, FactSpec, FactWord, Invariant, Rule, State, Table, Verdict, Vocabulary,
    lay_out,
};
