//! A line, whatever it holds: what is read from it is read again from what it is written as.
#![no_main]

use libfuzzer_sys::fuzz_target;
use resume_gate::segments::{Event, SEGMENTS_FILE, append, events_in, zone_for};
use resume_gate::store::MemoryStore;

fuzz_target!(|line: &[u8]| {
    if line.contains(&b'\n') {
        return;
    }
    for event in events_in(line) {
        // What a session says when it is none is not written back.
        if matches!(&event, Event::Session(session) if session.provider_session_id.is_none()) {
            continue;
        }
        let mut store = MemoryStore::new();
        append(&mut store, "u1", &event, 1).expect("an event that was read can be written");
        let zone = zone_for("u1").expect("a zone");
        let written = store.bytes(&zone, SEGMENTS_FILE).expect("a log");
        let again: Vec<Event> = events_in(written).collect();
        assert_eq!(again, [event]);
    }
});
