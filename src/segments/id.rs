//! Which strings are ids, and where an agent's log is kept.

/// The file that holds an agent's segments, in the agent's zone.
pub const SEGMENTS_FILE: &str = "segments.jsonl";

/// The file that holds the decisions made for an agent, in the agent's other zone.
pub const DECISIONS_FILE: &str = "decisions.jsonl";

/// The longest session id that can be a file name, in bytes; `.jsonl` and our own endings still
/// have to fit behind it.
const MAX_SESSION_ID_BYTES: usize = 200;

const ZONE_PREFIX: &str = "agent-uid:";
const SEGMENTS_SUFFIX: &str = ":segments";
const DECISIONS_SUFFIX: &str = ":decisions";

/// Whether a string may be an agent's UID: not empty, and of letters, digits, `_` and `-` only.
#[must_use]
pub fn is_agent_uid(uid: &str) -> bool {
    !uid.is_empty() && uid.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// The zone of an agent's segment log; none for a string that is no UID.
#[must_use]
pub fn zone_for(uid: &str) -> Option<String> {
    is_agent_uid(uid).then(|| format!("{ZONE_PREFIX}{uid}{SEGMENTS_SUFFIX}"))
}

/// The zone of an agent's decision log; none for a string that is no UID.
#[must_use]
pub fn decisions_zone_for(uid: &str) -> Option<String> {
    is_agent_uid(uid).then(|| format!("{ZONE_PREFIX}{uid}{DECISIONS_SUFFIX}"))
}

/// The agent whose segment log is kept in `zone`, if it is such a zone.
#[must_use]
pub fn uid_of_zone(zone: &str) -> Option<&str> {
    zone.strip_prefix(ZONE_PREFIX)?.strip_suffix(SEGMENTS_SUFFIX).filter(|uid| is_agent_uid(uid))
}

/// The agent whose decision log is kept in `zone`, if it is such a zone.
#[must_use]
pub fn uid_of_decisions_zone(zone: &str) -> Option<&str> {
    zone.strip_prefix(ZONE_PREFIX)?.strip_suffix(DECISIONS_SUFFIX).filter(|uid| is_agent_uid(uid))
}

/// Whether a session id of Claude's can be a file name and an argument: not empty or blank, no
/// `/`, `\`, `:`, NUL or control character, neither `.` nor `..`, no leading `-`, and at most 200
/// bytes. An id that is not never touches the disk and is never resumed.
#[must_use]
pub fn is_safe_session_id(id: &str) -> bool {
    !is_blank(id)
        && id.len() <= MAX_SESSION_ID_BYTES
        && !id.starts_with('-')
        && id != "."
        && id != ".."
        && !id.bytes().any(|byte| matches!(byte, b'/' | b'\\' | b':'))
        && !id.chars().any(char::is_control)
}

/// Whether a recorded string stands for nothing.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim_start().is_empty()
}
