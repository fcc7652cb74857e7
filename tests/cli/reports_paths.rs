//! Field reports about working directories, spellings and ids, retold as the story that each tells.

use crate::command::Flags;
use crate::world::{World, conversation, put};
use std::fs;

#[test]
fn b29_two_directories_in_one_project_folder_keep_their_agents_apart() {
    let world = World::of(
        "dir /w/a-b ; dir /w/a/b
         start g1 uid=u1 cfg=/cfg/b cwd=/w/a-b key=K1 ; session g1 A
         start h1 uid=u2 cfg=/cfg/b cwd=/w/a/b key=K1 ; session h1 X ; end h1 pbytes=900
         files /cfg/b:-w-a-b/A=500 /cfg/b:-w-a-b/X=900 ; marker /cfg/b:-w-a-b/X owner=u2",
    );
    assert_eq!(world.decide("cand=A cfg=/cfg/b cwd=/w/a-b").said(), "allow by head-is-candidate: --resume A");
    // The folder's name decides what a project is: that is what the provider goes by.
    let other_spelling = world.decide("cand=A cfg=/cfg/b cwd=/w/a/b");
    assert_eq!(other_spelling.fact("head_project"), "same");
    assert_eq!(other_spelling.said(), "allow by head-is-candidate: --resume A");
}

#[test]
fn b31_a_directory_past_the_slug_limit_is_found_by_its_hash_and_uncut() {
    let long = format!("/w/{}", "d".repeat(150) + "/" + &"e".repeat(110));
    let world = World::of(&format!("start g1 cwd={long} ; session g1 A"));
    let name = crate::world::project_name(&world.place(&long));
    assert!(name.len() > 200 && name[200..].starts_with('-') && name.len() < 210, "{name}");
    put(&world.at("/cfg/a/projects").join(&name).join("A.jsonl"), &conversation(500));
    assert_eq!(world.decide(&format!("cand=OLD cwd={long}")).said(), "redirect A by head-moved-on: --resume A");

    // An older CLI did not cut: its folder has the whole name, as far as the disk takes it.
    let long = format!("/w/{}", "d".repeat(200));
    let world = World::of(&format!("start g1 cwd={long} ; session g1 A ; files /cfg/a:-w-{}/A=500", "d".repeat(200)));
    assert_eq!(world.decide(&format!("cand=OLD cwd={long}")).said(), "redirect A by head-moved-on: --resume A");
}

#[test]
fn directories_with_emoji_accents_and_the_longest_names_are_found() {
    let longest = "n".repeat(250);
    for (cwd, folder) in [
        ("/w/😀", "-w---".to_owned()),
        ("/w/ä", "-w--".to_owned()),
        ("/w/a\u{308}", "-w-a-".to_owned()),
        ("/w/👩‍👩‍👧", format!("-w-{}", "-".repeat(8))),
        ("/w/a.b_c@d", "-w-a-b-c-d".to_owned()),
        ("/w/$(touch-x)", "-w---touch-x-".to_owned()),
        ("/w/-rf", "-w--rf".to_owned()),
    ] {
        for exists in [true, false] {
            let dir = if exists { format!("dir {cwd}") } else { String::new() };
            let world = World::of(&format!("{dir} ; start g1 cwd={cwd} ; session g1 A ; files /cfg/a:{folder}/A=500"));
            let decision = world.decide(&format!("cand=OLD cwd={cwd}"));
            assert_eq!(decision.said(), "redirect A by head-moved-on: --resume A", "{cwd} exists: {exists}");
        }
    }
    let world = World::of(&format!("dir /w/{longest} ; start g1 cwd=/w/{longest} ; session g1 A"));
    let name = crate::world::project_name(&world.place(&format!("/w/{longest}")));
    put(&world.at("/cfg/a/projects").join(name).join("A.jsonl"), &conversation(500));
    let decision = world.decide(&format!("cand=OLD cwd=/w/{longest}"));
    assert_eq!(decision.said(), "redirect A by head-moved-on: --resume A");
}

