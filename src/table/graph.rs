//! The table as a picture: one box a rule, tried from top to bottom, each with its way out.

use super::model::{Rule, Table, Vocabulary};
use super::words::{any_of, value_names};
use std::fmt::Write;

/// The table as a Mermaid flowchart, for Markdown that renders it.
#[must_use]
pub fn mermaid(table: &Table, vocabulary: &Vocabulary) -> String {
    let label = |lines: &[String]| lines.iter().map(|line| mermaid_text(line)).collect::<Vec<_>>().join("<br/>");
    let mut out = "flowchart TD\n".to_owned();
    for (place, rule) in (1..).zip(table.rules.iter()) {
        let _ = writeln!(out, "  r{place}[\"{}\"]", label(&lines(place, rule, vocabulary)));
        let _ = writeln!(out, "  d{place}([\"{}\"])", label(&[decision(rule, vocabulary).to_owned()]));
        let _ = writeln!(out, "  r{place} -- {} --> d{place}", if rule.when.is_empty() { "always" } else { "yes" });
        if place < table.rules.len() {
            let _ = writeln!(out, "  r{place} -- no --> r{}", place + 1);
        }
    }
    for decision in vocabulary.decisions {
        let rules =
            (1..).zip(table.rules.iter()).filter(|(_, rule)| vocabulary.decisions.get(rule.then) == Some(decision));
        let nodes: Vec<String> = rules.map(|(place, _)| format!("d{place}")).collect();
        if !nodes.is_empty() {
            let _ = writeln!(out, "  class {} {decision}", nodes.join(","));
        }
    }
    for (decision, colour) in vocabulary.decisions.iter().zip(COLOURS.iter().cycle()) {
        let _ = writeln!(out, "  classDef {decision} fill:{colour},color:#111");
    }
    out
}

/// The table as a DOT graph, for Graphviz.
#[must_use]
pub fn dot(table: &Table, vocabulary: &Vocabulary) -> String {
    let label = |lines: &[String]| lines.iter().map(|line| dot_text(line)).collect::<Vec<_>>().join("\\n");
    let mut out = format!("digraph \"{}\" {{\n", dot_text(&table.name));
    out.push_str("  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"];\n");
    out.push_str("  edge [fontname=\"sans-serif\"];\n");
    for (place, rule) in (1..).zip(table.rules.iter()) {
        let colour = COLOURS.iter().cycle().nth(rule.then).unwrap_or(&"white");
        let _ = writeln!(out, "  r{place} [label=\"{}\"];", label(&lines(place, rule, vocabulary)));
        let _ = writeln!(
            out,
            "  d{place} [label=\"{}\", shape=oval, style=filled, fillcolor=\"{colour}\"];",
            label(&[decision(rule, vocabulary).to_owned()])
        );
        let _ = writeln!(out, "  {{ rank=same; r{place}; d{place}; }}");
        let yes = if rule.when.is_empty() { "always" } else { "yes" };
        let _ = writeln!(out, "  r{place} -> d{place} [label=\"{yes}\"];");
        if place < table.rules.len() {
            let _ = writeln!(out, "  r{place} -> r{} [label=\"no\"];", place + 1);
        }
    }
    out.push_str("}\n");
    out
}

/// Fills that black text can be read on, one a decision.
const COLOURS: [&str; 6] = ["#bfe5c6", "#bcd9f5", "#f6c3c0", "#dccbf2", "#f9dfa8", "#b5e6e0"];

fn decision(rule: &Rule, vocabulary: &Vocabulary) -> &'static str {
    vocabulary.decisions.get(rule.then).copied().unwrap_or_default()
}

/// What a rule's box says: its place and id, then a line for each condition.
fn lines(place: usize, rule: &Rule, vocabulary: &Vocabulary) -> Vec<String> {
    let conditions = rule.when.iter().filter_map(|condition| {
        let spec = vocabulary.facts.get(condition.fact)?;
        Some(format!("{} {}", spec.name, any_of(&value_names(spec, condition.wanted))))
    });
    std::iter::once(format!("{place} {}", rule.id)).chain(conditions).collect()
}

/// Text between quotes in Mermaid, whose entities are its escapes.
fn mermaid_text(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '"' | '#' | '&' | '<' | '>' | ';' | '`' | '\\' => {
                let _ = write!(escaped, "#{};", u32::from(c));
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Text between quotes in DOT.
fn dot_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace(char::is_control, " ")
}
