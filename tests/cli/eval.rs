//! `eval`: every possible combination of facts held against the reference, facts left out, and
//! lines that are wrong between lines that are right.

use crate::support::reference::{self, Facts};
use crate::world::{World, put};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

/// An object with its members in another order each time.
fn shuffled(facts: &Facts, turn: usize) -> String {
    let mut pairs: Vec<String> =
        facts.iter().map(|(fact, value)| format!("{}: {}", json!(fact), json!(value))).collect();
    let turn = turn % pairs.len().max(1);
    pairs.rotate_left(turn);
    if turn % 2 == 1 {
        pairs.reverse();
    }
    format!("{{{}}}", pairs.join(", "))
}

fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_possible_case_is_decided_as_the_reference_decides_it_whatever_the_order_of_its_facts() {
    let world = World::empty();
    let cases = reference::every_case();
    for turn in [0, 1, 5] {
        let input: String = cases.iter().enumerate().map(|(n, facts)| shuffled(facts, n * turn) + "\n").collect();
        let answer = world.feed(&["eval"], input.as_bytes());
        assert_eq!((answer.status, answer.stderr.as_str()), (0, ""));
        let documents = lines(&answer.stdout);
        assert_eq!(documents.len(), 899);
        for (facts, document) in cases.iter().zip(documents) {
            let (rule, decision) = reference::decide(facts);
            let expected =
                json!({"schema": "resume-gate.evaluation/1", "decision": decision, "rule": rule, "needs": []});
            assert_eq!(document, expected, "{facts:?}");
        }
    }
}

#[test]
fn a_file_reads_like_standard_input_with_a_mark_other_line_ends_and_blank_lines() {
    let world = World::empty();
    let cases = reference::every_case();
    let plain: Vec<String> = cases.iter().take(40).map(|facts| shuffled(facts, 0)).collect();
    let expected = world.feed(&["eval", "-"], plain.join("\n").as_bytes());
    assert_eq!(expected.stdout.lines().count(), 40);
    let path = world.at("/facts.jsonl");
    for text in [plain.join("\n"), plain.join("\r\n") + "\r\n", format!("\u{feff}{}\n", plain.join("\n\n  \n"))] {
        put(&path, text.as_bytes());
        let answer = world.run(["eval", path.to_str().unwrap()]);
        assert_eq!((answer.status, &answer.stdout), (0, &expected.stdout), "{:?}", &text[..20]);
    }
}

#[test]
fn facts_left_out_are_named_the_cheap_ones_first_and_one_probe_at_a_time() {
    let world = World::empty();
    for (given, decision, needs) in [
        (json!({}), Value::Null, json!(["spawn_provider"])),
        (json!({"spawn_provider": "other"}), "other-provider".into(), json!([])),
        (json!({"chain": "unknown"}), Value::Null, json!(["spawn_provider"])),
        (json!({"spawn_provider": "claude"}), Value::Null, json!(["chain"])),
        (json!({"spawn_provider": "claude", "chain": "headed"}), Value::Null, json!(["head_health"])),
        (
            json!({"spawn_provider": "claude", "chain": "headed", "head_health": "poisoned"}),
            "poisoned-head".into(),
            json!([]),
        ),
        (
            json!({"spawn_provider": "claude", "chain": "empty", "fork_source": "behind"}),
            Value::Null,
            json!(["fork_provider", "fork_identity"]),
        ),
        (
            json!({"spawn_provider": "claude", "chain": "empty", "fork_source": "behind", "fork_provider": "other"}),
            "parents-session".into(),
            json!([]),
        ),
        (
            json!({"spawn_provider": "claude", "chain": "empty", "fork_source": "at_candidate", "fork_provider": "claude", "fork_identity": "same"}),
            Value::Null,
            json!(["fork_record"]),
        ),
        (headed(&[]), Value::Null, json!(["head_file"])),
        (headed(&[("head_file", "as_left")]), Value::Null, json!(["head_busy"])),
        (headed(&[("head_file", "as_left"), ("head_busy", "yes")]), "head-busy".into(), json!([])),
        (headed(&[("head_file", "missing")]), Value::Null, json!(["head_record"])),
        (headed(&[("head_file", "grown")]), "head-grew".into(), json!([])),
    ] {
        let answer = world.feed(&["eval"], format!("{given}\n").as_bytes());
        let document = &lines(&answer.stdout)[0];
        assert_eq!((answer.status, &document["rule"], &document["needs"]), (0, &decision, &needs), "{given}");
        assert_eq!(document["decision"].is_null(), decision.is_null());
    }
}

