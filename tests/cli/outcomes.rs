//! The six decisions, on stores of both of AgentMux's versions, in every form that they are printed.

use crate::agentmux::Made;
use crate::command::Decision;
use crate::support::{assert_no_missing_or_orphan_snapshots, snapshots};
use crate::world::World;

const CHAIN: &str = "start g1 @1000 key=K1 ; session g1 A ; end g1 @2000 pbytes=500
                     start g2 @3000 key=K1 ; session g2 B ; end g2 @4000 pbytes=700 ;";

/// Kind, story, spawn, and what is said; the exit status with `--exit-code`.
const OUTCOMES: [(&str, &str, &str, &str, i32); 6] = [
    ("allow", "files A=500 B=700", "cand=B key=K1", "allow by head-is-candidate: --resume B", 0),
    ("redirect", "files A=500 B=700", "cand=A key=K1", "redirect B by head-moved-on: --resume B", 10),
    ("refuse", "files A=500", "cand=A key=K1", "refuse B by head-gone: fresh", 11),
    (
        "relocate",
        "files A=500 B=700",
        "cand=A cfg=/cfg/b key=K1",
        "relocate B /cfg/a by relocate: copy, --resume B --fork-session",
        12,
    ),
    ("fork", "files A=500 B=900", "cand=A key=K1", "fork B by head-grew: --resume B --fork-session", 13),
    (
        "fork_from",
        "files A=500 B=700",
        "uid=u2 from=u1 cand=B cfg=/cfg/b key=K1",
        "fork_from B /cfg/a /w by fork-from-parent: copy, --resume B --fork-session",
        14,
    ),
];

#[test]
fn each_of_the_six_decisions_comes_about_on_real_files() {
    for made in [Made::ByOldVersion, Made::ByNewVersion] {
        for (kind, files, spawn, said, status) in OUTCOMES {
            let world = World::made(made, &format!("{CHAIN} {files}"));
            let decision = world.decide(spawn);
            assert_eq!(decision.said(), said);
            assert_eq!(decision.json["decision"]["kind"], kind);
            let coded = ["decide".into(), "--exit-code".into()].into_iter().chain(world.spawn(spawn));
            assert_eq!(world.run(coded).status, status, "{kind}");
        }
    }
}

#[test]
fn a_plan_says_what_to_record() {
    for (kind, files, spawn, ..) in OUTCOMES {
        let decision = World::of(&format!("{CHAIN} {files}")).decide(spawn);
        let record = &decision.json["plan"]["record"];
        let (rung, from, certain) = match kind {
            "allow" | "redirect" => ("native", None, Some("B")),
            "refuse" => ("virtualized", None, None),
            _ => ("native", Some("B"), None),
        };
        assert_eq!(record["continuity_rung"], rung, "{kind}");
        assert_eq!(record["forked_from"].as_str(), from, "{kind}");
        assert_eq!(record["provider_session_id"].as_str(), certain, "{kind}");
    }
}

#[test]
fn an_allow_whose_file_was_not_seen_is_not_certain() {
    let world = World::of("start g1 ; session g1 A ; files A=500");
    for (spawn, rule) in [
        ("uid=u9 cand=A", "no-chain"),
        ("uid=../u9 cand=A", "chain-unknown"),
        ("cand=Z poison=A", "poisoned-head"),
        ("cand=A cwd=/elsewhere", "unreachable-candidate"),
    ] {
        let decision = world.decide(spawn);
        assert_eq!(decision.json["rule"], rule);
        assert!(decision.json["plan"]["record"]["provider_session_id"].is_null(), "{rule}");
    }
}

