//! What recording puts into a log, and what can be asked of it afterwards.

use crate::log;
use resume_gate::gate::ChainHead;
use resume_gate::segments::{
    AgentLog, EndReason, Event, ForkedFrom, Lineage, Rung, SEGMENTS_FILE, SegmentError, Start, agents, chain_head,
    decisions_zone_for, exit_reason, fold, fork_parent, fork_point, fork_source_head, head_session, is_safe_session_id,
    kill_reason, newest_segment, newest_segment_id, record_end, record_end_with_provider_bytes, record_session,
    record_start, recovery_allowed, rung_for_spawn, segments, uid_of_zone, with_legacy_identity, zone_for,
};
use resume_gate::store::{MemoryStore, StoreError, StoreErrorKind};

fn start_of(uid: &str) -> Start {
    Start { agent_uid: uid.to_owned(), cwd: "/w".to_owned(), ..Start::default() }
}

fn store_with(uid: &str, short: &str) -> MemoryStore {
    let mut store = MemoryStore::new();
    store.set(&zone_for(uid).unwrap(), SEGMENTS_FILE, log(short));
    store
}

fn bytes<'s>(store: &'s MemoryStore, uid: &str) -> &'s [u8] {
    store.bytes(&zone_for(uid).unwrap(), SEGMENTS_FILE).unwrap()
}

#[test]
fn what_is_recorded_is_the_chain_that_is_read() {
    let mut store = MemoryStore::new();
    let first = record_start(&mut store, &start_of("u1"), 1000).unwrap();
    record_session(&mut store, "u1", &first, "A", 1001).unwrap();
    record_end_with_provider_bytes(&mut store, "u1", &first, EndReason::Exited, None, Some(500), 2000).unwrap();
    let second = record_start(&mut store, &start_of("u1"), 3000).unwrap();
    let head = chain_head(&mut store, "u1", Some(&second)).unwrap();
    assert_eq!(head.head().unwrap().session_id, "A");
    assert_eq!(head.head().unwrap().provider_bytes_end, Some(500));
    assert_eq!(newest_segment_id(&mut store, "u1").unwrap(), Some(second));
    let chain = fold("u1", bytes(&store, "u1"));
    assert_eq!(chain.anomalies, []);
    assert_eq!(head_session(&chain.segments, None).unwrap().start.segment_id, first);
    let last = chain.segments.last().unwrap();
    assert_eq!(last.start.predecessor_segment_id, Some(first));
    assert_eq!(last.start.started_at_ms, Some(3000));
    assert_eq!(segments(&mut store, "u1").unwrap(), chain);
}

#[test]
fn a_recorded_start_has_a_random_uuid_and_every_field_the_format_names() {
    let mut store = MemoryStore::new();
    let start = Start { config_dir: Some("/cfg/a".to_owned()), continuity_rung: Rung::Native, ..start_of("u1") };
    let id = record_start(&mut store, &start, 1000).unwrap();
    assert_eq!(uuid::Uuid::parse_str(&id).unwrap().get_version_num(), 4);
    let written = String::from_utf8(bytes(&store, "u1").to_vec()).unwrap();
    assert_eq!(
        written.replace(&id, "ID"),
        "{\"event\":\"start\",\"segment_id\":\"ID\",\"agent_uid\":\"u1\",\"definition_id\":null,\"provider\":\"\",\
         \"config_dir\":\"/cfg/a\",\"provider_session_id\":null,\"cwd\":\"/w\",\"channel\":\"\",\
         \"agentmux_version\":\"\",\"block_id\":\"\",\"zone\":null,\"byte_start\":null,\"started_at_ms\":1000,\
         \"continuity_rung\":\"native\",\"predecessor_segment_id\":null,\"lease_epoch\":null,\"identity_key\":null,\
         \"forked_from\":null}\n"
    );
}

#[test]
fn a_recorded_session_and_end_are_written_in_the_formats_words() {
    let mut store = MemoryStore::new();
    record_session(&mut store, "u1", "g1", "A", 1001).unwrap();
    record_end(&mut store, "u1", "g1", EndReason::Restarted, Some(7), 2000).unwrap();
    assert_eq!(
        String::from_utf8(bytes(&store, "u1").to_vec()).unwrap(),
        "{\"event\":\"session\",\"segment_id\":\"g1\",\"provider_session_id\":\"A\",\"at_ms\":1001}\n\
         {\"event\":\"end\",\"segment_id\":\"g1\",\"ended_at_ms\":2000,\"end_reason\":\"restarted\",\"byte_end\":7,\
         \"provider_bytes_end\":null}\n"
    );
}

