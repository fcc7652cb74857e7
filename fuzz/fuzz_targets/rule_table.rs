//! A table file, whatever it holds: either diagnostics with an error, each of which can be shown, or
//! a table that decides every possible combination of facts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use resume_gate::gate::facts::VOCABULARY;
use resume_gate::table::{Severity, Verdict, load, render};

fuzz_target!(|file: &[u8]| {
    let loaded = load(file, &VOCABULARY);
    for diagnostic in &loaded.diagnostics {
        assert!(diagnostic.place.line >= 1 && diagnostic.place.column >= 1);
        assert!(render(file, "table.yaml", diagnostic).ends_with('\n'));
    }
    let wrong = loaded.diagnostics.iter().any(|diagnostic| diagnostic.severity() == Severity::Error);
    assert_eq!(loaded.table.is_none(), wrong);
    if let Some(table) = loaded.table {
        for word in VOCABULARY.combinations() {
            assert!(table.rules.iter().any(|rule| rule.verdict(word) == Verdict::Hits));
        }
    }
});
