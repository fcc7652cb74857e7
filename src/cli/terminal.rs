//! The edge: standard streams, colour, environment and clock. Nothing below this module touches
//! any of them.

use crate::explain::{Ink, Note, visible};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// Where the stream is a terminal and `NO_COLOR` is not set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What the environment says, read once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// The home directory.
    pub home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, unless empty; it need not be text.
    pub claude_config_dir: Option<OsString>,
    /// `AGENTMUX_AGENT_UID`, unless empty.
    pub agent_uid: Option<String>,
    /// `RESUME_GATE_STORE`, unless empty.
    pub store: Option<PathBuf>,
    /// `AGENTMUX_HOME`, unless empty.
    pub agentmux_home: Option<PathBuf>,
    /// `XDG_DATA_HOME`, unless empty or relative.
    pub data_home: Option<PathBuf>,
    /// `PWD`: the working directory as the shell spells it.
    pub pwd: Option<PathBuf>,
    /// `COLUMNS`, unless it is no number.
    columns: Option<usize>,
    no_color: bool,
    dumb: bool,
}

impl Environment {
    /// Reads the process's environment.
    #[must_use]
    pub(crate) fn read() -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            claude_config_dir: std::env::var_os("CLAUDE_CONFIG_DIR").filter(|dir| !dir.is_empty()),
            agent_uid: text("AGENTMUX_AGENT_UID"),
            store: path("RESUME_GATE_STORE"),
            agentmux_home: path("AGENTMUX_HOME"),
            data_home: path("XDG_DATA_HOME").filter(|path| path.is_absolute()),
            pwd: path("PWD").filter(|path| path.is_absolute()),
            columns: text("COLUMNS").and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0),
            no_color: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
            dumb: std::env::var_os("TERM").is_some_and(|value| value == "dumb"),
        }
    }

    /// Whether a stream gets colour: the flag wins, then `NO_COLOR` and a dumb terminal, then what
    /// the stream is.
    #[must_use]
    pub(crate) fn ink(&self, choice: ColorChoice, is_terminal: bool) -> Ink {
        let colour = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !self.no_color && !self.dumb,
        };
        if colour { Ink::Colour } else { Ink::Plain }
    }
}

/// The standard streams and the environment of one run of the command.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// The environment.
    pub env: Environment,
    /// Colour of standard output.
    pub ink: Ink,
    /// Colour of standard error.
    pub err_ink: Ink,
    /// Whether standard output is a terminal.
    pub is_terminal: bool,
    /// Width of the terminal that standard output is, in columns; `None` if it is none.
    pub columns: Option<usize>,
}

impl Terminal {
    /// The process's own streams.
    #[must_use]
    pub(crate) fn new(choice: ColorChoice) -> Self {
        let env = Environment::read();
        let is_terminal = io::stdout().is_terminal();
        Self {
            ink: env.ink(choice, is_terminal),
            err_ink: env.ink(choice, io::stderr().is_terminal()),
            is_terminal,
            columns: env.columns.or_else(width).filter(|_| is_terminal),
            env,
        }
    }

    /// Writes a result to standard output.
    ///
    /// # Errors
    /// Whatever the stream answers; a closed pipe ends the command quietly.
    pub(crate) fn out(&self, text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// Writes prose to standard output, folded to the terminal's width if it is one. What follows
    /// a label or a column (two spaces or more) is folded below itself.
    ///
    /// # Errors
    /// As [`Terminal::out`].
    pub(crate) fn prose(&self, text: &str) -> io::Result<()> {
        match self.columns {
            Some(columns) => self.out(&text.lines().map(|line| folded(line, columns) + "\n").collect::<String>()),
            None => self.out(text),
        }
    }

    /// Writes a JSON document to standard output, on one line.
    ///
    /// # Errors
    /// As [`Terminal::out`].
    pub(crate) fn json(&self, document: &serde_json::Value) -> io::Result<()> {
        self.out(&format!("{document}\n"))
    }

    /// Writes a line to standard error. There is nowhere to report a failure of that to.
    pub(crate) fn say(&self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    /// Shows a note on standard error.
    pub(crate) fn note(&self, note: &Note) {
        self.say(&format!("{} {}", self.err_ink.warn("note:"), visible(&note.text)));
    }
}

/// Width of the terminal, if there is one.
fn width() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| width.0.into()).filter(|columns| *columns > 0)
}

/// A line folded to a width, below where its text begins.
fn folded(line: &str, columns: usize) -> String {
    let begins = line.trim_start().find("  ").map_or(0, |gap| {
        let indent = line.len() - line.trim_start().len();
        let (before, after) = line.split_at(indent + gap);
        textwrap::core::display_width(before) + (after.len() - after.trim_start().len())
    });
    let hanging = " ".repeat(if begins * 2 < columns { begins } else { 0 });
    textwrap::fill(line, textwrap::Options::new(columns).subsequent_indent(&hanging).break_words(false))
}

/// Milliseconds since 1970, by the system's clock.
#[must_use]
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{ColorChoice, Environment, folded};
    use crate::explain::Ink;

    #[test]
    fn long_lines_are_folded_below_where_their_text_begins() {
        let line = "why            one two three four five six";
        assert_eq!(folded(line, 32), "why            one two three\n               four five six");
        assert_eq!(folded("short", 32), "short");
        let painted = "\u{1b}[2mwhy\u{1b}[0m   one two three";
        assert_eq!(folded(painted, 14), "\u{1b}[2mwhy\u{1b}[0m   one two\n      three");
    }

    #[test]
    fn colour_follows_the_flag_then_no_color_then_the_stream() {
        let plain = Environment::default();
        let no_color = Environment { no_color: true, ..Environment::default() };
        let dumb = Environment { dumb: true, ..Environment::default() };
        assert_eq!(plain.ink(ColorChoice::Auto, true), Ink::Colour);
        assert_eq!(plain.ink(ColorChoice::Auto, false), Ink::Plain);
        assert_eq!(no_color.ink(ColorChoice::Auto, true), Ink::Plain);
        assert_eq!(dumb.ink(ColorChoice::Auto, true), Ink::Plain);
        assert_eq!(no_color.ink(ColorChoice::Always, false), Ink::Colour);
        assert_eq!(plain.ink(ColorChoice::Never, true), Ink::Plain);
    }
}
