//! Lines of aligned columns, fitted to a terminal.

use crate::explain::Ink;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How a piece of text is painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Tone {
    Plain,
    Strong,
    Faint,
    Warn,
}

/// A piece of text in one tone.
pub(in crate::cli) type Piece = (Tone, String);

/// One line of a listing.
#[derive(Debug)]
pub(in crate::cli) enum Line {
    /// Cells, aligned with those of the other lines.
    Cells(Vec<Piece>),
    /// Text under the cells, indented.
    Under(Piece),
    /// Text on its own.
    Alone(Vec<Piece>),
}

const BETWEEN: &str = "  ";
const INDENT: &str = "       ";

/// The lines, each ended, and cut to `columns` if there are any.
pub(in crate::cli) fn render(lines: &[Line], ink: Ink, columns: Option<usize>) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for line in lines {
        let Line::Cells(cells) = line else { continue };
        widths.resize(widths.len().max(cells.len()), 0);
        for (width, (_, text)) in widths.iter_mut().zip(cells) {
            *width = (*width).max(text.width());
        }
    }
    let mut out = String::new();
    for line in lines {
        let pieces = match line {
            Line::Cells(cells) => aligned(cells, &widths),
            Line::Under((tone, text)) => vec![(Tone::Plain, INDENT.to_owned()), (*tone, text.clone())],
            Line::Alone(pieces) => pieces.clone(),
        };
        for (tone, text) in fitted(pieces, columns) {
            out.push_str(&painted(ink, tone, &text));
        }
        out.push('\n');
    }
    out
}

/// Cells with blanks up to the next one; none behind the last.
fn aligned(cells: &[Piece], widths: &[usize]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (number, ((tone, text), width)) in cells.iter().zip(widths).enumerate() {
        pieces.push((*tone, text.clone()));
        if cells.get(number + 1..).is_some_and(|rest| rest.iter().any(|(_, text)| !text.is_empty())) {
            pieces.push((Tone::Plain, " ".repeat(width.saturating_sub(text.width())) + BETWEEN));
        }
    }
    pieces
}

/// The pieces, with `…` in place of what goes beyond `columns`.
fn fitted(pieces: Vec<Piece>, columns: Option<usize>) -> Vec<Piece> {
    let Some(columns) = columns.filter(|columns| pieces.iter().map(|(_, text)| text.width()).sum::<usize>() > *columns)
    else {
        return pieces;
    };
    let mut left = columns.saturating_sub(1);
    let mut kept = Vec::new();
    for (tone, text) in pieces {
        let fits: String = text
            .chars()
            .take_while(|c| {
                let width = c.width().unwrap_or_default();
                let fits = width <= left;
                left = if fits { left - width } else { 0 };
                fits
            })
            .collect();
        let cut = fits.len() < text.len();
        kept.push((tone, fits));
        if cut {
            break;
        }
    }
    kept.push((Tone::Faint, "…".to_owned()));
    kept
}

/// The end of a text, with `…` in place of what goes beyond `columns`: of a directory, the end tells most.
pub(in crate::cli) fn tail(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        let width = c.width().unwrap_or_default();
        if width > left {
            break;
        }
        left -= width;
        start = at;
    }
    format!("…{}", text.get(start..).unwrap_or_default())
}

fn painted(ink: Ink, tone: Tone, text: &str) -> String {
    match tone {
        _ if text.is_empty() => String::new(),
        Tone::Plain => text.to_owned(),
        Tone::Strong => ink.strong(text),
        Tone::Faint => ink.faint(text),
        Tone::Warn => ink.warn(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Tone, render, tail};
    use crate::explain::Ink;

    fn cells(texts: &[&str]) -> Line {
        Line::Cells(texts.iter().map(|text| (Tone::Plain, (*text).to_owned())).collect())
    }

    #[test]
    fn cells_are_aligned_and_nothing_stands_behind_the_last() {
        let lines = [cells(&["a", "bb", "c"]), cells(&["漢字", "b", ""]), Line::Under((Tone::Warn, "x".into()))];
        assert_eq!(render(&lines, Ink::Plain, None), "a     bb  c\n漢字  b\n       x\n");
    }

    #[test]
    fn a_line_is_cut_to_the_terminal_by_what_is_seen_and_not_by_its_colours() {
        let line = [Line::Alone(vec![(Tone::Strong, "漢字".into()), (Tone::Plain, "abc".into())])];
        assert_eq!(render(&line, Ink::Plain, Some(7)), "漢字abc\n");
        assert_eq!(render(&line, Ink::Plain, Some(6)), "漢字a…\n");
        assert_eq!(render(&line, Ink::Plain, Some(4)), "漢…\n");
        assert_eq!(render(&line, Ink::Colour, Some(4)), "\x1b[1m漢\x1b[0m\x1b[2m…\x1b[0m\n");
        assert_eq!(render(&line, Ink::Plain, Some(1)), "…\n");
    }

    #[test]
    fn of_a_long_directory_the_end_stays() {
        assert_eq!(tail("/home/ann/src/app", 8), "…src/app");
        assert_eq!(tail("/w", 8), "/w");
        assert_eq!(tail("/漢字", 4), "…字");
    }
}