#[test]
fn a_session_offered_from_history_is_good_for_a_copy_and_nothing_else() {
    for (kind, files, spawn, said, _) in OUTCOMES {
        let decision = World::of(&format!("{CHAIN} {files}")).decide(&spawn.replace("cand=", "hist="));
        assert_eq!(decision.json["candidate"]["offered"], "history");
        let copies = ["relocate", "fork_from"].contains(&kind);
        let resumes = !decision.json["plan"]["resume"].is_null();
        assert_eq!(resumes, copies, "{kind}");
        if copies {
            assert_eq!(decision.said(), said);
        } else {
            assert_eq!(decision.json["plan"]["outcome"], "fresh");
            assert_eq!(decision.notes().contains(&"from-history"), kind != "refuse", "{kind}");
        }
    }
}

#[test]
fn an_explanation_names_the_nearest_miss_and_what_would_change_it() {
    let explained = |n: usize| {
        let (_, files, spawn, ..) = OUTCOMES[n];
        let world = World::of(&format!("{CHAIN} {files}"));
        world.run(["explain".into(), "--format=json".into()].into_iter().chain(world.spawn(spawn))).json()
    };
    let redirect = explained(1);
    assert_eq!(redirect["nearest_miss"]["rule"], "head-is-candidate");
    assert_eq!(redirect["nearest_miss"]["failing"][0]["fact"], "candidate");
    let changes = redirect["would_change"].as_array().unwrap();
    let to = |fact: &str, value: &str| {
        let change = changes.iter().find(|change| change["fact"] == fact && change["value"] == value);
        change.unwrap_or_else(|| panic!("{fact} {value} not in {changes:?}"))["decisions"].clone()
    };
    assert_eq!(to("candidate", "head"), serde_json::json!(["allow"]));
    assert_eq!(to("head_identity", "different"), serde_json::json!(["refuse"]));
    assert_eq!(to("head_file", "grown"), serde_json::json!(["fork"]));
    assert_eq!(to("head_busy", "yes"), serde_json::json!(["fork"]));

    // A refuse is explained by what would have resumed something.
    let refuse = explained(2);
    assert_ne!(refuse["nearest_miss"]["decision"], "refuse");
    assert!(refuse["steps"][13]["conditions"].as_array().unwrap().iter().all(|condition| condition["check"] == "pass"));
}

/// Everything that is printed about one spawn, with what differs from run to run taken out.
fn printed(world: &World, decision: &Decision, spawn: &str) -> String {
    let run = |command: &str, format: &str| {
        let args = [command.to_owned(), format!("--format={format}")].map(Into::into);
        world.run(args.into_iter().chain(world.spawn(spawn)))
    };
    let text = run("decide", "text");
    let mut all = format!("$ decide\n{}{}", text.stdout, text.stderr);
    let args = run("decide", "args");
    all += &format!("\n$ decide --format args\n{}{}", args.stdout, args.stderr);
    all += &format!("\n$ explain\n{}", run("explain", "text").stdout);
    all += &format!("\n$ explain --format markdown\n{}", run("explain", "markdown").stdout);
    all += &format!("\n$ decide --format json\n{}\n", serde_json::to_string_pretty(&decision.json).unwrap());
    let root = world.root().to_string_lossy().into_owned();
    let sha = decision.json["table"]["sha256"].as_str().unwrap();
    all.replace(&crate::world::project_name(&root), "[place]").replace(&root, "[place]").replace(sha, "[sha256]")
}

#[test]
fn the_six_decisions_read_as_approved() {
    for (kind, files, spawn, ..) in OUTCOMES {
        let world = World::of(&format!("{CHAIN} {files}"));
        let decision = world.decide(spawn);
        snapshots("cli").bind(|| {
            insta::assert_snapshot!(format!("outcome-{kind}"), printed(&world, &decision, spawn));
        });
    }
}

#[test]
fn every_snapshot_of_the_command_has_its_test() {
    let outcomes = OUTCOMES.iter().map(|(kind, ..)| format!("outcome-{kind}"));
    let helps = crate::invocation::commands(&World::empty());
    let helps = helps.iter().map(|command| crate::invocation::help_snapshot(command));
    let tables = crate::tables::SNAPSHOTS.iter().map(|name| (*name).to_owned());
    assert_no_missing_or_orphan_snapshots("cli", outcomes.chain(helps).chain(tables));
}
