//! The table that ships: `rules/resume_gate.yaml`, checked and compiled by the build script.

use super::table::{Claim, ClaimKind, Condition, Index, Invariant, Rule, Table};

include!(concat!(env!("OUT_DIR"), "/resume_gate.rs"));

/// What [`TABLE`] was compiled from, byte for byte.
pub const TABLE_SOURCE: &[u8] = include_bytes!("../../rules/resume_gate.yaml");
