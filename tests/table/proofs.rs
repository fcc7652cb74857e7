//! What is proven of the shipped table, what is generated from it, and what a build prints.

use super::SHIPPED;
use super::kitchen::{TABLE, VOCABULARY as KITCHEN, load_kitchen, table_with, told};
use super::support::snapshots;
use resume_gate::gate::facts::VOCABULARY;
use resume_gate::table::{
    Applies, ClaimKind, Code, FactSpec, FactWord, State, Table, Vocabulary, combination_text, emit, lay_out, load,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PATH: &str = "rules/resume_gate.yaml";

fn shipped() -> Table {
    load(SHIPPED.as_bytes(), &VOCABULARY).table.expect("the shipped table is sound")
}

/// Whether all conditions hold, straight from their meaning: no masks, no bits but the wanted ones.
fn holds(vocabulary: &Vocabulary, when: &[resume_gate::table::Condition], word: FactWord) -> bool {
    when.iter().all(|condition| {
        let spec = &vocabulary.facts[condition.fact];
        matches!(word.state(spec), State::Value(value) if condition.wanted & spec.value_bit(value) != 0)
    })
}

/// Holds a table that passed the checks against a plain reading of everything they promise.
pub fn assert_sound(vocabulary: &Vocabulary, table: &Table) {
    let combinations = vocabulary.combinations();
    let first = |word| table.rules.iter().position(|rule| holds(vocabulary, &rule.when, word));
    let mut reached = vec![false; table.rules.len()];
    for word in &combinations {
        let rule = first(*word).unwrap_or_else(|| panic!("uncovered: {}", combination_text(vocabulary, *word)));
        assert_eq!(table.first_hit(*word), rule, "{}", combination_text(vocabulary, *word));
        reached[rule] = true;
    }
    assert!(reached.iter().all(|reached| *reached), "a dead rule passed");
    for invariant in table.invariants.iter() {
        for claim in invariant.claims.iter() {
            let spoken_of: Vec<_> = combinations.iter().filter(|word| holds(vocabulary, &claim.of, **word)).collect();
            assert!(!spoken_of.is_empty(), "an idle claim passed");
            for word in spoken_of {
                let among = claim.then & (1 << table.rules[first(*word).unwrap()].then) != 0;
                assert_eq!(among, claim.kind == ClaimKind::Only, "a broken claim passed: {claim:?}");
            }
        }
    }
    for rule in table.rules.iter() {
        assert!(table.invariants.iter().any(|invariant| invariant.id == rule.invariant));
        assert!(![&rule.what, &rule.why, &rule.next].iter().any(|sentence| sentence.trim().is_empty()));
    }
}

#[test]
fn there_are_exactly_899_possible_combinations_of_facts() {
    assert_eq!(VOCABULARY.combinations().len(), 899);
    assert_eq!(KITCHEN.combinations().len(), 6);
}

#[test]
fn the_shipped_table_is_sound_by_a_second_reading() {
    let table = shipped();
    assert_eq!((table.name.as_ref(), table.version, table.rules.len()), ("resume-gate", 1, 17));
    assert_sound(&VOCABULARY, &table);
}

#[test]
fn the_shipped_table_says_more_than_it_must_only_where_a_row_reads_better_so() {
    let notes: Vec<String> =
        load(SHIPPED.as_bytes(), &VOCABULARY).diagnostics.iter().map(|diagnostic| diagnostic.message()).collect();
    assert_eq!(
        notes,
        [
            "the rule `fork-from-parent` would decide the same without its condition on `fork_source`",
            "the rule `head-moved-on` would decide the same without its condition on `candidate`",
            "the rule `relocate` would decide the same without its condition on `head_login`",
        ]
    );
}

#[test]
fn the_sentences_are_one_sentence_each() {
    let table = shipped();
    let sentences = table.rules.iter().flat_map(|rule| [&rule.what, &rule.why, &rule.next]);
    for sentence in sentences.chain(table.invariants.iter().map(|invariant| &invariant.states)) {
        assert!(sentence.ends_with('.') && !sentence.trim_end_matches('.').contains(". "), "{sentence}");
        assert!(sentence.starts_with(|c: char| c.is_uppercase() || c == '`'), "{sentence}");
        assert!(sentence.chars().count() <= 160, "{sentence}");
    }
}

#[test]
fn rows_know_their_lines_and_the_file_its_hash() {
    let table = shipped();
    let lines: Vec<&str> = SHIPPED.lines().collect();
    for rule in table.rules.iter() {
        assert_eq!(lines[rule.line as usize - 1].trim(), format!("- id: {}", rule.id));
    }
    for claim in table.invariants.iter().flat_map(|invariant| invariant.claims.iter()) {
        let kind = if claim.kind == ClaimKind::Never { "- never:" } else { "- only:" };
        assert!(lines[claim.line as usize - 1].trim().starts_with(kind));
    }
    // Of the empty file, as everybody's sha256sum prints it.
    assert_eq!(table.sha256.len(), 64);
    let changed = load(format!("{SHIPPED}\n").as_bytes(), &VOCABULARY).table.unwrap();
    assert_ne!(changed.sha256, table.sha256);
    assert_eq!(Table { sha256: table.sha256.clone(), ..changed }, table);
}

#[test]
fn the_compiled_table_is_the_one_in_the_file() {
    assert_eq!(shipped(), resume_gate::gate::TABLE);
}

#[test]
fn the_generated_text_is_always_the_same() {
    let table = load_kitchen(TABLE).table.unwrap();
    let text = emit(&table, "rules/kitchen.yaml");
    assert_eq!(text, emit(&load_kitchen(TABLE).table.unwrap(), "rules/kitchen.yaml"));
    snapshots("table").bind(|| insta::assert_snapshot!("generated", text));
}

#[test]
fn what_must_all_be_shut_out_together_is_found_too() {
    // Each two of these conditions have combinations in common, all three have none.
    const fn fact(name: &'static str, values: &'static [&'static str], applies: Option<Applies>) -> FactSpec {
        FactSpec { name, values, applies, probe: false, means: "", shift: 0 }
    }
    static FACTS: [FactSpec; 4] = lay_out([
        fact("a", &["x", "y", "z"], None),
        fact("b", &["t"], Some(Applies { fact: 0, values: 0b011 })),
        fact("c", &["t"], Some(Applies { fact: 0, values: 0b110 })),
        fact("d", &["t"], Some(Applies { fact: 0, values: 0b101 })),
    ]);
    static TRIANGLE: Vocabulary = Vocabulary { facts: &FACTS, decisions: &["wait", "cook", "stop"] };
    let source = "table: t\nversion: 1\nhit_policy: first\ninvariants: [{ id: I, states: S., claims: [] }]\nrules:\n  \
                  - { id: one, invariant: I, when: { b: t, c: t, d: t }, then: wait, what: W., why: W., next: N. }\n  \
                  - { id: two, invariant: I, when: {}, then: wait, what: W., why: W., next: N. }\n";
    let lines: Vec<String> =
        load(source.as_bytes(), &TRIANGLE).diagnostics.iter().map(|d| d.one_line("t.yaml")).collect();
    assert_eq!(
        lines,
        ["t.yaml:6:5: [dead_rule] the rule `one` never decides: no possible combination meets all of its conditions; \
          help: remove it, move it up, or narrow the rules above it"]
    );
}

#[test]
fn a_build_prints_every_problem_on_a_line_of_its_own() {
    let source = table_with([
        ("when: { pan: empty }", "when: { pan: emty }"),
        ("then: cook", "then: coock"),
        ("next: Turn it on.", "next: ''"),
    ]);
    let errors = load_kitchen(&source).build_errors("rules/kitchen.yaml");
    assert_eq!(
        errors,
        [
            "rules/kitchen.yaml:12:1: [left_out] coverage, dead rules and claims leave out what could be decided by \
             the rule `dry-pan` (line 20), the rule `cooking` (line 27); help: mend what is said of them and check again",
            "rules/kitchen.yaml:22:18: [unknown_value] the fact `pan` has no value `emty`; help: did you mean `empty`? \
             values: `empty`, `full`",
            "rules/kitchen.yaml:30:11: [unknown_decision] there is no decision `coock`; help: did you mean `cook`? \
             decisions: `wait`, `cook`, `stop`",
            "rules/kitchen.yaml:40:11: [missing_sentence] the rule `idle` has no sentence `next`",
        ]
    );
    let noted = table_with([("heat: [low, high]", "door: shut, heat: [low, high]")]);
    assert_eq!(told(&noted).len(), 1);
    assert_eq!(load_kitchen(&noted).build_errors("t.yaml"), Vec::<String>::new());
}

/// This crate's build script as cargo built it for this very run: the newest there is. It lies where
/// scripts are built for the host, which may not be where this test was built.
fn script() -> PathBuf {
    let builds = Path::new(env!("OUT_DIR")).ancestors().nth(2).unwrap();
    let profile = builds.parent().unwrap();
    let host = profile.ancestors().nth(2).unwrap().join(profile.file_name().unwrap()).join("build");
    let name = format!("build-script-build{}", std::env::consts::EXE_SUFFIX);
    let packages =
        [builds, &host].into_iter().filter_map(|builds| builds.read_dir().ok()).flatten().map(Result::unwrap);
    let ours = packages.filter(|package| package.file_name().to_string_lossy().starts_with("resume-gate-"));
    let scripts = ours.map(|package| package.path().join(&name)).filter(|script| script.exists());
    scripts.max_by_key(|script| script.metadata().unwrap().modified().unwrap()).unwrap()
}

/// Runs the build script in `place`, where `table` is the crate's table.
fn build_script(place: &Path, table: Option<&str>) -> Output {
    std::fs::create_dir_all(place.join("rules")).unwrap();
    if let Some(table) = table {
        std::fs::write(place.join(PATH), table).unwrap();
    }
    Command::new(script()).current_dir(place).env("OUT_DIR", place).output().unwrap()
}

#[test]
fn the_build_script_compiles_a_sound_table_and_fails_on_a_broken_one_without_a_backtrace() {
    let place = tempfile::tempdir().unwrap();
    let output = build_script(place.path(), Some(SHIPPED));
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}");
    assert!(stdout.lines().all(|line| line.starts_with("cargo::rerun-if-changed=")), "{stdout}");
    let generated = std::fs::read_to_string(place.path().join("resume_gate.rs")).unwrap();
    assert_eq!(generated, emit(&shipped(), PATH));

    let broken =
        SHIPPED.replace("then: relocate", "then: relocat").replace("{ head_file: grown }", "{ head_file: grew }");
    let output = build_script(place.path(), Some(&broken));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let errors: Vec<&str> = stdout.lines().filter_map(|line| line.strip_prefix("cargo::error=")).collect();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(errors, load(broken.as_bytes(), &VOCABULARY).build_errors(PATH));
    assert!(
        errors.iter().any(|line| line.contains("[unknown_value]") && line.contains("did you mean `grown`")),
        "{errors:?}"
    );
    assert!(errors.iter().any(|line| line.contains("[unknown_decision]")), "{errors:?}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");

    let nothing = tempfile::tempdir().unwrap();
    let output = build_script(nothing.path(), None);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout.contains("cargo::error=cannot read rules/resume_gate.yaml: "), "{stdout}");
}

#[test]
fn every_code_is_an_error_but_advice() {
    use strum::IntoEnumIterator as _;
    let notes: Vec<&str> =
        Code::iter().filter(|code| code.severity() != resume_gate::table::Severity::Error).map(Code::name).collect();
    assert_eq!(notes, ["needless_condition", "left_out", "more"]);
}
