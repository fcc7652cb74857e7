//! Why the decided rule and no other: the step list, rebuilt on demand from an [`Evaluation`].

use super::evaluate::Evaluation;
use super::facts::Fact;
use super::table::{Condition, FactWord, Rule, State, Table, value_names};
use strum::{EnumString, IntoEnumIterator, IntoStaticStr};

/// What became of one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// It decided.
    Hit,
    /// It was tried, and a condition did not pass.
    Missed,
    /// An earlier rule had decided.
    NotReached,
}

/// How one condition came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Check {
    /// The fact has a wanted value.
    Pass,
    /// It has another one.
    Fail,
    /// It makes no sense in this case.
    NotApplicable,
    /// It was never needed.
    NotAsked,
}

/// One rule of the trace.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The rule's place, from 0.
    pub index: usize,
    /// The rule.
    pub rule: &'a Rule,
    /// What became of it.
    pub outcome: Outcome,
    word: FactWord,
}

/// One condition of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// The fact it tests.
    pub fact: Fact,
    wanted: u64,
    /// What the fact was.
    pub seen: State,
    /// How it came out.
    pub check: Check,
}

/// Every rule in order, with what became of it.
pub fn steps(table: &Table, evaluation: Evaluation) -> impl DoubleEndedIterator<Item = Step<'_>> {
    (0..table.rules.len()).map(move |index| Step {
        index,
        rule: &table.rules[index],
        outcome: match index.cmp(&evaluation.rule) {
            std::cmp::Ordering::Less => Outcome::Missed,
            std::cmp::Ordering::Equal => Outcome::Hit,
            std::cmp::Ordering::Greater => Outcome::NotReached,
        },
        word: evaluation.word,
    })
}

impl<'a> Step<'a> {
    /// Every condition, in the order of the rule, with the verdict on it, reached or not.
    pub fn conditions(&self) -> impl Iterator<Item = Checked> + use<'a> {
        let word = self.word;
        self.rule.when.iter().filter_map(move |condition| Checked::of(condition, word))
    }
}

impl Checked {
    fn of(condition: &Condition, word: FactWord) -> Option<Self> {
        let fact = Fact::iter().nth(condition.fact)?;
        let spec = fact.spec();
        let seen = word.state(spec);
        let check = match seen {
            State::Value(value) if condition.wanted & spec.value_bit(value) != 0 => Check::Pass,
            State::Value(_) => Check::Fail,
            State::NotApplicable => Check::NotApplicable,
            State::NotAsked | State::Absent => Check::NotAsked,
        };
        Some(Self { fact, wanted: condition.wanted, seen, check })
    }

    /// Names of the values it wants, in value order.
    #[must_use]
    pub fn wanted(&self) -> Vec<&'static str> {
        value_names(self.fact.spec(), self.wanted)
    }

    /// Name of the value that was seen, if the fact has one.
    #[must_use]
    pub fn seen_name(&self) -> Option<&'static str> {
        match self.seen {
            State::Value(value) => self.fact.spec().values.get(value).copied(),
            _ => None,
        }
    }
}
