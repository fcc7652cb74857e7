//! Stores that are missing, empty, locked, damaged, of another kind, or not there to be found: a
//! spawn is decided all the same, within its budget, and the reason is said.

use crate::agentmux::{Made, write_agents};
use crate::command::{Answer, Decision, Flags, listing, run};
use crate::world::World;
use rusqlite::Connection;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::time::Duration;

const STORY: &str = "start g1 ; session g1 A ; end g1 pbytes=500 ; start g2 ; session g2 B ; end g2 pbytes=700
                     files A=500 B=700";
const REDIRECT: &str = "redirect B by head-moved-on: --resume B";

/// `decide` alone; for where asking in every way takes long, or where nothing can be compared.
fn ask(world: &World, more: &[&str]) -> (Answer, serde_json::Value) {
    let flags = world.spawn("cand=A").into_iter().chain(more.iter().map(Into::into));
    let answer = world.run(["decide".into(), "--format=json".into()].into_iter().chain(flags));
    assert_eq!(answer.status, 0, "{answer:?}");
    let document = answer.json();
    (answer, document)
}

fn assert_unknown(decision: &Decision, what: &str) {
    assert_eq!(decision.said(), "allow by chain-unknown: --resume A", "{what}");
    assert!(decision.note("chain-unreadable").contains("store"), "{what}: {:?}", decision.stderr);
}

#[test]
fn a_store_of_either_version_of_agentmux_reads() {
    for made in [Made::ByOldVersion, Made::ByNewVersion] {
        assert_eq!(World::made(made, STORY).decide("cand=A").said(), REDIRECT, "{made:?}");
    }
}

#[test]
fn a_log_of_many_parts_reads_and_its_oldest_lines_still_count() {
    let mut story = String::new();
    for n in 0..600 {
        story += &format!("start n{n} @{n} key={} ; session n{n} S{n} ; end n{n} pbytes=9\n", "k".repeat(300));
    }
    let mut world = World::of(&(story + "files S599=9"));
    assert!(world.told("u1").len() > 4 * 64 * 1024);
    assert_eq!(world.decide("cand=S0").said(), "redirect S599 by head-moved-on: --resume S599");
    // Twelve hundred starts that never reported a session, and the head is far back.
    let story: String = (0..600).map(|n| format!("start e{n} key={} ;", "k".repeat(300))).collect();
    world.then(&story);
    assert_eq!(world.decide("cand=S0").said(), "redirect S599 by head-moved-on: --resume S599");
}

#[test]
fn a_missing_store_and_an_empty_one_are_an_empty_chain() {
    let world = World::of(STORY);
    fs::remove_file(world.store()).unwrap();
    assert_eq!(world.decide("cand=A").said(), "allow by no-chain: --resume A");
    fs::write(world.store(), b"").unwrap();
    assert_eq!(world.decide("cand=A").said(), "allow by no-chain: --resume A");
    assert_eq!(World::of("").decide("cand=A").said(), "allow by no-chain: --resume A");
}

#[test]
fn something_else_in_the_stores_place_is_an_unknown_chain() {
    for (what, lay) in crate::in_the_way::THINGS {
        let world = World::of(STORY);
        lay(&world.store());
        let decision = world.decide("cand=A");
        if what == "a link that leads nowhere" {
            // Where it leads there may be a disk that is not mounted, or a store yet to be made.
            assert!(["no-chain", "chain-unknown"].contains(&decision.json["rule"].as_str().unwrap()));
            assert_eq!(decision.json["plan"]["resume"], "A");
        } else {
            assert_unknown(&decision, what);
        }
    }
}

