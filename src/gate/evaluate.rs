//! The one evaluation path: a fact word goes through the rows in order, and probes are asked on
//! the way. No allocation, no clock, no file, no environment.

use super::facts::{FACTS, Fact, FactValue, ForkRecord, HeadBusy, HeadFile, HeadRecord};
use super::table::{FactSpec, FactWord, INDEXED_RULES, Index, State, Table, Verdict};
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
/// known conditions all hold.
#[inline]
pub fn evaluate(table: &Table, mut word: FactWord, answers: &mut impl Answers) -> Evaluation {
    let index: &Index = &table.index;
    let mut possible = index.possible(word.bits());
    while possible != 0 {
        let rule = possible.trailing_zeros() as usize;
        let asks = index.asks(rule) & word.bits();
        if asks == 0 {
            return Evaluation { rule, word };
        }
        let bit = ask(&mut word, asks, answers);
        possible &= index.possible_with(bit);
    }
    beyond_index(table, word, answers)
}

/// The rows that the index does not cover, one by one. The table is total, so whatever passes every
/// other row is the last one's.
#[cold]
fn beyond_index(table: &Table, mut word: FactWord, answers: &mut impl Answers) -> Evaluation {
    let last = table.rules.len().saturating_sub(1);
    for (rule, row) in table.rules.iter().enumerate().take(last).skip(INDEXED_RULES) {
        while let Verdict::Asks(bits) = row.verdict(word) {
            ask(&mut word, bits, answers);
        }
        if row.verdict(word) == Verdict::Hits {
            return Evaluation { rule, word };
        }
    }
    Evaluation { rule: last, word }
}

/// Asks the first of the probes whose "not asked" bits are given, and enters the answer; gives the
/// bit it set.
#[inline]
fn ask(word: &mut FactWord, bits: u64, answers: &mut impl Answers) -> u32 {
    const FORK_RECORD: FactSpec = FACTS[Fact::ForkRecord as usize];
    const HEAD_FILE: FactSpec = FACTS[Fact::HeadFile as usize];
    const HEAD_BUSY: FactSpec = FACTS[Fact::HeadBusy as usize];
    const HEAD_RECORD: FactSpec = FACTS[Fact::HeadRecord as usize];
    let (spec, value) = if bits & FORK_RECORD.not_asked_bit() != 0 {
        (FORK_RECORD, answers.fork_record().index())
    } else if bits & HEAD_FILE.not_asked_bit() != 0 {
        (HEAD_FILE, answers.head_file().index())
    } else if bits & HEAD_BUSY.not_asked_bit() != 0 {
        (HEAD_BUSY, answers.head_busy().index())
    } else {
        (HEAD_RECORD, answers.head_record().index())
    };
    *word = word.with_bits(&spec, spec.value_bit(value));
    spec.shift + value as u32
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
