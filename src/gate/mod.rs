//! The gate: facts in, a decision with its trace out. Pure: no file, clock or environment; what
//! costs I/O is asked of the [`Probes`] that the caller hands in.
//!
//! `input → classify → evaluate → decision`; `trace` reads an [`Evaluation`] afterwards.

mod classify;
pub mod decision;
mod evaluate;
mod evidence;
pub mod facts;
mod factset;
mod input;
mod shipped;
pub mod trace;

use crate::table;
pub use decision::{DecisionKind, ResumeGate};
use strum::IntoEnumIterator;
use table::Rule;

pub use evaluate::{Answers, Evaluation, Partial, Ready, evaluate, evaluate_partial};
pub use evidence::Evidence;
pub use factset::{FactSetBuilder, FactSetError, parse_fact_set};
pub use input::{ChainHead, GateInput, Head, Probes, is_claude};
pub use shipped::{TABLE, TABLE_SOURCE};

/// A decision and the evaluation it came from, from which its trace can be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gated {
    /// What the host may do.
    pub decision: ResumeGate,
    /// Which rule said so, on which facts.
    pub evaluation: Evaluation,
}

/// Decides whether the session that a spawn is about to resume may be resumed.
///
/// `None` when there is nothing to decide: the spawn has no candidate, a blank one, or one that
/// the provider already rejected. Nothing is ever invented in its place.
///
/// ```
/// use resume_gate::gate::facts::{ForkRecord, HeadBusy, HeadFile, HeadLogin, HeadProject, HeadRecord};
/// use resume_gate::{ChainHead, GateInput, Head, Probes, ResumeGate, resume_gate};
///
/// /// A disk on which the head's file is here, just as its process left it.
/// struct Here;
/// impl Probes for Here {
///     fn head_login(&self, _: &Head, _: &GateInput) -> HeadLogin { HeadLogin::Own }
///     fn head_project(&self, _: &Head, _: &GateInput) -> HeadProject { HeadProject::Same }
///     fn head_file(&self, _: &Head, _: &GateInput) -> HeadFile { HeadFile::AsLeft }
///     fn head_busy(&self, _: &Head, _: &GateInput) -> HeadBusy { HeadBusy::No }
///     fn head_record(&self, _: &Head, _: &GateInput) -> HeadRecord { HeadRecord::Missing }
///     fn fork_record(&self, _: &Head, _: &GateInput) -> ForkRecord { ForkRecord::Unrecorded }
/// }
///
/// let input = GateInput {
///     candidate: Some("A".into()),
///     head: ChainHead::Headed(Head { session_id: "B".into(), ..Head::default() }),
///     ..GateInput::default()
/// };
/// let gated = resume_gate(&input, &Here).expect("there is a candidate");
/// assert_eq!(gated.decision, ResumeGate::Redirect { head: "B".into() });
/// assert_eq!(gated.rule().id, "head-moved-on");
/// ```
pub fn resume_gate<P: Probes>(input: &GateInput, probes: &P) -> Option<Gated> {
    let candidate = input.effective_candidate()?;
    let word = classify::cheap_facts(input, candidate, probes);
    let evaluation = evaluate(&TABLE, word, &mut classify::Asked { input, candidate, probes });
    let rule = &TABLE.rules[evaluation.rule];
    Some(Gated { decision: classify::decision(decision_of(rule), input, candidate), evaluation })
}

impl Gated {
    /// The rule that decided.
    #[must_use]
    pub fn rule(&self) -> &'static Rule {
        &TABLE.rules[self.evaluation.rule]
    }
}

/// The decision a rule comes to.
#[must_use]
pub fn decision_of(rule: &Rule) -> DecisionKind {
    DecisionKind::iter().nth(rule.then).unwrap_or(DecisionKind::Refuse)
}
