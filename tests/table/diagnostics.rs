//! One broken table for each kind of problem, and the wording of all of them.

use super::kitchen::{TABLE, VOCABULARY, load_kitchen, table_with, told};
use super::support::{assert_no_missing_or_orphan_snapshots, snapshots};
use resume_gate::table::{Code, Diagnostic, Loaded, Part, Severity, load, parts, render};
use std::collections::BTreeSet;
use strum::IntoEnumIterator;

const PATH: &str = "rules/kitchen.yaml";

/// A table with this kind of problem, as small a change from the sound one as shows it well.
fn broken(code: Code) -> Vec<u8> {
    let text = match code {
        Code::NotUtf8 => return [TABLE.as_bytes(), b"# caf\xe9\n"].concat(),
        Code::Syntax => table_with([("what: The heat is off.", "what: The heat is off: nothing happens.")]),
        Code::TooLarge => TABLE.to_owned() + &"#".repeat(128 * 1024),
        Code::WrongType => table_with([("when: { door: open }", "when: [door, open]")]),
        Code::UnknownKey => table_with([("next: Fill the pan.", "nxt: Fill the pan.\n    next: Fill it.")]),
        Code::MissingKey => {
            table_with([("    invariant: safety\n    when: { door: open }\n", "    when: { door: open }\n")])
        }
        Code::DuplicateKey => table_with([("when: { pan: empty }", "when: { pan: empty, pan: full }")]),
        Code::DuplicateValue => table_with([("heat: [low, high]", "heat: [low, high, low]")]),
        Code::EmptyList => table_with([("heat: [low, high]", "heat: []")]),
        Code::BadVersion => table_with([("version: 1", "version: 1.0.2")]),
        Code::HitPolicy => table_with([("hit_policy: first", "hit_policy: unique")]),
        Code::IllFormedId => table_with([("id: dry-pan", "id: Dry Pan")]),
        Code::DuplicateId => table_with([("id: cooking", "id: dry-pan")]),
        Code::DuplicateInvariant => {
            table_with([("rules:\n", "  - id: safety\n    states: Nothing else.\n    claims: []\nrules:\n")])
        }
        Code::UndeclaredInvariant => table_with([(
            "    invariant: safety\n    when: { pan: empty }",
            "    invariant: saftey\n    when: { pan: empty }",
        )]),
        Code::MissingSentence => table_with([("next: Fill the pan.", "next:")]),
        Code::IllFormedSentence => table_with([("what: The heat is off.", "what: |\n      The heat\n      is off.")]),
        Code::UnknownFact => table_with([("when: { pan: empty }", "when: { pen: empty }")]),
        Code::UnknownValue => table_with([("heat: [low, high]", "heat: [low, hihg]")]),
        Code::UnknownDecision => table_with([("then: cook", "then: coock")]),
        Code::ClaimKind => table_with([("never: { door: open }", "always: { door: open }")]),
        Code::NeverHolds => table_with([("heat: [low, high]", "heat: [low, high], door: open")]),
        Code::Uncovered => {
            table_with([("when: {}", "when: { heat: off, door: shut }"), ("heat: [low, high]", "heat: low")])
        }
        Code::DeadRule => table_with([("when: { pan: empty }", "when: { pan: [full, empty] }")]),
        Code::BrokenClaim => table_with([("then: stop\n", "then: cook\n")]),
        Code::IdleClaim => table_with([("only: { pan: empty }", "only: { pan: empty, door: open }")]),
        Code::NeedlessCondition => table_with([("heat: [low, high]", "door: shut, heat: [low, high]")]),
        Code::LeftOut => {
            table_with([("when: { pan: empty }", "when: { pen: empty }"), ("when: {}", "when: { heat: off }")])
        }
        Code::More => TABLE.to_owned() + &(0..120).map(|i| format!("key-{i}: x\n")).collect::<String>(),
    };
    text.into_bytes()
}

