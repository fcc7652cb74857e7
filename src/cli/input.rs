//! Reading what a command is handed: files, standard input, candidate tables.

use super::error::CliError;
use super::terminal::Terminal;
use crate::explain::{Ink, Note};
use crate::gate::TABLE;
use crate::gate::facts::VOCABULARY;
use crate::table::{self, Diagnostic, Part, Severity, Table};
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

/// Largest table file that is read, in bytes.
const MAX_TABLE_BYTES: u64 = 4 << 20;

/// What some editors put in front of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a file, or of standard input for `-` and nothing; without a byte-order mark.
pub(super) fn read_text(path: Option<&Path>) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let read = match path.filter(|path| path.as_os_str() != "-") {
        Some(path) => std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)),
        None => std::io::stdin().lock().read_to_end(&mut bytes),
    };
    let name = path.map_or_else(|| "standard input".into(), |path| path.display().to_string());
    read.map_err(|error| CliError::usage(format!("cannot read `{name}`: {error}")))?;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    // One bad byte spoils its own line only; lines are judged one by one.
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The bytes of a table file.
pub(super) fn read_table(path: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).and_then(|file| file.take(MAX_TABLE_BYTES + 1).read_to_end(&mut bytes));
    file.map_err(|error| CliError::usage(format!("cannot read the table `{}`: {error}", path.display())))?;
    if bytes.len() as u64 > MAX_TABLE_BYTES {
        return Err(CliError::usage(format!("`{}` is larger than {MAX_TABLE_BYTES} bytes", path.display()))
            .help("name a decision table"));
    }
    Ok(bytes)
}

/// The table in a file, checked; or the shipped one.
///
/// A table with errors is refused, its diagnostics shown on standard error.
pub(super) fn table_or_shipped(path: Option<&Path>, terminal: &Terminal) -> Result<Cow<'static, Table>, CliError> {
    let Some(path) = path else {
        return Ok(Cow::Borrowed(&TABLE));
    };
    let source = read_table(path)?;
    let loaded = table::load(&source, &VOCABULARY);
    loaded.table.map(Cow::Owned).ok_or_else(|| {
        for diagnostic in loaded.diagnostics.iter().filter(|diagnostic| diagnostic.severity() == Severity::Error) {
            terminal.say(&diagnostic_text(&source, &path.display().to_string(), diagnostic, terminal.err_ink));
        }
        CliError::usage(format!("the table `{}` cannot be used", path.display()))
            .help("mend what is named above; `resume-gate rules check FILE` checks it again")
    })
}

/// The table in a file, or the shipped one, for a comparison: it may break its promises, which a
/// note on standard error says.
pub(super) fn candidate_or_shipped(path: Option<&Path>, terminal: &Terminal) -> Result<Cow<'static, Table>, CliError> {
    let Some(path) = path else {
        return Ok(Cow::Borrowed(&TABLE));
    };
    let source = read_table(path)?;
    let loaded = table::load_candidate(&source, &VOCABULARY);
    let Some(table) = loaded.table else { return table_or_shipped(Some(path), terminal) };
    let errors = loaded.diagnostics.iter().filter(|diagnostic| diagnostic.severity() == Severity::Error).count();
    if errors > 0 {
        let found = if errors == 1 { "1 error".to_owned() } else { format!("{errors} errors") };
        let text = format!("`{0}` cannot ship as it is: `resume-gate rules check {0}` finds {found}", path.display());
        terminal.note(&Note::new("unproven-table", text));
    }
    Ok(Cow::Owned(table))
}

/// A diagnostic with its source line and caret; ends in a newline.
pub(super) fn diagnostic_text(source: &[u8], name: &str, diagnostic: &Diagnostic, ink: Ink) -> String {
    let paint = |(part, text): (Part, String)| match part {
        Part::Error | Part::Caret => ink.bad(&text),
        Part::Note => ink.warn(&text),
        Part::Message => ink.strong(&text),
        Part::Frame | Part::Label => ink.faint(&text),
        Part::Source | Part::Help => text,
    };
    table::parts(source, name, diagnostic).into_iter().map(paint).collect()
}
