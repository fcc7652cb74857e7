//! Where a session's file is.

use crate::disk::{Disk, TURN, text, write};
use proptest::prelude::*;
use resume_gate::claude::dirs::Places;
use resume_gate::claude::layout::{
    ProjectFolders, global_twin, is_safe_session_id, project_name, session_file, session_files, uncut_project_name,
};
use resume_gate::claude::session::{Found, find};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

#[test]
fn project_folders_have_the_names_that_the_cli_gave_them() {
    let table = include_str!("../data/claude-slugs.tsv");
    let mut checked = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [path, name, versions] = fields[..] else { panic!("three fields in {line}") };
        let path: String = serde_json::from_str(path).unwrap();
        for version in versions.split(',') {
            let ours = if version.starts_with("2.0.") { uncut_project_name(&path) } else { project_name(&path) };
            assert_eq!(ours, name, "{path} in {version}");
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked}");
}

/// The rule once more, by another way: characters instead of units, remainders instead of wrapping.
fn naive_project_name(path: &str) -> String {
    let mut name = String::new();
    let mut hash: i128 = 0;
    for c in path.chars() {
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            name.push(if c.is_ascii_alphanumeric() { c } else { '-' });
            hash = (31 * hash + i128::from(*unit)).rem_euclid(1 << 32);
        }
    }
    if name.len() <= 200 {
        return name;
    }
    let signed = if hash >= 1 << 31 { hash - (1 << 32) } else { hash };
    let (mut rest, mut digits) = (signed.abs(), String::new());
    while rest > 0 || digits.is_empty() {
        digits.insert(0, "0123456789abcdefghijklmnopqrstuvwxyz".chars().nth((rest % 36) as usize).unwrap());
        rest /= 36;
    }
    format!("{}-{digits}", &name[..200])
}

proptest! {
    #[test]
    fn names_agree_with_a_second_way_of_making_them(path in "/(.|[a-z/]{1,90}|[^\\x00-\\x7f]){0,90}") {
        prop_assert_eq!(project_name(&path), naive_project_name(&path));
    }
}

#[test]
fn the_smallest_hash_has_no_negative_twin() {
    // Java's classic string of hash -2^31; zero units in front do not change it.
    let path = format!("{}polygenelubricants", "\0".repeat(200));
    assert!(project_name(&path).ends_with("--zik0zk"), "{}", project_name(&path));
}

#[test]
fn exactly_two_hundred_units_are_not_cut() {
    for (units, is_cut) in [(199, false), (200, false), (201, true)] {
        let name = project_name(&"d".repeat(units));
        assert_eq!(name.len() > units, is_cut, "{name}");
    }
}