fn rendered(source: &[u8], loaded: &Loaded) -> String {
    let shown = loaded.diagnostics.iter().map(|diagnostic| render(source, PATH, diagnostic));
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_kind_of_problem_is_shown_at_its_place() {
    for code in Code::iter() {
        let source = broken(code);
        let loaded = load(&source, &VOCABULARY);
        assert!(
            loaded.diagnostics.iter().any(|diagnostic| diagnostic.code() == code),
            "{} is missing in\n{}",
            code.name(),
            rendered(&source, &loaded),
        );
        let is_note = code.severity() == Severity::Note;
        assert!(is_note || loaded.table.is_none(), "{} must keep the table from loading", code.name());
        let text = match code {
            Code::More => rendered(&source, &Loaded { table: None, diagnostics: loaded.diagnostics[98..].to_vec() }),
            _ => rendered(&source, &loaded),
        };
        snapshots("table").bind(|| insta::assert_snapshot!(code.name(), text));
    }
}

#[test]
fn every_kind_of_problem_has_its_snapshot_and_no_snapshot_is_left_over() {
    let names = Code::iter().map(|code| code.name().to_owned());
    assert_no_missing_or_orphan_snapshots("table", names.chain(["generated".to_owned()]));
}

#[test]
fn one_fault_is_told_once() {
    for code in Code::iter().filter(|code| !matches!(code, Code::LeftOut | Code::More)) {
        let loaded = load(&broken(code), &VOCABULARY);
        let errors = loaded.diagnostics.iter().filter(|diagnostic| diagnostic.code().severity() == Severity::Error);
        let codes: Vec<&str> = errors.map(|diagnostic| diagnostic.code().name()).collect();
        match code {
            Code::NeedlessCondition => assert!(codes.is_empty()),
            // An unknown key in place of a known one leaves that one missing.
            Code::ClaimKind => assert_eq!(codes, ["unknown_key", "claim_kind"]),
            _ => assert_eq!(codes, [code.name()], "{}", code.name()),
        }
    }
}

#[test]
fn every_message_is_one_plain_line_in_the_house_style() {
    for code in Code::iter() {
        for diagnostic in load(&broken(code), &VOCABULARY).diagnostics {
            let message = diagnostic.message();
            let help = diagnostic.help();
            for line in std::iter::once(&message).chain(&help) {
                assert!(!line.contains('\n') && !line.ends_with('.') && !line.trim().is_empty(), "{line}");
                assert_eq!(line.matches('`').count() % 2, 0, "unpaired backticks: {line}");
                assert!(!line.contains("::") && !line.contains("None") && !line.contains("Some("), "Rust in: {line}");
                assert!(!line.starts_with(|c: char| c.is_uppercase()), "{line}");
            }
            let line = diagnostic.one_line(PATH);
            let start = format!(
                "{PATH}:{}:{}: [{}] ",
                diagnostic.place.line,
                diagnostic.place.column,
                diagnostic.code().name()
            );
            assert!(line.starts_with(&start), "{line}");
        }
    }
}

#[test]
fn codes_are_stable_names() {
    let names: Vec<&str> = Code::iter().map(Code::name).collect();
    let stable = "not_utf8 syntax too_large wrong_type unknown_key missing_key duplicate_key duplicate_value empty_list bad_version \
                  hit_policy ill_formed_id duplicate_id duplicate_invariant undeclared_invariant missing_sentence \
                  ill_formed_sentence unknown_fact unknown_value unknown_decision claim_kind never_holds uncovered dead_rule \
                  broken_claim idle_claim needless_condition left_out more";
    assert_eq!(names.join(" "), stable);
}

#[test]
fn everything_wrong_is_told_in_one_run_in_the_files_order() {
    let source = table_with([
        ("version: 1", "version: 0"),
        ("never: { door: open }", "never: { dor: open }"),
        ("then: cook", "then: cok"),
        ("why: It would burn.", "why: ''"),
        ("when: {}", "when: { heat: warm }"),
    ]);
    let codes: Vec<(u32, &str)> = load_kitchen(&source)
        .diagnostics
        .iter()
        .map(|diagnostic| (diagnostic.place.line, diagnostic.code().name()))
        .collect();
    let expected = [
        (2, "bad_version"),
        (8, "unknown_fact"),
        (12, "left_out"),
        (25, "missing_sentence"),
        (30, "unknown_decision"),
        (36, "unknown_value"),
    ];
    assert_eq!(codes, expected);
}

#[test]
fn a_syntax_error_is_told_alone() {
    let source = table_with([("version: 1", "version: 0"), ("when: {}", "when: { heat: warm")]);
    let codes: Vec<Code> = load_kitchen(&source).diagnostics.iter().map(Diagnostic::code).collect();
    assert_eq!(codes, [Code::Syntax]);
}

#[test]
fn a_row_that_is_not_understood_is_blamed_for_nothing_and_lets_nobody_be_blamed_for_its_part() {
    // `pen` may be anything: the rule may take every combination that the first one leaves.
    assert_eq!(
        codes_of(&table_with([("pan: empty }\n    then: stop", "pen: empty }\n    then: stop")])),
        ["unknown_fact", "left_out"]
    );
    // But what a rule above it takes, or would take, is known.
    let masked = table_with([
        ("when: { door: open }", "when: {}"),
        ("pan: empty }\n    then: stop", "pen: empty }\n    then: stop"),
    ]);
    assert_eq!(codes_of(&masked), ["broken_claim", "unknown_fact", "dead_rule", "dead_rule", "left_out"]);
    // An unknown value still needs its fact to apply: an open door stays uncovered.
    let value =
        table_with([("when: { door: open }", "when: { door: shut, heat: off }"), ("when: {}", "when: { heat: warm }")]);
    assert_eq!(codes_of(&value), ["uncovered", "needless_condition", "unknown_value", "left_out"]);
    // A rule whose decision is unknown still takes its combinations, and breaks no claim.
    let then = table_with([("then: stop\n", "then: halt\n")]);
    assert_eq!(codes_of(&then), ["unknown_decision", "left_out"]);
}

/// The errors that come from seeing rules together, by code and line.
fn blamed(source: &str) -> BTreeSet<(Code, u32)> {
    let together = [Code::Uncovered, Code::DeadRule, Code::BrokenClaim];
    let diagnostics = load_kitchen(source).diagnostics.into_iter();
    diagnostics.map(|d| (d.code(), d.place.line)).filter(|(code, _)| together.contains(code)).collect()
}

#[test]
fn nothing_is_blamed_that_some_meaning_of_an_unknown_name_would_clear() {
    let rules = ["when: { door: open }", "when: { pan: empty }", "when: { heat: [low, high] }", "when: {}"];
    let meanings = [
        "",
        "door: open",
        "door: shut",
        "door: [open, shut]",
        "heat: off",
        "heat: low",
        "heat: high",
        "heat: [off, low]",
        "heat: [off, high]",
        "heat: [low, high]",
        "heat: [off, low, high]",
        "pan: empty",
        "pan: full",
        "pan: [empty, full]",
    ];
    let mut seen = BTreeSet::new();
    for faulty in rules {
        for other in ["{}", "{ door: open }", "{ heat: low }", "{ pan: full }"] {
            for then in ["wait", "cook", "stop"] {
                // Another rule is wrong in some way, and this one has a name that nobody knows.
                let base = TABLE
                    .replace(faulty, &format!("when: {other}"))
                    .replace("then: wait\n    what: The heat", &format!("then: {then}\n    what: The heat"));
                for unclear in rules.iter().filter(|rule| **rule != faulty) {
                    let with = |condition: &str| base.replacen(unclear, &format!("when: {{ {condition} }}"), 1);
                    // A fact that nobody knows may mean anything, an unknown value any value of its fact.
                    for (unknown, fact) in [("pen: empty", ""), ("heat: hot", "heat"), ("pan: [full, emty]", "pan")] {
                        let certain = blamed(&with(unknown));
                        for meaning in meanings.iter().filter(|meaning| meaning.starts_with(fact)) {
                            let clear = blamed(&with(meaning));
                            let table = with(meaning);
                            assert!(certain.is_subset(&clear), "{certain:?} but {clear:?} with {meaning}:\n{table}");
                        }
                        seen.extend(certain.into_iter().map(|(code, _)| code));
                    }
                }
            }
        }
    }
    assert_eq!(seen.len(), 3, "each kind of blame was put to the test");
}

/// Codes with the notes on whole tables last.
fn codes_of(source: &str) -> Vec<&'static str> {
    let mut codes: Vec<Code> = load_kitchen(source).diagnostics.iter().map(Diagnostic::code).collect();
    codes.sort_by_key(|code| *code == Code::LeftOut);
    codes.into_iter().map(Code::name).collect()
}

