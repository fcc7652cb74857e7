//! What is left of a damaged log.

use crate::{anomalies, chain, head, head_id, ids, line, log};

fn with_line(before: &str, damaged: &[u8], after: &str) -> Vec<u8> {
    [log(before).as_bytes(), damaged, b"\n", log(after).as_bytes()].concat()
}

/// B42
#[test]
fn a_torn_line_does_not_take_the_next_event_with_it() {
    let torn = format!("{{\"event\":\"end\",\"segm{}", line("start g2"));
    let log = with_line("start g1; session g1 A", torn.as_bytes(), "session g2 B");
    assert_eq!(head_id(&log), Some("B".to_owned()));
    assert_eq!(anomalies(&chain(&log)), [(3, "fused_line")]);
}

#[test]
fn wherever_a_line_is_cut_the_event_behind_it_and_the_lines_around_it_are_read() {
    let whole = line("end g1 @2000 crashed pbytes=500");
    for cut in 1..whole.len() {
        let damaged = whole.get(..cut).unwrap().to_owned() + &line("start g2");
        let log = with_line("start g1; session g1 A", damaged.as_bytes(), "session g2 B");
        let chain = chain(&log);
        assert_eq!(ids(&chain), ["g1", "g2"], "cut at {cut}");
        assert_eq!(head(&chain).unwrap().session_id.as_deref(), Some("B"), "cut at {cut}");
    }
}

#[test]
fn wherever_the_log_is_cut_everything_before_is_read() {
    let whole = log("start g1; session g1 A; end g1 pbytes=1; start g2; session g2 B");
    for cut in 0..whole.len() {
        let log = whole.get(..cut).unwrap();
        let complete = log.matches('\n').count();
        let expected = match complete {
            0..2 => None,
            2..5 => Some("A"),
            _ => Some("B"),
        };
        // The very last byte of a line is its newline: without it the event is still whole.
        let lacks_newline_only = whole.as_bytes().get(cut) == Some(&b'\n');
        if !lacks_newline_only {
            assert_eq!(head_id(log).as_deref(), expected, "cut at {cut}");
        }
    }
}

#[test]
fn two_events_without_a_newline_between_them_are_both_read() {
    let fused = line("start g2") + &line("session g2 B");
    let log = with_line("start g1; session g1 A", fused.as_bytes(), "end g2 pbytes=3");
    let chain = chain(&log);
    assert_eq!(head(&chain).unwrap().head().unwrap().provider_bytes_end, Some(3));
    assert_eq!(head(&chain).unwrap().session_id.as_deref(), Some("B"));
}

#[test]
fn an_event_with_garbage_around_it_is_read() {
    for (before, after) in
        [("\0\0\0\0", ""), ("", "\0\0\0"), ("garbage", "}}]"), ("{\"event\":{", ","), ("{\"a\":1}", "")]
    {
        let damaged = format!("{before}{}{after}", line("session g1 B"));
        let log = with_line("start g1; session g1 A", damaged.as_bytes(), "");
        assert_eq!(head_id(&log), Some("B".to_owned()), "{before:?} {after:?}");
    }
}

#[test]
fn a_run_of_nul_bytes_costs_only_what_it_overwrote() {
    let mut log = log("start g1; session g1 A; session g1 B; start g2; session g2 C").into_bytes();
    // From the middle of the third line into the middle of the fourth.
    let third: usize = log.split_inclusive(|byte| *byte == b'\n').take(2).map(<[u8]>::len).sum();
    log.get_mut(third + 40..third + 150).unwrap().fill(0);
    let chain = chain(&log);
    assert_eq!(ids(&chain), ["g1"]);
    assert_eq!(head(&chain).unwrap().session_id.as_deref(), Some("A"));
    assert_eq!(anomalies(&chain), [(3, "nul_bytes"), (3, "torn_line"), (4, "no_start")]);
}

#[test]
fn nul_bytes_within_a_string_are_damage_and_no_id() {
    let mut damaged = line("session g1 BBBB").into_bytes();
    let at = damaged.windows(4).position(|window| window == b"BBBB").unwrap();
    damaged.get_mut(at + 1..at + 3).unwrap().fill(0);
    assert_eq!(head_id(with_line("start g1 provider=codex; session g1 A", &damaged, "")), Some("A".to_owned()));
}

#[test]
fn bytes_that_are_not_utf8_spoil_their_field_and_no_other_line() {
    let start = line("start g2 cwd=/w/X cfg=/cfg/b").replace("/w/X", "/w/\u{1}");
    let start: Vec<u8> = start.bytes().map(|byte| if byte == 1 { 0xc3 } else { byte }).collect();
    let log = with_line("start g1; session g1 A", &start, "session g2 B");
    let chain = chain(&log);
    let head = head(&chain).unwrap().head().unwrap();
    assert_eq!((head.session_id.as_str(), head.cwd, head.config_dir.as_deref()), ("B", None, Some("/cfg/b")));
    assert_eq!(anomalies(&chain), [(3, "bad_value"), (3, "invalid_utf8")]);
}