#[test]
fn an_id_and_a_predecessor_that_are_given_are_kept() {
    let mut store = store_with("u1", "start g1; start g2");
    let start = Start { segment_id: "mine".into(), predecessor_segment_id: Some("g1".into()), ..start_of("u1") };
    assert_eq!(record_start(&mut store, &start, 1).unwrap(), "mine");
    let newest = newest_segment(&mut store, "u1").unwrap().unwrap();
    assert_eq!(newest.start.predecessor_segment_id.as_deref(), Some("g1"));
    let filled = record_start(&mut store, &start_of("u1"), 2).unwrap();
    let newest = newest_segment(&mut store, "u1").unwrap().unwrap();
    assert_eq!((newest.start.segment_id, newest.start.predecessor_segment_id.as_deref()), (filled, Some("mine")));
}

#[test]
fn what_cannot_be_recorded_is_refused_and_leaves_no_log() {
    let mut store = MemoryStore::new();
    for uid in ["", " ", "../u1", "a b", "ü", "a:b", "a\0"] {
        assert_eq!(zone_for(uid), None);
        let refused = record_start(&mut store, &start_of(uid), 1).unwrap_err();
        assert_eq!(refused, SegmentError::UnusableUid { uid: uid.to_owned() });
        assert!(chain_head(&mut store, uid, None).is_err());
    }
    assert!(matches!(record_session(&mut store, "u1", "g1", " ", 1), Err(SegmentError::BlankId { .. })));
    assert!(matches!(record_session(&mut store, "u1", "", "A", 1), Err(SegmentError::BlankId { .. })));
    assert!(matches!(record_end(&mut store, "u1", "", EndReason::Exited, None, 1), Err(SegmentError::BlankId { .. })));
    assert_eq!(agents(&mut store).unwrap(), []);
}

#[test]
fn a_torn_tail_is_closed_before_the_next_event() {
    let mut store = MemoryStore::new();
    let torn = log("start g1; session g1 A") + "{\"event\":\"sess";
    store.set("agent-uid:u1:segments", SEGMENTS_FILE, torn.clone());
    let appended = record_session(&mut store, "u1", "g1", "B", 1).unwrap();
    assert!(appended.closed_torn_tail);
    assert_eq!(appended.offset, torn.len() as u64 + 1);
    assert_eq!(chain_head(&mut store, "u1", None).unwrap().head().unwrap().session_id, "B");
}

#[test]
fn the_segment_that_is_being_spawned_is_left_out_of_the_head() {
    let mut store = store_with("u1", "start g1; session g1 A; start g2 sid=B");
    let head = |store: &mut MemoryStore, current: Option<&str>| {
        chain_head(store, "u1", current).unwrap().head().map(|head| head.session_id.clone())
    };
    assert_eq!(head(&mut store, None).as_deref(), Some("B"));
    assert_eq!(head(&mut store, Some("g2")).as_deref(), Some("A"));
    assert_eq!(head(&mut store, Some("g9")).as_deref(), Some("B"));
    let mut only = store_with("u1", "start g1 sid=A");
    assert_eq!(chain_head(&mut only, "u1", Some("g1")).unwrap(), ChainHead::Empty);
    assert_eq!(chain_head(&mut MemoryStore::new(), "u1", None).unwrap(), ChainHead::Empty);
}

#[test]
fn a_forks_source_is_its_parents_head_and_the_point_its_newest_segment_with_the_session() {
    let mut store = store_with(
        "u1",
        "start g1 cfg=/cfg/a; session g1 A; end g1 pbytes=5; start g2 cfg=/cfg/b; session g2 A; session g2 X; end g2 pbytes=8;
         start g3; session g3 B",
    );
    let lineage = ForkedFrom(Some("u1".to_owned()));
    let head = fork_source_head(&mut store, &lineage, "u2", |dir| Some(format!("key of {dir}"))).unwrap().unwrap();
    assert_eq!(head.session_id, "B");
    assert_eq!(head.identity_key.as_deref(), Some("key of /cfg/a"));
    let point = fork_point(&mut store, "u1", "A").unwrap().unwrap();
    assert_eq!((point.segment_id.as_str(), point.session_id.as_str()), ("g2", "A"));
    assert_eq!(point.provider_bytes_end, None, "the size was of the session it moved on to");
    assert_eq!(fork_point(&mut store, "u1", "never").unwrap(), None);
    let none = ForkedFrom(None);
    assert_eq!(fork_source_head(&mut store, &none, "u2", |_| None).unwrap(), None);
    assert_eq!(fork_source_head(&mut store, &ForkedFrom(Some("u9".into())), "u2", |_| None).unwrap(), None);
}

