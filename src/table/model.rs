//! The vocabulary a table is written in, and a table as the gate evaluates it.
//!
//! Nothing here knows what a fact means: names, values and decisions are handed in as a
//! [`Vocabulary`]. All facts of one case are packed into a [`FactWord`] in which exactly one bit
//! a fact is set, so that a rule misses if and only if the word meets its `forbidden` mask.

use super::index::Index;
use std::borrow::Cow;

/// The facts and decisions that a table may name, in the order that decides listings and witnesses.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary {
    /// Facts; a fact's parent ([`Applies::fact`]) always stands before it.
    pub facts: &'static [FactSpec],
    /// Names of the decisions a rule may come to.
    pub decisions: &'static [&'static str],
}

/// One fact: its name, its closed set of values, and when it makes sense.
#[derive(Debug, Clone, Copy)]
pub struct FactSpec {
    /// Name as it stands in a table.
    pub name: &'static str,
    /// Names of its values.
    pub values: &'static [&'static str],
    /// The parent value that makes it applicable; `None`: always applicable.
    pub applies: Option<Applies>,
    /// Whether it costs I/O and is therefore asked for only when a rule needs it.
    pub probe: bool,
    /// What the fact says, in one sentence.
    pub means: &'static str,
    /// Its first bit in a [`FactWord`]; set by [`lay_out`].
    pub shift: u32,
}

/// A fact makes sense only while another one has one of these values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applies {
    /// Index of the parent fact.
    pub fact: usize,
    /// Bit `i` stands for the parent's value `i`.
    pub values: u64,
}

/// Gives every fact its bits in a [`FactWord`], in order: its values, "not applicable" if it can
/// be that, "not asked" if it is a probe.
#[must_use]
pub const fn lay_out<const N: usize>(mut facts: [FactSpec; N]) -> [FactSpec; N] {
    let mut next = 0;
    let mut i = 0;
    while i < N {
        facts[i].shift = next;
        next += facts[i].width();
        i += 1;
    }
    assert!(next <= u64::BITS, "the facts need more than 64 bits");
    facts
}

impl FactSpec {
    /// How many bits the fact takes.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.values.len() as u32 + self.applies.is_some() as u32 + self.probe as u32
    }

    /// The bit of value `index`.
    #[must_use]
    pub const fn value_bit(&self, index: usize) -> u64 {
        1 << (self.shift + index as u32)
    }

    /// The bits of all values.
    #[must_use]
    pub const fn value_bits(&self) -> u64 {
        ((1 << self.values.len()) - 1) << self.shift
    }

    /// The bit for "not applicable"; zero for a fact that always applies.
    #[must_use]
    pub const fn not_applicable_bit(&self) -> u64 {
        (self.applies.is_some() as u64) << (self.shift + self.values.len() as u32)
    }

    /// The bit for "applicable, but not asked"; zero for a fact that is no probe.
    #[must_use]
    pub const fn not_asked_bit(&self) -> u64 {
        (self.probe as u64) << (self.shift + self.values.len() as u32 + self.applies.is_some() as u32)
    }

    /// Every bit of the fact.
    #[must_use]
    pub const fn group(&self) -> u64 {
        ((1 << self.width()) - 1) << self.shift
    }

    /// Index of the value named `name`.
    #[must_use]
    pub fn value_named(&self, name: &str) -> Option<usize> {
        self.values.iter().position(|value| *value == name)
    }
}

impl Vocabulary {
    /// Index of the fact named `name`.
    #[must_use]
    pub fn fact_named(&self, name: &str) -> Option<usize> {
        self.facts.iter().position(|fact| fact.name == name)
    }

    /// Index of the decision named `name`.
    #[must_use]
    pub fn decision_named(&self, name: &str) -> Option<usize> {
        self.decisions.iter().position(|decision| *decision == name)
    }

    /// Whether fact `index` applies in `word`; `None` while that depends on a fact that is absent.
    #[must_use]
    pub fn applies(&self, index: usize, word: FactWord) -> Option<bool> {
        let Some(applies) = self.facts[index].applies else {
            return Some(true);
        };
        match word.state(&self.facts[applies.fact]) {
            State::Value(value) => Some(applies.values & (1 << value) != 0),
            State::NotApplicable => Some(false),
            State::NotAsked | State::Absent => None,
        }
    }

    /// The word with every absent fact that is known not to apply marked so, and every absent probe
    /// that is known to apply marked as not asked. What else was absent stays so.
    #[must_use]
    pub fn settle(&self, mut word: FactWord) -> FactWord {
        for (index, spec) in self.facts.iter().enumerate() {
            if word.state(spec) == State::Absent {
                word = match self.applies(index, word) {
                    Some(false) => word.with_bits(spec, spec.not_applicable_bit()),
                    Some(true) if spec.probe => word.with_bits(spec, spec.not_asked_bit()),
                    _ => word,
                };
            }
        }
        word
    }

    /// Every possible combination of facts, in fact order and value order: a fact that does not
    /// apply is marked so, every other one has a value.
    #[must_use]
    pub fn combinations(&self) -> Vec<FactWord> {
        self.completions(FactWord::EMPTY)
    }

    /// Every possible combination that agrees with what is already known in `word`, in fact order
    /// and value order. Absent and not-asked facts are open.
    #[must_use]
    pub fn completions(&self, word: FactWord) -> Vec<FactWord> {
        let mut found = Vec::new();
        self.complete(0, word, &mut found);
        found
    }

