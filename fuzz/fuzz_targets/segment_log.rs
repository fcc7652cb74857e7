//! A whole log, whatever it holds: nothing panics, reading backward says what the fold says, and
//! what is appended is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use resume_gate::segments::{
    SEGMENTS_FILE, Segment, Start, Windows, chain_head, fold, fold_within, head_session, newest_where, record_session,
    record_start, zone_for,
};
use resume_gate::store::MemoryStore;

fuzz_target!(|input: &[u8]| {
    // The first two bytes are the windows' sizes, so that a seed is a log with two bytes before it.
    let [repair, tail, log @ ..] = input else { return };
    let windows = Windows { repair_bytes: u64::from(*repair), tail_bytes: u64::from(*tail).max(1) };
    let folded = fold_within("u1", log, windows.repair_bytes);
    assert!(folded.anomalies.iter().all(|anomaly| anomaly.line <= folded.lines && anomaly.offset <= folded.bytes));
    let accepts: [fn(&Segment) -> bool; 3] =
        [|_| true, |segment| segment.session_id.is_some(), |segment| segment.reported("A")];
    for accept in accepts {
        let by_tail = newest_where(&mut { log }, "u1", windows, accept).expect("memory can be read");
        let by_fold = folded.segments.iter().rev().find(|segment| accept(segment));
        assert_eq!(by_tail.as_ref(), by_fold);
    }

    let zone = zone_for("u1").expect("a zone");
    let mut store = MemoryStore::new();
    store.set(&zone, SEGMENTS_FILE, log);
    let before = chain_head(&mut store, "u1", None).expect("memory can be read");
    assert_eq!(before.head().cloned(), head_session(&fold("u1", log).segments, None).and_then(Segment::head));
    let start = Start { agent_uid: "u1".into(), ..Start::default() };
    let segment = record_start(&mut store, &start, 1).expect("memory can be written");
    assert_eq!(chain_head(&mut store, "u1", Some(&segment)).expect("memory can be read"), before);
    record_session(&mut store, "u1", &segment, "new", 2).expect("memory can be written");
    let after = chain_head(&mut store, "u1", None).expect("memory can be read");
    assert_eq!(after.head().map(|head| head.session_id.as_str()), Some("new"));
});
