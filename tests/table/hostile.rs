//! Files that nobody would write: whatever is in them, there is a table or a diagnostic, in time.

use super::SHIPPED;
use super::kitchen::{TABLE, VOCABULARY as KITCHEN};
use super::proofs::assert_sound;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use resume_gate::gate::facts::VOCABULARY;
use resume_gate::table::{Code, Diagnostic, Loaded, Severity, Vocabulary, load, render};
use std::time::{Duration, Instant};

/// Loads, and holds what is promised of any outcome.
fn loads(source: &[u8], vocabulary: &Vocabulary) -> Loaded {
    let loaded = load(source, vocabulary);
    let refused = loaded.diagnostics.iter().any(|diagnostic| diagnostic.severity() == Severity::Error);
    assert_eq!(loaded.table.is_none(), refused, "a table or a reason why not");
    let lines = 1 + source.iter().filter(|byte| **byte == b'\n').count();
    for diagnostic in &loaded.diagnostics {
        assert!((1..=lines).contains(&(diagnostic.place.line as usize)), "{diagnostic:?}");
        assert!(!diagnostic.one_line("t.yaml").chars().any(char::is_control), "{diagnostic:?}");
        let shown = render(source, "t.yaml", diagnostic);
        assert!(shown.len() < 20_000 && !shown.chars().any(|c| c.is_control() && c != '\n'), "{diagnostic:?}");
    }
    if let Some(table) = &loaded.table {
        assert_sound(vocabulary, table);
    }
    loaded
}

#[test]
fn hostile_files_are_refused_in_time() {
    let laughs = "lol: &a [x,x,x,x,x,x,x,x,x]\n".to_owned()
        + &('b'..='i')
            .zip('a'..)
            .map(|(to, from)| format!("{to}{to}: &{to} [{}]\n", vec![format!("*{from}"); 9].join(",")))
            .collect::<String>();
    let flat = format!("a: &a\n{}b:\n{}", " - x\n".repeat(5_000), " - *a\n".repeat(5_000));
    let staircase: String = (0..400).map(|depth| format!("{}-\n", " ".repeat(depth))).collect();
    let rows = "rules:\n".to_owned() + &"  - {}\n".repeat(3_900);
    let rules = TABLE.to_owned()
        + &(0..400)
            .map(|i| format!("  - {{ id: r{i}, invariant: safety, when: {{ door: open }}, then: wait, what: W., why: W., next: N. }}\n"))
            .collect::<String>();
    let cases: Vec<(&str, Vec<u8>, Code)> = vec![
        ("nothing", b"".to_vec(), Code::WrongType),
        ("only a comment", b"# nothing\n".to_vec(), Code::WrongType),
        ("null", b"~".to_vec(), Code::WrongType),
        ("only a mark", "\u{feff}".into(), Code::WrongType),
        ("nested lists", "[".repeat(100_000).into(), Code::TooLarge),
        ("nested lists below the bound", "[".repeat(3_999).into(), Code::Syntax),
        ("nested block lists", "- ".repeat(60_000).into(), Code::Syntax),
        ("nested keys", "? ".repeat(60_000).into(), Code::Syntax),
        ("a staircase", staircase.into(), Code::Syntax),
        ("aliases of aliases", laughs.into(), Code::TooLarge),
        ("many aliases of a long list", flat.into(), Code::TooLarge),
        ("an alias to itself", b"a: &a [*a]".to_vec(), Code::Syntax),
        ("an alias to nothing", b"a: *b".to_vec(), Code::Syntax),
        ("a NUL", b"table: a\0b".to_vec(), Code::Syntax),
        ("a tab for indentation", b"table: x\n\tversion: 1\n".to_vec(), Code::Syntax),
        ("two documents", b"table: x\n---\ntable: y\n".to_vec(), Code::Syntax),
        ("an open quote", b"table: \"x\n".to_vec(), Code::Syntax),
        ("UTF-16", "table: x\n".encode_utf16().flat_map(u16::to_le_bytes).collect(), Code::Syntax),
        ("UTF-16 with a mark", b"\xff\xfet\0a\0".to_vec(), Code::NotUtf8),
        ("half a character", b"table: \xe2\x82".to_vec(), Code::NotUtf8),
        ("a huge number", b"version: 99999999999999999999999999999999999999999999999".to_vec(), Code::BadVersion),
        ("a huge whole number", b"version: 340282366920938463463374607431768211455".to_vec(), Code::BadVersion),
        ("a negative number", b"version: -1".to_vec(), Code::BadVersion),
        ("keys that are no names", b"1: a\n~: b\n[c]: d\n{e: f}: g\ntrue: h\n".to_vec(), Code::WrongType),
        ("tags", b"!x table: !y [1]\nrules: !!set {a, b}\n".to_vec(), Code::WrongType),
        ("a merge key", b"a: &a {table: x}\n<<: *a\n".to_vec(), Code::UnknownKey),
        ("a long line", format!("table: {}", "x".repeat(100_000)).into(), Code::IllFormedId),
        ("thousands of empty rows", rows.into(), Code::MissingKey),
        ("hundreds of rules", rules.into(), Code::DeadRule),
    ];
    for (name, source, code) in cases {
        let begun = Instant::now();
        let loaded = loads(&source, &KITCHEN);
        let codes: Vec<Code> = loaded.diagnostics.iter().map(Diagnostic::code).collect();
        assert!(codes.contains(&code), "{name}: {codes:?}");
        assert!(codes.len() <= 101, "{name}: {} diagnostics", codes.len());
        // No measure of speed: what this keeps out takes minutes or for ever.
        assert!(begun.elapsed() < Duration::from_secs(20), "{name} took {:?}", begun.elapsed());
    }
}

