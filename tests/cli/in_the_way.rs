//! Pipes, folders, sockets, links and unreadable files where something else should be: never a hang,
//! never taken for missing.

use crate::agentmux::Made;
use crate::command::{Flags, listing, run};
use crate::world::{World, conversation, marker_of, put};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

/// Lays something in a file's place.
pub type Lay = fn(&Path);

/// What can be in a file's place.
pub const THINGS: [(&str, Lay); 5] = [
    ("a pipe", |path| {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        clear(path);
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }),
    ("a folder", |path| {
        clear(path);
        fs::create_dir(path).unwrap();
    }),
    ("a socket", |path| {
        clear(path);
        drop(UnixListener::bind(path).unwrap());
    }),
    ("a link that leads nowhere", |path| {
        clear(path);
        symlink("/nowhere/at/all", path).unwrap();
    }),
    ("a link to itself", |path| {
        clear(path);
        symlink(path, path).unwrap();
    }),
];

/// Takes away what is there and makes the folders above.
fn clear(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if fs::remove_file(path).is_err() {
        drop(fs::remove_dir_all(path));
    }
}

const STORY: &str =
    "start g1 key=K1 ; session g1 A ; end g1 pbytes=500 ; start g2 key=K1 ; session g2 B ; end g2 pbytes=700
                     files A=500 B=700";

#[test]
fn in_place_of_the_heads_file_or_of_a_folder_on_the_way() {
    for (what, lay) in THINGS {
        for place in ["/cfg/a:-w/B", "/cfg/a/projects"] {
            let world = World::of(STORY);
            let path = if place.contains(':') { world.session(place) } else { world.at(place) };
            // A folder in a folder's place is a folder, and the file is then missing.
            if what == "a folder" && place == "/cfg/a/projects" {
                continue;
            }
            lay(&path);
            let head = world.decide("cand=B key=K1");
            assert_eq!(head.fact("head_file"), "unreadable", "{what} at {place}");
            assert_eq!(head.said(), "allow by unreachable-candidate: --resume B", "{what} at {place}");
            assert!(head.note("head-unreadable").contains("could not check `B`"), "{what} at {place}");
            assert_eq!(
                world.decide("cand=A key=K1").said(),
                "refuse B by unreachable-head: fresh",
                "{what} at {place}"
            );
        }
    }
}

#[test]
fn in_place_of_the_file_at_the_login_where_it_was_recorded() {
    for (what, lay) in THINGS {
        let world = World::of(STORY);
        lay(&world.session("/cfg/a:-w/B"));
        let decision = world.decide("cand=B key=K1 cfg=/cfg/b");
        assert_eq!(decision.fact("head_record"), "incomplete", "{what}");
        assert_eq!(decision.said(), "allow by unreachable-candidate: --resume B", "{what}");
        assert!(decision.probe("head_record")["error"].is_string(), "{what}");
        let fork = world.decide("uid=u2 from=u1 cand=B key=K1");
        assert_eq!(fork.said(), "refuse B by parents-session: fresh", "{what}");
    }
}

#[test]
fn in_place_of_a_login() {
    for (what, lay) in THINGS.into_iter().filter(|(what, _)| *what != "a folder") {
        let world = World::of(STORY);
        lay(&world.at("/cfg/b"));
        let decision = world.decide("cand=B key=K1 cfg=/cfg/b");
        assert_eq!(decision.fact("head_file"), "unreadable", "{what}");
        assert_eq!(decision.said(), "allow by unreachable-candidate: --resume B", "{what}");
    }
}

#[test]
fn a_link_to_a_folder_that_lacks_the_file_is_no_link_to_nowhere() {
    let folder = |world: &World| {
        world.session("/cfg/b:-w/B").parent().unwrap().to_string_lossy().replace(world.root().to_str().unwrap(), "")
    };
    for link in ["/cfg/b", "/cfg/b/projects", "a project folder"] {
        let mut world = World::of(&format!("{STORY} ; dir /shared"));
        let link = if link.starts_with('/') { link.to_owned() } else { folder(&world) };
        world.then(&format!("link {link} -> /shared"));
        let decision = world.decide("cand=B key=K1 cfg=/cfg/b");
        assert_eq!(decision.fact("head_file"), "missing", "{link}");
        assert_eq!(decision.said(), "relocate B /cfg/a by relocate: copy, --resume B --fork-session", "{link}");
    }
}