#[test]
fn b31_a_long_directory_is_found_under_its_cut_and_its_uncut_name() {
    let disk = Disk::new();
    let login = disk.dir("login");
    let cwd = PathBuf::from(format!("/w/{}", "d".repeat(230)));
    let files = session_files(&login, &cwd, "A");
    let names: Vec<_> = files.iter().map(|path| text(path.parent().unwrap().file_name().unwrap().as_ref())).collect();
    assert_eq!(names, [project_name(text(&cwd)), format!("-w-{}", "d".repeat(230))]);
    for path in &files {
        write(path, TURN);
        assert!(matches!(find(&login, &cwd, "A"), Found::File(file) if &file.path == path));
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_name_that_no_file_system_takes_is_not_tried() {
    let cwd = PathBuf::from(format!("/w/{}/{}", "d".repeat(150), "e".repeat(150)));
    assert_eq!(session_files(Path::new("/login"), &cwd, "A").len(), 1);
    assert!(matches!(find(&Disk::new().dir("login"), &cwd, "A"), Found::Missing { .. }));
}

#[test]
fn b32_a_linked_directory_is_looked_for_under_its_physical_and_its_spelled_name() {
    let disk = Disk::new();
    let (login, real, link) = (disk.dir("login"), disk.dir("real/w"), disk.path("w"));
    symlink(&real, &link).unwrap();
    assert_eq!(session_file(&login, &link, "A"), session_file(&login, &real, "A"));
    let files = session_files(&login, &link, "A");
    assert_eq!(files.len(), 2);
    for path in &files {
        write(path, TURN);
        assert!(matches!(find(&login, &link, "A"), Found::File(file) if &file.path == path));
        fs::remove_file(path).unwrap();
    }
    assert!(ProjectFolders::of(&link).is_same_project(&ProjectFolders::of(&real)));
    assert!(!ProjectFolders::by_spelling(&link).is_same_project(&ProjectFolders::by_spelling(&real)));
}

#[test]
fn b37_a_directory_that_is_gone_goes_by_its_spelling() {
    let disk = Disk::new();
    let gone = disk.path("repo/.wt/gone");
    assert_eq!(ProjectFolders::of(&gone).primary(), project_name(text(&gone)));
    for spelled in ["repo/.wt/gone/", "repo//.wt/./gone", "repo/.wt/other/../gone"] {
        let path = format!("{}/{spelled}", text(&disk.path("")).trim_end_matches('/'));
        assert_eq!(ProjectFolders::of(Path::new(&path)), ProjectFolders::of(&gone), "{path}");
    }
}

#[test]
fn a_gone_directory_below_a_link_is_also_looked_for_below_its_target() {
    let disk = Disk::new();
    let (login, real) = (disk.dir("login"), disk.dir("real"));
    symlink(&real, disk.path("link")).unwrap();
    let gone = disk.path("link/wt/gone");
    // Written while the directory was there.
    let path = disk.session(&login, &disk.dir("real/wt/gone"), "A", TURN);
    fs::remove_dir_all(disk.path("real/wt")).unwrap();
    assert!(matches!(find(&login, &gone, "A"), Found::File(file) if file.path == path));
}

#[test]
fn b29_directories_that_share_a_folder_are_one_project() {
    let folders = |cwd| ProjectFolders::by_spelling(Path::new(cwd));
    assert!(folders("/w/a-b").is_same_project(&folders("/w/a/b")));
    assert!(!folders("/w/a-b").is_same_project(&folders("/w/a-c")));
    assert!(!folders("/w/a").is_same_project(&folders("/w/A")));
}

#[test]
fn b39_an_id_that_is_no_file_name_leads_nowhere() {
    let long = "x".repeat(201);
    let unsafe_ids = [
        "",
        "  ",
        ".",
        "..",
        "--continue",
        "-",
        "a/b",
        "../A",
        "a\\b",
        "C:",
        "a\0b",
        "a\nb",
        "a\u{85}b",
        "\u{7f}",
        &long,
    ];
    for id in unsafe_ids {
        assert!(!is_safe_session_id(id), "{id:?}");
        assert_eq!(session_file(Path::new("/login"), Path::new("/w"), id), None);
        assert!(matches!(find(Path::new("/"), Path::new("/"), id), Found::Missing { path: None, copy: None }));
    }
    for id in ["5f2c0c1e-0000-4000-8000-000000000000", "ses_01abc", "a.b", "...", "ä ö", &long[1..]] {
        assert!(is_safe_session_id(id), "{id:?}");
    }
}

#[test]
fn a_global_twin_has_the_same_id_and_rest() {
    let places = |agentmux_home: Option<&str>| Places {
        home: Some("/home/u".into()),
        agentmux_home: agentmux_home.map(PathBuf::from),
    };
    let twin = |config_dir, agentmux_home| global_twin(Path::new(config_dir), &places(agentmux_home));
    let shared = "/home/u/.agentmux/shared/identities";
    assert_eq!(twin("/b/7/identities/i1/claude", None), Some(format!("{shared}/i1/claude").into()));
    assert_eq!(twin("/b/7/identities/i1/x/y/", None), Some(format!("{shared}/i1/x/y").into()));
    assert_eq!(twin("/identities/b/identities/i1/c", None), Some(format!("{shared}/i1/c").into()));
    assert_eq!(twin("/b/identities/i1/c", Some("/am")), Some("/am/shared/identities/i1/c".into()));
    for other in ["/b/logins/i1/claude", "/b/identities", "/b/identities/i1", "/b/identities/../x/y", "/cfg/a"] {
        assert_eq!(twin(other, None), None, "{other}");
    }
    assert_eq!(twin(&format!("{shared}/i1/claude"), None), None);
    assert_eq!(global_twin(Path::new("/b/identities/i1/c"), &Places::default()), None);
}
