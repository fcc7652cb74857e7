//! What ends a command early: a message, what to try, and the exit status.

use super::exit::Exit;
use std::fmt::Display;
use std::io;

/// Ends a command.
#[derive(Debug)]
pub(crate) enum CliError {
    /// Shown as `error: …` with an optional `help: …` line.
    Failed {
        /// What went wrong, on what.
        message: String,
        /// What to try.
        help: Option<String>,
        /// The status to end with.
        exit: Exit,
    },
    /// Standard output is gone; nobody is there to read a message.
    Output(io::Error),
}

impl CliError {
    /// Wrong usage or unusable input.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::Failed { message: message.to_string(), help: None, exit: Exit::Usage }
    }

    /// The same with advice.
    #[must_use]
    pub(crate) fn help(self, advice: impl Display) -> Self {
        match self {
            Self::Failed { message, exit, .. } => Self::Failed { message, help: Some(advice.to_string()), exit },
            Self::Output(error) => Self::Output(error),
        }
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
