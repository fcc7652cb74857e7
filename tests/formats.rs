//! The table in other forms: its schema kept in step with the reader, and its graph and exports
//! read back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::allow_attributes, reason = "tests")]

mod support;

use resume_gate::gate::facts::{Fact, VOCABULARY};
use resume_gate::gate::{TABLE, decision_of};
use resume_gate::table::{
    Code, DmnVersion, FactWord, NOT_APPLICABLE, Table, csv, dmn, dot, json_schema, load, mermaid,
};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use strum::IntoEnumIterator;

const SHIPPED: &str = include_str!("../rules/resume_gate.yaml");

/// Whether a schema can say what the code complains about: the form of one row by itself.
fn is_form(code: Code) -> bool {
    match code {
        Code::WrongType
        | Code::UnknownKey
        | Code::MissingKey
        | Code::DuplicateValue
        | Code::EmptyList
        | Code::BadVersion
        | Code::HitPolicy
        | Code::IllFormedId
        | Code::MissingSentence
        | Code::IllFormedSentence
        | Code::UnknownFact
        | Code::UnknownValue
        | Code::UnknownDecision
        | Code::ClaimKind => true,
        Code::NotUtf8
        | Code::Syntax
        | Code::TooLarge
        | Code::DuplicateKey
        | Code::DuplicateId
        | Code::DuplicateInvariant
        | Code::UndeclaredInvariant
        | Code::NeverHolds
        | Code::Uncovered
        | Code::DeadRule
        | Code::BrokenClaim
        | Code::IdleClaim
        | Code::NeedlessCondition
        | Code::LeftOut
        | Code::More => false,
    }
}

/// Every document that differs from `document` in one place.
fn edits(document: &Value) -> Vec<Value> {
    let mut edited: Vec<Value> = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(1.5),
        json!(4_294_967_296_u64),
        json!(""),
        json!(" \u{a0}"),
        json!("x"),
        json!("X-1"),
        json!("1x"),
        json!("a--b"),
        json!("a\nb"),
        json!("a\u{85}b"),
        json!("allow"),
        json!("claude"),
        json!("first"),
        json!([]),
        json!({}),
        json!(["allow"]),
        json!(["allow", "allow"]),
        json!(["claude", "other"]),
        json!([["allow"]]),
        json!({ "nonsense": "x" }),
        json!("y".repeat(65)),
    ]
    .into_iter()
    .filter(|value| value != document)
    .collect();
    match document {
        Value::Object(fields) => {
            for key in fields.keys() {
                let mut without = fields.clone();
                without.remove(key);
                edited.push(without.clone().into());
                without.insert(key.clone() + "x", fields[key].clone());
                edited.push(without.into());
            }
            for (key, more) in [("never", json!({})), ("only", json!({})), ("chain", json!("empty"))] {
                let mut with = fields.clone();
                with.entry(key).or_insert(more);
                edited.push(with.into());
            }
            for (key, value) in fields {
                edited.extend(edits(value).into_iter().map(|value| {
                    let mut with = fields.clone();
                    with.insert(key.clone(), value);
                    with.into()
                }));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                edited.extend(edits(item).into_iter().map(|item| {
                    let mut with = items.clone();
                    with[index] = item;
                    with.into()
                }));
            }
        }
        _ => {}
    }
    edited
}

/// The shipped table cut down to what shows every form, so that all its edits can be tried.
fn small(table: &Value) -> Value {
    let mut small = table.clone();
    for (list, keep) in [("rules", vec![0, 2, 16]), ("invariants", vec![0])] {
        let all = table[list].as_array().unwrap();
        small[list] = keep.iter().map(|index| all[*index].clone()).collect();
    }
    small["invariants"][0]["claims"].as_array_mut().unwrap().truncate(2);
    small
}