#[test]
fn an_invariant_that_cannot_be_read_may_be_the_one_a_rule_means() {
    let codes = codes_of(&table_with([("  - id: safety\n", "  - di: safety\n")]));
    assert_eq!(codes, ["unknown_key", "missing_key"]);
    let codes = codes_of(&table_with([("invariants:\n", "invariance:\n")]));
    assert_eq!(codes, ["missing_key", "unknown_key"]);
}

#[test]
fn places_are_exact_in_every_style_of_writing() {
    let place = |source: &str, code: Code| {
        let loaded = load_kitchen(source);
        let found = loaded.diagnostics.iter().find(|diagnostic| diagnostic.code() == code);
        found
            .map(|diagnostic| (diagnostic.place.line, diagnostic.place.column))
            .unwrap_or_else(|| panic!("{:?}", told(source)))
    };
    // Block style, key and value.
    assert_eq!(place(&table_with([("when: { pan: empty }", "when:\n      pen: empty")]), Code::UnknownFact), (23, 7));
    assert_eq!(
        place(
            &table_with([("when: { pan: empty }", "when:\n      pan:\n        - full\n        - emty")]),
            Code::UnknownValue
        ),
        (25, 11)
    );
    // Behind text that is more bytes than characters.
    assert_eq!(
        place(&table_with([("when: { pan: empty }", "when: { \"dööör\": shut, pan: emty }")]), Code::UnknownValue),
        (22, 33)
    );
    assert_eq!(
        place(
            &table_with([("The door is open.", "Die Tür ist offen 🚪."), ("then: cook", "then: kök")]),
            Code::UnknownDecision
        ),
        (30, 11)
    );
    // With a byte order mark, with CRLF.
    let source = table_with([("then: cook", "then: cok")]);
    assert_eq!(place(&format!("\u{feff}{source}"), Code::UnknownDecision), (30, 11));
    assert_eq!(place(&source.replace('\n', "\r\n"), Code::UnknownDecision), (30, 11));
    // An empty row, a missing row, a row through an alias.
    assert_eq!(place(&format!("{TABLE}  - {{}}\n"), Code::MissingKey), (41, 5));
    assert_eq!(place(&format!("{TABLE}  -\n"), Code::WrongType), (41, 4));
    assert_eq!(
        place(
            &table_with([("when: { pan: empty }", "when: &pen { pen: empty }"), ("when: {}", "when: *pen")]),
            Code::UnknownFact
        ),
        (22, 18)
    );
    // A file without any place to speak of.
    assert_eq!(place("", Code::WrongType), (1, 1));
}

