//! Session and agent ids that are paths, flags, escape sequences, or far too long: they never touch
//! the disk, never come out as something to resume, and never rewrite a terminal.

use crate::command::Flags;
use crate::world::World;

/// Ids that cannot be a session of Claude's.
fn unsafe_ids() -> Vec<String> {
    let mut ids: Vec<String> = [
        "../../../etc/passwd",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "C:x",
        ".",
        "..",
        "--resume",
        "-p",
        "-",
        "a\nb",
        "a\rb",
        "\u{1b}[2J\u{1b}]0;owned\u{7}",
        "\u{9b}31m",
        "a\tb",
        "\u{7f}",
    ]
    .map(str::to_owned)
    .to_vec();
    ids.extend(["x".repeat(201), "x".repeat(300), "😀".repeat(51), "y".repeat(100_000)]);
    ids
}

/// Ids that look odd and are file names like any other.
fn odd_but_safe_ids() -> Vec<String> {
    let mut ids: Vec<String> =
        ["😀", "a b", "A'; DROP TABLE x; --", "$(id)", "*", "...", "a.jsonl", "ä\u{308}", "e--resume"]
            .map(str::to_owned)
            .to_vec();
    ids.extend(["x".repeat(200), "😀".repeat(50)]);
    ids
}

fn asked(world: &World, uid: &str, candidate: &str) -> crate::command::Decision {
    let flags = Flags::new(world).with("agent", uid).with("resume", candidate);
    world.decide_with(&flags.with("config-dir", &world.place("/cfg/a")).with("cwd", &world.place("/w")).0)
}

#[test]
fn an_unsafe_candidate_without_a_chain_is_allowed_and_resumes_nothing() {
    let world = World::of("start h1 uid=u2 ; session h1 X ; files X=500");
    for id in unsafe_ids() {
        let decision = asked(&world, "u1", &id);
        assert_eq!(decision.said(), "allow by no-chain: fresh", "{id:?}");
        let note = decision.note("unsafe-id");
        assert!(!note.chars().any(char::is_control) && note.len() < 300, "{note:?}");
        assert_eq!(decision.json["candidate"]["id"], id.as_str());
        assert_eq!(decision.stderr.lines().count(), decision.notes().len(), "{:?}", decision.stderr);
    }
}

#[test]
fn an_unsafe_candidate_with_a_head_gives_way_to_it() {
    let world = World::of("start g1 ; session g1 A ; files A=500");
    for id in unsafe_ids() {
        assert_eq!(asked(&world, "u1", &id).said(), "redirect A by head-moved-on: --resume A", "{id:?}");
    }
}

#[test]
fn an_unsafe_id_in_the_log_leaves_the_session_before_it_the_head() {
    for id in unsafe_ids().into_iter().chain(["a\0b".to_owned(), String::new(), " ".to_owned()]) {
        let mut world = World::of("start g1 ; session g1 A ; end g1 pbytes=500 ; files A=500 ; start g2");
        let event = serde_json::json!({"event": "session", "segment_id": "g2", "provider_session_id": id, "at_ms": 9});
        let log = [world.told("u1"), format!("{event}\n").as_bytes()].concat();
        world.log("u1", log);
        assert_eq!(asked(&world, "u1", "A").said(), "allow by head-is-candidate: --resume A", "{id:?}");
        if !id.trim().is_empty() && !id.contains('\0') {
            assert_eq!(asked(&world, "u1", &id).said(), "redirect A by head-moved-on: --resume A", "{id:?}");
        }
    }
}

#[test]
fn an_odd_id_that_is_a_file_name_is_a_session_like_any_other() {
    for id in odd_but_safe_ids() {
        let mut world = World::of("");
        let events = [
            serde_json::json!({"event": "start", "segment_id": "g1", "agent_uid": "u1", "provider": "claude",
                "config_dir": world.place("/cfg/a"), "cwd": world.place("/w"), "started_at_ms": 1}),
            serde_json::json!({"event": "session", "segment_id": "g1", "provider_session_id": id, "at_ms": 9}),
        ];
        world.log("u1", format!("{}\n{}\n", events[0], events[1]));
        crate::world::put(&world.session(&format!("/cfg/a:-w/{id}")), &crate::world::conversation(500));
        assert_eq!(asked(&world, "u1", &id).said(), format!("allow by head-is-candidate: --resume {id}"));
        assert_eq!(asked(&world, "u1", "OLD").said(), format!("redirect {id} by head-moved-on: --resume {id}"));
    }
}

#[test]
fn an_unsafe_candidate_of_a_fork_is_none_of_its_parents_sessions() {
    let world = World::of("start g1 key=K1 ; session g1 A ; files A=500");
    let flags = Flags(world.spawn("uid=u2 from=u1 key=K1")).with("resume", "../A");
    assert_eq!(world.decide_with(&flags.0).said(), "allow by no-chain: fresh");
}