#[test]
fn the_schema_accepts_what_the_reader_accepts_and_nothing_else() {
    let validator = jsonschema::draft7::new(&json_schema(&VOCABULARY)).unwrap();
    let table: Value = serde_yaml::from_str(SHIPPED).unwrap();
    assert!(validator.is_valid(&table), "{:?}", validator.iter_errors(&table).next());
    let (mut valid, mut invalid) = (0, 0);
    for edited in edits(&small(&table)) {
        let yaml = serde_yaml::to_string(&edited).unwrap();
        let found = load(yaml.as_bytes(), &VOCABULARY);
        let complaint = found.diagnostics.iter().find(|diagnostic| is_form(diagnostic.code()));
        assert_eq!(validator.is_valid(&edited), complaint.is_none(), "{complaint:#?}\n{yaml}");
        if complaint.is_none() { valid += 1 } else { invalid += 1 }
    }
    assert!(valid > 100 && invalid > 1000, "{valid} valid and {invalid} invalid documents were tried");
}

#[test]
fn the_schema_describes_every_fact_and_is_a_schema_itself() {
    let schema = json_schema(&VOCABULARY);
    assert!(jsonschema::meta::is_valid(&schema));
    for spec in VOCABULARY.facts {
        let described = &schema["definitions"]["conditions"]["properties"][spec.name];
        assert!(described["description"].as_str().unwrap().len() > spec.means.len(), "{}", spec.name);
        assert_eq!(described["oneOf"][0]["enum"], json!(spec.values));
    }
}

/// Every combination by name, with `na` where a fact does not apply, and what the table decides.
fn decided(na: &'static str) -> Vec<(Vec<&'static str>, String, &'static str)> {
    let names = |word| Fact::iter().map(|fact| FactWord::value_name(word, fact).unwrap_or(na)).collect();
    let decided = |word| {
        let rule = &TABLE.rules[TABLE.first_hit(word)];
        (names(word), rule.id.to_string(), decision_of(rule).name())
    };
    VOCABULARY.combinations().into_iter().map(decided).collect()
}

/// Records and cells of CSV, by its definition.
fn read_csv(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quoted, c) {
            (true, '"') if chars.peek() == Some(&'"') => cell.push(chars.next().unwrap()),
            (_, '"') => quoted = !quoted,
            (false, ',') => record.push(std::mem::take(&mut cell)),
            (false, '\r') => {
                assert_eq!(chars.next(), Some('\n'));
                record.push(std::mem::take(&mut cell));
                records.push(std::mem::take(&mut record));
            }
            (_, c) => cell.push(c),
        }
    }
    assert!(!quoted && cell.is_empty() && record.is_empty());
    records
}

#[test]
fn the_csv_read_from_top_to_bottom_decides_as_the_table_does() {
    let records = read_csv(&csv(&TABLE, &VOCABULARY));
    let (head, rows) = records.split_first().unwrap();
    assert_eq!(rows.len(), TABLE.rules.len());
    assert!(rows.iter().all(|row| row.len() == head.len()));
    let column = |name: &str| head.iter().position(|cell| cell == name).unwrap();
    let facts = column("spawn_provider")..column("decision");
    assert_eq!(head[facts.clone()], Fact::iter().map(Fact::name).collect::<Vec<_>>());
    for (values, rule, decision) in decided("") {
        let hit = rows.iter().find(|row| {
            row[facts.clone()]
                .iter()
                .zip(&values)
                .all(|(cell, value)| cell.is_empty() || cell.split('|').any(|v| v == *value))
        });
        assert_eq!((&hit.unwrap()[column("rule")], hit.unwrap()[column("decision")].as_str()), (&rule, decision));
    }
    for (row, rule) in rows.iter().zip(TABLE.rules.iter()) {
        assert_eq!((&row[column("what")], &row[column("next")]), (&rule.what.to_string(), &rule.next.to_string()));
    }
}

fn children<'a, 'i>(node: roxmltree::Node<'a, 'i>, name: &'static str) -> Vec<roxmltree::Node<'a, 'i>> {
    node.children().filter(|child| child.tag_name().name() == name).collect()
}

fn text_of(node: roxmltree::Node<'_, '_>) -> String {
    children(node, "text")[0].text().unwrap().to_owned()
}

/// Whether a unary test of quoted strings, or `-`, holds.
fn holds(test: &str, value: &str) -> bool {
    test == "-" || test.split(',').any(|wanted| wanted == format!("\"{value}\""))
}

