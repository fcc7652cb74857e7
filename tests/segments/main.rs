//! The segment index: what a log means, however damaged, and what recording puts there.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod damage;
mod reading;
mod recording;
mod tail;

use resume_gate::segments::{AnomalyKind, Folded, Segment, fold, head_session};

/// Writes a log in short form: events separated by `;`, as `start g1 @1000 key=value…`,
/// `session g1 A @1001`, `end g1 @2000 crashed pbytes=500`. What is left out has a default, and
/// `key=` without a value is null.
fn log(short: &str) -> String {
    short.split(';').map(str::trim).filter(|event| !event.is_empty()).map(|event| line(event) + "\n").collect()
}

/// One event of the short form, as its line without a newline.
fn line(event: &str) -> String {
    let mut words = event.split_whitespace();
    let (kind, segment) = (words.next().unwrap(), words.next().unwrap());
    let words: Vec<&str> = words.collect();
    let number = words.iter().find_map(|word| word.strip_prefix('@'));
    let at = number.unwrap_or("1000");
    let field = |key: &str, default: Option<&str>| {
        let given = words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        given.or(default).filter(|value| !value.is_empty()).map_or("null".to_owned(), |value| format!("\"{value}\""))
    };
    match kind {
        "start" => format!(
            r#"{{"event":"start","segment_id":"{segment}","agent_uid":{},"definition_id":null,"provider":{},"config_dir":{},"provider_session_id":{},"cwd":{},"channel":"stable","agentmux_version":"0.57.1","block_id":"b1","zone":null,"byte_start":null,"started_at_ms":{at},"continuity_rung":{},"predecessor_segment_id":{},"lease_epoch":null,"identity_key":{},"forked_from":{}}}"#,
            field("uid", Some("u1")),
            field("provider", Some("claude")),
            field("cfg", Some("/cfg/a")),
            field("sid", None),
            field("cwd", Some("/w")),
            field("rung", Some("fresh")),
            field("pred", None),
            field("key", None),
            field("from", None),
        ),
        "session" => {
            let id = words.first().filter(|word| !word.starts_with('@')).unwrap();
            format!(r#"{{"event":"session","segment_id":"{segment}","provider_session_id":"{id}","at_ms":{at}}}"#)
        }
        "end" => {
            let reason = words.iter().find(|word| !word.starts_with('@') && !word.contains('='));
            let bytes = words.iter().find_map(|word| word.strip_prefix("pbytes=")).unwrap_or("null");
            format!(
                r#"{{"event":"end","segment_id":"{segment}","ended_at_ms":{at},"end_reason":"{}","byte_end":null,"provider_bytes_end":{bytes}}}"#,
                reason.unwrap_or(&"exited")
            )
        }
        other => panic!("no such event: {other}"),
    }
}

/// A line that is no event of a segment and longer than the repair window.
fn far_away() -> String {
    format!("{{\"event\":\"lease\",\"note\":\"{}\"}}\n", "x".repeat(70 * 1024))
}

/// The chain of agent u1.
fn chain(log: impl AsRef<[u8]>) -> Folded {
    fold("u1", log.as_ref())
}

fn head(chain: &Folded) -> Option<&Segment> {
    head_session(&chain.segments, None)
}

/// The head's session.
fn head_id(log: impl AsRef<[u8]>) -> Option<String> {
    head(&chain(log)).and_then(|segment| segment.session_id.clone())
}

/// Ids of the segments in order.
fn ids(chain: &Folded) -> Vec<&str> {
    chain.segments.iter().map(|segment| segment.start.segment_id.as_str()).collect()
}

/// Line and kind of each anomaly that is not a newer build's word.
fn anomalies(chain: &Folded) -> Vec<(u64, &'static str)> {
    let found = chain.anomalies.iter().filter(|anomaly| anomaly.kind != AnomalyKind::UnknownEvent);
    found.map(|anomaly| (anomaly.line, anomaly.kind.code())).collect()
}
