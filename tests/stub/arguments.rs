//! The part of the CLI's command line that the tests use.

/// How the result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
    StreamJson,
}

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) resume: Option<String>,
    pub(crate) fork: bool,
    pub(crate) session_id: Option<String>,
    pub(crate) print: bool,
    pub(crate) prompt: Option<String>,
    pub(crate) format: Format,
    pub(crate) version: bool,
}

impl Arguments {
    /// Reads the arguments; an error is what the CLI would say.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Self {
            resume: None,
            fork: false,
            session_id: None,
            print: false,
            prompt: None,
            format: Format::Text,
            version: false,
        };
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            let (name, inline) = match argument.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value.to_owned())),
                _ => (argument, None),
            };
            let mut value = || inline.clone().or_else(|| arguments.next_if(|next| !next.starts_with('-')));
            let required = |value: Option<String>| value.ok_or(format!("error: option '{name}' argument missing"));
            match name.as_str() {
                "-p" | "--print" => parsed.print = true,
                "-v" | "--version" => parsed.version = true,
                "-r" | "--resume" => parsed.resume = Some(required(value())?),
                "--fork-session" => parsed.fork = true,
                "--session-id" => parsed.session_id = Some(required(value())?),
                "--output-format" => {
                    parsed.format = match required(value())?.as_str() {
                        "json" => Format::Json,
                        "stream-json" => Format::StreamJson,
                        _ => Format::Text,
                    };
                }
                "--model" | "--append-system-prompt" | "--permission-mode" | "--settings" => {
                    required(value())?;
                }
                "--verbose" | "--debug" | "--dangerously-skip-permissions" => {}
                option if option.starts_with('-') => return Err(format!("error: unknown option '{option}'")),
                prompt => parsed.prompt = Some(prompt.to_owned()),
            }
        }
        Ok(parsed)
    }
}
