//! The table in other forms: its schema kept in step with the reader, and its graph and exports
//! read back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::allow_attributes, reason = "tests")]

use resume_gate::gate::facts::VOCABULARY;
use resume_gate::table::{Code, json_schema, load};
use serde_json::{Value, json};

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
