//! `rules list`, `rules show` and `rules facts`.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::input::table_or_shipped;
use super::super::terminal::Terminal;
use super::ListFormat;
use crate::gate::decision_of;
use crate::gate::facts::{FACTS, VOCABULARY};
use crate::table::{Condition, FactSpec, Rule, Table, any_of, claim_text, conditions_text, nearest, value_names};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

fn when_text(rule: &Rule) -> String {
    conditions_text(&VOCABULARY, &rule.when)
}

pub(super) fn conditions_json(conditions: &[Condition]) -> Value {
    conditions
        .iter()
        .map(|condition| {
            let spec = &FACTS[condition.fact];
            (spec.name.to_owned(), json!(value_names(spec, condition.wanted)))
        })
        .collect()
}

pub(super) fn list(format: ListFormat, rules: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let table = table_or_shipped(rules, terminal)?;
    match format {
        ListFormat::Text => terminal.out(&list_text(&table, terminal))?,
        ListFormat::Markdown => terminal.out(&list_markdown(&table))?,
        ListFormat::Json => terminal.json(&json!({
            "schema": "resume-gate.rules/1",
            "table": { "name": table.name, "version": table.version, "sha256": table.sha256 },
            "rules": (1..).zip(table.rules.iter()).map(|(place, rule)| rule_json(place, rule)).collect::<Vec<_>>(),
        }))?,
    }
    Ok(Exit::Done)
}

fn list_text(table: &Table, terminal: &Terminal) -> String {
    let width = |text: fn(&Rule) -> usize| table.rules.iter().map(text).max().unwrap_or_default();
    let (id, then) = (width(|rule| rule.id.len()), width(|rule| decision_of(rule).name().len()));
    let mut out = String::new();
    for (place, rule) in (1..).zip(table.rules.iter()) {
        let name = terminal.ink.strong(&format!("{:<id$}", rule.id));
        let decision = decision_of(rule).name();
        let _ = writeln!(out, "{place:>2}  {name}  {decision:<then$}  {}", when_text(rule));
    }
    out
}

/// The table as Markdown; the README carries it.
#[must_use]
pub fn list_markdown(table: &Table) -> String {
    let mut out = "| # | rule | when | then | invariant |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for (place, rule) in (1..).zip(table.rules.iter()) {
        let _ = writeln!(
            out,
            "| {place} | `{}` | {} | {} | {} |",
            rule.id,
            when_text(rule),
            decision_of(rule).name(),
            rule.invariant
        );
    }
    out
}

fn rule_json(place: usize, rule: &Rule) -> Value {
    json!({
        "index": place,
        "id": rule.id,
        "invariant": rule.invariant,
        "when": conditions_json(&rule.when),
        "then": decision_of(rule).name(),
        "what": rule.what,
        "why": rule.why,
        "next": rule.next,
    })
}

pub(super) fn show(id: &str, format: Format, rules: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let table = table_or_shipped(rules, terminal)?;
    let Some(index) = table.rule_named(id) else {
        let error = CliError::usage(format!("there is no rule `{id}`"));
        return Err(match nearest(id, table.rules.iter().map(|rule| rule.id.as_ref())) {
            Some(near) => error.help(format!("did you mean `{near}`? `resume-gate rules list` shows them all")),
            None => error.help("`resume-gate rules list` shows them all"),
        });
    };
    let rule = &table.rules[index];
    if format == Format::Json {
        let mut document = json!({ "schema": "resume-gate.rule/1" });
        if let (Value::Object(document), Value::Object(rule)) = (&mut document, rule_json(index + 1, rule)) {
            document.extend(rule);
        }
        terminal.json(&document)?;
        return Ok(Exit::Done);
    }
    let invariant = table.invariants.iter().find(|invariant| invariant.id == rule.invariant);
    let ink = terminal.ink;
    let mut out = format!(
        "{}{}\n{}\n\n",
        ink.strong(&rule.id),
        ink.faint(&format!("   rule {} of {}: {}", index + 1, table.rules.len(), decision_of(rule).name())),
        rule.what
    );
    for (label, text) in [
        ("why", rule.why.as_ref()),
        ("next", rule.next.as_ref()),
        ("when", &when_text(rule)),
        (
            "invariant",
            &invariant.map_or_else(String::new, |invariant| format!("{}: {}", invariant.id, invariant.states)),
        ),
    ] {
        let _ = writeln!(out, "{}{text}", ink.faint(&format!("{label:<11}")));
    }
    for claim in invariant.iter().flat_map(|invariant| invariant.claims.iter()) {
        let _ = writeln!(out, "{}{}", ink.faint(&format!("{:<11}", "proven")), claim_text(&VOCABULARY, claim));
    }
    terminal.prose(&out)?;
    Ok(Exit::Done)
}

fn applies_text(spec: &FactSpec) -> String {
    spec.applies.map_or_else(
        || "always".to_owned(),
        |applies| {
            let parent = &FACTS[applies.fact];
            format!("{} {}", parent.name, any_of(&value_names(parent, applies.values << parent.shift)))
        },
    )
}

pub(super) fn facts(format: Format, terminal: &Terminal) -> Result<Exit, CliError> {
    if format == Format::Json {
        let fact = |spec: &FactSpec| {
            let applies = spec.applies.map(|applies| {
                let parent = &FACTS[applies.fact];
                json!({ "fact": parent.name, "values": value_names(parent, applies.values << parent.shift) })
            });
            json!({ "name": spec.name, "values": spec.values, "applies_when": applies, "probe": spec.probe, "means": spec.means })
        };
        let facts: Vec<Value> = FACTS.iter().map(fact).collect();
        terminal.json(&json!({ "schema": "resume-gate.facts/1", "facts": facts }))?;
        return Ok(Exit::Done);
    }
    let mut out = String::new();
    for spec in &FACTS {
        let probe = if spec.probe { "   probe: asked only when a rule needs it" } else { "" };
        let _ = writeln!(out, "{}{}", terminal.ink.strong(spec.name), terminal.ink.faint(probe));
        let _ = writeln!(out, "  {}", spec.means);
        let _ = writeln!(out, "  {}{}", terminal.ink.faint("values   "), spec.values.join(", "));
        let _ = writeln!(out, "  {}{}", terminal.ink.faint("applies  "), applies_text(spec));
    }
    terminal.out(&out)?;
    Ok(Exit::Done)
}
