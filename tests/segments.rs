//! The segment index: what a log means, however damaged, and that reading it backward says the same.
#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use resume_gate::segments::{
    EndReason, Segment, Start, Windows, chain_head, fold, fold_within, head_session, newest_segment_id, newest_where,
    record_end_with_provider_bytes, record_session, record_start,
};
use resume_gate::store::MemoryStore;

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
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

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

#[test]
fn what_is_recorded_is_the_chain_that_is_read() {
    let mut store = MemoryStore::new();
    let start = Start { agent_uid: "u1".into(), cwd: "/w".into(), ..Start::default() };
    let first = record_start(&mut store, &start, 1000).unwrap();
    record_session(&mut store, "u1", &first, "A", 1001).unwrap();
    record_end_with_provider_bytes(&mut store, "u1", &first, EndReason::Exited, None, Some(500), 2000).unwrap();
    let second = record_start(&mut store, &start, 3000).unwrap();
    let head = chain_head(&mut store, "u1", Some(&second)).unwrap();
    assert_eq!(head.head().unwrap().session_id, "A");
    assert_eq!(head.head().unwrap().provider_bytes_end, Some(500));
    assert_eq!(newest_segment_id(&mut store, "u1").unwrap(), Some(second));
    let chain = fold("u1", store.bytes("agent-uid:u1:segments", "segments.jsonl").unwrap());
    assert_eq!(chain.anomalies, []);
    assert_eq!(head_session(&chain.segments, None).unwrap().start.segment_id, first);
    assert_eq!(chain.segments.last().unwrap().start.predecessor_segment_id, Some(first));
}
