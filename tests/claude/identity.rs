//! Who is signed in at a login.

use crate::disk::{Disk, head, pipe, promptly, write};
use resume_gate::Head;
use resume_gate::claude::dirs::Places;
use resume_gate::claude::identity::{Login, Unknown, identity, key, key_in, with_legacy_identity};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const ACCOUNT: &str = r#"{"numStartups":3,"oauthAccount":{"accountUuid":"a1","organizationUuid":"o1","emailAddress":"x@e"},"projects":{"/w":{}}}"#;

fn known(text: impl AsRef<[u8]>) -> Option<String> {
    key_in(text.as_ref()).ok()
}

fn of(config_dir: &Path, login: Login, places: &Places) -> Option<String> {
    identity(config_dir, login, places).key.ok()
}

#[test]
fn the_key_is_the_start_of_a_hash_over_both_ids() {
    // printf 'claude\0a1\0o1' | sha256sum | cut -c1-16
    assert_eq!(key("a1", "o1"), "05079084973bb43a");
    assert_eq!(known(ACCOUNT), Some(key("a1", "o1")));
}

#[test]
fn b10_the_organisation_counts_and_the_address_does_not() {
    assert_ne!(known(ACCOUNT.replace("o1", "o2")), known(ACCOUNT));
    assert_ne!(known(ACCOUNT.replace("a1", "a2")), known(ACCOUNT));
    assert_eq!(known(ACCOUNT.replace("x@e", "y@e")), known(ACCOUNT));
}

#[test]
fn b13_byte_order_marks_and_line_ends_change_nothing() {
    let spelled = [
        format!("\u{feff}{ACCOUNT}"),
        format!("\u{feff}{}\r\n", ACCOUNT.replace(',', ",\r\n")),
        ACCOUNT.replace("\"a1\"", "\" a1\\t\""),
    ];
    for text in spelled {
        assert_eq!(known(&text), known(ACCOUNT), "{text}");
    }
}

#[test]
fn what_else_the_profile_holds_changes_nothing() {
    let noisy =
        ACCOUNT.replace("\"projects\"", "\"tips\":[1e999,{\"oauthAccount\":null}],\"x\":\"\\ud800\",\"projects\"");
    assert_eq!(known(noisy), known(ACCOUNT));
    let twice = format!("{{\"oauthAccount\":{{\"accountUuid\":\"old\",\"organizationUuid\":\"o\"}},{}", &ACCOUNT[1..]);
    assert_eq!(known(twice), known(ACCOUNT), "the last of two counts, as in the CLI");
}

#[test]
fn half_an_identity_is_none() {
    for text in [
        r"{}",
        r#"{"oauthAccount":null}"#,
        r#"{"oauthAccount":"a1"}"#,
        r#"{"oauthAccount":["a1","o1"]}"#,
        r#"{"oauthAccount":{"accountUuid":"a1"}}"#,
        r#"{"oauthAccount":{"organizationUuid":"o1"}}"#,
        r#"{"oauthAccount":{"accountUuid":"a1","organizationUuid":""}}"#,
        r#"{"oauthAccount":{"accountUuid":" \n","organizationUuid":"o1"}}"#,
        r#"{"oauthAccount":{"accountUuid":1,"organizationUuid":"o1"}}"#,
        r#"{"oauthAccount":{"accountUuid":null,"organizationUuid":"o1"}}"#,
        r#"{"accountUuid":"a1","organizationUuid":"o1"}"#,
    ] {
        assert!(matches!(key_in(text.as_bytes()), Err(Unknown::NotSignedIn)), "{text}");
    }
}

#[test]
fn a_file_that_is_cut_empty_or_damaged_is_unknown() {
    for end in 0..ACCOUNT.len() {
        assert!(matches!(key_in(&ACCOUNT.as_bytes()[..end]), Err(Unknown::NotWhole)), "{end}");
    }
    for text in ["\0\0\0", "null", "[]", "\u{feff}", "{}{}"] {
        assert!(matches!(key_in(text.as_bytes()), Err(Unknown::NotWhole)), "{text}");
    }
    assert_eq!(known(format!("{ACCOUNT}\0\0")), None);
    assert_eq!(known([ACCOUNT.as_bytes(), b"\xff"].concat()), None);
}

