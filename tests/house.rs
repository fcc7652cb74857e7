//! House rules that a reader can rely on: where things live, what may import what, and that files
//! stay short enough to read in one sitting.
#![allow(clippy::unwrap_used, clippy::panic, clippy::allow_attributes, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

/// Longest file, in lines.
const MAX_LINES: usize = 450;

/// What each area may import of the crate, beside itself. The arrows go one way.
const ARROWS: &[(&str, &[&str])] = &[
    ("table", &[]),
    ("store", &[]),
    ("process", &[]),
    ("gate", &["table"]),
    ("explain", &["gate", "table"]),
    ("segments", &["gate", "store"]),
    ("claude", &["gate", "process", "segments"]),
    ("spawn", &["claude", "explain", "gate", "process", "segments", "store", "table"]),
    ("audit", &["explain", "gate", "segments", "spawn", "store", "table"]),
    ("cli", &["audit", "claude", "explain", "gate", "process", "segments", "spawn", "store", "table"]),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn sources() -> Vec<(String, String)> {
    let src = root().join("src");
    let name = |path: &Path| path.strip_prefix(&src).unwrap().to_string_lossy().into_owned();
    rust_files(&src).iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// The code of a file: comments and what stands in its own test module left out.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn area(file: &str) -> &str {
    file.split(['/', '.']).next().unwrap()
}

#[test]
fn every_file_says_at_its_top_what_it_is_for() {
    for folder in ["src", "tests", "benches", "examples"] {
        if !root().join(folder).exists() {
            continue;
        }
        for path in rust_files(&root().join(folder)) {
            assert!(fs::read_to_string(&path).unwrap().starts_with("//!"), "{} has no `//!` head", path.display());
        }
    }
}

#[test]
fn files_stay_short_enough_to_read_in_one_sitting() {
    for (file, text) in sources() {
        assert!(text.lines().count() <= MAX_LINES, "src/{file} has more than {MAX_LINES} lines");
    }
}

#[test]
fn module_arrows_go_one_way() {
    for (file, text) in sources() {
        let area = area(&file);
        if ["lib", "main"].contains(&area) {
            continue;
        }
        let (_, allowed) =
            ARROWS.iter().find(|(name, _)| *name == area).unwrap_or_else(|| panic!("src/{file}: unknown area"));
        for (at, _) in code(&text).match_indices("crate::") {
            let code = code(&text);
            let target: String = code[at + 7..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            assert!(
                target == area || allowed.contains(&target.as_str()),
                "src/{file} imports `{target}`, which {area}/ may not"
            );
        }
    }
}

#[test]
fn each_concern_has_one_home() {
    // (what, where it may stand)
    let homes: &[(&str, &[&str])] = &[
        ("println!", &["cli"]),
        ("eprintln!", &["cli"]),
        ("io::stdout", &["cli"]),
        ("io::stderr", &["cli"]),
        ("SystemTime::now", &["cli"]),
        ("env::var", &["cli"]),
        ("home_dir(", &["cli"]),
        ("serde_yaml", &["table"]),
        ("rusqlite", &["store"]),
        ("SELECT ", &["store"]),
        ("INSERT ", &["store"]),
        ("clap::", &["cli"]),
        ("\".claude.json\"", &["claude"]),
        ("\"projects\"", &["claude"]),
    ];
    for (file, text) in sources() {
        let code = code(&text);
        for (what, allowed) in homes {
            assert!(
                allowed.contains(&area(&file)) || !code.contains(what),
                "src/{file} contains `{what}`, which belongs into {allowed:?}"
            );
        }
    }
}

#[test]
fn the_gate_and_the_table_are_pure() {
    for (file, text) in sources().into_iter().filter(|(file, _)| ["gate", "table", "explain"].contains(&area(file))) {
        let code = code(&text);
        for what in ["std::fs", "std::env", "std::time", "std::process", "std::thread", "fs::File"] {
            assert!(!code.contains(what), "src/{file} contains `{what}`");
        }
    }
}
