//! Field reports about heads, identities, logins and parents, retold as the story that each tells.

use crate::command::{listing, run};
use crate::world::{World, conversation, put};

#[test]
fn b01_a_stale_but_valid_session_gives_way_to_the_newest_one() {
    let world = World::of(
        "start g1 @1000 cfg=/cfg/a cwd=/w key=K1 ; session g1 A ; end g1 @2000 pbytes=500
         start g2 @3000 cfg=/cfg/a cwd=/w key=K1 ; session g2 B ; end g2 @4000 pbytes=700
         files /cfg/a:-w/A=500 /cfg/a:-w/B=700",
    );
    let decision = world.decide("cand=A cfg=/cfg/a cwd=/w key=K1");
    assert_eq!(decision.said(), "redirect B by head-moved-on: --resume B");
    let seen = decision.probe("head_file");
    assert_eq!((&seen["size"], &seen["recorded"]), (&700.into(), &700.into()));
    assert_eq!(decision.json["head"]["segment_id"], "g2");
    assert_eq!(decision.json["candidate"], serde_json::json!({"id": "A", "offered": "held"}));
}

#[test]
fn b02_neither_size_nor_age_of_a_file_makes_it_the_newest_session() {
    let world = World::of(
        "start g1 @1000 ; session g1 A ; end g1 @2000 pbytes=6000000
         start g2 @3000 ; session g2 B ; end g2 @4000 pbytes=900
         files B=900 A=6000000",
    );
    assert_eq!(world.decide("cand=A").said(), "redirect B by head-moved-on: --resume B");
}

#[test]
fn b03_poison_names_one_id_and_nothing_else() {
    let world = World::of("start g1 @1000 ; session g1 A ; start g2 @3000 ; session g2 B ; files A=500 B=700");
    assert_eq!(world.decide("cand=A poison=B").said(), "allow by poisoned-head: --resume A");
    let itself = world.decide("cand=B poison=B");
    assert_eq!(itself.said(), "nothing: fresh");
    assert!(itself.note("candidate-poisoned").contains("`B`"));
    // It is not turned into the head either: nobody asked for that one.
    assert_eq!(world.decide("cand=A poison=A").said(), "nothing: fresh");
    assert_eq!(world.decide("cand=A poison=Z").said(), "redirect B by head-moved-on: --resume B");
    assert_eq!(world.decide("cand=B poison=A").said(), "allow by head-is-candidate: --resume B");
}

#[test]
fn b04_an_agent_is_never_offered_a_strangers_session() {
    let world = World::of("start g1 @1000 ; session g1 A ; files A=500 X=900");
    assert_eq!(world.decide("cand=A").said(), "allow by head-is-candidate: --resume A");
    assert_eq!(world.decide("uid=u2").said(), "nothing: fresh");
    assert_eq!(world.decide("uid=u2 hist=X").said(), "allow by no-chain: fresh");
}

#[test]
fn b05_the_last_id_of_a_process_is_its_session() {
    let world = World::of(
        "start g1 @1000 sid=A ; session g1 A @1001 ; session g1 B @5000 ; session g1 C @9000
         files A=500 B=300 C=200",
    );
    for stale in ["A", "B"] {
        assert_eq!(world.decide(&format!("cand={stale}")).said(), "redirect C by head-moved-on: --resume C");
    }
    assert_eq!(world.decide("cand=C").said(), "allow by head-is-candidate: --resume C");
}

#[test]
fn b07_ids_stay_opaque_whoever_made_them() {
    let world = World::of("start g1 ; session g1 A ; files A=500 ; start h1 uid=u2 provider=opencode sid=ses_01abc");
    assert_eq!(world.decide("cand=chat-1757-ab12").said(), "redirect A by head-moved-on: --resume A");
    let other = world.decide("uid=u2 cand=ses_01abc provider=opencode");
    assert_eq!(other.said(), "allow by other-provider: resume");
    assert_eq!(other.json["plan"]["resume"], "ses_01abc");
}