#[test]
fn in_place_of_a_marker_the_file_beside_it_is_a_session() {
    for (what, lay) in THINGS {
        let world = World::of(&format!("{STORY} /cfg/b:-w/B=700"));
        lay(&marker_of(&world.session("/cfg/b:-w/B")));
        let decision = world.decide("cand=B key=K1 cfg=/cfg/b");
        assert_eq!(decision.said(), "allow by head-is-candidate: --resume B", "{what}");
        assert_eq!(decision.fact("head_file"), "as_left", "{what}");
    }
}

#[test]
fn in_place_of_the_registry_of_running_processes_or_of_an_entry() {
    for (what, lay) in THINGS {
        for place in ["/cfg/a/sessions", "/cfg/a/sessions/123.json"] {
            let world = World::of(STORY);
            lay(&world.at(place));
            let decision = world.decide("cand=B key=K1");
            assert_eq!(decision.said(), "allow by head-is-candidate: --resume B", "{what} at {place}");
            assert_eq!(decision.fact("head_busy"), "no");
        }
    }
}

#[test]
fn in_place_of_the_working_directory() {
    for (what, lay) in THINGS {
        let world = World::of(STORY);
        lay(&world.at("/w"));
        assert_eq!(world.decide("cand=B key=K1").said(), "allow by head-is-candidate: --resume B", "{what}");
    }
}

#[test]
fn in_place_of_the_agents_database() {
    for (what, lay) in THINGS {
        let world = World::of("start g1 key=K1 ; session g1 A ; files A=500");
        let path = world.at("/agents.db");
        lay(&path);
        let flags = Flags(world.spawn("uid=u2 cand=A key=K1")).with_os("agents-db", path.into_os_string());
        let decision = world.decide_with(&flags.0);
        let missing = what == "a link that leads nowhere";
        assert_eq!(decision.json["rule"], if missing { "no-chain" } else { "chain-unknown" }, "{what}");
        assert_eq!(decision.json["plan"]["resume"], "A", "{what}");
    }
}

#[test]
fn links_to_a_login_its_projects_or_the_file_lead_to_one_and_the_same() {
    for link in ["/cfg/b -> /cfg/a", "/cfg/b/projects -> /cfg/a/projects"] {
        let world = World::of(&format!("{STORY} ; link {link}"));
        let decision = world.decide("cand=A key=K1 cfg=/cfg/b");
        assert_eq!(decision.fact("head_login"), "own", "{link}");
        assert_eq!(decision.said(), "redirect B by head-moved-on: --resume B", "{link}");
    }
    let world = World::of(STORY);
    let (file, elsewhere) = (world.session("/cfg/a:-w/B"), world.at("/elsewhere.jsonl"));
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert_eq!(world.decide("cand=A key=K1").said(), "redirect B by head-moved-on: --resume B");
    // A link under the spawn's login to the very file: nothing to copy, nothing grew.
    put(&world.at("/cfg/b/projects/x"), b"");
    fs::create_dir_all(world.session("/cfg/b:-w/B").parent().unwrap()).unwrap();
    symlink(&elsewhere, world.session("/cfg/b:-w/B")).unwrap();
    assert_eq!(world.decide("cand=B key=K1 cfg=/cfg/b").said(), "allow by head-is-candidate: --resume B");
}

#[test]
fn a_short_stub_under_the_heads_id_is_neither_resumed_nor_overwritten() {
    for bytes in [0, 10, 699] {
        let world = World::of(&format!("{STORY} /cfg/b:-w/B={bytes}"));
        let said = "refuse B by stub-in-place: fresh";
        assert_eq!(world.decide("cand=B key=K1 cfg=/cfg/b").said(), said, "{bytes}");
    }
}

