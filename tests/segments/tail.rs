//! Reading a log backward says what a fold of the whole log says, and costs the same at any age.

use proptest::prelude::*;
use resume_gate::segments::{Segment, TAIL_WINDOW_BYTES, Windows, fold_within, newest_where};
use resume_gate::store::{Snapshot, StoreError};
use std::ops::Range;

/// The newest accepted segment by a fold of the whole log.
fn by_fold(log: &[u8], windows: Windows, accept: impl Fn(&Segment) -> bool) -> Option<Segment> {
    fold_within("u1", log, windows.repair_bytes).segments.into_iter().rev().find(accept)
}

fn by_tail(mut log: &[u8], windows: Windows, accept: impl Fn(&Segment) -> bool) -> Option<Segment> {
    newest_where(&mut log, "u1", windows, accept).unwrap()
}

/// A piece of a log: usually one line, often damaged.
fn piece() -> BoxedStrategy<Vec<u8>> {
    let segment = prop_oneof![Just("g1"), Just("g2"), Just("g3"), Just("\\u00671"), Just("g/4"), Just("g\\/4")];
    let uid = prop_oneof![
        4 => Just(r#","agent_uid":"u1""#.to_owned()),
        1 => Just(r#","agent_uid":"u2""#.to_owned()),
        1 => Just(String::new()),
    ];
    let sid = prop_oneof![
        4 => prop_oneof![Just(r#""A""#), Just(r#""B""#), Just(r#""C""#)],
        1 => prop_oneof![Just("null"), Just(r#""""#), Just(r#""  ""#), Just(r#""-x""#), Just(r#""a/b""#), Just("7")],
    ];
    let provider = prop_oneof![4 => Just("claude"), 1 => Just("codex")];
    let start = (segment.clone(), uid, sid.clone(), provider, 0..30_usize).prop_map(|(segment, uid, sid, provider, pad)| {
        let pad = "x".repeat(pad);
        format!(r#"{{"event":"start","segment_id":"{segment}"{uid},"provider":"{provider}","provider_session_id":{sid},"cwd":"{pad}"}}"#)
    });
    let session = (segment.clone(), sid).prop_map(|(segment, sid)| {
        format!(r#"{{"event":"session","segment_id":"{segment}","provider_session_id":{sid}}}"#)
    });
    let end = (segment, prop_oneof![Just("500"), Just("700"), Just("null"), Just("-1"), Just("\"600\"")]).prop_map(
        |(segment, size)| {
            format!(r#"{{"event":"end","segment_id":"{segment}","end_reason":"exited","provider_bytes_end":{size}}}"#)
        },
    );
    let event = prop_oneof![4 => start, 3 => session, 2 => end].prop_map(String::into_bytes).boxed();
    let noise = prop_oneof![
        Just(b"\n\n".to_vec()),
        Just(b"\0\0\0\0".to_vec()),
        Just(b"\xff\xfe\n".to_vec()),
        Just(b"{\"event\":\"lease\",\"segment_id\":\"g1\"}\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        Just(b"[1,{\"event\":3}]\n".to_vec()),
    ];
    prop_oneof![
        8 => event.clone().prop_map(|mut line| { line.push(b'\n'); line }),
        // Torn, and fused with whatever comes next.
        2 => (event.clone(), any::<prop::sample::Index>()).prop_map(|(mut line, at)| { line.truncate(at.index(line.len())); line }),
        1 => event.clone(),
        1 => (event, any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut line, at, byte)| {
            let at = at.index(line.len());
            if let Some(there) = line.get_mut(at) { *there = byte; }
            line.push(b'\n');
            line
        }),
        1 => noise,
    ]
    .boxed()
}

/// Pieces, some of them again later on.
fn log() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec((piece(), prop::option::weighted(0.25, any::<prop::sample::Index>())), 0..24).prop_map(
        |pieces| {
            let mut written: Vec<Vec<u8>> = Vec::new();
            for (piece, again) in pieces {
                let earlier = again.and_then(|index| (!written.is_empty()).then(|| index.get(&written).clone()));
                written.push(earlier.unwrap_or(piece));
            }
            written.concat()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reading_backward_gives_what_a_full_fold_gives(
        log in log(),
        repair_bytes in prop_oneof![0_u64..400, Just(64 * 1024)],
        tail_bytes in prop_oneof![1_u64..300, Just(64 * 1024)],
        id in prop_oneof![Just("A"), Just("B"), Just("C")],
    ) {
        let windows = Windows { repair_bytes, tail_bytes };
        let has_session = |segment: &Segment| segment.session_id.is_some();
        let is_not_g1 = |segment: &Segment| segment.session_id.is_some() && segment.start.segment_id != "g1";
        let reported = |segment: &Segment| segment.reported(id);
        prop_assert_eq!(by_tail(&log, windows, |_| true), by_fold(&log, windows, |_| true));
        prop_assert_eq!(by_tail(&log, windows, has_session), by_fold(&log, windows, has_session));
        prop_assert_eq!(by_tail(&log, windows, is_not_g1), by_fold(&log, windows, is_not_g1));
        prop_assert_eq!(by_tail(&log, windows, reported), by_fold(&log, windows, reported));
        prop_assert_eq!(by_tail(&log, windows, |_| false), None);
    }
}

/// A log that counts what is read of it.
struct Counted<'l> {
    log: &'l [u8],
    read: u64,
    largest: u64,
}

impl Snapshot for Counted<'_> {
    fn size(&self) -> u64 {
        self.log.len() as u64
    }

    fn read_range(&mut self, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), StoreError> {
        self.read += range.end - range.start;
        self.largest = self.largest.max(range.end - range.start);
        self.log.read_range(range, into)
    }
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> Vec<u8> {
    (0..count).map(line).collect::<Vec<_>>().concat().into_bytes()
}

fn start(number: usize) -> String {
    format!("{{\"event\":\"start\",\"segment_id\":\"s{number}\",\"agent_uid\":\"u1\",\"cwd\":\"/w\"}}\n")
}

fn session(number: usize) -> String {
    format!("{{\"event\":\"session\",\"segment_id\":\"s{number}\",\"provider_session_id\":\"A{number}\"}}\n")
}

#[test]
fn the_head_of_a_long_log_costs_its_last_two_windows() {
    let log = lines(100_000, |number| start(number) + &session(number));
    let mut counted = Counted { log: &log, read: 0, largest: 0 };
    let head = newest_where(&mut counted, "u1", Windows::default(), |segment| segment.session_id.is_some());
    assert_eq!(head.unwrap().unwrap().session_id.as_deref(), Some("A99999"));
    assert!(counted.read <= 3 * TAIL_WINDOW_BYTES, "{} bytes were read", counted.read);
}

#[test]
fn a_far_head_is_found_by_reading_each_byte_once_in_small_pieces() {
    let mut log = (start(0) + &session(0)).into_bytes();
    log.extend(lines(100_000, |number| start(number + 1)));
    let mut counted = Counted { log: &log, read: 0, largest: 0 };
    let head = newest_where(&mut counted, "u1", Windows::default(), |segment| segment.session_id.is_some());
    assert_eq!(head.unwrap().unwrap().session_id.as_deref(), Some("A0"));
    assert!(counted.read <= log.len() as u64 + 8 * TAIL_WINDOW_BYTES, "{} of {}", counted.read, log.len());
    assert!(counted.largest <= 3 * TAIL_WINDOW_BYTES, "{} bytes in one piece", counted.largest);
}

#[test]
fn a_line_of_many_mebibytes_is_crossed() {
    let mut log = (start(0) + &session(0)).into_bytes();
    log.extend(format!("{{\"event\":\"note\",\"text\":\"{}\"}}\n", "x".repeat(9 << 20)).into_bytes());
    log.extend(format!("{}\n", "y".repeat(3 << 20)).into_bytes());
    assert_eq!(by_tail(&log, Windows::default(), |_| true), by_fold(&log, Windows::default(), |_| true));
    assert!(by_tail(&log, Windows::default(), |_| true).is_some());
}