#[test]
fn directories_that_no_disk_takes_are_unreadable_or_missing_and_never_fatal() {
    let world = World::of("start g1 key=K1 ; session g1 A ; end g1 pbytes=500 ; files A=500");
    let deep = "/d".repeat(4000);
    for (cfg, cwd) in [(deep.as_str(), "/w"), ("/cfg/a", deep.as_str()), (&format!("/{}", "n".repeat(300)), "/w")] {
        let decision = world.decide(&format!("cand=OLD cfg={cfg} cwd={cwd} key=K1"));
        assert!(["unreadable", "missing"].contains(&decision.fact("head_file")));
        assert!(!decision.json["plan"]["args"].as_array().unwrap().contains(&"OLD".into()), "{}", decision.said());
    }
}

#[test]
fn b32_a_linked_directory_is_the_one_it_leads_to() {
    let world = World::of(
        "dir /real/w ; link /w -> /real/w ; start g1 cwd=/w ; session g1 A ; end g1 pbytes=500
         files /cfg/a:-real-w/A=500",
    );
    for (cwd, candidate, said) in [
        ("/real/w", "OLD", "redirect A by head-moved-on: --resume A"),
        ("/w", "OLD", "redirect A by head-moved-on: --resume A"),
        ("/w", "A", "allow by head-is-candidate: --resume A"),
    ] {
        let decision = world.decide(&format!("cand={candidate} cwd={cwd}"));
        assert_eq!((decision.said().as_str(), decision.fact("head_project")), (said, "same"));
    }
    // The folder named after the link is looked at too.
    let world = World::of("dir /real/w ; link /w -> /real/w ; start g1 cwd=/w ; session g1 A ; files /cfg/a:-w/A=500");
    assert_eq!(world.decide("cand=OLD cwd=/w").said(), "redirect A by head-moved-on: --resume A");
}

#[test]
fn b33_separators_do_not_tell_directories_apart_and_letter_case_does() {
    let world = World::of("start g1 key=K1 ; session g1 A ; end g1 pbytes=500 ; files A=500 ; dir /w");
    for (cfg, cwd) in [("/cfg/a/", "/w/"), ("/cfg//a", "//w"), ("/cfg/./a", "/w/."), ("/cfg/a//", "/x/../w")] {
        let decision = world.decide(&format!("cand=A cfg={cfg} cwd={cwd} key=K1"));
        let facts = (decision.fact("head_login"), decision.fact("head_project"));
        assert_eq!((decision.said().as_str(), facts), ("allow by head-is-candidate: --resume A", ("own", "same")));
    }
    let upper = world.decide("cand=A cfg=/CFG/A key=K1");
    assert_eq!(upper.fact("head_login"), "other");
    assert_eq!(upper.said(), "relocate A /cfg/a by relocate: copy, --resume A --fork-session");
    assert_eq!(world.decide("cand=A cwd=/W key=K1").fact("head_project"), "different");
}

