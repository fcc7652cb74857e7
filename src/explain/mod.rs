//! From a trace to something a person or a program can read. Pure: everything that is shown is
//! handed in as a [`Case`].

mod json;
mod markdown;
mod text;
mod whatif;

use crate::gate::decision::DecisionKind;
use crate::gate::facts::Fact;
use crate::gate::trace::{Check, Checked, Step};
use crate::gate::{Evaluation, Evidence, decision_of};
use crate::table::{Rule, State, Table, any_of};
use strum::IntoEnumIterator;

pub use json::{facts_json, not_asked, probes_json, steps_json, whatif_json};
pub use markdown::markdown;
pub use text::{Ink, short, summary, text, visible};
pub use whatif::{Change, nearest_miss, would_change};

/// A decision with everything that its explanation shows.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The table that decided.
    pub table: &'a Table,
    /// Which rule decided, on which facts.
    pub evaluation: Evaluation,
    /// What the spawn does now, in a few words; leads the text.
    pub outcome: &'a str,
    /// What the probes saw.
    pub evidence: &'a [Evidence],
    /// Remarks about this case.
    pub notes: &'a [Note],
}

/// A remark that changes no decision but that a person should see.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Note {
    /// Stable code, for programs.
    pub code: String,
    /// What it says, for people.
    pub text: String,
}

impl Note {
    /// A note with this code and text.
    pub fn new(code: impl Into<String>, text: impl Into<String>) -> Self {
        Self { code: code.into(), text: text.into() }
    }
}

impl<'a> Case<'a> {
    /// The rule that decided; an evaluation always names one of its table.
    #[must_use]
    pub fn rule(&self) -> &'a Rule {
        &self.table.rules[self.evaluation.rule]
    }

    /// The decision it came to.
    #[must_use]
    pub fn decision(&self) -> DecisionKind {
        decision_of(self.rule())
    }

    /// The facts whose value is known, in fact order.
    pub fn known(&self) -> impl Iterator<Item = (Fact, &'static str)> {
        let word = self.evaluation.word;
        Fact::iter().filter_map(move |fact| Some((fact, word.value_name(fact)?)))
    }
}

/// The outcome to show where nothing but facts is known.
#[must_use]
pub fn outcome_of_facts(decision: DecisionKind) -> &'static str {
    match decision {
        DecisionKind::Allow => "resume the candidate",
        DecisionKind::Redirect => "resume the head instead of the candidate",
        DecisionKind::Refuse => "resume nothing, start fresh",
        DecisionKind::Relocate => "copy the head in from its login and resume it as a fork",
        DecisionKind::Fork => "resume the head as a fork",
        DecisionKind::ForkFrom => "copy the parent's session in and resume it as a fork",
    }
}

/// One condition in words: `candidate is other, not head`.
fn condition_text(checked: &Checked) -> String {
    let fact = checked.fact.name();
    match (checked.check, checked.seen_name()) {
        (Check::Pass, Some(seen)) => format!("{fact} {seen}"),
        (Check::Fail, Some(seen)) => format!("{fact} is {seen}, not {}", any_of(&checked.wanted())),
        (Check::NotApplicable, _) => format!("{fact} does not apply"),
        _ => format!("{fact} not asked, wants {}", any_of(&checked.wanted())),
    }
}

/// What kept a rule from deciding: `head-is-candidate: candidate is other, not head`.
fn miss_text(step: &Step<'_>) -> String {
    let failing: Vec<String> =
        step.conditions().filter(|condition| condition.check != Check::Pass).map(|c| condition_text(&c)).collect();
    format!("{}: {}", step.rule.id, failing.join(", "))
}

/// Changes in words, those of one fact with one outcome together: `head_file empty or missing → refuse`.
fn changes_text<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<String> {
    let mut groups: Vec<(&Change, Vec<&str>)> = Vec::new();
    for change in changes {
        let same = |group: &Change| {
            (group.fact, &group.decisions, &group.depends_on) == (change.fact, &change.decisions, &change.depends_on)
        };
        match groups.iter_mut().find(|(group, _)| same(group)) {
            Some((_, values)) => values.push(change.value),
            None => groups.push((change, vec![change.value])),
        }
    }
    groups.iter().map(|(change, values)| change_text(change, values)).collect()
}

fn change_text(change: &Change, values: &[&str]) -> String {
    let decisions: Vec<&str> = change.decisions.iter().map(|decision| decision.name()).collect();
    let mut text = format!("{} {} → {}", change.fact.name(), any_of(values), any_of(&decisions));
    if !change.depends_on.is_empty() {
        text.push_str(", depends on ");
        let facts: Vec<&str> = change.depends_on.iter().map(|fact| fact.name()).collect();
        text.push_str(&facts.join(" and "));
    }
    text
}

/// Every condition of a step in words; those that do not apply are named together, at the end.
fn conditions_text(step: &Step<'_>) -> String {
    let (inapplicable, others): (Vec<Checked>, Vec<Checked>) =
        step.conditions().partition(|condition| condition.check == Check::NotApplicable);
    let mut texts: Vec<String> = others.iter().map(condition_text).collect();
    match inapplicable.as_slice() {
        [] if texts.is_empty() => texts.push("always".to_owned()),
        [] => {}
        [one] => texts.push(condition_text(one)),
        many => {
            let names: Vec<&str> = many.iter().map(|condition| condition.fact.name()).collect();
            texts.push(format!("{} do not apply", names.join(", ")));
        }
    }
    texts.join(" · ")
}

/// Whether a change is shown to people: the spawn's provider and the chain's state are given, not
/// something that could have been otherwise.
fn is_for_people(change: &Change) -> bool {
    !matches!(change.fact, Fact::SpawnProvider | Fact::Chain)
}

/// Applicable facts that were never asked for.
fn unasked(case: &Case<'_>) -> impl Iterator<Item = Fact> {
    let word = case.evaluation.word;
    Fact::iter().filter(move |fact| word.fact(*fact) == State::NotAsked)
}