#[test]
fn a_copy_that_somebody_continued_is_a_session_and_a_torn_marker_marks_nothing() {
    let grown = World::of(&format!("{STORY} /cfg/b:-w/B=900 ; marker /cfg/b:-w/B owner=u1 bytes=700"));
    let said = "fork B by head-grew: --resume B --fork-session";
    assert_eq!(grown.decide("cand=B key=K1 cfg=/cfg/b").said(), said);
    let world = World::of(&format!("{STORY} /cfg/b:-w/B=700"));
    for torn in ["", "{\"owner_uid\":\"u1\"", "{\"owner_uid\":\"u1\",\"bytes\":700}", "null", "\0\0"] {
        put(&marker_of(&world.session("/cfg/b:-w/B")), torn.as_bytes());
        assert_eq!(world.decide("cand=B key=K1 cfg=/cfg/b").fact("head_file"), "as_left", "{torn}");
    }
}

#[test]
fn a_record_that_is_cut_or_was_never_prompted_is_not_copied() {
    let cut = &conversation(700)[..650];
    let cases: [(&[u8], &str); 6] = [
        (b"", "incomplete"),
        (cut, "incomplete"),
        (&[0; 700], "incomplete"),
        (b"{\"type\":\"summary\",\"text\":\"user\"}\n", "incomplete"),
        (b"{\"type\":\"user\"}", "complete"),
        (b"{\"type\":\"user\"}\r\n\r\n  \n", "complete"),
    ];
    for (bytes, value) in cases {
        let world = World::of(STORY);
        put(&world.session("/cfg/a:-w/B"), bytes);
        let decision = world.decide("cand=B key=K1 cfg=/cfg/b");
        let rule = if value == "complete" { "relocate" } else { "unreachable-candidate" };
        assert_eq!((decision.fact("head_record"), &decision.json["rule"]), (value, &rule.into()), "{bytes:?}");
    }
}

/// The command as somebody without rights, if there is a way to become that.
fn as_nobody(world: &World, args: Vec<std::ffi::OsString>) -> Option<serde_json::Value> {
    let mut command = world.command();
    command.args(["decide", "--no-log", "--format=json"]).args(args);
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
        // Where the binary lies may be closed to others.
        command.spawn().ok()?.wait().unwrap();
    }
    let answer = run(&mut command);
    assert_eq!(answer.status, 0, "{answer:?}");
    Some(answer.json())
}

#[test]
fn what_is_closed_to_the_user_is_unreadable_and_not_missing() {
    let closed = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    // A store that needs no write-ahead log is one that others can read.
    let world = World::made(Made::ByOldVersion, STORY);
    let file = world.session("/cfg/a:-w/B");
    for path in [file.as_path(), file.parent().unwrap(), &world.at("/cfg/a/projects"), &world.at("/cfg/a")] {
        closed(path);
        let before = listing(&world.at("/cfg"), &[]);
        let Some(head) = as_nobody(&world, world.spawn("cand=B key=K1")) else { return };
        assert_eq!(
            (&head["rule"], &head["plan"]["resume"]),
            (&"unreachable-candidate".into(), &"B".into()),
            "{path:?}"
        );
        assert!(head["probes"][0]["error"].as_str().unwrap().contains("permission denied"), "{head}");
        let stale = as_nobody(&world, world.spawn("cand=A key=K1")).unwrap();
        assert_eq!((&stale["rule"], &stale["decision"]["head"]), (&"unreachable-head".into(), &"B".into()), "{path:?}");
        assert_eq!(before, listing(&world.at("/cfg"), &[]));
    }
    let world = World::made(Made::ByOldVersion, STORY);
    closed(&world.store());
    let unknown = as_nobody(&world, world.spawn("cand=A key=K1")).unwrap();
    assert_eq!((&unknown["rule"], &unknown["plan"]["resume"]), (&"chain-unknown".into(), &"A".into()));
    let world = World::made(Made::ByOldVersion, &format!("{STORY} ; account /cfg/a a1 o1"));
    closed(&world.at("/cfg/a/.claude.json"));
    let unknown = as_nobody(&world, world.spawn("cand=B")).unwrap();
    assert_eq!(unknown["facts"]["head_identity"], "unknown");
}
