//! `resume-gate audit …`, `explain --last`, `rules diff` and the record that `decide` leaves: the
//! real command on real stores.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::allow_attributes, reason = "tests")]

#[path = "support/ran.rs"]
mod ran;
#[path = "support/records.rs"]
mod records;

use ran::{Ran, ran};
use records::About;
use resume_gate::audit::log::{self, TABLES_ZONE, table_file};
use resume_gate::gate::facts::{Fact, VOCABULARY};
use resume_gate::gate::{TABLE, TABLE_SOURCE, decision_of};
use resume_gate::store::{AppendOptions, Durability, SqliteStore, Store, WRITER_WAIT};
use resume_gate::table::{FactWord, Table, load_candidate};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use strum::IntoEnumIterator;
use tempfile::TempDir;

const START_MS: u64 = 1_700_000_000_000;
const HOUR_MS: u64 = 3_600_000;

struct World {
    _dir: TempDir,
    root: PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home/w")).unwrap();
        Self { _dir: dir, root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn run(&self, args: &[&str]) -> Ran {
        ran(Command::new(env!("CARGO_BIN_EXE_resume-gate"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("RESUME_GATE_STORE", self.path("store.db"))
            .env("TZ", "UTC")
            .current_dir(self.path("home/w"))
            .args(args))
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::recorder(&self.path("store.db"), WRITER_WAIT).unwrap()
    }

    /// A table like the one that ships with one row moved in front of another, as a file.
    fn moved(&self, rule: &str, before: &str) -> (PathBuf, Table, Vec<u8>) {
        let source = std::str::from_utf8(TABLE_SOURCE).unwrap();
        let (head, rules) = source.split_once("\nrules:\n").unwrap();
        let mut rows: Vec<String> = rules.split("\n\n").map(|row| row.trim_end().to_owned()).collect();
        let row =
            |rows: &[String], id: &str| rows.iter().position(|row| row.contains(&format!("- id: {id}\n"))).unwrap();
        let from = row(&rows, rule);
        let text = rows.remove(from);
        let to = row(&rows, before);
        rows.insert(to, text);
        let source =
            format!("{head}\nrules:\n{}\n", rows.join("\n\n")).replace("version: 1", "version: 2").into_bytes();
        let path = self.path("moved.yaml");
        fs::write(&path, &source).unwrap();
        let table = load_candidate(&source, &VOCABULARY).table.unwrap();
        (path, table, source)
    }

    /// Records one decision for every combination of facts, an hour apart, for two agents in turn.
    fn record_everything(&self) -> Vec<FactWord> {
        let mut store = self.store();
        let words = VOCABULARY.combinations();
        for (n, word) in (0..).zip(&words) {
            let agent = if n % 2 == 0 { "a1" } else { "a2" };
            let line = records::record(*word, START_MS + n * HOUR_MS, About { agent, ..About::default() });
            log::append(&mut store, agent, &line, (&TABLE.sha256, TABLE_SOURCE), 0).unwrap();
        }
        words
    }
}

fn by_rule(words: &[FactWord], rule: &str) -> u64 {
    words.iter().filter(|word| TABLE.rules[TABLE.first_hit(**word)].id == rule).count() as u64
}

#[test]
fn every_decision_is_recorded_and_explained_later_as_of_then() {
    let world = World::new();
    let session = world.path("home/.claude/projects").join(format!(
        "{}/B.jsonl",
        world.path("home/w").to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    ));
    fs::create_dir_all(session.parent().unwrap()).unwrap();
    fs::write(&session, "{\"type\":\"user\",\"uuid\":\"u\"}\n").unwrap();
    let segment = world.run(&["segments", "start", "--agent", "a1"]).ok().trim().to_owned();
    world.run(&["segments", "session", "--agent", "a1", &segment, "B"]).ok();
    world.run(&["segments", "end", "--agent", "a1", &segment, "--exit-code", "0"]).ok();

    let decided = world.run(&["decide", "--agent", "a1", "--resume", "A", "--format", "json"]).json();
    assert_eq!(decided["rule"], "head-moved-on");
    world.run(&["decide", "--agent", "a1", "--resume", "A", "--no-log"]).ok();
    world.run(&["explain", "--agent", "a1", "--resume", "A"]).ok();
    fs::remove_file(&session).unwrap();

    let listed = world.run(&["audit", "list", "--format", "json"]).json();
    let records = listed["decisions"].as_array().unwrap();
    assert_eq!(records.len(), 1, "neither `--no-log` nor `explain` records");
    let record = records[0].as_object().unwrap();
    for (key, value) in decided.as_object().unwrap() {
        assert_eq!(&record[key], value, "{key}");
    }
    assert!(record["duration_us"].as_u64().unwrap() > 0);
    assert!(record["at_ms"].as_u64().unwrap() > START_MS);

    // The file is gone now; the explanation is that of then.
    let last = world.run(&["explain", "--last", "--agent", "a1"]).ok();
    assert!(last.starts_with("resume B instead of A"), "{last}");
    for part in
        ["redirect by head-moved-on (13 of 17)", "head_file as_left", "today's table  decides the same", "nearest miss"]
    {
        assert!(last.contains(part), "no `{part}` in {last}");
    }
    let id = record["id"].as_str().unwrap();
    for id in [id, &id[24..]] {
        assert_eq!(world.run(&["explain", "--decision", id]).ok(), last);
        assert_eq!(world.run(&["audit", "show", id]).ok(), last);
    }
    assert!(world.run(&["audit", "show", id, "--format", "markdown"]).ok().starts_with("**resume B instead of A**"));
    let shown = world.run(&["audit", "show", id, "--format", "json"]).json();
    assert_eq!((&shown["schema"], &shown["id"]), (&json!("resume-gate.explanation/1"), &json!(id)));
    assert_eq!(shown["steps"][12]["outcome"], "hit");
    assert_eq!(shown["today"]["changes"], false);
    assert_eq!(shown["nearest_miss"]["rule"], "head-is-candidate");
}

#[test]
fn a_decision_that_cannot_be_recorded_is_still_made() {
    let world = World::new();
    fs::write(world.path("store.db"), "no database").unwrap();
    let ran = world.run(&["decide", "--agent", "a1", "--resume", "A", "--format", "json"]);
    assert!(ran.stderr.contains("this decision is not in the decision log"), "{}", ran.stderr);
    let decided = ran.json();
    assert_eq!(decided["rule"], "chain-unknown");
    assert!(decided["notes"].as_array().unwrap().iter().any(|note| note["code"] == "not-recorded"));
    assert_eq!(fs::read(world.path("store.db")).unwrap(), b"no database");
    world.run(&["audit", "list"]).refused();
}

#[test]
fn a_list_is_filtered_and_paged_newest_first() {
    let world = World::new();
    let words = world.record_everything();
    let list = |args: &[&str]| {
        let all: Vec<&str> = ["audit", "list", "--format", "json"].iter().chain(args).copied().collect();
        world.run(&all).json()
    };
    let times = |listed: &Value| -> Vec<u64> {
        listed["decisions"].as_array().unwrap().iter().map(|record| record["at_ms"].as_u64().unwrap()).collect()
    };
    let last = START_MS + (words.len() as u64 - 1) * HOUR_MS;
    assert_eq!(times(&list(&["--limit", "3"])), [last, last - HOUR_MS, last - 2 * HOUR_MS], "both agents' decisions");
    let page = list(&["--limit", "2", "--skip", "2"]);
    assert_eq!((times(&page), &page["next_skip"]), (vec![last - 2 * HOUR_MS, last - 3 * HOUR_MS], &json!(4)));
    assert_eq!(list(&["--limit", "899"])["next_skip"], Value::Null);
    assert_eq!(times(&list(&["--limit", "1", "--agent", "a1"]))[0], last);
    assert_eq!(times(&list(&["--limit", "1", "--agent", "a2"]))[0], last - HOUR_MS);

    let count = |args: &[&str]| times(&list(&[&["--limit", "9999"], args].concat())).len() as u64;
    assert_eq!(count(&["--rule", "relocate"]), by_rule(&words, "relocate"));
    let forks = by_rule(&words, "head-grew") + by_rule(&words, "head-busy");
    assert_eq!(count(&["--decision", "fork"]), forks);
    assert_eq!(count(&["--decision", "fork,relocate"]), forks + by_rule(&words, "relocate"));
    assert_eq!(count(&["--session", "A"]), 899);
    assert_eq!(count(&["--session", "C"]), 0);
    assert_eq!(count(&["--since", "2023-11-15"]), 899 - 2, "the first two are of the evening before");
    assert_eq!(count(&["--until", "2023-11-15T00:00:00Z"]), 2);
    assert_eq!(count(&["--on", "2023-11-15"]), 24);
    assert_eq!(count(&["--agent", "nobody"]), 0);

    let text = world.run(&["audit", "list", "--limit", "2"]).ok();
    assert_eq!(text.lines().count(), 3);
    assert!(text.ends_with("… `--skip 2` lists older ones\n"), "{text}");
    for (args, said) in [
        (["--decision", "fokr"], "did you mean `fork`?"),
        (["--since", "soon"], "`soon` is not a time"),
        (["--on", "14:30"], "`14:30` is not a day"),
        (["--agent", "no uid"], "`no uid` is no agent's id"),
    ] {
        let error = world.run(&[&["audit", "list"], args.as_slice()].concat()).refused();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn the_newest_that_fits_is_shown_without_an_id() {
    let world = World::new();
    world.record_everything();
    let shown = world.run(&["audit", "show", "--outcome", "fresh", "--on", "2023-11-17", "--format", "json"]).json();
    assert_eq!(shown["plan"]["outcome"], "fresh");
    let at = shown["at_ms"].as_u64().unwrap();
    assert!((1_700_179_200_000..1_700_265_600_000).contains(&at), "{at}");
    let none = world.run(&["audit", "show", "--on", "2020-01-01"]).refused();
    assert!(none.contains("no such decision is recorded"), "{none}");
    assert!(world.run(&["audit", "show", "0000-none"]).refused().contains("no recorded decision has the id"));
}

#[test]
fn a_decision_is_explained_under_the_table_that_made_it() {
    let world = World::new();
    let (_, table, source) = world.moved("unreachable-candidate", "head-gone");
    let mut store = world.store();
    // With the row moved up, a missing file of the candidate is allowed; today it is refused.
    let differs = |word: &&FactWord| {
        table.rules[table.first_hit(**word)].id == "unreachable-candidate"
            && TABLE.rules[TABLE.first_hit(**word)].id == "head-gone"
    };
    let word = *VOCABULARY.combinations().iter().find(differs).unwrap();
    let line = records::record(word, START_MS, About { table: &table, agent: "a1", ..About::default() });
    log::append(&mut store, "a1", &line, (&table.sha256, &source), 0).unwrap();
    let last = world.run(&["explain", "--last", "--agent", "a1"]).ok();
    assert!(last.contains("allow by unreachable-candidate (14 of 17)"), "{last}");
    assert!(last.contains("would decide otherwise: refuse by head-gone"), "{last}");
    assert!(last.contains("resume-gate version 2"), "{last}");

    // Without that table the record still says what it knows.
    let unknown = records::record(word, START_MS + 1, About { table: &table, agent: "a2", ..About::default() })
        .replace(table.sha256.as_ref(), &"0".repeat(64));
    let options = AppendOptions { durability: Durability::Normal, now_ms: 0 };
    store.append_line("agent-uid:a2:decisions", "decisions.jsonl", options, unknown.as_bytes()).unwrap();
    let last = world.run(&["explain", "--last", "--agent", "a2"]).ok();
    assert!(last.contains("neither the shipped one nor kept in the store"), "{last}");
    assert!(last.contains("would decide otherwise: refuse by head-gone"), "{last}");

    // What is kept under a fingerprint that is not its own is not used.
    store.put_once(TABLES_ZONE, &table_file(&"0".repeat(64)), &source, options).unwrap();
    assert_eq!(world.run(&["explain", "--last", "--agent", "a2"]).ok(), last);
    let html = world.path("report.html");
    world.run(&["audit", "report", "--out", html.to_str().unwrap()]).ok();
    assert!(fs::read_to_string(&html).unwrap().contains(table.sha256.as_ref()));
}

#[test]
fn a_candidate_table_is_replayed_and_compared_as_brute_force_does() {
    let world = World::new();
    let words = world.record_everything();
    let (path, table, _) = world.moved("head-gone", "stub-in-place");
    let path = path.to_str().unwrap();
    let (mut changed, mut open) = (BTreeMap::<(String, String), u64>::new(), 0);
    for word in &words {
        // The table decides what is known of it, with what was asked then.
        let known = records::as_asked(&TABLE, *word);
        let rules = table.rules.iter();
        let first = rules.clone().position(|rule| rule.verdict(known) != resume_gate::table::Verdict::Misses).unwrap();
        let name = |rule: &resume_gate::table::Rule| decision_of(rule).name().to_owned();
        let was = &TABLE.rules[TABLE.first_hit(*word)];
        let asks = table.rules[first].when.iter().any(|condition| {
            let fact = Fact::iter().nth(condition.fact).unwrap();
            known.value_name(fact).is_none()
        });
        if asks {
            open += 1;
        } else if name(was) != name(&table.rules[first]) {
            *changed.entry((was.id.to_string(), table.rules[first].id.to_string())).or_default() += 1;
        }
    }
    let replay = world.run(&["audit", "replay", "--rules", path, "--format", "json"]).json();
    let found: BTreeMap<(String, String), u64> = replay["changes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|change| change["from"]["decision"] != change["to"]["decision"])
        .map(|change| {
            let rule = |end: &str| change[end]["rule"].as_str().unwrap().to_owned();
            ((rule("from"), rule("to")), change["records"].as_u64().unwrap())
        })
        .collect();
    assert_eq!((found, &replay["undetermined"]), (changed.clone(), &json!(open)));
    assert_eq!(replay["changed"], json!(changed.values().sum::<u64>()));
    let parts = ["unchanged", "changed", "changed_rule_only", "undetermined", "without_candidate"];
    assert_eq!(parts.iter().map(|part| replay[part].as_u64().unwrap()).sum::<u64>(), 899);

    let same = world.run(&["audit", "replay", "--fail-on-change"]);
    assert!(same.stdout.starts_with("0 of 899 records change"), "{}", same.stdout);
    assert_eq!(same.status, 0);
    let fails = world.run(&["audit", "replay", "--rules", path, "--fail-on-change"]);
    assert_eq!(fails.status, i32::from(!changed.is_empty()));

    // The whole fact space, which no record limits.
    let diff = world.run(&["rules", "diff", path, "--format", "json"]).json();
    let differs =
        |word: &&FactWord| TABLE.rules[TABLE.first_hit(**word)].then != table.rules[table.first_hit(**word)].then;
    let expected = words.iter().filter(differs).count();
    let changes = diff["changes"].as_array().unwrap().iter().filter(|change| change["from"] != change["to"]);
    assert_eq!(changes.map(|change| change["combinations"].as_u64().unwrap()).sum::<u64>(), expected as u64);
    assert_eq!(diff["rows"], json!([{ "rule": "head-gone", "edit": "moved", "from": 14, "to": 10 }]));
    let both = world.run(&["rules", "diff", path, path]).ok();
    assert_eq!(both, "all 899 combinations are decided alike\n");
}

#[test]
fn a_table_that_breaks_a_promise_is_compared_and_says_so() {
    let world = World::new();
    world.record_everything();
    let (path, ..) = world.moved("head-is-candidate", "head-busy");
    let path = path.to_str().unwrap();
    let check = world.run(&["rules", "check", path]);
    assert_eq!(check.status, 1);
    for args in [vec!["rules", "diff", path], vec!["audit", "replay", "--rules", path]] {
        let ran = world.run(&args);
        assert!(ran.stderr.contains("cannot ship as it is"), "{}", ran.stderr);
        assert!(ran.ok().contains("fork → allow"));
    }
    fs::write(world.path("torn.yaml"), "table: x\nrules:\n  - id: a\n").unwrap();
    let torn = world.path("torn.yaml");
    let ran = world.run(&["rules", "diff", torn.to_str().unwrap()]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("missing_key"), "{}", ran.stderr);
}

#[test]
fn coverage_and_stats_count_exactly_and_name_what_is_missing() {
    let world = World::new();
    let words = world.record_everything();
    let coverage = world.run(&["audit", "coverage", "--format", "json"]).json();
    for rule in coverage["rules"].as_array().unwrap() {
        assert_eq!(rule["recorded"]["hits"], json!(by_rule(&words, rule["rule"].as_str().unwrap())));
    }
    assert_eq!(coverage["never_reached"], json!([]));
    let facts = world.path("facts.jsonl");
    fs::write(&facts, "{\"spawn_provider\":\"other\"}\n\n{\"spawn_provider\":\"claude\",\"chain\":\"unknown\"}\n")
        .unwrap();
    let facts = facts.to_str().unwrap();
    let few = ["audit", "coverage", "--agent", "nobody", "--facts", facts];
    let text = world.run(&few).ok();
    assert!(text.contains("0 of 17 rules reached"), "{text}");
    assert!(text.contains("spawn_provider: other 0 (1)"), "{text}");
    let never = text.lines().find(|line| line.starts_with("never reached")).unwrap();
    assert!(never.contains("head-gone") && !never.contains("chain-unknown"), "{never}");

    // Damage is said, never passed over.
    let options = AppendOptions { durability: Durability::Normal, now_ms: 0 };
    world.store().append_line("agent-uid:a1:decisions", "decisions.jsonl", options, b"{\"torn\":").unwrap();
    let ran = world.run(&["audit", "stats"]);
    assert!(ran.stderr.contains("1 line is no decision record"), "{}", ran.stderr);
    assert!(ran.ok().starts_with("899 decisions\n"));
    let stats = world.run(&["audit", "stats", "--format", "json"]).json();
    assert_eq!((&stats["records"], &stats["unreadable"]), (&json!(899), &json!(1)));
    assert_eq!(stats["agents"], json!({ "a1": 450, "a2": 449 }));
    assert_eq!(stats["rules"]["relocate"], json!(by_rule(&words, "relocate")));
}

#[test]
fn looking_writes_nothing() {
    let world = World::new();
    let html = world.path("r.html");
    let html = html.to_str().unwrap();
    for args in [
        vec!["audit", "list"],
        vec!["audit", "stats"],
        vec!["audit", "replay"],
        vec!["audit", "coverage"],
        vec!["audit", "report", "--out", html],
    ] {
        world.run(&args).ok();
    }
    assert!(!world.path("store.db").exists(), "a store that is not there stays so");
    assert!(fs::read_to_string(html).unwrap().starts_with("<!doctype html>"));
    world.record_everything();
    let bytes = || fs::read(world.path("store.db")).unwrap();
    let before = bytes();
    world.run(&["audit", "list"]).ok();
    world.run(&["audit", "report", "--out", "-"]).ok();
    assert_eq!(bytes(), before);
}

#[test]
fn the_table_is_printed_for_editors_pictures_and_other_tools() {
    let world = World::new();
    let schema: Value = serde_json::from_str(&world.run(&["rules", "schema"]).ok()).unwrap();
    assert_eq!(schema["title"], "Decision table of resume-gate");
    assert!(world.run(&["rules", "graph"]).ok().starts_with("flowchart TD\n"));
    assert!(world.run(&["rules", "graph", "--format", "dot"]).ok().starts_with("digraph "));
    assert!(world.run(&["rules", "export", "--format", "csv"]).ok().starts_with("#,rule,spawn_provider,"));
    assert!(world.run(&["rules", "export", "--format", "dmn"]).ok().contains("/20230324/MODEL/"));
    assert!(world.run(&["rules", "export", "--format", "dmn13"]).ok().contains("/20191111/MODEL/"));
    let (path, ..) = world.moved("head-gone", "stub-in-place");
    let csv = world.run(&["rules", "export", "--format", "csv", "--rules", path.to_str().unwrap()]).ok();
    assert!(csv.contains("\r\n10,head-gone,"), "{csv}");
}

#[test]
fn what_run_decides_is_recorded_too() {
    let world = World::new();
    let stub = env!("CARGO_BIN_EXE_stub-claude");
    world.run(&["run", "--agent", "a1", "--", stub, "-p", "hello"]).ok();
    world.run(&["run", "--agent", "a1", "--", stub, "-p", "again"]).ok();
    let listed = world.run(&["audit", "list", "--format", "json"]).json();
    let rules: Vec<&Value> = listed["decisions"].as_array().unwrap().iter().map(|record| &record["rule"]).collect();
    assert_eq!(
        rules,
        [&json!("head-is-candidate"), &Value::Null],
        "the newest first; at first there was nothing to decide"
    );
    let stats = world.run(&["audit", "stats"]).ok();
    assert!(stats.contains("1 without a session to decide on"), "{stats}");
}