fn headed(more: &[(&str, &str)]) -> Value {
    let mut facts = json!({
        "spawn_provider": "claude", "chain": "headed", "head_health": "ok", "head_identity": "same",
        "head_provider": "claude", "candidate": "head", "head_login": "other", "head_project": "same",
    });
    for (fact, value) in more {
        facts[fact] = (*value).into();
    }
    facts
}

/// Any part of a case that decides at all decides as the whole case does.
#[test]
fn what_a_part_of_the_facts_decides_the_whole_decides_too() {
    let world = World::empty();
    let mut input = String::new();
    let mut expected = Vec::new();
    for (n, facts) in reference::every_case().iter().enumerate() {
        for left_out in facts.keys().skip(n % 3).step_by(3) {
            let mut part = facts.clone();
            part.remove(left_out);
            input += &(shuffled(&part, n) + "\n");
            expected.push((reference::decide(facts).0, *left_out));
        }
    }
    let answer = world.feed(&["eval"], input.as_bytes());
    assert_eq!(answer.status, 0);
    let documents = lines(&answer.stdout);
    assert_eq!(documents.len(), expected.len());
    for (document, (rule, left_out)) in documents.iter().zip(expected) {
        if document["rule"].is_null() {
            assert_eq!(document["needs"], json!([left_out]));
        } else {
            assert_eq!(document["rule"], rule, "without {left_out}");
        }
    }
}

#[test]
fn a_wrong_line_is_answered_in_its_place_and_the_rest_goes_on() {
    let world = World::empty();
    let right = r#"{"spawn_provider":"other"}"#;
    let wrong: [(&[u8], &[&str]); 14] = [
        (b"{\"chian\":\"unknown\"}", &["`chian`", "`chain`"]),
        (b"{\"spawn_provider\":\"cluade\"}", &["`cluade`", "`claude`", "spawn_provider", "other"]),
        (b"{\"spawn_provider\":true}", &["`true`", "spawn_provider"]),
        (b"{\"spawn_provider\":null}", &["null"]),
        (b"{\"spawn_provider\":\"other\",\"chain\":\"empty\"}", &["`chain`", "does not apply"]),
        (b"{\"chain\":\"empty\",\"head_file\":\"grown\"}", &["`head_file`", "does not apply"]),
        (b"{\"spawn_provider\":\"other\",\"spawn_provider\":\"claude\"}", &["twice"]),
        (b"[]", &["object"]),
        (b"{", &[]),
        (b"nonsense", &[]),
        (b"{\"spawn_provider\":\"other\"} x", &[]),
        (b"{\"spawn_provider\":\"\xff\"}", &[]),
        (b"\0", &[]),
        (b"{\"\\u001b[2J\":\"x\"}", &["unknown fact"]),
    ];
    let mut input = Vec::new();
    for (line, _) in wrong {
        input.extend([right.as_bytes(), b"\n", line, b"\n"].concat());
    }
    input.extend(right.as_bytes());
    let answer = world.feed(&["eval"], &input);
    assert_eq!(answer.status, 2);
    assert!(!answer.stdout.contains('\u{1b}'));
    let documents = lines(&answer.stdout);
    assert_eq!(documents.len(), 2 * wrong.len() + 1);
    for (n, document) in documents.iter().enumerate() {
        assert_eq!(document["schema"], "resume-gate.evaluation/1");
        if n % 2 == 0 {
            assert_eq!(document["rule"], "other-provider");
            continue;
        }
        assert_eq!(document["line"], n + 1);
        let error = document["error"].as_str().unwrap();
        assert!(error.contains(&format!("line {}", n + 1)), "{error}");
        for part in wrong[n / 2].1 {
            assert!(error.contains(part), "`{part}` not in {error}");
        }
    }
}