#[test]
fn the_dmn_decision_table_decides_as_the_table_does() {
    for (version, date) in [(DmnVersion::V1_5, "20230324"), (DmnVersion::V1_3, "20191111")] {
        let xml = dmn(&TABLE, &VOCABULARY, version);
        let document = roxmltree::Document::parse(&xml).unwrap();
        let model = format!("https://www.omg.org/spec/DMN/{date}/MODEL/");
        assert_eq!(document.root_element().tag_name().namespace(), Some(model.as_str()));
        let decision = children(document.root_element(), "decision")[0];
        let table = children(decision, "decisionTable")[0];
        assert_eq!(table.attribute("hitPolicy"), Some("FIRST"));
        let inputs = children(table, "input");
        let names: Vec<String> = inputs.iter().map(|i| text_of(children(*i, "inputExpression")[0])).collect();
        assert_eq!(names, Fact::iter().map(Fact::name).collect::<Vec<_>>());
        for (values, rule, decision) in decided(NOT_APPLICABLE) {
            for (input, value) in inputs.iter().zip(&values) {
                assert!(holds(&text_of(children(*input, "inputValues")[0]), value), "{value} is an allowed input");
            }
            let hit = children(table, "rule").into_iter().find(|row| {
                children(*row, "inputEntry")
                    .into_iter()
                    .zip(&values)
                    .all(|(entry, value)| holds(&text_of(entry), value))
            });
            let outputs: Vec<String> = children(hit.unwrap(), "outputEntry").into_iter().map(text_of).collect();
            assert_eq!(outputs, [format!("\"{decision}\""), format!("\"{rule}\"")]);
        }
    }
}

#[test]
fn every_id_in_the_dmn_is_there_once_and_every_reference_has_its_target() {
    let xml = dmn(&TABLE, &VOCABULARY, DmnVersion::V1_5);
    let document = roxmltree::Document::parse(&xml).unwrap();
    let ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert!(ids.iter().all(|id| id.starts_with(|c: char| c.is_ascii_alphabetic())));
    let references: Vec<&str> = document
        .descendants()
        .flat_map(|node| [node.attribute("dmnElementRef"), node.attribute("href").map(|href| &href[1..])])
        .flatten()
        .collect();
    assert_eq!(references.len(), 1 + 3 * VOCABULARY.facts.len());
    assert!(references.iter().all(|reference| ids.contains(reference)));
}

/// A table whose texts are as awkward as the formats make possible.
fn awkward() -> Table {
    let mut table = TABLE.clone();
    table.name = Cow::Borrowed("a \"b\" <c> & \\d");
    for rule in table.rules.to_mut() {
        rule.what = Cow::Borrowed("\"quoted\", <b>&amp;</b> \\ ]]> \u{1} #quot; `x` \u{2028}");
    }
    table
}

#[test]
fn awkward_text_comes_back_as_it_was() {
    let table = awkward();
    let records = read_csv(&csv(&table, &VOCABULARY));
    assert!(records[1].contains(&table.rules[0].what.to_string()));
    let xml = dmn(&table, &VOCABULARY, DmnVersion::V1_5);
    let document = roxmltree::Document::parse(&xml).unwrap();
    assert_eq!(document.root_element().attribute("name"), Some(table.name.as_ref()));
    let description = document.descendants().rfind(|node| node.tag_name().name() == "description").unwrap();
    assert_eq!(description.text(), Some(table.rules[0].what.replace('\u{1}', "\u{fffd}").as_str()));
    assert!(dot(&table, &VOCABULARY).starts_with("digraph \"a \\\"b\\\" <c> & \\\\d\" {\n"));
}

#[test]
fn the_graphs_and_exports_read_as_approved() {
    let mut settings = support::snapshots("formats");
    settings.set_description("the shipped table in another form");
    settings.bind(|| {
        insta::assert_snapshot!("mermaid", mermaid(&TABLE, &VOCABULARY));
        insta::assert_snapshot!("dot", dot(&TABLE, &VOCABULARY));
        insta::assert_snapshot!("csv", csv(&TABLE, &VOCABULARY));
        insta::assert_snapshot!("schema", serde_json::to_string_pretty(&json_schema(&VOCABULARY)).unwrap());
    });
}
