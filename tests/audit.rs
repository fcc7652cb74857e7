//! The decision log: what a record holds, how a damaged one reads, and replay, coverage and counts
//! held against plain counting over the whole fact space.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::allow_attributes, reason = "tests")]

#[path = "support/records.rs"]
mod records;

use records::{About, as_asked, document};
use resume_gate::audit::log::{append, backwards, forwards, logged_agents, table_source};
use resume_gate::audit::{Coverage, Entry, Line, Record, Replay, Stats, entries};
use resume_gate::gate::facts::{Fact, VOCABULARY};
use resume_gate::gate::{FactSetError, TABLE, TABLE_SOURCE, decision_of};
use resume_gate::store::{MemoryStore, Store};
use resume_gate::table::{FactWord, State, Table};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// A table like the one that ships, with the rules reordered by `edit`.
fn edited(edit: impl FnOnce(&mut Vec<resume_gate::table::Rule>)) -> Table {
    let mut table = TABLE.clone();
    let mut rules = table.rules.into_owned();
    edit(&mut rules);
    table.rules = Cow::Owned(rules);
    table.sha256 = Cow::Borrowed("edited");
    table
}

fn record(word: FactWord, at_ms: u64) -> String {
    records::record(word, at_ms, About::default())
}

/// One record for every possible combination of facts.
fn whole_log() -> String {
    VOCABULARY.combinations().into_iter().zip(1_700_000_000_000..).map(|(word, at)| record(word, at) + "\n").collect()
}

fn all(log: &str) -> Vec<Entry<'_>> {
    entries(log.as_bytes()).map(|read| read.unwrap().1).collect()
}

#[test]
fn a_record_is_the_decision_with_id_time_and_duration_and_reads_back_whole() {
    let redirected = |word: &&FactWord| TABLE.rules[TABLE.first_hit(**word)].id == "head-moved-on";
    let word = *VOCABULARY.combinations().iter().find(redirected).unwrap();
    let line = record(word, 1_767_225_600_123);
    assert!(!line.contains('\n'));
    let record = Record::read(Line::of(&line)).unwrap();

    let id: uuid::Uuid = record.entry.id.as_deref().unwrap().parse().unwrap();
    assert_eq!(id.get_version_num(), 7);
    let (seconds, nanos) = id.get_timestamp().unwrap().to_unix();
    assert_eq!((seconds, nanos / 1_000_000), (1_767_225_600, 123), "ids sort by time");
    assert_eq!(record.entry.at_ms, Some(1_767_225_600_123));
    assert_eq!(record.entry.duration_us, Some(250));
    assert_eq!(record.entry.facts, Ok(as_asked(&TABLE, word)));
    assert_eq!(record.entry.table.as_deref(), Some(TABLE.sha256.as_ref()));
    for (key, value) in document(word, About::default()) {
        assert_eq!(record.document[&key], value, "{key}");
    }
    assert_eq!(record.document.keys().next().unwrap(), "schema");
    assert_eq!(record.evidence[0].path.as_deref(), Some("/home/pat/.claude/projects/-home-pat-work/B.jsonl".as_ref()));
    assert_eq!(record.notes[0].code, "some-note");
    assert_eq!(record.outcome(), "resume B instead of A");
    for session in ["A", "B"] {
        assert!(record.concerns(session));
    }
    assert!(!record.concerns("C"));
}

#[test]
fn every_possible_decision_is_explained_again_from_its_record() {
    for (word, line) in VOCABULARY.combinations().into_iter().zip(whole_log().lines()) {
        let record = Record::read(Line::of(line)).unwrap();
        let evaluation = record.evaluation(&TABLE).unwrap();
        assert_eq!(evaluation.rule, TABLE.first_hit(word));
        assert_eq!(evaluation.word, as_asked(&TABLE, word));
        assert_eq!(record.evaluation(&edited(|_| ())), None, "not under a table that did not make it");
    }
}