    fn complete(&self, index: usize, word: FactWord, found: &mut Vec<FactWord>) {
        let Some(spec) = self.facts.get(index) else {
            found.push(word);
            return;
        };
        match (word.state(spec), self.applies(index, word)) {
            (State::Value(_) | State::NotApplicable, _) => self.complete(index + 1, word, found),
            (_, Some(false)) => self.complete(index + 1, word.with_bits(spec, spec.not_applicable_bit()), found),
            _ => {
                for value in 0..spec.values.len() {
                    self.complete(index + 1, word.with_bits(spec, spec.value_bit(value)), found);
                }
            }
        }
    }
}

/// The facts of one case, one set bit a fact; a fact without a bit is absent (a partial fact set).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FactWord(u64);

/// What a [`FactWord`] says of one fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Known: the index of its value.
    Value(usize),
    /// It makes no sense in this case.
    NotApplicable,
    /// A probe that applies but was not asked.
    NotAsked,
    /// Not given at all.
    Absent,
}

impl FactWord {
    /// No fact is given.
    pub const EMPTY: Self = Self(0);

    /// The word with these bits. Only a word recorded or made by this crate makes sense.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Its bits; how they are laid out belongs to the vocabulary.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The word with the fact's bits replaced by `bits`.
    #[inline]
    #[must_use]
    pub const fn with_bits(self, spec: &FactSpec, bits: u64) -> Self {
        Self(self.0 & !spec.group() | bits)
    }

    /// What the word says of a fact.
    #[must_use]
    pub const fn state(self, spec: &FactSpec) -> State {
        let group = self.0 & spec.group();
        if group == 0 {
            State::Absent
        } else if group & spec.value_bits() != 0 {
            State::Value((group.trailing_zeros() - spec.shift) as usize)
        } else if group & spec.not_applicable_bit() != 0 {
            State::NotApplicable
        } else {
            State::NotAsked
        }
    }
}

/// A rule's or claim's condition: the fact has one of the wanted values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// Index of the fact.
    pub fact: usize,
    /// Wanted values, as bits of the [`FactWord`].
    pub wanted: u64,
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Stable id, never reused.
    pub id: Cow<'static, str>,
    /// Id of the invariant it serves.
    pub invariant: Cow<'static, str>,
    /// Its conditions, in the order written; empty: always.
    pub when: Cow<'static, [Condition]>,
    /// Index of the decision it comes to.
    pub then: usize,
    /// What happened, in one sentence.
    pub what: Cow<'static, str>,
    /// Why it is the rule.
    pub why: Cow<'static, str>,
    /// What a person can do next.
    pub next: Cow<'static, str>,
    /// Line of its row in the table file, from 1.
    pub line: u32,
    /// Bits that make it miss; derived from `when`.
    pub forbidden: u64,
    /// "Not asked" bits of the probes it tests; derived from `when`.
    pub asks: u64,
    /// All bits of the facts it tests; derived from `when`.
    pub tested: u64,
}

/// How a rule stands to a word in which every tested fact is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A known condition fails.
    Misses,
    /// Every known condition holds; these "not asked" bits are what is missing.
    Asks(u64),
    /// Every condition is known and holds.
    Hits,
}

impl Rule {
    /// How the rule stands to `word`.
    #[inline]
    #[must_use]
    pub const fn verdict(&self, word: FactWord) -> Verdict {
        if word.0 & self.forbidden != 0 {
            Verdict::Misses
        } else if word.0 & self.asks != 0 {
            Verdict::Asks(word.0 & self.asks)
        } else {
            Verdict::Hits
        }
    }
}

/// A promise that the rules keep for every possible combination of facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invariant {
    /// Its name.
    pub id: Cow<'static, str>,
    /// The promise, in one sentence.
    pub states: Cow<'static, str>,
    /// What is proven of the table for it.
    pub claims: Cow<'static, [Claim]>,
}

/// One provable statement about the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Whether the decisions are the forbidden or the only ones.
    pub kind: ClaimKind,
    /// Which combinations it speaks of.
    pub of: Cow<'static, [Condition]>,
    /// Bit `i` stands for decision `i`.
    pub then: u64,
    /// Line in the table file, from 1.
    pub line: u32,
}

/// The two forms of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimKind {
    /// The combinations never get one of the decisions.
    Never,
    /// The combinations get one of the decisions and nothing else.
    Only,
}

/// A checked table: total over the vocabulary it was checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its version, raised with every change that can change a decision.
    pub version: u32,
    /// SHA-256 of the file's bytes, in hex.
    pub sha256: Cow<'static, str>,
    /// The promises, in file order.
    pub invariants: Cow<'static, [Invariant]>,
    /// The rows; the first hit decides.
    pub rules: Cow<'static, [Rule]>,
    /// Which rows a word leaves possible; derived from `rules`.
    pub index: Cow<'static, Index>,
}

impl Table {
    /// Index of the rule that decides a combination in which every fact is known.
    ///
    /// The checks prove that there is one, so whatever passes all other rows is the last one's.
    #[must_use]
    pub fn first_hit(&self, word: FactWord) -> usize {
        let last = self.rules.len() - 1;
        self.rules[..last].iter().position(|rule| rule.verdict(word) == Verdict::Hits).unwrap_or(last)
    }

    /// Index of the rule with this id.
    #[must_use]
    pub fn rule_named(&self, id: &str) -> Option<usize> {
        self.rules.iter().position(|rule| rule.id == id)
    }
}
