//! A table as far as it could be understood, each part with the way to it in the tree.

use super::diagnostic::Problem;
use super::model::{ClaimKind, Condition};
use super::tree::Step;

/// A way into the tree.
pub(super) type Path = Vec<Step>;

/// A problem whose places are still to be looked up.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) problem: Problem,
    pub(super) path: Path,
    pub(super) labels: Vec<(Path, String)>,
}

/// A table as far as it could be understood.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) invariants: Vec<DraftInvariant>,
    pub(super) rules: Vec<DraftRule>,
    /// The key `rules`, if there is a list of rules.
    pub(super) rules_key: Option<Path>,
}

#[derive(Debug)]
pub(super) struct DraftInvariant {
    /// `None`: there is an invariant here, but what it is called is not known.
    pub(super) id: Option<String>,
    pub(super) states: String,
    pub(super) claims: Vec<DraftClaim>,
}

#[derive(Debug)]
pub(super) struct DraftClaim {
    pub(super) at: Path,
    pub(super) kind: ClaimKind,
    pub(super) of: Conditions,
    pub(super) then: u64,
}

#[derive(Debug)]
pub(super) struct DraftRule {
    pub(super) at: Path,
    /// What messages call it: its id, or its place in the list.
    pub(super) called: String,
    pub(super) id: Option<String>,
    pub(super) invariant: String,
    pub(super) when: Conditions,
    /// `None`: it decides something, but what is not known.
    pub(super) then: Option<usize>,
    /// Where `then` is, or the row if it has none.
    pub(super) then_at: Path,
    pub(super) what: String,
    pub(super) why: String,
    pub(super) next: String,
}

/// A row's conditions, as far as they could be understood.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    pub(super) known: Vec<DraftCondition>,
    /// Whether `known` is all of it. If not, the row matches at most what `known` matches.
    pub(super) whole: bool,
}

#[derive(Debug, Clone)]
pub(super) struct DraftCondition {
    pub(super) at: Path,
    pub(super) condition: Condition,
}

impl Conditions {
    pub(super) fn plain(&self) -> Vec<Condition> {
        self.known.iter().map(|known| known.condition).collect()
    }
}

impl DraftRule {
    /// A rule of which nothing is known but where it stands.
    pub(super) fn unknown(at: Path, called: String) -> Self {
        Self {
            then_at: at.clone(),
            at,
            called,
            id: None,
            invariant: String::new(),
            when: Conditions::default(),
            then: None,
            what: String::new(),
            why: String::new(),
            next: String::new(),
        }
    }
}