#[test]
fn a_field_of_another_type_is_absent_and_the_line_still_counts() {
    let odd = r#"{"id":7,"at_ms":"1700000000000","duration_us":12.0,"agent_uid":null,"rule":["x"],
        "decision":"allow","plan":3,"table":[{"sha256":"no"}],"facts":{"spawn_provider":"other"},"more":{"a":[1,{"b":2}]}}"#
        .replace('\n', " ");
    let entry = Line::of(&odd).entry().unwrap();
    assert_eq!((entry.id, entry.at_ms, entry.duration_us), (None, Some(1_700_000_000_000), Some(12)));
    assert_eq!((entry.agent_uid, entry.rule, entry.decision), (None, None, None));
    assert_eq!((entry.outcome, entry.table), (None, None));
    assert!(entry.facts.is_ok());
    for (at, number) in [("-1", None), ("1.5", None), ("true", None), ("\"x\"", None), ("\" 8 \"", Some(8))] {
        let line = format!("{{\"at_ms\":{at}}}");
        assert_eq!(Line::of(&line).entry().unwrap().at_ms, number, "{at}");
    }
    for facts in ["null", "3", "\"x\"", "[]", "true", "-1", "0.5"] {
        let line = format!("{{\"facts\":{facts}}}");
        let entry = Line::of(&line).entry().unwrap();
        assert_eq!(entry.facts, Ok(VOCABULARY.settle(FactWord::EMPTY)), "{facts}");
    }
}

#[test]
fn damage_is_reported_with_its_place_and_never_hides_what_follows() {
    let good = record(VOCABULARY.combinations()[0], 1);
    let torn = &good[..good.len() / 2];
    let mut log = format!("\u{feff}{good}\r\n\n  \n{torn}{good}\nnot json\n\0\0\0\0{good}\n").into_bytes();
    log.extend_from_slice(b"\xff\xfe{\n");
    log.extend_from_slice(b"[1]\n");
    log.extend_from_slice(good.as_bytes());
    let read: Vec<_> = entries(&log).collect();
    let whole = read.iter().filter(|entry| entry.is_ok()).count();
    assert_eq!(whole, 4, "{read:#?}");
    let places: Vec<usize> = read.iter().filter_map(|entry| entry.as_ref().err()).map(|error| error.offset).collect();
    let torn_at = 3 + good.len() + 2 + 1 + 3;
    let no_json_at = torn_at + torn.len() + good.len() + 1;
    let after = no_json_at + 9 + 4 + good.len() + 1;
    assert_eq!(places, [torn_at, no_json_at, after, after + 4]);
    let mut backwards: Vec<_> = entries(&log).rev().collect();
    backwards.reverse();
    assert_eq!(backwards, read);
}

#[test]
fn invalid_text_in_a_field_that_is_not_counted_does_not_lose_the_record() {
    let line = record(VOCABULARY.combinations()[0], 1);
    let mut bytes = line.into_bytes();
    let at = memchr::memmem::find(&bytes, b"a remark").unwrap();
    bytes[at] = 0xff;
    let (line, entry) = entries(&bytes).next().unwrap().unwrap();
    assert!(entry.facts.is_ok());
    assert_eq!(Record::read(line).unwrap().notes[0].text, "\u{fffd} remark");
}