#[test]
fn an_id_that_is_not_utf8_is_none() {
    let damaged: Vec<u8> = line("session g1 B").bytes().map(|byte| if byte == b'B' { 0xff } else { byte }).collect();
    assert_eq!(head_id(with_line("start g1; session g1 A", &damaged, "")), Some("A".to_owned()));
    let damaged: Vec<u8> = line("start gX").bytes().map(|byte| if byte == b'X' { 0xff } else { byte }).collect();
    let log = with_line("start g1; session g1 A", &damaged, "session g2 B");
    assert_eq!(head_id(log), Some("A".to_owned()));
}

#[test]
fn line_separators_within_strings_are_data() {
    let log = log("start g1 cwd=/wLSxNELy; session g1 APS");
    let log = log.replace("LS", "\u{2028}").replace("NEL", "\u{85}").replace("PS", "\u{2029}");
    let chain = chain(&log);
    assert_eq!(head(&chain).unwrap().start.cwd, "/w\u{2028}x\u{85}y");
    assert_eq!(head(&chain).unwrap().session_id.as_deref(), Some("A\u{2029}"));
    assert_eq!(chain.lines, 2);
}

#[test]
fn carriage_returns_and_byte_order_marks_are_read_over() {
    let log = format!("\u{feff}{}", log("start g1; session g1 A").replace('\n', "\r\n"));
    let chain = chain(&log);
    assert_eq!(head(&chain).unwrap().session_id.as_deref(), Some("A"));
    assert_eq!(anomalies(&chain), [(1, "byte_order_mark"), (1, "carriage_return"), (2, "carriage_return")]);
}

#[test]
fn blank_lines_are_nothing() {
    let chain = chain(format!("\n\n  \r\n{}\n\t\n", log("start g1 sid=A")));
    assert_eq!(head(&chain).unwrap().session_id.as_deref(), Some("A"));
    assert_eq!(chain.anomalies, []);
}

#[test]
fn a_line_of_many_mebibytes_is_read_whole_or_torn() {
    let long = line("start g2 cwd=LONG").replace("LONG", &"d".repeat(5 << 20));
    let whole = with_line("start g1; session g1 A", long.as_bytes(), "session g2 B");
    assert_eq!(head_id(&whole), Some("B".to_owned()));
    assert_eq!(anomalies(&chain(&whole)), [(3, "long_line")]);
    let torn = long.get(..4 << 20).unwrap().to_owned() + &line("start g3");
    let log = with_line("start g1; session g1 A", torn.as_bytes(), "session g3 C");
    assert_eq!(head_id(&log), Some("C".to_owned()));
}

#[test]
fn a_line_made_to_be_costly_costs_little() {
    let began = std::time::Instant::now();
    for piece in
        ["{", "[{", "{\"a\":", "{\"event\":\"start\",", "{\"event\":[", "\"{", "{\"a\":\"{\",", "{\"\":{\"\":[[["]
    {
        let costly = piece.repeat((512 << 10) / piece.len());
        let log = with_line("start g1; session g1 A", costly.as_bytes(), "session g1 B");
        assert_eq!(head_id(&log), Some("B".to_owned()), "{piece}");
        let with_event = costly + &line("session g1 C");
        let log = with_line("start g1; session g1 A", with_event.as_bytes(), "");
        assert_eq!(head_id(&log), Some("C".to_owned()), "{piece}");
    }
    // Squared, it would be hours.
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}

#[test]
fn json_that_is_no_event_is_named_and_passed_over() {
    let log = log("start g1 sid=A")
        + "[1,2]\n\"start\"\n{}\n{\"event\":7}\n{\"event\":\"start\"}\nnull\n{\"event\":\"end\",\"segment_id\":\" \"}\n";
    let chain = chain(&log);
    assert_eq!(ids(&chain), ["g1"]);
    assert_eq!(
        anomalies(&chain),
        [
            (2, "torn_line"),
            (3, "torn_line"),
            (4, "not_an_event"),
            (5, "not_an_event"),
            (6, "no_segment_id"),
            (7, "torn_line"),
            (8, "no_segment_id"),
        ]
    );
}

#[test]
fn each_anomaly_says_where_it_is_and_what_was_made_of_it() {
    let first = log("start g1 sid=A");
    let log = first.clone() + "{\"event\":\"sess";
    let chain = chain(&log);
    let anomaly = chain.anomalies.first().unwrap();
    assert_eq!((anomaly.offset, anomaly.line), (first.len() as u64, 2));
    assert_eq!(anomaly.describe(), "a cut or overwritten line: nothing on it could be read");
    let unclosed = crate::chain(first.trim_end());
    assert_eq!(anomalies(&unclosed), [(1, "no_final_newline")]);
}