#[test]
fn carets_stand_under_what_they_mean() {
    let caret = |line: &str| {
        let source = table_with([("    when: { pan: empty }", line)]);
        let loaded = load_kitchen(&source);
        let diagnostic = loaded.diagnostics.iter().find(|d| d.code() == Code::UnknownValue).unwrap();
        let text = render(source.as_bytes(), PATH, diagnostic);
        text.lines().skip(3).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(caret("    when: { pan: emty }"), ["22 |     when: { pan: emty }", "   |                  ^^^^"]);
    assert_eq!(
        caret("    when: { \"door\":\tshut, pan: emty }"),
        ["22 |     when: { \"door\":    shut, pan: emty }", "   |                                   ^^^^"]
    );
    assert_eq!(
        caret("    when: { pan: [full, 鍋鍋] }"),
        ["22 |     when: { pan: [full, 鍋鍋] }", "   |                         ^^^^"]
    );
    // What stands before it is two columns wide, or none.
    assert_eq!(caret("    when: { pan: [\"full\", # 鍋\n      emty] }")[1], "   |       ^^^^");
    assert_eq!(caret("    when: { pan: [鍋, e\u{301}] }").len(), 2);
}

#[test]
fn a_rendered_diagnostic_is_its_parts_and_long_lines_are_cut_around_the_caret() {
    let source = table_with([("when: { pan: empty }", &format!("when: {{ {}: full, pan: emty }}", "x".repeat(900)))]);
    let loaded = load_kitchen(&source);
    let diagnostic = loaded.diagnostics.iter().find(|d| d.code() == Code::UnknownValue).unwrap();
    let pieces = parts(source.as_bytes(), PATH, diagnostic);
    assert_eq!(
        pieces.iter().map(|(_, text)| text.as_str()).collect::<String>(),
        render(source.as_bytes(), PATH, diagnostic)
    );
    assert_eq!(pieces[0], (Part::Error, "error[unknown_value]".to_owned()));
    let text = render(source.as_bytes(), PATH, diagnostic);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[3].starts_with("22 | …") && lines[3].chars().count() < 130, "{}", lines[3]);
    let at = lines[4].chars().position(|c| c == '^').unwrap();
    assert_eq!(lines[3].chars().skip(at).take(4).collect::<String>(), "emty");
}

#[test]
fn text_from_the_file_cannot_break_a_line_or_steer_a_terminal() {
    let evil = "\"a\\nb\\e[31m\\u2028c\"";
    let source = table_with([("then: cook", &format!("then: {evil}")), ("id: idle", &format!("id: {evil}"))]);
    let loaded = load_kitchen(&source);
    assert!(loaded.table.is_none());
    for line in loaded.build_errors(PATH) {
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

#[test]
fn the_nearest_right_name_is_offered_if_one_is_near() {
    let help = |name: &str| {
        let source = table_with([("when: { pan: empty }", &format!("when: {{ {name}: empty }}"))]);
        told(&source).into_iter().find(|line| line.contains("[unknown_fact]")).unwrap()
    };
    for near in ["pn", "pna", "PAN", "pann", "hat", "haet", "Heat", "doors"] {
        assert!(help(near).contains("did you mean"), "{near}");
    }
    for far in ["temperature", "x", "aubergine"] {
        let line = help(far);
        assert!(!line.contains("did you mean") && line.ends_with("help: facts: `door`, `heat`, `pan`"), "{line}");
    }
}
