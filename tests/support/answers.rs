//! A complete case asked for bit by bit, as a spawn asks.

use resume_gate::gate::Answers;
use resume_gate::gate::facts::{Fact, FactValue, ForkRecord, HeadBusy, HeadFile, HeadRecord};
use resume_gate::table::{FactWord, State};
use strum::IntoEnumIterator;

/// The word as the gate starts out with it: every probe that applies not yet asked.
pub fn unasked(word: FactWord) -> FactWord {
    Fact::iter().filter(|fact| fact.spec().probe).fold(word, |word, fact| match word.fact(fact) {
        State::Value(_) => word.with_bits(fact.spec(), fact.spec().not_asked_bit()),
        _ => word,
    })
}

/// Answers read off a complete word, noting what was asked.
pub struct FromWord {
    /// The complete word.
    pub word: FactWord,
    /// The probes that were asked, in order.
    pub asked: Vec<Fact>,
}

impl FromWord {
    /// Answers for this word.
    pub fn new(word: FactWord) -> Self {
        Self { word, asked: Vec::new() }
    }

    fn answer<V: FactValue + std::str::FromStr>(&mut self) -> V {
        self.asked.push(V::FACT);
        let name = self.word.value_name(V::FACT).unwrap_or_else(|| panic!("{} does not apply", V::FACT.name()));
        name.parse().ok().unwrap()
    }
}

impl Answers for FromWord {
    fn fork_record(&mut self) -> ForkRecord {
        self.answer()
    }
    fn head_file(&mut self) -> HeadFile {
        self.answer()
    }
    fn head_busy(&mut self) -> HeadBusy {
        self.answer()
    }
    fn head_record(&mut self) -> HeadRecord {
        self.answer()
    }
}