#[test]
fn deep_and_long_lines_are_errors_and_not_crashes() {
    let world = World::empty();
    let deep = format!("{{\"spawn_provider\":{}", "[".repeat(200_000));
    let long = format!("{{\"{}\":\"x\"}}", "f".repeat(2_000_000));
    let answer = world.feed(&["eval"], format!("{deep}\n{long}\n{{\"spawn_provider\":\"other\"}}\n").as_bytes());
    assert_eq!(answer.status, 2);
    let documents = lines(&answer.stdout);
    assert!(documents[0]["error"].is_string() && documents[1]["error"].is_string());
    assert_eq!(documents[2]["rule"], "other-provider");
}

#[test]
fn a_candidate_table_decides_instead_and_a_broken_one_is_refused() {
    let world = World::empty();
    let shipped = include_str!("../../rules/resume_gate.yaml");
    let path = world.at("/rules.yaml");
    let path = path.to_str().unwrap();
    put(path.as_ref(), shipped.replace("id: other-provider", "id: not-claude").as_bytes());
    let answer = world.feed(&["eval", "--rules", path], b"{\"spawn_provider\":\"other\"}\n");
    assert_eq!((answer.status, &lines(&answer.stdout)[0]["rule"]), (0, &"not-claude".into()));

    put(
        path.as_ref(),
        shipped
            .replace("spawn_provider: other }\n    then: allow", "spawn_provider: odder }\n    then: allow")
            .as_bytes(),
    );
    let answer = world.feed(&["eval", "--rules", path], b"{\"spawn_provider\":\"other\"}\n");
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""));
    assert!(
        answer.stderr.contains("odder") && answer.stderr.contains(path) && answer.stderr.contains("help:"),
        "{answer:?}"
    );
    let answer = world.feed(&["eval", "--rules", "/nowhere.yaml"], b"");
    assert_eq!(answer.status, 2);
    assert!(answer.stderr.contains("`/nowhere.yaml`"), "{answer:?}");
    let answer = world.run(["eval", "/nowhere.jsonl"]);
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""));
    assert!(answer.stderr.contains("`/nowhere.jsonl`"), "{answer:?}");
}

/// What comes of a command whose reader goes away after the first line.
fn first_line(world: &World, args: &[&str], input: Vec<u8>) -> (String, i32, String) {
    let mut child = world.command().args(args).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let mut line = String::new();
    BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    let status = child.wait().unwrap();
    writer.join().unwrap();
    (line, status.code().unwrap_or(-1), stderr)
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_command_quietly() {
    let world = World::empty();
    let many = "{\"spawn_provider\":\"other\"}\n".repeat(20_000).into_bytes();
    let (line, status, stderr) = first_line(&world, &["eval"], many);
    assert!(line.contains("other-provider"));
    assert_eq!((status, stderr.as_str()), (0, ""));
    for args in [["rules", "facts"].as_slice(), &["rules", "list", "--format=json"], &["completions", "bash"], &["man"]]
    {
        let (_, status, stderr) = first_line(&world, args, Vec::new());
        assert_eq!((status, stderr.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_an_error_that_is_said() {
    let world = World::empty();
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let output = world.command().args(["rules", "facts"]).stdout(full).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.starts_with("error: cannot write the result") && !stderr.contains("panicked"), "{stderr}");
}
