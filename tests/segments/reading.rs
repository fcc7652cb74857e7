//! What the events of an undamaged log mean.

use crate::{anomalies, chain, far_away, head, head_id, ids, line, log};
use resume_gate::segments::{EndReason, Rung, Severity, earlier_sessions, events_in};

#[test]
fn log_order_decides_what_is_newest_and_not_the_clock() {
    let log = log("start g1 @9000; session g1 A; start g2 @1000; session g2 B");
    let chain = chain(&log);
    assert_eq!(ids(&chain), ["g1", "g2"]);
    assert_eq!(head(&chain).unwrap().session_id.as_deref(), Some("B"));
    assert_eq!(head(&chain).unwrap().start.started_at_ms, Some(1000));
}

/// B02
#[test]
fn the_newest_segment_is_the_head_however_small_its_file() {
    let log = log("start g1 @1000; session g1 A; end g1 @2000 pbytes=6000000;
                   start g2 @3000; session g2 B; end g2 @4000 pbytes=900");
    let head = head(&chain(&log)).unwrap().head().unwrap();
    assert_eq!((head.session_id.as_str(), head.provider_bytes_end), ("B", Some(900)));
}

/// B04
#[test]
fn an_agent_without_segments_has_no_head_whatever_others_have() {
    assert_eq!(head_id(""), None);
    assert_eq!(head_id(log("start g1 uid=u2; session g1 A")), None);
}

/// B05
#[test]
fn the_last_session_of_a_segment_is_its_session() {
    let log = log("start g1 sid=A; session g1 A @1001; session g1 B @5000; session g1 C @9000");
    let chain = chain(&log);
    let segment = head(&chain).unwrap();
    assert_eq!(segment.session_id.as_deref(), Some("C"));
    assert_eq!(segment.earlier_session_ids, ["A", "B"]);
    assert_eq!(segment.session_at_ms, Some(9000));
    assert!(segment.reported("A") && segment.reported("C") && !segment.reported("D"));
    assert_eq!(segment.head_for("B").unwrap().session_id, "B");
}

#[test]
fn a_start_alone_can_name_the_session() {
    assert_eq!(head_id(log("start g1 sid=A")), Some("A".to_owned()));
}

/// B08
#[test]
fn a_session_that_was_never_written_stays_head_and_earlier_ones_can_be_named() {
    let log = log("start g0 key=K1; session g0 Z; session g0 A; end g0 pbytes=1;
                   start g1 @1000; session g1 A; end g1 @2000 pbytes=500;
                   start g2 @3000; session g2 B @3001; end g2 @3200 crashed");
    let chain = chain(&log);
    let head = head(&chain).unwrap();
    assert_eq!(head.session_id.as_deref(), Some("B"));
    assert_eq!(head.provider_bytes_end, None);
    assert_eq!(head.end.as_ref().unwrap().end_reason, EndReason::Crashed);
    let earlier = earlier_sessions(&chain.segments, "B");
    let earlier: Vec<_> = earlier.iter().map(|head| (head.session_id.as_str(), head.provider_bytes_end)).collect();
    assert_eq!(earlier, [("A", Some(500)), ("Z", None)]);
}

/// B47
#[test]
fn a_segment_without_an_end_has_no_size() {
    let chain = chain(log("start g1; session g1 A"));
    assert_eq!(head(&chain).unwrap().end, None);
    assert_eq!(head(&chain).unwrap().head().unwrap().provider_bytes_end, None);
}

#[test]
fn the_first_end_wins_and_a_second_never_raises_the_size() {
    let chain_of = |log: String| chain(log);
    let chain = chain_of(log("start g1; session g1 A; end g1 @2000 pbytes=500; end g1 @3000 crashed pbytes=900"));
    let segment = head(&chain).unwrap();
    assert_eq!(segment.provider_bytes_end, Some(500));
    assert_eq!(segment.end.as_ref().unwrap().ended_at_ms, Some(2000));
    assert_eq!(segment.end.as_ref().unwrap().end_reason, EndReason::Exited);
    assert_eq!(anomalies(&chain), [(4, "second_end")]);
    let unsized_first = chain_of(log("start g1; session g1 A; end g1 @2000; end g1 @3000 pbytes=900"));
    assert_eq!(head(&unsized_first).unwrap().provider_bytes_end, None);
}

#[test]
fn a_recorded_size_counts_only_for_the_session_it_was_recorded_of() {
    let sized = |short: &str| head(&chain(log(short))).unwrap().provider_bytes_end;
    assert_eq!(sized("start g1; session g1 A; end g1 pbytes=500; session g1 B"), None);
    assert_eq!(sized("start g1 sid=A; end g1 pbytes=500; session g1 B"), None);
    assert_eq!(sized("start g1; session g1 A; end g1 pbytes=500; session g1 A @2001"), Some(500));
    // Nothing was known at the end: the one session that is reported late is the one it was of.
    assert_eq!(sized("start g1; end g1 pbytes=500; session g1 A"), Some(500));
    assert_eq!(sized("start g1; end g1 pbytes=500; session g1 A; session g1 B"), None);
    // Away and back again: the size was of another moment.
    assert_eq!(sized("start g1; session g1 A; end g1 pbytes=500; session g1 B; session g1 A @3000"), None);
    // What is no id changes nothing.
    assert_eq!(sized("start g1; session g1 A; end g1 pbytes=500; session g1 -x"), Some(500));
}

/// B24, the chain's part
#[test]
fn growth_is_judged_against_the_newest_segment_of_the_session() {
    let log = log("start g1; session g1 B; end g1 @2000 pbytes=500; start g2 sid=B; end g2 @4000 pbytes=800");
    assert_eq!(head(&chain(&log)).unwrap().provider_bytes_end, Some(800));
    let log = crate::log("start g1; session g1 B; end g1 @2000 pbytes=500; start g2 sid=B; end g2 @4000");
    assert_eq!(head(&chain(&log)).unwrap().provider_bytes_end, None);
}

/// B44
#[test]
fn events_join_their_segment_whatever_the_order_and_an_old_start_does_not_come_back() {
    let log = log("session g2 B; end g2 pbytes=700; start g1 @1000; session g1 A; start g2 @3000; start g1 @1000");
    let chain = chain(&log);
    assert_eq!(ids(&chain), ["g1", "g2"]);
    let segment = head(&chain).unwrap();
    assert_eq!((segment.session_id.as_deref(), segment.provider_bytes_end), (Some("B"), Some(700)));
    assert_eq!(anomalies(&chain), [(1, "ran_ahead"), (2, "ran_ahead"), (6, "repeated_line")]);
}

#[test]
fn a_start_that_differs_from_the_one_shortly_before_is_ignored_too() {
    let chain = chain(log("start g1 @1000 cwd=/w; start g2; start g1 @1005 cwd=/other"));
    assert_eq!(ids(&chain), ["g1", "g2"]);
    assert_eq!(chain.segments.first().unwrap().start.cwd, "/w");
    assert_eq!(anomalies(&chain), [(3, "repeated_start")]);
}

#[test]
fn a_line_that_stands_shortly_before_is_ignored_and_one_that_stands_far_before_counts() {
    let near = log("start g1; session g1 A; session g1 B; session g1 A");
    assert_eq!(head_id(&near), Some("B".to_owned()));
    assert_eq!(anomalies(&chain(&near)), [(4, "repeated_line")]);
    let far = log("start g1; session g1 A; session g1 B") + &far_away() + &log("session g1 A");
    assert_eq!(head_id(far), Some("A".to_owned()));
}

#[test]
fn a_repeated_line_is_ignored_for_as_long_as_it_keeps_being_repeated() {
    // Each stands in the window of the next, though the first is far from the last.
    let filler = format!("{{\"event\":\"lease\",\"note\":\"{}\"}}\n", "x".repeat(40 * 1024));
    let again = || filler.clone() + &line("session g1 A") + "\n";
    let log = log("start g1; session g1 A; session g1 B") + &again() + &again() + &again();
    assert_eq!(head_id(log), Some("B".to_owned()));
}

#[test]
fn a_start_far_from_the_first_of_its_id_opens_a_second_segment() {
    let log = log("start g1; session g1 A; start g2; session g2 B")
        + &far_away()
        + &log("start g1 @9; session g1 C; end g1 pbytes=7");
    let chain = chain(&log);
    assert_eq!(ids(&chain), ["g1", "g2", "g1"]);
    assert_eq!(head(&chain).unwrap().session_id.as_deref(), Some("C"));
    assert_eq!(chain.segments.first().unwrap().end, None);
    assert_eq!(anomalies(&chain), [(6, "segment_id_reused")]);
}

#[test]
fn an_event_too_far_before_its_start_changes_nothing() {
    let log = log("session g1 A") + &far_away() + &log("start g1; start g2; session g3 C");
    let chain = chain(&log);
    assert_eq!(head(&chain), None);
    assert_eq!(anomalies(&chain), [(1, "no_start"), (5, "no_start")]);
    assert_eq!(chain.anomalies.first().unwrap().subject.as_deref(), Some("g1"));
}

#[test]
fn an_event_after_its_start_counts_at_any_distance() {
    let log = log("start g1; start g2") + &far_away() + &far_away() + &log("session g1 A; end g1 pbytes=5");
    assert_eq!(head(&chain(&log)).unwrap().head().unwrap().provider_bytes_end, Some(5));
}

#[test]
fn a_segment_of_another_agent_never_counts_and_one_without_an_agent_is_the_logs() {
    let log = log("start g1 uid=; session g1 A; start g2 uid=u2; session g2 B; end g2 pbytes=1");
    let chain = chain(&log);
    assert_eq!(ids(&chain), ["g1"]);
    assert_eq!(anomalies(&chain), [(3, "other_agent")]);
    assert_eq!(chain.anomalies.first().unwrap().subject.as_deref(), Some("u2"));
}

/// B40
#[test]
fn an_empty_or_blank_session_is_none() {
    let log = log("start g1; session g1 A; start g2 sid=")
        + "{\"event\":\"session\",\"segment_id\":\"g2\",\"provider_session_id\":\"  \"}\n"
        + "{\"event\":\"session\",\"segment_id\":\"g2\",\"provider_session_id\":\"\"}\n"
        + "{\"event\":\"session\",\"segment_id\":\"g2\"}\n";
    assert_eq!(head_id(&log), Some("A".to_owned()));
    assert_eq!(anomalies(&chain(&log)), [(4, "blank_session"), (5, "blank_session"), (6, "blank_session")]);
}

/// B39
#[test]
fn a_session_of_claudes_that_cannot_be_a_file_name_was_never_reported() {
    for id in
        ["--continue", "a/b", "../../etc/passwd", "a\\\\b", "a:b", ".", "..", "a\\u0000b", "a\\nb", &"x".repeat(201)]
    {
        let log = log("start g1; session g1 A; start g2")
            + &format!("{{\"event\":\"session\",\"segment_id\":\"g2\",\"provider_session_id\":\"{id}\"}}\n");
        assert_eq!(head_id(&log), Some("A".to_owned()), "{id}");
        assert_eq!(anomalies(&chain(&log)), [(4, "unsafe_session")], "{id}");
        let at_start = log_with_start_naming(id);
        assert_eq!(head_id(&at_start), Some("A".to_owned()), "{id}");
    }
    let then_good = log("start g1; session g1 --continue; session g1 B");
    assert_eq!(head_id(then_good), Some("B".to_owned()));
}

fn log_with_start_naming(id: &str) -> String {
    log("start g1 sid=A") + &format!("{{\"event\":\"start\",\"segment_id\":\"g2\",\"provider_session_id\":\"{id}\"}}\n")
}

/// B07
#[test]
fn another_providers_ids_are_opaque_and_a_claude_id_need_not_be_a_uuid() {
    assert_eq!(head_id(log("start g1 provider=opencode sid=ses_01abc")), Some("ses_01abc".to_owned()));
    assert_eq!(head_id(log("start g1 provider=codex; session g1 --x/y:z")), Some("--x/y:z".to_owned()));
    assert_eq!(head_id(log("start g1; session g1 chat-1757")), Some("chat-1757".to_owned()));
    let names = [("claude-code", None), ("", None), ("opencode", Some("-x".to_owned()))];
    for (provider, expected) in names {
        assert_eq!(head_id(log(&format!("start g1 provider={provider}; session g1 -x"))), expected, "{provider}");
    }
}

#[test]
fn newer_words_are_kept_and_newer_fields_and_events_passed_over() {
    let log = "{\"event\":\"lease\",\"segment_id\":\"g1\",\"epoch\":4}\n\
        {\"event\":\"start\",\"segment_id\":\"g1\",\"continuity_rung\":\"teleported\",\"provider\":\"newprov\",\
         \"future\":{\"deep\":[1,{\"event\":\"end\"},null,true,-2.5e3,\"}\"]},\"provider_session_id\":\"A\"}\n\
        {\"event\":\"end\",\"segment_id\":\"g1\",\"end_reason\":\"evaporated\",\"provider_bytes_end\":7,\"more\":false}\n";
    let chain = chain(log);
    let segment = head(&chain).unwrap();
    assert_eq!(segment.start.continuity_rung, Rung::Unknown("teleported".to_owned()));
    assert_eq!(segment.start.continuity_rung.as_str(), "teleported");
    assert_eq!(segment.start.provider, "newprov");
    assert_eq!(segment.end.as_ref().unwrap().end_reason.as_str(), "evaporated");
    assert_eq!(segment.provider_bytes_end, Some(7));
    assert!(chain.anomalies.iter().all(|anomaly| anomaly.kind.severity() == Severity::Note));
    let noted: Vec<_> = chain.anomalies.iter().filter_map(|anomaly| anomaly.subject.as_deref()).collect();
    assert_eq!(noted, ["lease", "teleported", "evaporated"]);
    assert_eq!(Rung::from("relocated"), Rung::Relocated);
}

#[test]
fn numbers_are_read_however_they_are_written_and_nonsense_is_unknown() {
    let size = |spelled: &str| {
        let log = log("start g1 sid=A")
            + &format!("{{\"event\":\"end\",\"segment_id\":\"g1\",\"provider_bytes_end\":{spelled}}}\n");
        let chain = chain(log);
        (head(&chain).unwrap().provider_bytes_end, anomalies(&chain).len())
    };
    for spelled in ["700", "\"700\"", "700.0", "7e2", "\"700.0\"", "\" 700 \"", "7.00E+2"] {
        assert_eq!(size(spelled), (Some(700), 0), "{spelled}");
    }
    assert_eq!(size("null"), (None, 0));
    assert_eq!(size("18446744073709551615"), (Some(u64::MAX), 0));
    for spelled in
        ["-1", "\"-700\"", "700.5", "\"many\"", "true", "[700]", "1e40", "18446744073709551616", "\"inf\"", "-"]
    {
        assert_eq!(size(spelled), (None, 1), "{spelled}");
    }
    assert_eq!(size("-0"), (Some(0), 0));
}

#[test]
fn a_field_of_the_wrong_type_is_unknown_and_its_segment_still_counts() {
    let log = "{\"event\":\"start\",\"segment_id\":\"g1\",\"config_dir\":7,\"cwd\":[\"/w\"],\"identity_key\":{},\
               \"started_at_ms\":\"soon\",\"provider_session_id\":\"A\"}\n";
    let chain = chain(log);
    let head = head(&chain).unwrap().head().unwrap();
    assert_eq!((head.config_dir, head.cwd, head.identity_key), (None, None, None));
    assert_eq!(head.session_id, "A");
    let fields: Vec<_> = chain.anomalies.iter().filter_map(|anomaly| anomaly.subject.as_deref()).collect();
    assert_eq!(fields, ["config_dir", "cwd", "started_at_ms", "identity_key"]);
}

#[test]
fn of_a_repeated_key_the_last_counts_and_escapes_and_blanks_are_read() {
    let log = "  { \"event\" : \"start\" , \"segment_id\" : \"\\u00671\", \"provider_session_id\":\"X\",\
               \t\"provider_session_id\":\"A\\ud83d\\ude00\\/\", \"provider\":\"codex\" }  \n\
               {\"\\u0065vent\":\"se\\u0073sion\",\"segment_id\":\"g1\",\"provider_session_id\":\"B\"}\n";
    let chain = chain(log);
    assert_eq!(head(&chain).unwrap().session_id.as_deref(), Some("B"));
    assert_eq!(head(&chain).unwrap().earlier_session_ids, ["A😀/"]);
    assert_eq!(chain.anomalies, []);
}

#[test]
fn a_head_carries_what_was_recorded_and_blanks_are_nothing() {
    let chain_of = |log: String| chain(log);
    let chain = chain_of(log("start g1 cfg=/cfg/a cwd=/w key=K1 sid=A from=P; end g1 pbytes=9"));
    let found = head(&chain).unwrap();
    let head_found = found.head().unwrap();
    assert_eq!(head_found.segment_id, "g1");
    assert_eq!(head_found.identity_key.as_deref(), Some("K1"));
    assert_eq!(head_found.config_dir.as_deref(), Some("/cfg/a"));
    assert_eq!(head_found.cwd.as_deref(), Some("/w"));
    assert_eq!(head_found.provider, "claude");
    assert_eq!(found.start.forked_from.as_deref(), Some("P"));
    let bare = chain_of(
        "{\"event\":\"start\",\"segment_id\":\"g1\",\"cwd\":\" \",\"config_dir\":\"\",\"provider_session_id\":\"A\"}\n"
            .to_owned(),
    );
    let head_found = head(&bare).unwrap().head().unwrap();
    assert_eq!((head_found.cwd, head_found.config_dir, head_found.provider.as_str()), (None, None, ""));
}

#[test]
fn events_are_listed_as_they_stand() {
    let log = log("session g2 B; start g1 uid=u2; session g2 B; end g9 crashed");
    let events: Vec<_> = events_in(log.as_bytes()).collect();
    assert_eq!(events.iter().map(|event| event.segment_id()).collect::<Vec<_>>(), ["g2", "g1", "g2", "g9"]);
}

/// B50
#[test]
fn a_chain_of_a_hundred_thousand_segments_folds() {
    let mut log = String::new();
    for number in 0..100_000 {
        log += &crate::log(&format!("start s{number}; session s{number} A{number}; end s{number} pbytes=1"));
    }
    let chain = chain(&log);
    assert_eq!((chain.segments.len(), chain.lines, chain.bytes), (100_000, 300_000, log.len() as u64));
    assert_eq!(head(&chain).unwrap().session_id.as_deref(), Some("A99999"));
    assert_eq!(chain.anomalies, []);
}
