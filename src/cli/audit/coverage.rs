//! `audit coverage`: which rules, and which values of their conditions, decisions reached.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::input::{candidate_or_shipped, read_text};
use super::super::layout::{Line, Tone, render};
use super::super::terminal::Terminal;
use super::select::reader;
use super::{CommonArgs, RulesArg, head, say_unreadable, table_json};
use crate::audit::{ConditionCoverage, Coverage, RuleCoverage};
use crate::gate::parse_fact_set;
use crate::table::Table;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const COVERAGE_SCHEMA: &str = "resume-gate.coverage/1";

/// Show which rules, and which values of each condition, recorded decisions reached
///
/// Each record is decided again under the table. With `--facts`, the fact sets of tests are counted beside them.
#[derive(Debug, clap::Args)]
pub(crate) struct CoverageArgs {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    rules: RulesArg,
    /// Also count the fact sets in this file, one JSON object a line, as `eval` reads them
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
}

pub(super) fn run(args: &CoverageArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let selection = args.common.select.selection()?;
    let table = candidate_or_shipped(args.rules.rules.as_deref(), terminal)?;
    let mut store = reader(&args.common.store, terminal)?;
    let mut recorded = Coverage::new(&table);
    let unreadable = selection.each(&mut store, |entry| recorded.add(entry))?;
    let tests = args.facts.as_deref().map(|path| fact_sets(path, &table)).transpose()?;
    match args.common.format {
        Format::Json => {
            let mut document = head(COVERAGE_SCHEMA, &store);
            document.extend([
                ("table".to_owned(), table_json(&table)),
                ("records".to_owned(), json!(recorded.records)),
                ("undetermined".to_owned(), json!(recorded.undetermined)),
                ("without_candidate".to_owned(), json!(recorded.without_candidate)),
                ("unreadable".to_owned(), json!(unreadable)),
                ("tests".to_owned(), json!(tests.as_ref().map(|tests| tests.records))),
                ("never_reached".to_owned(), json!(never(&recorded, tests.as_ref()))),
                ("rules".to_owned(), rules_json(&recorded, tests.as_ref())),
            ]);
            terminal.json(&document.into())?;
        }
        Format::Text => {
            terminal.out(&text(&recorded, tests.as_ref(), terminal))?;
            say_unreadable(unreadable, terminal);
        }
    }
    Ok(Exit::Done)
}

/// Coverage by the fact sets in a file.
fn fact_sets<'t>(path: &Path, table: &'t Table) -> Result<Coverage<'t>, CliError> {
    let mut coverage = Coverage::new(table);
    let text = read_text(Some(path))?;
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let word = parse_fact_set(line)
            .map_err(|error| CliError::usage(format!("`{}`, line {number}: {error}", path.display())))?;
        coverage.add_word(word);
    }
    Ok(coverage)
}

/// Ids of the rules that nothing reached.
fn never(recorded: &Coverage<'_>, tests: Option<&Coverage<'_>>) -> Vec<String> {
    let hits = |coverage: &Coverage<'_>| coverage.rules().iter().map(|rule| rule.hits).collect::<Vec<u64>>();
    let tested = tests.map(hits);
    let rules = recorded.rules();
    let reached = |(index, rule): &(usize, &RuleCoverage<'_>)| {
        rule.hits > 0 || tested.as_ref().is_some_and(|tested| tested.get(*index).is_some_and(|hits| *hits > 0))
    };
    rules.iter().enumerate().filter(|one| !reached(one)).map(|(_, rule)| rule.rule.id.to_string()).collect()
}

fn rules_json(recorded: &Coverage<'_>, tests: Option<&Coverage<'_>>) -> Value {
    let tests = tests.map(Coverage::rules);
    let values = |condition: &ConditionCoverage| -> Value {
        condition.values.iter().map(|(value, count)| ((*value).to_owned(), json!(count))).collect()
    };
    let one = |rule: &RuleCoverage<'_>| {
        let conditions: Value = rule.conditions.iter().map(|c| (c.fact.name().to_owned(), values(c))).collect();
        json!({ "hits": rule.hits, "conditions": conditions })
    };
    let rules = recorded.rules();
    rules
        .iter()
        .enumerate()
        .map(|(index, rule)| {
            let tested = tests.as_ref().and_then(|tests| tests.get(index)).map(one);
            json!({ "rule": rule.rule.id, "recorded": one(rule), "tests": tested })
        })
        .collect()
}

fn text(recorded: &Coverage<'_>, tests: Option<&Coverage<'_>>, terminal: &Terminal) -> String {
    let rules = recorded.rules();
    let tested = tests.map(Coverage::rules);
    let reached = rules.iter().filter(|rule| rule.hits > 0).count();
    let mut about = format!("by {} recorded decisions", recorded.records);
    if let Some(tests) = tests {
        about.push_str(&format!("; in brackets by {} tests", tests.records));
    }
    let mut lines = vec![Line::Alone(vec![
        (Tone::Strong, format!("{reached} of {} rules reached", rules.len())),
        (Tone::Faint, format!("   {about}")),
    ])];
    for (count, what) in
        [(recorded.undetermined, "undetermined"), (recorded.without_candidate, "without a session to decide on")]
    {
        if count > 0 {
            lines.push(Line::Alone(vec![(Tone::Faint, format!("{count} {what}"))]));
        }
    }
    lines.push(Line::Alone(vec![(Tone::Plain, String::new())]));
    for (index, rule) in rules.iter().enumerate() {
        let beside = tested.as_ref().and_then(|tested| tested.get(index));
        let tone = if rule.hits == 0 { Tone::Warn } else { Tone::Plain };
        lines.push(Line::Cells(vec![
            (Tone::Faint, format!("{:>2}", index + 1)),
            (tone, rule.rule.id.to_string()),
            (tone, counted(rule.hits, beside.map(|beside| beside.hits))),
            (Tone::Plain, conditions(rule, beside)),
        ]));
    }
    let never = never(recorded, tests);
    if !never.is_empty() {
        lines.push(Line::Alone(vec![(Tone::Plain, String::new())]));
        lines.push(Line::Alone(vec![(Tone::Warn, "never reached  ".to_owned()), (Tone::Plain, never.join(", "))]));
    }
    render(&lines, terminal.ink, terminal.columns)
}

fn counted(hits: u64, tests: Option<u64>) -> String {
    match tests {
        Some(tests) => format!("{hits:>8} ({tests})"),
        None => format!("{hits:>8}"),
    }
}

/// Each condition with how often the rule decided by each of its values.
fn conditions(rule: &RuleCoverage<'_>, tests: Option<&RuleCoverage<'_>>) -> String {
    let of = |index: usize, condition: &ConditionCoverage| {
        let beside = tests.and_then(|tests| tests.conditions.get(index));
        let values = condition.values.iter().enumerate().map(|(place, (value, count))| {
            match beside.and_then(|beside| beside.values.get(place)) {
                Some((_, tests)) => format!("{value} {count} ({tests})"),
                None => format!("{value} {count}"),
            }
        });
        format!("{}: {}", condition.fact.name(), values.collect::<Vec<_>>().join(", "))
    };
    let each = rule.conditions.iter().enumerate().map(|(index, condition)| of(index, condition));
    each.collect::<Vec<_>>().join(" · ")
}