#[test]
fn b08_a_session_that_was_never_written_is_refused_and_the_last_one_is_named() {
    let world = World::of(
        "start g1 @1000 ; session g1 A ; end g1 @2000 pbytes=500
         start g2 @3000 ; session g2 B @3001 ; end g2 @3200 crashed
         files A=500",
    );
    let decision = world.decide("cand=A");
    assert_eq!(decision.said(), "refuse B by head-gone: fresh");
    assert!(decision.note("never-written").contains("`B`"));
    assert!(decision.note("last-session-here").contains("--resume A"));
}

#[test]
fn a_command_to_paste_does_nothing_but_resume_the_session() {
    for (id, word) in [("a b", "'a b'"), ("$(touch x)", "'$(touch x)'"), ("it's;x", r"'it'\''s;x'")] {
        let mut world = World::of("");
        let start = |segment: &str, id: &str| {
            serde_json::json!({"event": "start", "segment_id": segment, "agent_uid": "u1", "provider_session_id": id,
                "config_dir": world.place("/cfg/a"), "cwd": world.place("/w")})
        };
        let log = format!("{}\n{}\n", start("g1", id), start("g2", "B"));
        world.log("u1", log);
        put(&world.session(&format!("/cfg/a:-w/{id}")), &conversation(500));
        let decision = world.decide("cand=B");
        assert!(decision.note("last-session-here").ends_with(&format!("claude --resume {word}")), "{decision:?}");
    }
}

#[test]
fn nothing_is_forked_in_place_where_the_place_is_not_known() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::of("start g1 key=K1 ; session g1 A ; files A=500");
    let mut flags = world.spawn("uid=u2 from=u1 cand=A key=K1");
    flags.retain(|flag| !flag.to_string_lossy().starts_with("--config-dir"));
    let mut command = world.command();
    command.env("CLAUDE_CONFIG_DIR", std::ffi::OsStr::from_bytes(b"/cfg/\xff"));
    let document = run(command.args(["decide", "--format=json"]).args(flags)).json();
    assert_eq!(document["decision"], serde_json::json!({"kind": "refuse", "head": "A"}));
    assert_eq!((&document["plan"]["outcome"], &document["plan"]["copy"]), (&"fresh".into(), &serde_json::Value::Null));
    assert_eq!(document["notes"][0]["code"], "copy-failed");
}

#[test]
fn b10_one_mail_address_in_two_organisations_is_two_identities() {
    let start = "start g1 @1000 cfg=/cfg/a ; session g1 B ; files /cfg/a:-w/B=500 ; account /cfg/a a1 o1 x@e ;";
    let world = World::of(&format!("{start} account /cfg/b a1 o2 x@e"));
    assert_eq!(world.decide("cand=B cfg=/cfg/b").said(), "refuse B by other-identity: fresh");

    let world = World::of(&format!("{start} account /cfg/b a1 o1 y@e"));
    let moved = world.decide("cand=B cfg=/cfg/b");
    assert_eq!(moved.said(), "relocate B /cfg/a by relocate: copy, --resume B --fork-session");
    let copy = &moved.json["plan"]["copy"];
    assert_eq!(copy["from"], world.session("/cfg/a:-w/B").to_str().unwrap());
    assert_eq!(copy["to"], world.session("/cfg/b:-w/B").to_str().unwrap());
}

