//! A diagnostic as people read it: the source line and a caret under what is meant.
//!
//! Pure, and without colour: [`parts`] says what each piece is, whoever prints it decides how it looks.

use super::diagnostic::{Diagnostic, Severity};
use super::tree::Place;

/// How much of a source line is shown around the caret, in characters.
const MAX_SHOWN_CHARS: usize = 120;
/// How wide a tab is shown, in columns.
const TAB_COLUMNS: usize = 4;

/// What a piece of a rendered diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The word and code that an error begins with.
    Error,
    /// The word and code that a note begins with.
    Note,
    /// What is wrong.
    Message,
    /// Line numbers, rulers and arrows.
    Frame,
    /// The source.
    Source,
    /// The caret under what should change.
    Caret,
    /// The line under another place, and the word on it.
    Label,
    /// Advice.
    Help,
}

/// The diagnostic as text with the source lines it points at; ends in a newline.
#[must_use]
pub fn render(source: &[u8], path: &str, diagnostic: &Diagnostic) -> String {
    parts(source, path, diagnostic).into_iter().map(|(_, text)| text).collect()
}

/// The diagnostic in pieces, which [`render`] only joins.
#[must_use]
pub fn parts(source: &[u8], path: &str, diagnostic: &Diagnostic) -> Vec<(Part, String)> {
    let source = source.strip_prefix("\u{feff}".as_bytes()).unwrap_or(source);
    let text = String::from_utf8_lossy(source);
    let place = diagnostic.place;
    let places = || std::iter::once(place).chain(diagnostic.labels.iter().map(|label| label.place));
    let gutter = places().map(|place| place.line.to_string().len()).max().unwrap_or(1);
    let margin = " ".repeat(gutter);

    let (opening, word) = match diagnostic.severity() {
        Severity::Error => (Part::Error, "error"),
        Severity::Note => (Part::Note, "note"),
    };
    let mut parts = vec![
        (opening, format!("{word}[{}]", diagnostic.code().name())),
        (Part::Message, format!(": {}\n", diagnostic.message())),
        (Part::Frame, format!("{margin}--> {path}:{}:{}\n{margin} |\n", place.line, place.column)),
    ];
    let mut point = |place: Place, mark: char, part: Part, word: &str| {
        let line = line_of(&text, place.line);
        let (shown, before, width) = excerpt(line, place.column);
        parts.push((Part::Frame, format!("{:>gutter$} | ", place.line)));
        parts.push((Part::Source, format!("{shown}\n")));
        parts.push((Part::Frame, format!("{margin} | ")));
        let underline: String = std::iter::repeat_n(mark, width).collect();
        parts.push((part, format!("{}{underline}{word}\n", " ".repeat(before))));
    };
    point(place, '^', Part::Caret, "");
    for label in &diagnostic.labels {
        point(label.place, '-', Part::Label, &format!(" {}", label.text));
    }
    if let Some(help) = diagnostic.help() {
        parts.push((Part::Help, format!("{margin} = help: {help}\n")));
    }
    parts
}

/// A source's line by its number from 1.
fn line_of(text: &str, number: u32) -> &str {
    let index = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
    text.lines().nth(index).unwrap_or_default()
}

/// A line as it is shown, how many columns stand before character `column` of it, and how many
/// columns the word there takes.
fn excerpt(line: &str, column: u32) -> (String, usize, usize) {
    let at = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1);
    let skipped = if line.chars().count() > MAX_SHOWN_CHARS { at.saturating_sub(MAX_SHOWN_CHARS / 2) } else { 0 };
    let mut shown = String::new();
    let mut before = 0;
    if skipped > 0 {
        shown.push('…');
        before += 1;
    }
    let mut chars = line.chars().skip(skipped);
    for (i, c) in chars.by_ref().take(MAX_SHOWN_CHARS).enumerate() {
        let width = columns(c);
        match c {
            '\t' => shown.extend(std::iter::repeat_n(' ', TAB_COLUMNS)),
            c if c.is_control() => shown.push(char::REPLACEMENT_CHARACTER),
            c => shown.push(c),
        }
        if i < at - skipped {
            before += width;
        }
    }
    if chars.next().is_some() {
        shown.push('…');
    }
    let word = line.chars().skip(at).take(MAX_SHOWN_CHARS / 2);
    let width = word.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).map(columns).sum();
    (shown, before, std::cmp::max(width, 1))
}

/// How many terminal columns a character takes, as [`excerpt`] shows it.
fn columns(c: char) -> usize {
    match c {
        '\t' => TAB_COLUMNS,
        // Combining marks, joiners and variation selectors.
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' => 0,
        // East Asian wide and full width, and pictures.
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff01}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}'
        | '\u{1f900}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}
