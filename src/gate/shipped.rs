//! The table that ships: `rules/resume_gate.yaml`, checked and compiled by the build script.

use super::table::{Claim, ClaimKind, Condition, Index, Invariant, Rule, Table};

include!(concat!(env!("OUT_DIR"), "/resume_gate.rs"));
