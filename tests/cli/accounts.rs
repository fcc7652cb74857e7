//! Who is signed in, as the account files say: half an identity, cut files, huge ones, the ambient
//! login, and things that are no file at all.

use crate::command::{Flags, run};
use crate::world::{World, put};

/// A head under /cfg/a, recorded with the key of account a1 in organisation o1.
fn world_with_key() -> World {
    let plain = World::of("start g1 ; session g1 A ; files A=500 ; account /cfg/a a1 o1");
    let key = plain.decide("cand=A").json["head"]["identity_key"].as_str().unwrap().to_owned();
    assert_eq!(key.len(), 16);
    World::of(&format!("start g1 key={key} ; session g1 A ; end g1 pbytes=500 ; files A=500"))
}

#[test]
fn half_an_identity_is_none_and_never_a_different_one() {
    let world = world_with_key();
    for text in [
        r#"{"oauthAccount":{"accountUuid":"a1"}}"#,
        r#"{"oauthAccount":{"organizationUuid":"o1"}}"#,
        r#"{"oauthAccount":{"accountUuid":"a1","organizationUuid":""}}"#,
        r#"{"oauthAccount":{"accountUuid":"  ","organizationUuid":"o1"}}"#,
        r#"{"oauthAccount":{"accountUuid":"a1","organizationUuid":null}}"#,
        r#"{"oauthAccount":{"accountUuid":1,"organizationUuid":["o1"]}}"#,
        r#"{"oauthAccount":{"emailAddress":"x@e"}}"#,
        r#"{"oauthAccount":null}"#,
        r#"{"oauthAccount":"a1"}"#,
        r#"{"oauthAccount":{"accountUuid":"a1","organizationUuid":"o1"}"#,
        r#"["oauthAccount"]"#,
        "{}",
        "",
        "null",
        "\0\0\0\0",
        "\u{feff}",
    ] {
        for login in ["/cfg/a", "/cfg/b"] {
            put(&world.at(login).join(".claude.json"), text.as_bytes());
        }
        let here = world.decide("cand=A");
        assert_eq!(here.fact("head_identity"), "unknown", "{text}");
        assert_eq!(here.said(), "allow by head-is-candidate: --resume A", "{text}");
        // Not known to be the same person, so nothing is copied; not known to be another, so nothing is refused.
        let there = world.decide("cand=A cfg=/cfg/b");
        assert_eq!(there.said(), "allow by unreachable-candidate: --resume A", "{text}");
        assert!(there.note("identity-unknown").contains("`A`"), "{text}");
    }
}

#[test]
fn an_identity_is_two_fields_and_blanks_around_them_do_not_count() {
    let world = world_with_key();
    for text in [
        r#"{"oauthAccount":{"accountUuid":"a1","organizationUuid":"o1"}}"#,
        r#"{"numStartups":99,"oauthAccount":{"organizationUuid":" o1\n","emailAddress":"new@e","accountUuid":"\ta1"},"x":[]}"#,
    ] {
        put(&world.at("/cfg/b/.claude.json"), text.as_bytes());
        let decision = world.decide("cand=A cfg=/cfg/b");
        assert_eq!(decision.json["rule"], "relocate", "{text}");
    }
}

#[test]
fn an_account_file_of_30_mb_is_read_within_the_budget() {
    let world = world_with_key();
    let history = format!("{{\"prompt\":\"{}\"}},", "x".repeat(990)).repeat(30_000);
    let text = format!(
        "\u{feff}{{\"projects\":[{}0],\"oauthAccount\":{{\"accountUuid\":\"a1\",\"organizationUuid\":\"o1\"}}}}",
        history
    );
    assert!(text.len() > 30_000_000);
    put(&world.at("/cfg/b/.claude.json"), text.as_bytes());
    // An unoptimised build parses slowly; the budget is not what is looked at here.
    let flags = Flags(world.spawn("cand=A cfg=/cfg/b")).with("budget", "30000");
    let answer = world.run(["decide".into(), "--format=json".into()].into_iter().chain(flags.0));
    assert_eq!(answer.json()["rule"], "relocate");
}

#[test]
fn something_else_in_the_account_files_place_is_no_identity() {
    let story = "start g1 key=K1 ; session g1 A ; end g1 pbytes=500 ; files A=500";
    for (what, lay) in crate::in_the_way::THINGS {
        let world = World::of(story);
        lay(&world.at("/cfg/a/.claude.json"));
        let decision = world.decide("cand=A");
        assert_eq!(decision.said(), "allow by head-is-candidate: --resume A", "{what}");
        assert_eq!(decision.fact("head_identity"), "unknown", "{what}");
    }
}

#[test]
fn the_ambient_login_is_known_only_where_it_was_not_named() {
    const ACCOUNT: &[u8] = br#"{"oauthAccount":{"accountUuid":"a1","organizationUuid":"o1"}}"#;
    let key = world_with_key().decide("cand=A").json["head"]["identity_key"].as_str().unwrap().to_owned();
    let identity = |key: &str, named: bool| {
        let key = if key.is_empty() { String::new() } else { format!("key={key}") };
        let world =
            World::of(&format!("start g1 cfg=/home/.claude {key} ; session g1 A ; files /home/.claude:-w/A=500"));
        // The live account file lies beside the ambient login; the one within may be stale.
        put(&world.at("/home/.claude.json"), ACCOUNT);
        put(&world.at("/home/.claude/.claude.json"), &ACCOUNT.to_ascii_uppercase());
        let flags = Flags::new(&world).with("agent", "u1").with("resume", "A").with("cwd", &world.place("/w"));
        let flags = if named { flags.with("config-dir", &world.place("/home/.claude")) } else { flags };
        let decision = world.decide_with(&flags.0);
        assert_eq!(decision.fact("head_login"), "own");
        decision.fact("head_identity").to_owned()
    };
    assert_eq!(identity(&key, false), "same");
    assert_eq!(identity("0123456789abcdef", false), "different");
    assert_eq!(identity("0123456789abcdef", true), "unknown");
    // Recorded without a key, the head would have to take it from the stale file.
    assert_eq!(identity("", false), "unknown");
}

#[test]
fn the_config_dir_of_the_environment_is_a_named_one() {
    let world = World::of("start g1 ; session g1 A ; end g1 pbytes=500 ; files A=500 ; account /cfg/a a1 o1");
    let mut command = world.command();
    command.env("CLAUDE_CONFIG_DIR", world.at("/cfg/a")).env("AGENTMUX_AGENT_UID", "u1");
    command.env("RESUME_GATE_STORE", world.store()).current_dir(world.at("/w"));
    let document = run(command.args(["decide", "--no-log", "--resume=OLD", "--format=json"])).json();
    assert_eq!(document["plan"]["args"], serde_json::json!(["--resume", "A"]));
    assert_eq!(document["facts"]["head_identity"], "same");
    assert_eq!(document["store"], world.store().to_str().unwrap());
}