#[test]
fn the_account_file_of_a_named_login_lies_in_it() {
    let disk = Disk::new();
    let login = disk.dir("login");
    assert_eq!(of(&login, Login::Named, &disk.places), None);
    write(&login.join(".claude.json"), ACCOUNT);
    let seen = identity(&login, Login::Named, &disk.places);
    assert_eq!(seen.path, Some(login.join(".claude.json")));
    assert_eq!(seen.key.ok(), Some(key("a1", "o1")));
    assert_eq!(of(&login, Login::Named, &Places::default()), Some(key("a1", "o1")));
}

#[test]
fn the_ambient_login_is_known_only_when_it_was_defaulted() {
    let disk = Disk::new();
    let ambient = disk.home().join(".claude");
    write(&ambient.join(".claude.json"), ACCOUNT.replace("a1", "stale"));
    write(&disk.home().join(".claude.json"), ACCOUNT);
    assert_eq!(of(&ambient, Login::Defaulted, &disk.places), Some(key("a1", "o1")));
    let link = disk.path("link");
    symlink(&ambient, &link).unwrap();
    for named in [ambient.clone(), ambient.join("."), link] {
        assert!(matches!(identity(&named, Login::Named, &disk.places).key, Err(Unknown::AmbientNamed)));
    }
    assert!(matches!(identity(&ambient, Login::Defaulted, &Places::default()).key, Err(Unknown::NoHome)));
}

#[test]
fn a_folder_a_pipe_or_a_loop_in_its_place_is_unknown_at_once() {
    let disk = Disk::new();
    let (folder, fifo, looped) = (disk.dir("folder"), disk.dir("fifo"), disk.dir("loop"));
    fs::create_dir(folder.join(".claude.json")).unwrap();
    pipe(&fifo.join(".claude.json"));
    symlink(".claude.json", looped.join(".claude.json")).unwrap();
    for login in [folder, fifo.clone(), looped, fifo.join(".claude.json")] {
        let places = disk.places.clone();
        let seen = promptly(move || identity(&login, Login::Named, &places).key);
        assert!(matches!(seen, Err(Unknown::Open(_))), "{seen:?}");
    }
}

#[test]
fn a_login_that_is_itself_a_pipe_does_not_hold_up_the_comparison() {
    let disk = Disk::new();
    let fifo = disk.path("fifo");
    pipe(&fifo);
    fs::create_dir(disk.home().join(".claude")).unwrap();
    let places = disk.places.clone();
    assert!(promptly(move || identity(&fifo, Login::Named, &places).key).is_err());
}

#[test]
fn a_file_of_many_megabytes_is_read_and_one_beyond_all_measure_is_not() {
    let disk = Disk::new();
    let login = disk.dir("login");
    let history = format!("{{\"projects\":{{\"/w\":{{\"history\":[\"{}\"]}}}},{}", "h".repeat(12 << 20), &ACCOUNT[1..]);
    write(&login.join(".claude.json"), history);
    assert_eq!(of(&login, Login::Named, &disk.places), Some(key("a1", "o1")));
    fs::File::create(login.join(".claude.json")).unwrap().set_len(40 << 30).unwrap();
    let key = identity(&login, Login::Named, &disk.places).key;
    assert!(matches!(key, Err(Unknown::Open(_))), "{key:?}");
}

#[test]
fn a_head_from_before_keys_takes_the_one_of_its_own_login() {
    let disk = Disk::new();
    let login = disk.dir("login");
    let old = head("B", &login, Path::new("/w"), None);
    let key_of = |head: &Head| with_legacy_identity(head.clone(), &disk.places).identity_key;
    assert_eq!(key_of(&old), None);
    write(&login.join(".claude.json"), ACCOUNT);
    assert_eq!(key_of(&old), Some(key("a1", "o1")));
    assert_eq!(key_of(&Head { identity_key: Some("recorded".into()), ..old.clone() }), Some("recorded".into()));
    assert_eq!(key_of(&Head { provider: "codex".into(), ..old.clone() }), None);
    assert_eq!(key_of(&Head { config_dir: None, ..old.clone() }), None);
    write(&disk.home().join(".claude/.claude.json"), ACCOUNT);
    assert_eq!(key_of(&Head { config_dir: Some("~/.claude".into()), ..old }), None);
}
