//! The one evaluation path: a fact word goes through the rows in order, and probes are asked on
//! the way. No allocation, no clock, no file, no environment.

use super::facts::{Fact, ForkRecord, HeadBusy, HeadFile, HeadRecord};
use super::table::{FactWord, State, Table, Verdict};
use strum::IntoEnumIterator;

/// What evaluation gives: enough to rebuild the whole trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evaluation {
    /// Index of the rule that decided.
    pub rule: usize,
    /// Every fact as it was when the rule decided; a probe that was not needed is still "not asked".
    pub word: FactWord,
}

/// Answers to the four probes, for one case.
pub trait Answers {
    /// The parent's session file where it was recorded.
    fn fork_record(&mut self) -> ForkRecord;
    /// The head's file under the spawn's login and directory.
    fn head_file(&mut self) -> HeadFile;
    /// Whether a live provider process has the head's session open.
    fn head_busy(&mut self) -> HeadBusy;
    /// The head's file where it was recorded.
    fn head_record(&mut self) -> HeadRecord;
}

/// Answers that are already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// See [`Answers::fork_record`].
    pub fork_record: ForkRecord,
    /// See [`Answers::head_file`].
    pub head_file: HeadFile,
    /// See [`Answers::head_busy`].
    pub head_busy: HeadBusy,
    /// See [`Answers::head_record`].
    pub head_record: HeadRecord,
}

impl Answers for Ready {
    fn fork_record(&mut self) -> ForkRecord {
        self.fork_record
    }
    fn head_file(&mut self) -> HeadFile {
        self.head_file
    }
    fn head_busy(&mut self) -> HeadBusy {
        self.head_busy
    }
    fn head_record(&mut self) -> HeadRecord {
        self.head_record
    }
}

/// Evaluates a word in which every cheap fact is settled; probes that apply are "not asked".
///
/// Each probe is asked at most once, one at a time in fact order, and only for a rule whose other
/// known conditions all hold. The table is total, so whatever passes every other row is the last
/// one's.
#[inline]
pub fn evaluate(table: &Table, mut word: FactWord, answers: &mut impl Answers) -> Evaluation {
    let last = table.rules.len().saturating_sub(1);
    for (rule, row) in table.rules.iter().enumerate().take(last) {
        loop {
            match row.verdict(word) {
                Verdict::Misses => break,
                Verdict::Hits => return Evaluation { rule, word },
                Verdict::Asks(bits) => word = ask(word, bits, answers),
            }
        }
    }
    Evaluation { rule: last, word }
}

/// Asks the first of the probes whose "not asked" bits are given.
fn ask(word: FactWord, bits: u64, answers: &mut impl Answers) -> FactWord {
    let wants = |fact: Fact| bits & fact.spec().not_asked_bit() != 0;
    if wants(Fact::ForkRecord) {
        word.with(answers.fork_record())
    } else if wants(Fact::HeadFile) {
        word.with(answers.head_file())
    } else if wants(Fact::HeadBusy) {
        word.with(answers.head_busy())
    } else {
        word.with(answers.head_record())
    }
}

/// What can be said of an incomplete set of facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Partial {
    /// The rule with this index decides, whatever the absent facts are.
    Decided(usize),
    /// The first rule that neither misses nor hits needs these facts: all its absent cheap ones in
    /// fact order, or if there are none its first absent probe.
    Needs(Vec<Fact>),
}

/// Evaluates a word in which any fact may be absent or not asked, without asking anything.
#[must_use]
pub fn evaluate_partial(table: &Table, word: FactWord) -> Partial {
    for (index, rule) in table.rules.iter().enumerate() {
        if rule.verdict(word) == Verdict::Misses {
            continue;
        }
        let absent = |probe: bool| {
            Fact::iter().filter(move |fact| {
                let spec = fact.spec();
                rule.tested & spec.group() != 0
                    && spec.probe == probe
                    && matches!(word.state(spec), State::Absent | State::NotAsked)
            })
        };
        let mut needs: Vec<Fact> = absent(false).collect();
        if needs.is_empty() {
            needs.extend(absent(true).next());
        }
        return if needs.is_empty() { Partial::Decided(index) } else { Partial::Needs(needs) };
    }
    Partial::Decided(table.rules.len().saturating_sub(1))
}
