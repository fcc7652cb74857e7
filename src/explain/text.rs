//! The explanation as text, for a terminal: outcome and reason first, then what was nearly
//! decided and what would change it, then the whole table.

use super::{Case, changes_text, conditions_text, is_for_people, miss_text, nearest_miss, unasked, would_change};
use crate::gate::Evidence;
use crate::gate::trace::{Outcome, steps};
use std::fmt::Write;

/// Whether text carries terminal colours. The caller knows the stream; this only paints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// No escape codes.
    Plain,
    /// ANSI escape codes.
    Colour,
}

impl Ink {
    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }

    /// For what matters most.
    #[must_use]
    pub fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// For labels and what can be skipped.
    #[must_use]
    pub fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// For what hit or went well.
    #[must_use]
    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// For what is wrong.
    #[must_use]
    pub fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// For what asks for attention.
    #[must_use]
    pub fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }
}

/// Column at which the rule stands in the headline, if the outcome leaves room.
const HEADLINE_COLUMNS: usize = 52;
/// Width of the labels under the headline.
const LABEL_COLUMNS: usize = 14;
/// Longest session id that is shown whole.
const SHORT_ID_CHARS: usize = 13;

/// Text from outside with everything escaped that could move the cursor, hide text or turn it
/// around, so that an id or a path cannot rewrite the terminal or pass for a line of its own.
#[must_use]
pub fn visible(text: &str) -> String {
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().flat_map(|c| if acts(c) { c.escape_default().collect() } else { vec![c] }).collect()
}

/// A session id short enough to read, and [`visible`]: the first eight characters and `…` if it is
/// long.
#[must_use]
pub fn short(id: &str) -> String {
    let safe = visible(id);
    if safe.chars().count() <= SHORT_ID_CHARS { safe } else { safe.chars().take(8).chain(['…']).collect() }
}

/// The whole explanation, ending in a newline.
#[must_use]
pub fn text(case: &Case<'_>, ink: Ink) -> String {
    let mut out = summary(case, ink);
    out.push('\n');
    table(&mut out, case, ink);
    probes(&mut out, case, ink);
    out
}

/// The explanation without the table: outcome, reason, what was nearly decided, what would change it.
#[must_use]
pub fn summary(case: &Case<'_>, ink: Ink) -> String {
    let mut out = String::new();
    headline(&mut out, case, ink);
    let rule = case.rule();
    for (label, sentence) in [("why", &rule.why), ("next", &rule.next)] {
        labelled(&mut out, ink, label, sentence);
    }
    for note in case.notes {
        labelled(&mut out, ink, "note", &ink.warn(&visible(&note.text)));
    }
    let mut whatif = String::new();
    if let Some(step) = nearest_miss(case.table, case.evaluation) {
        labelled(&mut whatif, ink, "nearest miss", &miss_text(&step));
    }
    let changes = would_change(case.table, case.evaluation);
    let changes = changes_text(changes.iter().filter(|change| is_for_people(change)));
    if !changes.is_empty() {
        labelled(&mut whatif, ink, "would change", &changes.join(" · "));
    }
    if !whatif.is_empty() {
        out.push('\n');
        out.push_str(&whatif);
    }
    out
}

fn headline(out: &mut String, case: &Case<'_>, ink: Ink) {
    let rule = case.rule();
    let place = format!(
        "{} by {} ({} of {})",
        case.decision().name(),
        rule.id,
        case.evaluation.rule + 1,
        case.table.rules.len()
    );
    let gap = HEADLINE_COLUMNS.saturating_sub(case.outcome.chars().count()).max(3);
    let _ = writeln!(out, "{}{}{}", ink.strong(case.outcome), " ".repeat(gap), ink.faint(&place));
    let _ = writeln!(out, "{}", rule.what);
}

fn labelled(out: &mut String, ink: Ink, label: &str, sentence: &str) {
    let gap = LABEL_COLUMNS.saturating_sub(label.chars().count()).max(1);
    let _ = writeln!(out, "{}{}{sentence}", ink.faint(label), " ".repeat(gap + 1));
}

fn table(out: &mut String, case: &Case<'_>, ink: Ink) {
    let width = case.table.rules.iter().map(|rule| rule.id.len()).max().unwrap_or_default();
    let number = case.table.rules.len().to_string().len();
    for step in steps(case.table, case.evaluation).filter(|step| step.outcome != Outcome::NotReached) {
        let place = step.index + 1;
        let conditions = conditions_text(&step);
        if step.outcome == Outcome::Hit {
            let id = ink.strong(&format!("{:<width$}", step.rule.id));
            let _ = writeln!(out, "{place:>number$} {} {id}  {conditions}", ink.good("✓"));
        } else {
            let _ = writeln!(out, "{place:>number$} {} {:<width$}  {conditions}", ink.faint("✗"), step.rule.id);
        }
    }
    let (hit, all) = (case.evaluation.rule + 1, case.table.rules.len());
    match all - hit {
        0 => {}
        1 => out.push_str(&format!("{all:>number$} not reached\n")),
        _ => out.push_str(&format!("{}–{all} not reached\n", hit + 1)),
    }
}

fn probes(out: &mut String, case: &Case<'_>, ink: Ink) {
    let seen: Vec<String> = case.evidence.iter().map(evidence_text).collect();
    let unasked: Vec<&str> = unasked(case).map(|fact| fact.name()).collect();
    if !seen.is_empty() {
        let _ = writeln!(out, "{} {}", ink.faint("probes:"), seen.join(" · "));
    }
    if !unasked.is_empty() {
        let _ = writeln!(out, "{} {}", ink.faint("not asked:"), unasked.join(", "));
    }
}

fn evidence_text(evidence: &Evidence) -> String {
    let mut text = format!("{} {}", evidence.fact.name(), evidence.value);
    if let Some(path) = &evidence.path {
        let _ = write!(text, ", {}", path.display());
    }
    if let Some(size) = evidence.size {
        let _ = write!(text, ", {size} bytes");
    }
    if let Some(recorded) = evidence.recorded {
        let _ = write!(text, ", {recorded} recorded");
    }
    if let Some(error) = &evidence.error {
        let _ = write!(text, ", {error}");
    }
    visible(&text)
}
