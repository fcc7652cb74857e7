//! What the provider says on stderr when it will not resume a session.
//!
//! Measured in print mode. Whatever the text, a resume that ended with a status other than 0 and
//! left the session's file exactly as it was has been rejected too; that is for the caller to see.

/// A way the provider refuses to resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejection {
    /// What a line on stderr begins with.
    pub text: &'static str,
    /// When it says so.
    pub means: &'static str,
    /// The versions it was seen with.
    pub versions: &'static str,
}

/// The texts by which a resume is known to have been rejected.
pub const REJECTIONS: [Rejection; 3] = [
    Rejection {
        text: "No conversation found with session ID:",
        means: "no such session is here, or its file holds no conversation",
        versions: "2.0.77, 2.1.112, 2.1.332",
    },
    Rejection {
        text: "Error: --resume requires a valid session ID",
        means: "the id is no UUID",
        versions: "2.0.77, 2.1.112, 2.1.332",
    },
    Rejection {
        text: "Failed to resume session: EISDIR",
        means: "a folder has the name of the session's file",
        versions: "2.1.332",
    },
];

/// What the provider says when the session is open in a process that it runs in the background:
/// the session is alive, and must not be taken for dead.
pub const STILL_RUNNING: &str = "currently running";

/// The rejection that a resume's stderr tells of. `None` for anything else, such as an error of
/// the API, or a session that is [`STILL_RUNNING`].
#[must_use]
pub fn rejection(stderr: &[u8]) -> Option<&'static Rejection> {
    let mut lines = stderr.split(|&byte| byte == b'\n').map(without_colour);
    lines.find_map(|line| REJECTIONS.iter().find(|known| line.starts_with(known.text.as_bytes())))
}

/// Whether a resume's stderr says that the session was rejected.
#[must_use]
pub fn is_rejection(stderr: &[u8]) -> bool {
    rejection(stderr).is_some()
}

/// Whether a resume's stderr says that the session is open in another process.
#[must_use]
pub fn is_still_running(stderr: &[u8]) -> bool {
    memchr::memmem::find(stderr, STILL_RUNNING.as_bytes()).is_some() && !is_rejection(stderr)
}

/// A line without the blanks and colour codes in front of it.
fn without_colour(line: &[u8]) -> &[u8] {
    let mut line = line.trim_ascii_start();
    while let Some(code) = line.strip_prefix(b"\x1b[") {
        let Some(end) = code.iter().position(|byte| (b'@'..=b'~').contains(byte)) else { break };
        line = code.get(end + 1..).unwrap_or_default().trim_ascii_start();
    }
    line
}
