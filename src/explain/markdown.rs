//! The explanation as Markdown, for a ticket or a chat.

use super::{Case, changes_text, conditions_text, is_for_people, miss_text, nearest_miss, visible, would_change};
use crate::gate::trace::{Outcome, steps};
use std::fmt::Write;

/// The whole explanation, ending in a newline.
#[must_use]
pub fn markdown(case: &Case<'_>) -> String {
    let rule = case.rule();
    let mut out = format!(
        "**{}**: {} by `{}` ({} of {})\n\n{} {} {}\n\n",
        escape(case.outcome),
        case.decision().name(),
        rule.id,
        case.evaluation.rule + 1,
        case.table.rules.len(),
        rule.what,
        rule.why,
        rule.next
    );
    for note in case.notes {
        let _ = writeln!(out, "- note: {}", escape(&note.text));
    }
    if let Some(step) = nearest_miss(case.table, case.evaluation) {
        let _ = writeln!(out, "- nearest miss: {}", miss_text(&step));
    }
    let changes = would_change(case.table, case.evaluation);
    for change in changes_text(changes.iter().filter(|change| is_for_people(change))) {
        let _ = writeln!(out, "- would change: {change}");
    }
    out.push_str("\n| # | rule | outcome | conditions |\n| --- | --- | --- | --- |\n");
    for step in steps(case.table, case.evaluation) {
        let outcome = match step.outcome {
            Outcome::Hit => "**hit**",
            Outcome::Missed => "missed",
            Outcome::NotReached => "not reached",
        };
        let _ = writeln!(out, "| {} | `{}` | {outcome} | {} |", step.index + 1, step.rule.id, conditions_text(&step));
    }
    out
}

/// Text from outside, with what Markdown would act on escaped.
fn escape(text: &str) -> String {
    visible(text).chars().flat_map(|c| if "\\`*_{}[]<>#|".contains(c) { vec!['\\', c] } else { vec![c] }).collect()
}