#[test]
fn an_agent_is_no_fork_of_itself_or_of_a_blank() {
    for parent in ["u1", "", "  "] {
        assert_eq!(fork_parent(&ForkedFrom(Some(parent.to_owned())), "u1").unwrap(), None);
    }
    struct Unreadable;
    impl Lineage for Unreadable {
        fn parent_of_fork(&self, _uid: &str) -> Result<Option<String>, StoreError> {
            Err(StoreError::new(StoreErrorKind::Busy, None, "read", "locked"))
        }
    }
    assert!(fork_source_head(&mut MemoryStore::new(), &Unreadable, "u1", |_| None).is_err());
}

#[test]
fn a_recorded_identity_wins_over_the_one_at_its_login() {
    let head = |short: &str| {
        let mut store = store_with("u1", short);
        chain_head(&mut store, "u1", None).unwrap().head().unwrap().clone()
    };
    let key = |dir: &str| Some(format!("key of {dir}"));
    assert_eq!(with_legacy_identity(head("start g1 sid=A key=K"), key).identity_key.as_deref(), Some("K"));
    assert_eq!(with_legacy_identity(head("start g1 sid=A"), key).identity_key.as_deref(), Some("key of /cfg/a"));
    assert_eq!(with_legacy_identity(head("start g1 sid=A cfg="), key).identity_key, None);
    assert_eq!(with_legacy_identity(head("start g1 sid=A provider=codex"), key).identity_key, None);
    assert_eq!(with_legacy_identity(head("start g1 sid=A"), |_| None).identity_key, None);
}

#[test]
fn the_words_for_beginnings_and_ends_are_these() {
    let rungs = [(true, true), (true, false), (false, true), (false, false)]
        .map(|(resumed, carries)| rung_for_spawn(resumed, carries).to_string());
    assert_eq!(rungs, ["native", "native", "virtualized", "fresh"]);
    assert_eq!([0, 1, -1, 137].map(|code| exit_reason(code).to_string()), ["exited", "crashed", "crashed", "crashed"]);
    let kills = [(true, true), (true, false), (false, true), (false, false)]
        .map(|(closing, pending)| kill_reason(closing, pending).to_string());
    assert_eq!(kills, ["closed", "closed", "restarted", "stopped"]);
    assert!(recovery_allowed("A", None) && recovery_allowed("A", Some("A")) && !recovery_allowed("A", Some("B")));
    let _: Event = Event::Start(Start::default());
}

#[test]
fn only_what_can_be_a_file_name_and_an_argument_is_a_safe_session_id() {
    for id in ["a", "5f2c-11", "chat_1757.2", "ünï", "a b", "...", &"x".repeat(200)] {
        assert!(is_safe_session_id(id), "{id}");
    }
    for id in [
        "",
        " ",
        "-",
        "--continue",
        ".",
        "..",
        "a/b",
        "a\\b",
        "C:x",
        "a\0",
        "a\n",
        "\u{7f}",
        "\u{85}",
        &"é".repeat(101),
    ] {
        assert!(!is_safe_session_id(id), "{id:?}");
    }
}

#[test]
fn agents_are_listed_with_their_logs_and_nothing_else_is_taken_for_one() {
    let mut store = store_with("u2", "start g1 uid=u2");
    store.set(&zone_for("u1").unwrap(), SEGMENTS_FILE, "");
    store.set(&decisions_zone_for("u3").unwrap(), "decisions.jsonl", "");
    store.set("agent-uid:u4:segments", "other.jsonl", "");
    store.set("agent-uid:a b:segments", SEGMENTS_FILE, "");
    let found: Vec<AgentLog> = agents(&mut store).unwrap();
    assert_eq!(found.iter().map(|agent| agent.uid.as_str()).collect::<Vec<_>>(), ["u1", "u2"]);
    assert_eq!(uid_of_zone("agent-uid:u1:decisions"), None);
}