#[test]
fn an_agent_id_with_other_characters_has_no_chain() {
    let world = World::of("start g1 ; session g1 A ; files A=500");
    let long = "u".repeat(100_000);
    for uid in ["../u1", "u1\n", "u1:segments", "\u{1b}[2Ju1", "ü1", "u 1", "", " ", "agent-uid:u1", "😀", "u1/", &long]
    {
        let decision = asked(&world, uid, "X");
        let is_plain = uid.len() == long.len();
        let rule = if is_plain { "no-chain" } else { "chain-unknown" };
        assert_eq!(decision.json["rule"], rule, "{uid:?}");
        assert_eq!(decision.json["plan"]["resume"], "X", "{uid:?}");
        if !is_plain {
            assert!(decision.note("no-agent-uid").contains("--agent"), "{uid:?}");
            assert_eq!(decision.stderr.lines().count(), 1, "{:?}", decision.stderr);
            assert!(!decision.stderr.trim_end().chars().any(char::is_control), "{:?}", decision.stderr);
        }
    }
}

#[test]
fn an_agent_id_may_begin_with_a_dash() {
    let world = World::of("start g1 uid=-u-1 ; session g1 A ; files A=500");
    assert_eq!(asked(&world, "-u-1", "OLD").said(), "redirect A by head-moved-on: --resume A");
    let flags = Flags::new(&world).with("resume", "OLD").with("cwd", &world.place("/w"));
    let flags = flags.with("config-dir", &world.place("/cfg/a")).0;
    let apart = ["decide", "--format", "args", "--agent", "-u-1"].map(Into::into);
    assert_eq!(world.run(apart.into_iter().chain(flags)).stdout, "--resume\nA\n");
}

#[test]
fn another_providers_ids_are_opaque_and_still_rewrite_no_terminal() {
    for id in unsafe_ids().into_iter().filter(|id| id.len() < 1000) {
        let mut world = World::of("start g1 provider=codex");
        let event = serde_json::json!({"event": "session", "segment_id": "g1", "provider_session_id": id, "at_ms": 9});
        let log = [world.told("u1"), format!("{event}\n").as_bytes()].concat();
        world.log("u1", log);
        let refused = asked(&world, "u1", "A");
        assert_eq!(
            (&refused.json["rule"], &refused.json["decision"]["head"]),
            (&"other-providers-head".into(), &id.as_str().into())
        );
        let flags = Flags(world.spawn("provider=codex")).with("resume", &id);
        let passed = world.decide_with(&flags.0);
        assert_eq!(
            (&passed.json["rule"], &passed.json["plan"]["resume"]),
            (&"other-provider".into(), &id.as_str().into())
        );
    }
}

#[test]
fn a_parent_whose_id_has_no_chain_is_not_an_agent_without_a_parent() {
    let world = World::of("start g1 ; session g1 A ; files A=500");
    for parent in ["../u1", "u1:segments", "ü", "\u{1b}[2J"] {
        let flags = Flags(world.spawn("uid=u2 cand=A")).with("forked-from", parent);
        let decision = world.decide_with(&flags.0);
        assert_eq!(decision.said(), "allow by chain-unknown: --resume A", "{parent:?}");
        assert!(!decision.stderr.contains('\u{1b}'), "{:?}", decision.stderr);
    }
    for none in ["", " ", "u2"] {
        let flags = Flags(world.spawn("uid=u2 cand=A")).with("forked-from", none);
        assert_eq!(world.decide_with(&flags.0).said(), "allow by no-chain: --resume A", "{none:?}");
    }
}

#[test]
fn a_directory_full_of_escape_sequences_is_shown_escaped() {
    let world = World::of("");
    let odd = world.place("/cfg/\u{1b}[2J\nnote: all is well\u{202e}");
    let start = serde_json::json!({"event": "start", "segment_id": "g1", "agent_uid": "u1", "provider": "claude",
        "config_dir": odd, "cwd": world.place("/w"), "started_at_ms": 1, "provider_session_id": "A"});
    let mut world = world;
    world.log("u1", format!("{start}\n"));
    // A file where the folder of the login should be: unreadable, so its path is shown.
    crate::world::put(std::path::Path::new(&odd), b"x");
    let flags = Flags::new(&world).with("agent", "u1").with("resume", "A").with("cwd", &world.place("/w"));
    let decision = world.decide_with(&flags.with("config-dir", &odd).0);
    assert_eq!(decision.fact("head_file"), "unreadable");
    for text in [
        &decision.stderr,
        &world
            .run(
                ["explain".into()]
                    .into_iter()
                    .chain(
                        world
                            .spawn("cand=A")
                            .into_iter()
                            .filter(|flag| !flag.to_string_lossy().starts_with("--config-dir")),
                    )
                    .chain([format!("--config-dir={odd}").into()]),
            )
            .stdout,
    ] {
        assert!(text.contains("\\u{1b}[2J\\nnote") && text.contains("\\u{202e}"), "{text:?}");
    }
}