#[test]
fn b13_a_byte_order_mark_changes_nobodys_identity() {
    for (a, b) in [("bom", ""), ("", "bom"), ("bom crlf", "crlf"), ("", "")] {
        let mut world = World::of(&format!(
            "account /cfg/a a1 o1 {a} ; account /cfg/b a1 o1 {b}
             start g1 cfg=/cfg/a ; session g1 B ; files /cfg/a:-w/B=500"
        ));
        // The first event is still the first event behind a mark.
        let log = [b"\xef\xbb\xbf".as_slice(), world.told("u1")].concat();
        world.log("u1", log);
        let decision = world.decide("cand=B cfg=/cfg/b");
        assert_eq!(decision.said(), "relocate B /cfg/a by relocate: copy, --resume B --fork-session", "{a:?} {b:?}");
        let key = decision.json["head"]["identity_key"].as_str().unwrap();
        assert_eq!(world.decide(&format!("cand=B cfg=/cfg/b key={key}")).fact("head_identity"), "same");
    }
}

#[test]
fn b14_another_person_signed_in_is_refused_even_the_head_that_lies_right_here() {
    let world = World::of("start g1 cfg=/cfg/a key=K1 ; session g1 A ; end g1 pbytes=500 ; files A=500");
    assert_eq!(world.decide("cand=A key=K2").said(), "refuse A by other-identity: fresh");
    assert_eq!(world.decide("cand=A key=K1").said(), "allow by head-is-candidate: --resume A");
    // Whoever is signed in now is read at the login, where nobody says it.
    let world =
        World::of("start g1 cfg=/cfg/a key=K1 ; session g1 A ; end g1 pbytes=500 ; files A=500 ; account /cfg/a a2 o2");
    assert_eq!(world.decide("cand=A").said(), "refuse A by other-identity: fresh");
}

#[test]
fn b15_no_providers_id_is_handed_to_another() {
    let mut world = World::of("start g1 provider=claude cfg=/cfg/a ; session g1 A ; files A=500");
    let codex = world.decide("provider=codex cand=thr_9");
    assert_eq!(codex.said(), "allow by other-provider: resume");
    assert_eq!(codex.json["plan"]["resume"], "thr_9");
    world.then("start g2 provider=codex ; session g2 thr_9");
    for candidate in ["A", "thr_9"] {
        let decision = world.decide(&format!("cand={candidate}"));
        assert_eq!(decision.said(), "refuse thr_9 by other-providers-head: fresh");
    }
}

#[test]
fn b16_a_new_login_of_one_person_takes_a_copy_and_of_another_takes_nothing() {
    let world = World::of(
        "start g1 cfg=/cfg/a key=K1 cwd=/w ; session g1 B ; end g1 pbytes=700 ; files /cfg/a:-w/B=700 ; dir /cfg/b",
    );
    let relocate = "relocate B /cfg/a by relocate: copy, --resume B --fork-session";
    assert_eq!(world.decide("cand=B cfg=/cfg/b key=K1").said(), relocate);
    assert_eq!(world.decide("cand=B cfg=/cfg/b key=K2").said(), "refuse B by other-identity: fresh");
    assert_eq!(world.decide("hist=B cfg=/cfg/b key=K1").said(), relocate);

    let unknown = world.decide("hist=B cfg=/cfg/b");
    assert_eq!(unknown.said(), "allow by unreachable-candidate: fresh");
    assert_eq!(unknown.fact("head_identity"), "unknown");
    assert!(unknown.note("identity-unknown").contains("sign in"));
    assert!(unknown.notes().contains(&"from-history"));
    assert!(listing(&world.at("/cfg/b"), &[]).is_empty());
}

#[test]
fn b17_leftover_copies_count_as_nothing_whoever_made_them() {
    let world = World::of(
        "start g1 cfg=/cfg/a key=K1 ; session g1 B ; end g1 pbytes=700
         start g2 cfg=/cfg/b key=K1 from=B
         files /cfg/a:-w/B=700 /cfg/b:-w/B=700 /cfg/b:-w/Z=10
         marker /cfg/b:-w/B owner=u1 ; marker /cfg/b:-w/Z owner=u2",
    );
    let relocate = "relocate B /cfg/a by relocate: copy, --resume B --fork-session";
    let decision = world.decide("cand=B cfg=/cfg/b key=K1");
    assert_eq!((decision.said().as_str(), decision.fact("head_file")), (relocate, "missing"));
    assert!(decision.probe("head_file")["error"].as_str().unwrap().contains("`u1`"));

    let anothers = World::of(
        "start g1 cfg=/cfg/a key=K1 ; session g1 B ; end g1 pbytes=700
         files /cfg/a:-w/B=700 /cfg/b:-w/B=700 ; marker /cfg/b:-w/B owner=u2",
    );
    assert_eq!(anothers.decide("cand=B cfg=/cfg/b key=K1").fact("head_file"), "missing");
}