#[test]
fn the_shipped_table_reads_the_same_with_a_mark_and_with_carriage_returns() {
    let plain = loads(SHIPPED.as_bytes(), &VOCABULARY);
    let marked = loads(format!("\u{feff}{SHIPPED}").as_bytes(), &VOCABULARY);
    let windows = loads(SHIPPED.replace('\n', "\r\n").as_bytes(), &VOCABULARY);
    for other in [marked, windows] {
        assert_eq!(other.diagnostics, plain.diagnostics);
        assert_eq!(other.table.unwrap().rules, plain.table.as_ref().unwrap().rules);
    }
}

/// A change to a file's bytes.
#[derive(Debug, Clone)]
enum Edit {
    Put(Index, u8),
    Insert(Index, Vec<u8>),
    Cut(Index, usize),
    Copy(Index, Index, usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let yaml = select(&b" \n\t:-[]{},&*!|>'\"#%@`?~0\x00\xffe"[..]);
    let edit = prop_oneof![
        (any::<Index>(), yaml.clone()).prop_map(|(at, byte)| Edit::Put(at, byte)),
        (any::<Index>(), prop::collection::vec(yaml, 1..4)).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (any::<Index>(), 1..40_usize).prop_map(|(at, len)| Edit::Cut(at, len)),
        (any::<Index>(), any::<Index>(), 1..80_usize).prop_map(|(from, to, len)| Edit::Copy(from, to, len)),
    ];
    prop::collection::vec(edit, 1..6)
}

fn edited(source: &str, edits: &[Edit]) -> Vec<u8> {
    let mut bytes = source.as_bytes().to_vec();
    for edit in edits {
        let len = bytes.len().max(1);
        match edit {
            Edit::Put(at, byte) => bytes.iter_mut().skip(at.index(len)).take(1).for_each(|old| *old = *byte),
            Edit::Insert(at, more) => drop(bytes.splice(at.index(len)..at.index(len), more.iter().copied())),
            Edit::Cut(at, cut) => {
                let from = at.index(len);
                drop(bytes.drain(from..(from + cut).min(bytes.len())));
            }
            Edit::Copy(from, to, copied) => {
                let copy: Vec<u8> = bytes.iter().skip(from.index(len)).take(*copied).copied().collect();
                drop(bytes.splice(to.index(len)..to.index(len), copy));
            }
        }
    }
    bytes
}

/// Words of the table's own language, so that edits get past the reader and into the checks.
fn words() -> Vec<&'static str> {
    let facts = KITCHEN.facts.iter().flat_map(|fact| std::iter::once(fact.name).chain(fact.values.iter().copied()));
    let keys =
        ["id", "invariant", "when", "then", "what", "never", "only", "claims", "rules", "safety", "{}", "[]", "~"];
    facts.chain(KITCHEN.decisions.iter().copied()).chain(keys).collect()
}

/// The kitchen's table with some of its words replaced by others.
fn reworded(changes: &[(Index, &str)]) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut pieces: Vec<&str> = Vec::new();
    let mut rest = TABLE;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|next| is_word(next) != is_word(c)).unwrap_or(rest.len());
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    let places: Vec<usize> = (0..pieces.len()).filter(|i| pieces[*i].starts_with(is_word)).collect();
    for (at, word) in changes {
        pieces[places[at.index(places.len())]] = word;
    }
    pieces.concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn damaged_bytes_give_a_sound_table_or_reasons(edits in edits()) {
        loads(&edited(TABLE, &edits), &KITCHEN);
    }

    #[test]
    fn any_bytes_give_reasons(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(loads(&bytes, &KITCHEN).table.is_none());
    }

    #[test]
    fn reworded_tables_are_sound_or_refused(changes in prop::collection::vec((any::<Index>(), select(words())), 1..5)) {
        loads(reworded(&changes).as_bytes(), &KITCHEN);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_shipped_table_damaged_gives_a_sound_table_or_reasons(edits in edits()) {
        loads(&edited(SHIPPED, &edits), &VOCABULARY);
    }
}
