//! The README says what the code does: its tables are the code's, its example runs (a doctest), and
//! its commands exist.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::allow_attributes, reason = "tests")]

use resume_gate::cli::listing;
use resume_gate::gate::TABLE;
use std::process::Command;

const README: &str = include_str!("../README.md");

/// What stands between the markers of a listing. With `README_UPDATE=1` it is written there first.
fn assert_listing(name: &str, listing: &str) {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let from = README.find(&begin).expect("the listing's begin") + begin.len();
    let to = README.find(&end).expect("the listing's end");
    if std::env::var_os("README_UPDATE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
        let now = std::fs::read_to_string(path).unwrap();
        let (from, to) = (now.find(&begin).unwrap() + begin.len(), now.find(&end).unwrap());
        std::fs::write(path, format!("{}\n{listing}\n{}", &now[..from], &now[to..])).unwrap();
        return;
    }
    assert_eq!(README[from..to].trim(), listing.trim(), "README's {name}: run this test once with README_UPDATE=1");
}

#[test]
fn its_rule_table_is_the_shipped_one() {
    assert_listing("rules", &listing::rules(&TABLE));
}

#[test]
fn its_exit_codes_are_those_of_the_code() {
    assert_listing("exit codes", &listing::exit_codes());
}

#[test]
fn every_command_it_names_exists() {
    let named =
        README.lines().filter_map(|line| line.trim_start_matches("mapfile -t args < <(").strip_prefix("resume-gate "));
    let mut count = 0;
    for line in named {
        let words: Vec<&str> =
            line.split_whitespace().take_while(|word| !word.starts_with("--") && !word.starts_with('#')).collect();
        let output = Command::new(env!("CARGO_BIN_EXE_resume-gate")).args(&words).arg("--help").output().unwrap();
        assert!(
            output.status.success(),
            "`resume-gate {}`: {}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        let help = String::from_utf8(output.stdout).unwrap();
        for flag in line.split_whitespace().filter(|word| word.starts_with("--")) {
            assert!(help.contains(flag.trim_end_matches(')')), "`{line}`: no {flag}");
        }
        count += 1;
    }
    assert!(count >= 3, "the README shows commands");
}