#[test]
fn b20_back_at_the_first_login_the_fork_made_under_the_second_is_the_head() {
    let world = World::of(
        "start g1 cfg=/cfg/a key=K1 ; session g1 A ; end g1 pbytes=500
         start g2 cfg=/cfg/b key=K1 from=A ; session g2 C ; end g2 pbytes=900
         files /cfg/a:-w/A=500 /cfg/b:-w/C=900",
    );
    let said = "relocate C /cfg/b by relocate: copy, --resume C --fork-session";
    assert_eq!(world.decide("cand=A cfg=/cfg/a key=K1").said(), said);
}

#[test]
fn b23_a_head_that_was_swept_away_is_refused_and_no_older_one_takes_its_place() {
    let world = World::of(
        "start g1 ; session g1 A ; end g1 pbytes=500 ; start g2 ; session g2 B ; end g2 pbytes=700 ; files A=500",
    );
    for candidate in ["A", "B"] {
        let decision = world.decide(&format!("cand={candidate}"));
        assert_eq!(decision.said(), "refuse B by head-gone: fresh");
        assert!(decision.note("deleted").contains("700"));
    }
}

#[test]
fn b24_what_was_continued_outside_is_forked() {
    let log = "start g1 ; session g1 B ; end g1 @2000 pbytes=500 ; start g2 sid=B ;";
    let world = World::of(&format!("{log} end g2 @4000 pbytes=800 ; files B=950"));
    for candidate in ["A", "B"] {
        let decision = world.decide(&format!("cand={candidate}"));
        assert_eq!(decision.said(), "fork B by head-grew: --resume B --fork-session");
        assert_eq!(decision.probe("head_file")["recorded"], 800);
    }
    let world = World::of(&format!("{log} end g2 @4000 pbytes=800 ; files B=800"));
    assert_eq!(world.decide("cand=B").said(), "allow by head-is-candidate: --resume B");
    let world = World::of(&format!("{log} end g2 @4000 ; files B=950"));
    let decision = world.decide("cand=B");
    assert_eq!(
        (decision.said().as_str(), decision.fact("head_file")),
        ("allow by head-is-candidate: --resume B", "unsized")
    );
}

#[test]
fn b25_a_file_that_shrank_is_resumed_with_a_note_and_an_empty_one_is_not() {
    let log = "start g1 ; session g1 A ; end g1 pbytes=5000000 ;";
    let shrunk = World::of(&format!("{log} files A=3000")).decide("cand=A");
    assert_eq!(
        (shrunk.said().as_str(), shrunk.fact("head_file")),
        ("allow by head-is-candidate: --resume A", "shrunk")
    );
    assert!(shrunk.note("shrunk").contains("3000") && shrunk.note("shrunk").contains("5000000"));
    let empty = World::of(&format!("{log} files A=0")).decide("cand=A");
    assert_eq!((empty.said().as_str(), empty.fact("head_file")), ("refuse A by head-gone: fresh", "empty"));
}