#[test]
fn what_is_no_database_or_a_damaged_one_is_an_unknown_chain_and_stays_as_it_is() {
    type Damage = fn(Vec<u8>) -> Vec<u8>;
    let damages: [(&str, Damage); 6] = [
        ("text", |_| b"this is no database, whatever its name says\n".repeat(100)),
        ("zeros", |bytes| vec![0; bytes.len()]),
        ("half", |bytes| bytes[..bytes.len() / 2].to_vec()),
        ("one page", |bytes| bytes[..4096].to_vec()),
        ("only the header", |bytes| bytes[..100].to_vec()),
        ("garbage after the first page", |mut bytes| {
            bytes[4096..].fill(0xa5);
            bytes
        }),
    ];
    for (what, damage) in damages {
        let world = World::made(Made::ByOldVersion, STORY);
        let damaged = damage(fs::read(world.store()).unwrap());
        fs::write(world.store(), &damaged).unwrap();
        let (answer, document) = ask(&world, &[]);
        assert_eq!((&document["rule"], &document["plan"]["resume"]), (&"chain-unknown".into(), &"A".into()), "{what}");
        assert!(answer.stderr.contains("filestore.db"), "{what}: {answer:?}");
        assert_eq!(fs::read(world.store()).unwrap(), damaged, "{what}");
        assert_eq!(listing(&world.at("/store"), &[]).len(), 1, "{what}");
    }
}

#[test]
fn rows_that_lie_about_themselves_bring_nothing_down() {
    for (what, sql) in [
        ("a huge size", "UPDATE db_wave_file SET size = 1152921504606846976"),
        ("a negative size", "UPDATE db_wave_file SET size = -5"),
        ("a size in words", "UPDATE db_wave_file SET size = 'many'"),
        ("a size that is a blob", "UPDATE db_wave_file SET size = x'ff'"),
        (
            "a name twice as text and blob",
            "INSERT INTO db_wave_file (zoneid, name) VALUES (CAST('agent-uid:u1:segments' AS BLOB), 'segments.jsonl')",
        ),
        ("parts missing", "DELETE FROM db_file_data"),
        ("a part of text", "UPDATE db_file_data SET data = 'text'"),
        ("an empty part", "UPDATE db_file_data SET data = x''"),
        ("a part at a huge index", "UPDATE db_file_data SET partidx = 9223372036854775807"),
        ("no such table", "DROP TABLE db_file_data"),
        ("no such column", "ALTER TABLE db_file_data RENAME COLUMN data TO bytes"),
        (
            "a view in the table's place",
            "ALTER TABLE db_wave_file RENAME TO x; CREATE VIEW db_wave_file AS SELECT * FROM x",
        ),
    ] {
        let world = World::made(Made::ByOldVersion, STORY);
        Connection::open(world.store()).unwrap().execute_batch(sql).unwrap();
        let (answer, document) = ask(&world, &[]);
        let rule = document["rule"].as_str().unwrap();
        assert!(["chain-unknown", "no-chain", "head-moved-on"].contains(&rule), "{what}: {rule}");
        if rule == "chain-unknown" {
            assert!(answer.stderr.contains("store"), "{what}: {answer:?}");
        }
    }
}

#[test]
fn a_newer_format_is_not_read_and_an_older_one_is() {
    for (version, rule) in
        [(0, "head-moved-on"), (1, "head-moved-on"), (2, "chain-unknown"), (1_000_000, "chain-unknown")]
    {
        let world = World::of(STORY);
        Connection::open(world.store()).unwrap().pragma_update(None, "user_version", version).unwrap();
        let decision = world.decide("cand=A");
        assert_eq!(decision.json["rule"], rule, "{version}");
        if rule == "chain-unknown" {
            assert!(decision.note("chain-unreadable").contains(&version.to_string()));
        }
    }
}

#[test]
fn a_store_that_another_process_has_locked_costs_the_budget_and_no_more() {
    for made in [Made::ByOldVersion, Made::ByNewVersion] {
        let world = World::made(made, STORY);
        let holder = Connection::open(world.store()).unwrap();
        holder.pragma_update(None, "locking_mode", "EXCLUSIVE").unwrap();
        holder.execute_batch("BEGIN EXCLUSIVE; UPDATE db_wave_file SET modts = 1").unwrap();
        let (answer, document) = ask(&world, &["--budget=250"]);
        assert_eq!(
            (&document["rule"], &document["plan"]["resume"]),
            (&"chain-unknown".into(), &"A".into()),
            "{made:?}"
        );
        assert!(answer.took < Duration::from_secs(3), "{made:?}: {:?}", answer.took);
        assert!(answer.stderr.contains("filestore.db"), "{answer:?}");
        holder.execute_batch("ROLLBACK").unwrap();
        drop(holder);
        assert_eq!(ask(&world, &[]).1["rule"], "head-moved-on");
    }
}