#[test]
fn b33_another_systems_paths_count_as_not_recorded() {
    let world = World::of(r#"start g1 cfg="C:\cfg\a" cwd="C:\w" key=K1 ; session g1 A"#);
    let decision = world.decide("cand=A key=K1");
    assert_eq!((decision.fact("head_login"), decision.fact("head_project")), ("unrecorded", "different"));
    assert_eq!(decision.said(), "allow by unreachable-candidate: --resume A");
    assert_eq!(world.decide("cand=OLD key=K1").said(), "refuse A by unreachable-head: fresh");
}

#[test]
fn a_head_recorded_without_a_place_goes_by_the_file_that_is_here() {
    let world = World::of("start g1 cfg=- cwd=- ; session g1 A ; files A=500");
    let decision = world.decide("cand=OLD");
    assert_eq!(decision.said(), "redirect A by head-moved-on: --resume A");
    assert_eq!((decision.fact("head_login"), decision.fact("head_project")), ("unrecorded", "different"));
    assert_eq!(world.decide("cand=A cfg=/cfg/b key=K1").said(), "allow by unreachable-candidate: --resume A");
    assert_eq!(world.decide("cand=OLD cfg=/cfg/b key=K1").said(), "refuse A by unreachable-head: fresh");
}

#[test]
fn b34_b35_a_recorded_tilde_is_the_home_directory() {
    let world = World::of(
        r#"start g1 cfg="~/.cfg-a" cwd="~/agents/x" ; session g1 A ; end g1 pbytes=500
           files /home/.cfg-a:-home-agents-x/A=500"#,
    );
    let decision = world.decide("cand=OLD cfg=/home/.cfg-a cwd=/home/agents/x key=K1");
    assert_eq!(decision.said(), "redirect A by head-moved-on: --resume A");
    assert_eq!((decision.fact("head_login"), decision.fact("head_project")), ("own", "same"));
    let spelled = world.decide("cand=A cfg=~/.cfg-a/ cwd=~/agents/x");
    assert_eq!(spelled.said(), "allow by head-is-candidate: --resume A");
}

#[test]
fn b36_another_directory_of_the_same_login_never_gets_a_copy() {
    let world = World::of("dir /repo/.wt/x ; start g1 cwd=/repo key=K1 ; session g1 A ; files /cfg/a:-repo/A=500");
    let head = world.decide("cand=A cwd=/repo/.wt/x key=K1");
    assert_eq!(head.said(), "allow by unreachable-candidate: --resume A");
    assert_eq!((head.fact("head_login"), head.fact("head_project")), ("own", "different"));
    assert_eq!(head.json["plan"]["record"]["provider_session_id"], serde_json::Value::Null);
    assert_eq!(world.decide("cand=OLD cwd=/repo/.wt/x key=K1").said(), "refuse A by unreachable-head: fresh");
}

#[test]
fn b37_a_deleted_directory_goes_by_its_spelling() {
    let world = World::of("start g1 cwd=/repo/.wt/gone ; session g1 A ; files /cfg/a:-repo--wt-gone/A=500");
    assert_eq!(world.decide("cand=A cwd=/repo/.wt/gone").said(), "allow by head-is-candidate: --resume A");
    assert_eq!(world.decide("cand=OLD cwd=/repo/.wt/gone").said(), "redirect A by head-moved-on: --resume A");
}

#[test]
fn b37_a_spawn_that_runs_in_a_deleted_directory_is_decided_too() {
    let world = World::of("start g1 cwd=/repo/gone ; session g1 A ; files /cfg/a:-repo-gone/A=500 ; dir /repo/gone");
    let script = "cd repo/gone && rmdir ../gone && exec \"$0\" \"$@\"";
    let shell = |cwd: Option<&str>| {
        let mut flags = Flags::new(&world).with("agent", "u1").with("resume", "OLD");
        flags = flags.with("config-dir", &world.place("/cfg/a"));
        if let Some(cwd) = cwd {
            flags = flags.with("cwd", cwd);
        }
        let mut shell = std::process::Command::new("/bin/sh");
        shell
            .args(["-c", script])
            .arg(env!("CARGO_BIN_EXE_resume-gate"))
            .args(["decide", "--no-log", "--format=json"])
            .args(flags.0);
        shell.env_clear().env("HOME", world.at("/home")).current_dir(world.root());
        let answer = crate::command::run(&mut shell);
        fs::create_dir_all(world.at("/repo/gone")).unwrap();
        assert_eq!(answer.status, 0, "{answer:?}");
        answer.json()
    };
    // The shell still knows where it was.
    let known = shell(None);
    assert_eq!((&known["rule"], &known["plan"]["resume"]), (&"head-moved-on".into(), &"A".into()), "{known}");
    // A relative path leads nowhere from there; nothing is made up and nothing fails.
    let relative = shell(Some("sub"));
    assert_eq!(relative["rule"], "unreachable-head", "{relative}");
    assert_eq!(relative["facts"]["head_file"], "unreadable");
}

#[test]
fn b39_an_id_that_looks_like_a_flag_is_never_a_head_nor_passed_on() {
    let world = World::of("start g1 ; session g1 A ; start g2 ; session g2 --continue ; files A=500");
    assert_eq!(world.decide("cand=A").said(), "allow by head-is-candidate: --resume A");
    assert_eq!(world.decide("cand=--last").said(), "redirect A by head-moved-on: --resume A");
    assert_eq!(world.decide("cand=--continue").said(), "redirect A by head-moved-on: --resume A");
    let none = world.decide("uid=u9 cand=--continue");
    assert_eq!(none.said(), "allow by no-chain: fresh");
    assert!(none.note("unsafe-id").contains("`--continue`"));
    // Given apart from its flag it is still the flag's value.
    let flags = Flags::new(&world).0;
    let apart = ["decide", "--agent", "u1", "--resume", "--last", "--format", "args", "--config-dir"];
    let apart =
        apart.into_iter().map(Into::into).chain([world.at("/cfg/a").into(), "--cwd".into(), world.at("/w").into()]);
    assert_eq!(world.run(apart.chain(flags)).stdout, "--resume\nA\n");
}

#[test]
fn b40_an_empty_id_is_no_id() {
    let mut world = World::of("start g1 ; session g1 A ; files A=500");
    let blank = ["start", "session"].map(|event| {
        serde_json::json!({"event": event, "segment_id": "g2", "agent_uid": "u1", "provider": "claude", "cwd": "/w",
            "started_at_ms": 1, "provider_session_id": if event == "start" { "" } else { "  " }})
    });
    let log = [world.told("u1"), format!("{}\n{}\n", blank[0], blank[1]).as_bytes()].concat();
    world.log("u1", log);
    assert_eq!(world.decide("cand=OLD").said(), "redirect A by head-moved-on: --resume A");
    for blank in ["", " ", "\t\n"] {
        let flags = Flags(world.spawn("")).with("resume", blank);
        assert_eq!(world.decide_with(&flags.0).said(), "nothing: fresh", "{blank:?}");
    }
}

#[test]
fn b48_what_cannot_be_read_is_not_taken_for_missing() {
    let world = World::of("start g1 ; session g1 A ; start g2 ; session g2 B ; files A=500");
    // A folder in the file's place cannot be read by anybody, root included.
    let file = world.session("/cfg/a:-w/B");
    fs::create_dir(&file).unwrap();
    let head = world.decide("cand=B");
    assert_eq!(head.said(), "allow by unreachable-candidate: --resume B");
    assert!(head.note("head-unreadable").contains("could not check `B`"));
    assert_eq!(head.probe("head_file")["path"], file.to_str().unwrap());
    assert!(head.probe("head_file")["error"].as_str().unwrap().contains("folder"));
    assert_eq!(world.decide("cand=A").said(), "refuse B by unreachable-head: fresh");
    fs::remove_dir(&file).unwrap();
    assert_eq!(world.decide("cand=A").said(), "refuse B by head-gone: fresh");
    fs::remove_file(world.store()).unwrap();
    fs::create_dir(world.store()).unwrap();
    let unknown = world.decide("cand=A");
    assert_eq!(unknown.said(), "allow by chain-unknown: --resume A");
    assert!(unknown.note("chain-unreadable").contains("directory"));
}

#[test]
fn b50_a_session_of_40_gb_costs_no_more_than_a_small_one() {
    let world = World::of("start g1 key=K1 ; session g1 B ; end g1 pbytes=42949672960 ; files B=500");
    let file = fs::OpenOptions::new().write(true).open(world.session("/cfg/a:-w/B")).unwrap();
    file.set_len(42_949_672_960 - 500).unwrap();
    drop(file);
    let mut file = fs::OpenOptions::new().append(true).open(world.session("/cfg/a:-w/B")).unwrap();
    std::io::Write::write_all(&mut file, &[b"\n".as_slice(), &conversation(499)].concat()).unwrap();
    let decision = world.decide("cand=B key=K1");
    assert_eq!(
        (decision.said().as_str(), decision.fact("head_file")),
        ("allow by head-is-candidate: --resume B", "as_left")
    );
    let relocate = world.decide("cand=B key=K1 cfg=/cfg/b");
    assert_eq!(relocate.said(), "relocate B /cfg/a by relocate: copy, --resume B --fork-session");
}