#[test]
fn a_value_that_no_text_or_number_is_costs_its_field_and_not_the_record() {
    let whole = record(VOCABULARY.combinations()[0], 5);
    for (wrong, field) in [(r#""half a pair \ud83d""#, "reason"), ("1e999", "store"), (r#"["\udc00"]"#, "notes")] {
        let mut fields: Map<String, Value> = serde_json::from_str(&whole).unwrap();
        fields.insert(field.to_owned(), "PLACE".into());
        let line = Value::Object(fields).to_string().replace("\"PLACE\"", wrong);
        let read = Record::read(Line::of(&line)).unwrap();
        assert!(!read.document.contains_key(field), "{wrong}");
        let mut expected = Record::read(Line::of(&whole)).unwrap().document;
        expected.shift_remove(field);
        assert_eq!(read.document, expected, "{wrong}");
        assert!(read.evaluation(&TABLE).is_some(), "it is still explained");
    }
}

#[test]
fn a_replay_under_the_same_table_changes_nothing() {
    let log = whole_log();
    let mut replay = Replay::new(&TABLE, vec![&TABLE]);
    all(&log).iter().for_each(|entry| replay.add(entry));
    assert_eq!((replay.records, replay.unchanged), (899, 899));
    assert!(replay.changes().is_empty() && replay.undetermined().is_empty());
}

/// Groups of a replay: from-rule, from-decision, to-rule, to-decision → records.
type Groups = BTreeMap<(String, String, String, String), u64>;

#[test]
fn a_replay_under_an_edited_table_counts_as_brute_force_does() {
    let log = whole_log();
    let recorded = all(&log);
    let names = |index: usize, table: &Table| {
        (table.rules[index].id.to_string(), decision_of(&table.rules[index]).name().to_owned())
    };
    for moved in 0..TABLE.rules.len() - 1 {
        for to in 0..TABLE.rules.len() - 1 {
            let table = edited(|rules| {
                let rule = rules.remove(moved);
                rules.insert(to, rule);
            });
            let (mut expected, mut same, mut open) = (Groups::new(), 0, 0);
            for word in VOCABULARY.combinations() {
                // What is not asked could be anything: the table decides if every possibility in
                // turn meets the same first rule that is not ruled out.
                let known = as_asked(&TABLE, word);
                let first = table.rules.iter().position(|rule| {
                    !rule.when.iter().any(|c| match known.state(&VOCABULARY.facts[c.fact]) {
                        State::Value(value) => c.wanted & VOCABULARY.facts[c.fact].value_bit(value) == 0,
                        State::NotApplicable => true,
                        State::NotAsked | State::Absent => false,
                    })
                });
                let first = first.unwrap();
                let asks = table.rules[first]
                    .when
                    .iter()
                    .any(|c| matches!(known.state(&VOCABULARY.facts[c.fact]), State::NotAsked | State::Absent));
                let (was, is) = (names(TABLE.first_hit(word), &TABLE), names(first, &table));
                if asks {
                    open += 1;
                } else if was == is {
                    same += 1;
                } else {
                    *expected.entry((was.0, was.1, is.0, is.1)).or_default() += 1;
                }
            }
            let mut replay = Replay::new(&table, vec![&TABLE]);
            recorded.iter().for_each(|entry| replay.add(entry));
            let found: Groups = replay
                .changes()
                .iter()
                .map(|c| {
                    let names = [c.from_rule, c.from_decision, c.to_rule, c.to_decision.name()].map(str::to_owned);
                    (names.into(), c.count)
                })
                .collect();
            assert_eq!((found, replay.unchanged, replay.undetermined_count()), (expected, same, open));
            let changed = replay.changed() + replay.changed_rule_only();
            assert_eq!(replay.records, replay.unchanged + changed + replay.undetermined_count());
        }
    }
}

#[test]
fn a_change_names_its_first_records_and_an_open_one_the_fact_it_needs() {
    // `head-busy` first: of most heads it is not known whether they were busy.
    let table = edited(|rules| {
        let busy = rules.iter().position(|rule| rule.id == "head-busy").unwrap();
        let rule = rules.remove(busy);
        rules.insert(0, rule);
    });
    let log = whole_log();
    let mut replay = Replay::new(&table, vec![&TABLE]);
    all(&log).iter().for_each(|entry| replay.add(entry));
    let undetermined = replay.undetermined();
    let needs: Vec<&[Fact]> = undetermined.iter().map(|group| group.needs).collect();
    assert_eq!(needs, [&[Fact::HeadFile][..], &[Fact::HeadBusy][..]]);
    assert_eq!(undetermined[0].examples.len(), 5);
    assert_eq!(undetermined[0].examples[0].agent_uid, "agent-1");
    assert_eq!(undetermined[0].examples[0].id.len(), 36);
}

#[test]
fn a_decision_that_could_not_be_carried_out_is_no_change() {
    let relocated = |word: &&FactWord| TABLE.rules[TABLE.first_hit(**word)].id == "relocate";
    let word = *VOCABULARY.combinations().iter().find(relocated).unwrap();
    // The copy failed, so the spawn was refused, by the rule that had decided.
    let log = record(word, 1).replace(r#""kind":"relocate""#, r#""kind":"refuse""#);
    let mut replay = Replay::new(&TABLE, vec![&TABLE]);
    replay.add(&all(&log)[0]);
    assert_eq!((replay.unchanged, replay.changed()), (1, 0));
    // Without the table that made it, the record is all there is to go by.
    let mut replay = Replay::new(&TABLE, Vec::new());
    replay.add(&all(&log)[0]);
    assert_eq!((replay.unchanged, replay.changed()), (0, 1));
}

#[test]
fn facts_of_another_vocabulary_are_undetermined_and_say_why() {
    let log = [
        r#"{"rule":"r","decision":{"kind":"allow"},"facts":{"spawn_provider":"other","moon":"full"}}"#,
        r#"{"rule":"r","decision":{"kind":"allow"},"facts":{"spawn_provider":"claude","chain":"tangled"}}"#,
        r#"{"rule":"r","decision":{"kind":"allow"},"facts":{"spawn_provider":"other","chain":"empty"}}"#,
        r#"{"rule":"r","decision":{"kind":"allow"},"facts":{"spawn_provider":"other","spawn_provider":"other"}}"#,
        r#"{"rule":"r","decision":{"kind":"allow"},"facts":{"spawn_provider":3}}"#,
        r#"{"rule":"r","decision":{"kind":"allow"}}"#,
        r#"{"rule":null,"decision":null,"facts":{}}"#,
        r#"{"rule":"other-provider","decision":{"kind":"postpone"},"facts":{"spawn_provider":"other"}}"#,
    ]
    .join("\n");
    let (mut replay, mut coverage) = (Replay::new(&TABLE, vec![&TABLE]), Coverage::new(&TABLE));
    all(&log).iter().for_each(|entry| {
        replay.add(entry);
        coverage.add(entry);
    });
    assert_eq!((replay.records, replay.unchanged, replay.without_candidate), (8, 0, 1));
    assert_eq!(replay.undetermined_count(), 6);
    assert_eq!((coverage.records, coverage.undetermined, coverage.without_candidate), (8, 6, 1));
    let undetermined = replay.undetermined();
    let errors: Vec<&FactSetError> = undetermined.iter().filter_map(|group| group.error).collect();
    assert_eq!(errors.len(), 5);
    assert!(errors.contains(&&FactSetError::UnknownFact { fact: "moon".into() }));
    assert!(undetermined.iter().any(|group| group.needs == [Fact::SpawnProvider]));
    let changes = replay.changes();
    assert_eq!((changes[0].from_decision, changes[0].to_rule), ("postpone", "other-provider"));
}

#[test]
fn coverage_counts_rules_and_values_exactly() {
    let log = whole_log();
    let mut coverage = Coverage::new(&TABLE);
    all(&log).iter().for_each(|entry| coverage.add(entry));
    for (index, covered) in coverage.rules().iter().enumerate() {
        let hits: Vec<FactWord> =
            VOCABULARY.combinations().into_iter().filter(|word| TABLE.first_hit(*word) == index).collect();
        assert_eq!(covered.hits, hits.len() as u64, "{}", covered.rule.id);
        for condition in &covered.conditions {
            assert_eq!(condition.values.iter().map(|(_, count)| count).sum::<u64>(), covered.hits);
            for (value, count) in &condition.values {
                let reached = hits.iter().filter(|word| word.value_name(condition.fact) == Some(value)).count();
                assert_eq!(*count, reached as u64, "{} {} {value}", covered.rule.id, condition.fact.name());
            }
        }
    }
    // Shrunk under another login is `stub-in-place`'s, so what the others get of it is less.
    let mut nothing = Coverage::new(&TABLE);
    nothing.add(&all(&log)[0]);
    assert_eq!(nothing.rules().iter().filter(|rule| rule.hits == 0).count(), TABLE.rules.len() - 1);
}

#[test]
fn stats_count_what_was_recorded() {
    let log = (0..100)
        .map(|i| {
            format!(
                r#"{{"at_ms":{},"duration_us":{},"agent_uid":"a{}","rule":"r{}","decision":{{"kind":"allow"}},"plan":{{"outcome":"resume"}}}}"#,
                5000 - i,
                i + 1,
                i % 3,
                i % 2
            )
        })
        .collect::<Vec<_>>()
        .join("\n");
    let mut stats = Stats::default();
    all(&log).iter().for_each(|entry| stats.add(entry));
    assert_eq!(stats.decisions(), [("allow", 100)]);
    assert_eq!(stats.rules(), [("r0", 50), ("r1", 50)]);
    assert_eq!(stats.agents(), [("a0", 34), ("a1", 33), ("a2", 33)]);
    assert_eq!(stats.outcomes(), [("resume", 100)]);
    assert_eq!(stats.at_ms, Some(4901..=5000));
    assert_eq!([0, 1, 50, 95, 100].map(|percent| stats.duration_us(percent).unwrap()), [1, 1, 50, 95, 100]);
    assert_eq!(Stats::default().duration_us(50), None);
}

#[test]
fn no_part_of_a_record_reads_as_a_whole_one() {
    let line = record(VOCABULARY.combinations()[700], 1);
    for cut in 0..line.len() {
        assert!(Line::of(&line[..cut]).entry().is_err(), "the first {cut} bytes");
        assert!(cut == 0 || Line::of(&line[cut..]).entry().is_err(), "all but the first {cut} bytes");
    }
    assert!(Line::of(&"[".repeat(100_000)).entry().is_err());
    assert!(Line::of(&format!("{{\"a\":{}", "[".repeat(100_000))).entry().is_err());
}

/// Offsets and ids as a walk over a log gives them; what is no record has no id.
fn walked(store: &mut MemoryStore, back: bool, limit: usize) -> Vec<(usize, Option<String>)> {
    let mut seen = Vec::new();
    let mut each = |read: Result<(Line<'_>, Entry<'_>), _>| {
        seen.push(match read {
            Ok((line, entry)) => (line.offset, entry.id.map(Cow::into_owned)),
            Err(resume_gate::audit::Unreadable { offset, .. }) => (offset, None),
        });
        if seen.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let walk = if back { backwards } else { forwards };
    let _ = walk(store, "a1", &mut each).unwrap();
    seen
}

#[test]
fn a_log_of_many_windows_reads_the_same_from_both_ends() {
    // Several windows, a line longer than one, damage, and no newline at the end.
    let mut log = Vec::new();
    for (n, word) in VOCABULARY.combinations().into_iter().cycle().take(9_000).enumerate() {
        log.extend_from_slice(record(word, n as u64).as_bytes());
        log.extend_from_slice(match n % 1000 {
            7 => b"\r\n\n",
            8 => b"torn {\"schema\":\"resume-gate.decision/1\"}\n",
            _ => b"\n",
        });
        if n == 4000 {
            log.extend_from_slice(format!("{{\"id\":\"long\",\"x\":\"{}\"}}\n", "y".repeat(9 << 20)).as_bytes());
        }
    }
    log.extend_from_slice(b"{\"id\":\"last\"}");
    let mut store = MemoryStore::new();
    store.set("agent-uid:a1:decisions", "decisions.jsonl", log.clone());
    let expected: Vec<(usize, Option<String>)> = entries(&log)
        .map(|read| match read {
            Ok((line, entry)) => (line.offset, entry.id.map(Cow::into_owned)),
            Err(error) => (error.offset, None),
        })
        .collect();
    assert!(expected.len() > 9_000 && expected.iter().any(|(_, id)| id.is_none()));
    assert_eq!(walked(&mut store, false, usize::MAX), expected);
    let mut back = walked(&mut store, true, usize::MAX);
    assert_eq!(walked(&mut store, true, 3), back[..3]);
    back.reverse();
    assert_eq!(back, expected);
    assert_eq!(walked(&mut MemoryStore::new(), true, 1), []);
}

#[test]
fn a_record_is_kept_with_the_table_that_made_it_and_that_only_once() {
    let mut store = MemoryStore::new();
    let kept = (TABLE.sha256.as_ref(), TABLE_SOURCE);
    for (uid, at) in [("a2", 1), ("a1", 2), ("a1", 3)] {
        let line = record(VOCABULARY.combinations()[at], at as u64);
        assert_eq!(append(&mut store, uid, &line, kept, 5), Ok(true));
    }
    assert_eq!(append(&mut store, "no uid", "{}", kept, 5), Ok(false), "an agent without a usable id has no log");
    let agents: Vec<String> = logged_agents(&mut store).unwrap().into_iter().map(|(uid, _)| uid).collect();
    assert_eq!(agents, ["a1", "a2"]);
    assert_eq!(walked(&mut store, false, 9).len(), 2);
    assert_eq!(store.files_named(&format!("{}.yaml", TABLE.sha256)).unwrap().len(), 1);

    // The source that is kept is the table that decided.
    let source = table_source(&mut store, &TABLE.sha256).unwrap().unwrap();
    let table = resume_gate::table::load_candidate(&source, &VOCABULARY).table.unwrap();
    assert_eq!(table, TABLE);
    assert_eq!(table_source(&mut store, "0000").unwrap(), None);
}

proptest::proptest! {
    #[test]
    fn whatever_stands_in_a_record_its_fields_read_as_a_json_parser_reads_them(
        text in ".*", other in ".*", number in 0_u64..=u64::MAX, key in "[a-z\\\\\"\\PC]{1,8}",
    ) {
        let value = json!({
            "schema": other, (key): {"rule": [text, {"id": other}]}, "more": [other, null, -1.5e3, true, {}],
            "id": text, "agent_uid": other, "at_ms": number, "plan": {"outcome": text, "args": [other]},
            "facts": {"spawn_provider": "other"},
        });
        let line = value.to_string();
        let entry = Line::of(&line).entry().unwrap();
        let some = |text: &str| (!text.is_empty()).then(|| Cow::Owned(text.to_owned()));
        proptest::prop_assert_eq!(entry.id, some(&text));
        proptest::prop_assert_eq!(entry.agent_uid, some(&other));
        proptest::prop_assert_eq!(entry.outcome, some(&text));
        proptest::prop_assert_eq!(entry.at_ms, Some(number));
        proptest::prop_assert!(entry.facts.is_ok());
    }
}
