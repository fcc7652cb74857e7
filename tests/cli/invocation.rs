//! How the command is called: help, completions, manual, colour, and arguments that make no sense.

use crate::command::run;
use crate::support::snapshots;
use crate::world::World;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

/// Every command there is, found in the help itself, as the words that call it.
pub fn commands(world: &World) -> Vec<Vec<String>> {
    let mut open = vec![Vec::new()];
    let mut found: Vec<Vec<String>> = Vec::new();
    while let Some(path) = open.pop() {
        let help = world.run(path.iter().map(String::as_str).chain(["--help"])).stdout;
        let listed = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
        for line in listed.lines().take_while(|line| !line.is_empty()) {
            let name = line.split_whitespace().next().unwrap();
            if line.starts_with("  ") && !line.starts_with("   ") && name != "help" {
                open.push(path.iter().cloned().chain([name.to_owned()]).collect());
            }
        }
        found.push(path);
    }
    assert!(found.len() > 11, "the help lists its commands in another way: {found:?}");
    found
}

/// The name of a command's snapshot.
pub fn help_snapshot(command: &[String]) -> String {
    ["help".to_owned()].iter().chain(command).map(String::as_str).collect::<Vec<_>>().join("-")
}

#[test]
fn the_long_help_of_every_command_reads_as_approved() {
    let world = World::empty();
    for command in commands(&world) {
        let answer = world.run(command.iter().map(String::as_str).chain(["--help"]));
        assert_eq!((answer.status, answer.stderr.as_str()), (0, ""), "{command:?}");
        snapshots("cli").bind(|| insta::assert_snapshot!(help_snapshot(&command), answer.stdout));
    }
}

#[test]
fn what_makes_no_sense_is_a_usage_error_that_names_it() {
    let world = World::empty();
    for (args, named) in [
        (["--frobnicate"].as_slice(), "--frobnicate"),
        (&["decide", "--frobnicate"], "--frobnicate"),
        (&["decde"], "decde"),
        (&["decide", "stray"], "stray"),
        (&["decide", "--resume=A", "--history=B"], "--history"),
        (&["decide", "--forked-from=x", "--agents-db=y"], "--agents-db"),
        (&["decide", "--format=xml"], "xml"),
        (&["explain", "--format=args"], "args"),
        (&["decide", "--resume=A", "--resume=B"], "--resume"),
        (&["eval", "a", "b"], "b"),
        (&["rules"], "Usage"),
        (&["rules", "lits"], "lits"),
        (&["completions", "tcsh"], "tcsh"),
        (&[], "Usage"),
    ] {
        let answer = world.run(args);
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{args:?}");
        assert!(answer.stderr.contains(named), "{args:?}: {answer:?}");
    }
}

#[test]
fn arguments_that_are_no_text_are_a_usage_error_and_not_a_crash() {
    let world = World::empty();
    for flag in ["--resume", "--agent", "--config-dir", "--cwd", "--identity", "--format", "--frobnicate"] {
        let mut value = std::ffi::OsString::from(format!("{flag}="));
        value.push(std::ffi::OsStr::from_bytes(b"\xff\xfe"));
        let answer = world.run(["decide".into(), value]);
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{flag}");
    }
}

#[test]
fn an_environment_that_is_no_text_never_leads_to_another_login() {
    let world = World::of("start g1 cfg=/home/.claude ; session g1 A ; files /home/.claude:-w/A=500");
    let odd = std::ffi::OsStr::from_bytes(b"/cfg/\xff");
    let mut command = world.command();
    command.args(["decide", "--no-log", "--format=json", "--agent=u1", "--resume=OLD"]);
    command.arg(format!("--store={}", world.store().display())).arg(format!("--cwd={}", world.place("/w")));
    let ambient = run(&mut command).json();
    assert_eq!(ambient["rule"], "head-moved-on");
    let document = run(command.env("CLAUDE_CONFIG_DIR", odd)).json();
    // The provider will use that login, whatever its name: nothing of the ambient one is resumed.
    assert_eq!(
        (&document["rule"], &document["facts"]["head_file"]),
        (&"unreachable-head".into(), &"unreadable".into())
    );
    let document = run(command.env_remove("CLAUDE_CONFIG_DIR").env("AGENTMUX_AGENT_UID", odd)).json();
    assert_eq!(document["rule"], "head-moved-on", "the flag wins over the environment");
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let world = World::empty();
    let has_colour = |args: &[&str], environment: &[(&str, &str)]| {
        let answer = run(world.command().args(args).envs(environment.iter().copied()));
        answer.stdout.contains('\u{1b}')
    };
    assert!(!has_colour(&["rules", "facts"], &[]));
    assert!(has_colour(&["rules", "facts", "--color=always"], &[]));
    assert!(has_colour(&["--color", "always", "rules", "facts"], &[("NO_COLOR", "1")]));
    assert!(!has_colour(&["rules", "facts", "--color=never"], &[]));
}

#[test]
fn completion_scripts_are_whole_and_know_the_commands() {
    let world = World::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let answer = world.run(["completions", shell]);
        assert_eq!((answer.status, answer.stderr.as_str()), (0, ""), "{shell}");
        for word in ["decide", "explain", "config-dir", "exit-code"] {
            assert!(answer.stdout.contains(word), "{shell}: {word}");
        }
        let checked = match shell {
            "bash" | "zsh" => Command::new(shell).arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn(),
            _ => continue,
        };
        // Not every machine has every shell.
        let Ok(mut checker) = checked else { continue };
        checker.stdin.take().unwrap().write_all(answer.stdout.as_bytes()).unwrap();
        let checked = checker.wait_with_output().unwrap();
        assert!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr));
    }
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let world = World::empty();
    let answer = world.run(["man"]);
    assert_eq!((answer.status, answer.stderr.as_str()), (0, ""));
    assert_eq!(answer.stdout.matches(".TH ").count(), commands(&world).len());
    assert!(answer.stdout.contains("resume-gate") && answer.stdout.contains("\\-\\-config\\-dir"));
}

#[test]
fn the_version_is_the_packages() {
    let answer = World::empty().run(["--version"]);
    assert_eq!(answer.stdout, concat!("resume-gate ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn facts_alone_are_explained_and_what_they_lack_is_named() {
    let world = World::empty();
    let facts = br#"{"spawn_provider":"claude","chain":"headed","head_health":"ok","head_identity":"same","candidate":"other","head_provider":"claude","head_login":"own","head_project":"same","head_file":"as_left","head_busy":"no"}"#;
    let text = world.feed(&["explain", "--facts", "-"], facts);
    assert_eq!(text.status, 0);
    assert!(text.stdout.lines().next().unwrap().contains("redirect by head-moved-on (13 of 17)"), "{text:?}");
    let json = world.feed(&["explain", "--facts", "-", "--format=json"], facts).json();
    assert_eq!((&json["rule"], &json["nearest_miss"]["rule"]), (&"head-moved-on".into(), &"head-is-candidate".into()));
    let lacking = world.feed(&["explain", "--facts=-"], b"{\"spawn_provider\":\"claude\"}");
    assert_eq!((lacking.status, lacking.stdout.as_str()), (2, ""));
    assert!(lacking.stderr.contains("chain") && lacking.stderr.contains("help:"), "{lacking:?}");
    let wrong = world.feed(&["explain", "--facts=-"], b"{\"chian\":\"empty\"}");
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("`chain`"), "{wrong:?}");
}