#[test]
fn a_writer_in_the_middle_of_a_transaction_holds_up_no_reader_of_a_log_with_wal() {
    let world = World::made(Made::ByNewVersion, STORY);
    let writer = Connection::open(world.store()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE; UPDATE db_wave_file SET size = 0").unwrap();
    assert_eq!(ask(&world, &["--budget=5000"]).1["rule"], "head-moved-on");
}

#[test]
fn what_stands_in_the_write_ahead_log_alone_is_read_too() {
    let world = World::made(Made::ByNewVersion, STORY);
    let writer = Connection::open(world.store()).unwrap();
    writer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    let mut log = world.told("u1").to_vec();
    log.extend(b"{\"event\":\"session\",\"segment_id\":\"g2\",\"provider_session_id\":\"C\"}\n");
    let size = i64::try_from(log.len()).unwrap();
    writer.execute("UPDATE db_file_data SET data = ?1 WHERE zoneid = 'agent-uid:u1:segments'", [&log]).unwrap();
    writer.execute("UPDATE db_wave_file SET size = ?1 WHERE zoneid = 'agent-uid:u1:segments'", [size]).unwrap();
    crate::world::put(&world.session("/cfg/a:-w/C"), b"{}");
    let said = "redirect C by head-moved-on: --resume C";
    assert_eq!(world.decide("cand=A").said(), said);
    // As a killed writer leaves it: the log beside the database, and nobody there.
    for suffix in ["", "-wal"] {
        let from = format!("{}{suffix}", world.store().display());
        fs::create_dir_all(world.at("/left")).unwrap();
        fs::copy(from, format!("{}{suffix}", world.at("/left/store.db").display())).unwrap();
    }
    let mut flags = Flags(world.spawn("cand=A"));
    flags.0.retain(|flag| !flag.to_string_lossy().starts_with("--store"));
    let answer = ask_with(&world, flags.with_os("store", world.at("/left/store.db").into_os_string()));
    assert_eq!(answer["plan"]["resume"], "C");
    drop(writer);
}

fn ask_with(world: &World, flags: Flags) -> serde_json::Value {
    world.run(["decide".into(), "--format=json".into()].into_iter().chain(flags.0)).json()
}

#[test]
fn an_explanation_writes_nothing_at_all() {
    let world = World::made(Made::ByOldVersion, STORY);
    let before = listing(world.root(), &[]);
    for format in ["text", "json", "markdown"] {
        let flags = world.spawn("cand=A").into_iter().chain([format!("--format={format}").into()]);
        assert_eq!(world.run(["explain".into()].into_iter().chain(flags)).status, 0);
    }
    assert_eq!(before, listing(world.root(), &[]));
}

#[test]
fn a_budget_is_a_number_of_milliseconds_from_none_to_far_too_many() {
    let world = World::of(STORY);
    for budget in ["600000", "18446744073709551615"] {
        assert_eq!(ask(&world, &[&format!("--budget={budget}")]).1["rule"], "head-moved-on", "{budget}");
    }
    let (answer, document) = ask(&world, &["--budget=0"]);
    assert_eq!((&document["rule"], &document["plan"]["resume"]), (&"chain-unknown".into(), &"A".into()));
    assert!(answer.stderr.contains("budget"), "{answer:?}");
    for budget in ["-1", "1.5", "soon", "", "18446744073709551616"] {
        let flags = world.spawn("cand=A").into_iter().chain([format!("--budget={budget}").into()]);
        let answer = world.run(["decide".into()].into_iter().chain(flags));
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{budget}");
    }
}

#[test]
fn the_store_is_the_named_one_else_the_environments_else_agentmuxs_else_our_own() {
    let world = World::of(STORY);
    let copy_to = |path: &str| {
        fs::create_dir_all(world.at(path).parent().unwrap()).unwrap();
        fs::copy(world.store(), world.at(path)).unwrap();
    };
    let used = |environment: &[(&str, &str)]| {
        let mut command = world.command();
        command
            .args(["decide", "--no-log", "--format=json", "--agent=u1", "--resume=A", "--no-such-flag"].iter().take(5));
        command.arg(format!("--config-dir={}", world.place("/cfg/a"))).arg(format!("--cwd={}", world.place("/w")));
        command.envs(environment.iter().map(|(name, path)| (name, world.place(path))));
        let document = run(&mut command).json();
        let store = document["store"].as_str().unwrap().replace(&world.place("/"), "/");
        (store, document["rule"].as_str().unwrap().to_owned())
    };
    let pair = |store: &str, rule: &str| (store.to_owned(), rule.to_owned());
    assert_eq!(used(&[]), pair("/home/.local/share/resume-gate/filestore.db", "no-chain"));
    assert_eq!(used(&[("XDG_DATA_HOME", "/data")]), pair("/data/resume-gate/filestore.db", "no-chain"));
    assert!(!world.at("/data").exists() && !world.at("/home/.local").exists(), "made where nothing was recorded");
    copy_to("/home/.agentmux/shared/agents/transcripts/filestore.db");
    let agentmuxs = pair("/home/.agentmux/shared/agents/transcripts/filestore.db", "head-moved-on");
    assert_eq!(used(&[("XDG_DATA_HOME", "/data")]), agentmuxs);
    copy_to("/mux/shared/agents/transcripts/filestore.db");
    let moved = pair("/mux/shared/agents/transcripts/filestore.db", "head-moved-on");
    assert_eq!(used(&[("AGENTMUX_HOME", "/mux")]), moved);
    assert_eq!(used(&[("RESUME_GATE_STORE", "/none.db")]), pair("/none.db", "no-chain"));
}

#[test]
fn without_a_home_everything_that_was_named_still_counts() {
    let world = World::of(STORY);
    let mut command = world.command();
    command.env_remove("HOME").args(["decide", "--no-log", "--format=json"]).args(world.spawn("cand=A"));
    assert_eq!(run(&mut command).json()["rule"], "head-moved-on");
    // Somebody whom the system does not know has no home at all, and names nothing.
    if rustix::process::geteuid().is_root() {
        let mut command = world.command();
        command
            .env_remove("HOME")
            .args(["decide", "--no-log", "--format=json", "--agent=u1", "--resume=A"])
            .uid(54_321)
            .gid(54_321);
        let Ok(mut started) = command.spawn() else { return };
        started.wait().unwrap();
        let answer = run(&mut command);
        let document = answer.json();
        assert_eq!(
            (answer.status, &document["rule"], &document["store"]),
            (0, &"chain-unknown".into(), &serde_json::Value::Null)
        );
        assert!(answer.stderr.contains("--store"), "{answer:?}");
    }
}

#[test]
fn a_store_is_found_under_any_name() {
    use std::os::unix::ffi::OsStringExt as _;
    let world = World::made(Made::ByOldVersion, STORY);
    let names =
        [b"file:x?mode=memory".to_vec(), b":memory:".to_vec(), b"\xff\xfe.db".to_vec(), "ü 😀 '\"%00.db".into()];
    for name in names {
        let path = world.at("/store").join(std::ffi::OsString::from_vec(name));
        fs::copy(world.store(), &path).unwrap();
        let relative = std::ffi::OsString::from(path.file_name().unwrap());
        for (given, folder) in [(path.clone().into_os_string(), world.at("/w")), (relative, world.at("/store"))] {
            let mut command = world.command();
            command
                .current_dir(folder)
                .args(["decide", "--no-log", "--format=json"])
                .args(world.spawn("cand=A").split_first().unwrap().1);
            command.arg("--store").arg(given);
            assert_eq!(run(&mut command).json()["rule"], "head-moved-on", "{path:?}");
        }
    }
}

#[test]
fn a_fork_is_an_agent_with_a_parent_and_a_branch_label() {
    let world = World::of("start g1 key=K1 ; session g1 A ; files A=500");
    let path = world.at("/agents.db");
    write_agents(
        &path,
        &[
            ("u1", None, None),
            ("fork", Some("u1"), Some("try-2")),
            ("made", Some("u1"), None),
            ("blank", Some("u1"), Some(" ")),
        ],
    );
    for (uid, rule) in
        [("fork", "fork-from-parent"), ("made", "no-chain"), ("blank", "no-chain"), ("nobody", "no-chain")]
    {
        let flags = Flags(world.spawn(&format!("uid={uid} cand=A key=K1"))).with_os("agents-db", path.clone().into());
        assert_eq!(world.decide_with(&flags.0).json["rule"], rule, "{uid}");
    }
}

#[test]
fn the_segment_of_the_spawn_itself_is_not_its_head() {
    let world = World::of("start g1 ; session g1 A ; start g2 sid=B ; files A=500 B=500");
    assert_eq!(world.decide("cand=A").said(), REDIRECT);
    assert_eq!(world.decide("cand=A current=g2").said(), "allow by head-is-candidate: --resume A");
}

#[test]
fn a_log_of_which_nothing_can_be_read_is_not_an_empty_one() {
    let forked = "uid=u2 from=u1 cand=A key=K1";
    let mut world = World::of("start g1 key=K1 ; session g1 A ; start g9 uid=u2 key=K1 sid=C ; files A=500 C=500");
    assert_eq!(world.decide(forked).said(), "redirect C by head-moved-on: --resume C");
    let whole = world.told("u2").len();
    for lost in [vec![0; whole], vec![b'x'; whole], vec![0xff; 200_000], b"[1]\n\n{\"event\":\"start\",".to_vec()] {
        world.log("u2", lost);
        let decision = world.decide(forked);
        // Taken for empty, the agent would begin anew from its parent's session.
        assert_eq!(decision.said(), "allow by chain-unknown: --resume A");
        assert!(decision.note("chain-unreadable").contains("damaged"), "{decision:?}");
    }
    for nothing_yet in ["", "\n \r\n", "{\"event\":\"lease\",\"segment_id\":\"g9\"}\n", "\0\0{\"event\":\"lease\"}\n"] {
        world.log("u2", nothing_yet);
        assert_eq!(world.decide(forked).json["rule"], "fork-from-parent", "{nothing_yet:?}");
    }
    // All that the row tells of is gone.
    let world = World::of("start g1 key=K1 ; session g1 A ; start g9 uid=u2 key=K1 sid=C ; files A=500");
    let gone = "DELETE FROM db_file_data WHERE zoneid = 'agent-uid:u2:segments'";
    Connection::open(world.store()).unwrap().execute_batch(gone).unwrap();
    let flags = Flags(world.spawn(forked));
    assert_eq!(ask_with(&world, flags)["rule"], "chain-unknown");
}

#[test]
fn an_agentmux_store_that_cannot_be_looked_at_gives_way_to_no_other() {
    let world = World::of(STORY);
    let agentmuxs = world.at("/home/.agentmux/shared/agents/transcripts/filestore.db");
    fs::create_dir_all(agentmuxs.parent().unwrap()).unwrap();
    for (target, rule) in [(agentmuxs.clone(), "chain-unknown"), (world.at("/not-mounted.db"), "no-chain")] {
        drop(fs::remove_file(&agentmuxs));
        std::os::unix::fs::symlink(target, &agentmuxs).unwrap();
        let mut flags = Flags(world.spawn("cand=A"));
        flags.0.retain(|flag| !flag.to_string_lossy().starts_with("--store"));
        let document = ask_with(&world, flags);
        assert_eq!((document["store"].as_str(), document["rule"].as_str()), (agentmuxs.to_str(), Some(rule)));
    }
    assert!(!world.at("/home/.local").exists(), "recorded in another store");
}