#[test]
fn b28_a_fork_branches_from_the_session_it_was_made_at_until_it_has_its_own() {
    let mut world = World::of(
        "start g1 key=K1 ; session g1 A ; end g1 pbytes=500 ; start g2 key=K1 ; session g2 B ; end g2 pbytes=700
         start g9 uid=u2 key=K1 from=A ; files A=500 B=700",
    );
    let decision = world.decide("uid=u2 from=u1 cand=A key=K1");
    assert_eq!(decision.said(), "fork_from A /cfg/a /w by fork-from-parent: --resume A --fork-session");
    assert!(decision.note("parent-moved-on").contains("`B`"));
    let elsewhere = world.decide("uid=u2 from=u1 cand=A key=K1 cfg=/cfg/b");
    assert_eq!(elsewhere.said(), "fork_from A /cfg/a /w by fork-from-parent: copy, --resume A --fork-session");
    let subfolder = world.decide("uid=u2 from=u1 cand=A key=K1 cwd=/x");
    assert_eq!(subfolder.said(), "fork_from A /cfg/a /w by fork-from-parent: copy, --resume A --fork-session");
    assert_eq!(world.decide("uid=u2 from=u1 cand=A key=K2").said(), "refuse A by parents-session: fresh");
    let unknown = world.decide("uid=u2 from=u1 cand=A");
    assert_eq!(unknown.said(), "refuse A by parents-session: fresh");
    assert!(unknown.notes().contains(&"identity-unknown"));
    assert_eq!(world.decide("uid=u2 from=u1 cand=Q key=K1").said(), "allow by no-chain: --resume Q");

    world.then("session g9 C ; files C=600");
    assert_eq!(world.decide("uid=u2 from=u1 cand=A key=K1").said(), "redirect C by head-moved-on: --resume C");
    assert_eq!(world.decide("uid=u2 from=u1 cand=C key=K1").said(), "allow by head-is-candidate: --resume C");
}

#[test]
fn a_conversation_that_nobody_asked_for_is_not_resumed() {
    let world = World::of("start g1 ; session g1 A ; files A=500");
    let decision = world.decide("");
    assert_eq!(decision.said(), "nothing: fresh");
    assert!(decision.note("head-not-asked-for").contains("`A`"));
}

#[test]
fn a_parent_that_never_said_a_word_is_no_branch_point() {
    let world = World::of("start g1 key=K1 ; session g1 A");
    let titles = b"{\"type\":\"ai-title\",\"aiTitle\":\"a user asked\"}\n{\"type\":\"summary\"}\n";
    crate::world::put(&world.session("/cfg/a:-w/A"), titles);
    let decision = world.decide("uid=u2 from=u1 cand=A key=K1");
    assert_eq!(
        (decision.said().as_str(), decision.fact("fork_record")),
        ("refuse A by parents-session: fresh", "incomplete")
    );
}

#[test]
fn a_login_whose_folder_is_gone_is_copied_from_its_shared_twin() {
    let world = World::of(
        "start g1 cfg=/old/identities/i1/claude key=K1 ; session g1 A ; end g1 pbytes=500
         files /home/.agentmux/shared/identities/i1/claude:-w/A=500",
    );
    let decision = world.decide("cand=A cfg=/cfg/b key=K1");
    let said = "relocate A /old/identities/i1/claude by relocate: copy, --resume A --fork-session";
    assert_eq!(decision.said(), said);
    let twin = world.session("/home/.agentmux/shared/identities/i1/claude:-w/A");
    assert_eq!(decision.json["plan"]["copy"]["from"], twin.to_str().unwrap());
    // A link that was left in its place leads nowhere, and is as good as gone.
    let mut world = world;
    world.then("link /old/identities/i1/claude -> /removed");
    assert_eq!(world.decide("cand=A cfg=/cfg/b key=K1").said(), said);
}

#[test]
fn the_id_written_inside_a_file_does_not_matter() {
    let world = World::of("start g1 ; session g1 A ; end g1 pbytes=63");
    let inside = "{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"somebody-else\",\"m\":1}\n";
    crate::world::put(&world.session("/cfg/a:-w/A"), inside.as_bytes());
    assert_eq!(world.decide("cand=A").json["rule"], "head-is-candidate");
}
