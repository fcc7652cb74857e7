//! A fact set, whatever it holds: an error, or a word whose decision every possible completion of it
//! shares.
#![no_main]

use libfuzzer_sys::fuzz_target;
use resume_gate::gate::facts::VOCABULARY;
use resume_gate::gate::{Partial, TABLE, evaluate_partial, parse_fact_set};

fuzz_target!(|text: &str| {
    let Ok(word) = parse_fact_set(text) else { return };
    let completions = VOCABULARY.completions(word);
    assert!(!completions.is_empty());
    match evaluate_partial(&TABLE, word) {
        Partial::Decided(rule) => assert!(completions.iter().all(|word| TABLE.first_hit(*word) == rule)),
        Partial::Needs(facts) => assert!(!facts.is_empty()),
    }
});
