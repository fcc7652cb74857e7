//! What a run of the command left: its status and what it printed.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use serde_json::Value;
use std::process::Command;

/// A run that has ended.
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The result of a command that did what was asked.
    pub fn ok(self) -> String {
        assert_eq!(self.status, 0, "{}", self.stderr);
        self.stdout
    }

    /// The one JSON document it printed.
    pub fn json(self) -> Value {
        let text = self.ok();
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The same, after a look that nothing it printed acts on the terminal.
    pub fn harmless(self) -> Self {
        for stream in [&self.stdout, &self.stderr] {
            assert!(!stream.chars().any(|c| c.is_control() && c != '\n'), "control characters: {stream:?}");
        }
        self
    }

    /// The error of a command that cannot do what was asked.
    pub fn refused(self) -> String {
        assert_eq!((self.status, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        self.stderr
    }
}

/// Runs a command to its end. It may not panic.
pub fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let ran = Ran {
        status: output.status.code().expect("it ends by itself"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    };
    for stream in [&ran.stdout, &ran.stderr] {
        assert!(!stream.contains("panicked"), "{stream}");
    }
    ran
}
