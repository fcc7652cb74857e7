//! The table file's form as a JSON Schema, so that editors complete and check it while one types.
//! It says what can be said of one row by itself; what rows do together is for the checks.

use super::model::{FactSpec, Vocabulary};
use super::names::ID_MAX_CHARS;
use super::words::{any_of, value_names};
use serde_json::{Map, Value, json};

/// The schema of a table that is written in `vocabulary`: JSON Schema draft 7, which every editor knows.
#[must_use]
pub fn json_schema(vocabulary: &Vocabulary) -> Value {
    let id = |means: &str| json!({ "allOf": [{ "$ref": "#/definitions/id" }], "description": means });
    let sentence = |means: &str| json!({ "allOf": [{ "$ref": "#/definitions/sentence" }], "description": means });
    let conditions = |means: &str| json!({ "allOf": [{ "$ref": "#/definitions/conditions" }], "description": means });
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": "resume-gate.rules-schema/1",
        "title": "Decision table of resume-gate",
        "description": "The first rule whose conditions all hold decides. `resume-gate rules check FILE` proves the rest.",
        "type": "object",
        "additionalProperties": false,
        "required": ["table", "version", "hit_policy", "invariants", "rules"],
        "properties": {
            "table": id("The table's name."),
            "version": {
                "type": "integer", "minimum": 1, "maximum": u32::MAX,
                "description": "Raised with every change that can change a decision."
            },
            "hit_policy": { "const": "first", "description": "Rules are tried in order and the first hit decides." },
            "invariants": {
                "type": "array",
                "description": "What must stay true whatever the rules say.",
                "items": { "$ref": "#/definitions/invariant" }
            },
            "rules": {
                "type": "array",
                "description": "The rules, tried from top to bottom.",
                "items": { "$ref": "#/definitions/rule" }
            }
        },
        "definitions": {
            "id": { "type": "string", "maxLength": ID_MAX_CHARS, "pattern": "^[a-z][a-z0-9]*(-[a-z0-9]+)*$" },
            // Not blank, and no control character, so one line.
            "sentence": {
                "type": "string",
                "allOf": [
                    { "pattern": "[^\\s\\u0085]" },
                    { "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" }
                ]
            },
            "decision": { "enum": vocabulary.decisions },
            "conditions": {
                "type": "object",
                "additionalProperties": false,
                "properties": vocabulary.facts.iter().map(|spec| condition(vocabulary, spec)).collect::<Map<_, _>>()
            },
            "invariant": {
                "type": "object",
                "additionalProperties": false,
                "required": ["id", "states", "claims"],
                "properties": {
                    "id": {
                        "type": "string", "maxLength": ID_MAX_CHARS,
                        "pattern": "^[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*$",
                        "description": "Named by the rules that serve it."
                    },
                    "states": sentence("The promise, in one sentence."),
                    "claims": {
                        "type": "array",
                        "description": "What is proven of the table for it.",
                        "items": { "$ref": "#/definitions/claim" }
                    }
                }
            },
            "claim": {
                "type": "object",
                "additionalProperties": false,
                "required": ["then"],
                "oneOf": [{ "required": ["never"] }, { "required": ["only"] }],
                "properties": {
                    "never": conditions("Combinations that match never get one of the decisions."),
                    "only": conditions("Combinations that match get one of the decisions and nothing else."),
                    "then": one_or_some(&json!({ "$ref": "#/definitions/decision" }), "The decisions.")
                }
            },
            "rule": {
                "type": "object",
                "additionalProperties": false,
                "required": ["id", "invariant", "when", "then", "what", "why", "next"],
                "properties": {
                    "id": id("Stable, and never used again."),
                    "invariant": { "type": "string", "description": "Id of the invariant that the rule serves." },
                    "when": conditions("All of these must hold; `{}` is always."),
                    "then": {
                        "allOf": [{ "$ref": "#/definitions/decision" }],
                        "description": "The decision it comes to."
                    },
                    "what": sentence("What happened, in one sentence."),
                    "why": sentence("Why this is the rule, in one sentence."),
                    "next": sentence("What a person can do next, in one sentence.")
                }
            }
        }
    })
}

/// What may be wanted of one fact.
fn condition(vocabulary: &Vocabulary, spec: &FactSpec) -> (String, Value) {
    let parent = spec.applies.and_then(|applies| {
        let parent = vocabulary.facts.get(applies.fact)?;
        Some(format!("{} is {}", parent.name, any_of(&value_names(parent, applies.values << parent.shift))))
    });
    let when = parent.map_or_else(|| "Always applies.".to_owned(), |parent| format!("Applies when {parent}."));
    let mut means = spec.means.to_owned();
    if let Some(first) = means.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    (spec.name.to_owned(), one_or_some(&json!({ "enum": spec.values }), &format!("{means}. {when}")))
}

/// One name, or a list of different ones.
fn one_or_some(name: &Value, means: &str) -> Value {
    json!({
        "description": means,
        "oneOf": [name, { "type": "array", "items": name, "minItems": 1, "uniqueItems": true }]
    })
}
