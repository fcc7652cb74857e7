//! Whether two recorded directories are one.

use crate::disk::{Disk, text};
use resume_gate::claude::dirs::{Compare, Places, head_login, head_project, is_same_spelling, same_dir};
use resume_gate::gate::facts::{HeadLogin, HeadProject};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

#[test]
fn spellings_of_one_directory_are_the_same() {
    let pairs = [
        ("/cfg/a", "/cfg/a/"),
        ("/cfg//a", "/cfg/./a"),
        ("/", "//"),
        // B33
        (r"C:\cfg\a", "c:/cfg/a/"),
        (r"C:\Cfg\Work", r"c:\cfg\work\"),
        (r"\\Host\Share\a", r"\\host\share\a\"),
        (r"\\?\C:\cfg\a", r"C:\cfg\a"),
        (r"\\?\UNC\host\share", r"\\host\share"),
        (r"C:\", "c:"),
    ];
    for (a, b) in pairs {
        assert!(is_same_spelling(Path::new(a), Path::new(b)), "{a} {b}");
        assert!(same_dir(Path::new(a), Path::new(b)), "{a} {b}");
    }
}

#[test]
fn spellings_of_two_directories_differ() {
    let pairs = [
        ("/cfg/a", "/cfg/b"),
        ("/cfg/a", "cfg/a"),
        ("/cfg/ab", "/cfg/a/b"),
        ("/cfg/Work", "/cfg/work"),
        ("/cfg/a/../b", "/cfg/b"),
        (r"/cfg\a", "/cfg/a"),
        (r"C:\a", r"D:\a"),
        (r"\\host\a", r"C:\host\a"),
        ("C:cfg", "c:cfg"),
    ];
    for (a, b) in pairs {
        assert!(!is_same_spelling(Path::new(a), Path::new(b)), "{a} {b}");
    }
}

#[test]
fn existing_directories_compare_by_what_they_are() {
    let disk = Disk::new();
    let (a, b, link) = (disk.dir("a"), disk.dir("A"), disk.path("link"));
    symlink(&a, &link).unwrap();
    assert!(same_dir(&a, &link));
    assert!(!same_dir(&a, &b));
    assert!(same_dir(&disk.path("a/../a"), &a));
    assert!(!is_same_spelling(&a, &link));
    fs::remove_dir(&a).unwrap();
    assert!(!same_dir(&a, &link), "a link to nothing is compared by its spelling");
    assert!(same_dir(&a, &disk.path("a/.")));
}

#[test]
fn a_relative_path_is_never_looked_up() {
    // Both lead to this package's folder, from where tests run.
    assert!(!same_dir(Path::new("src/../tests"), Path::new("tests")));
}

fn login(places: &Places, recorded: &Path, own: &Path) -> [HeadLogin; 2] {
    [Compare::AtDisk, Compare::BySpelling].map(|how| head_login(places, Some(text(recorded)), Some(text(own)), how))
}

#[test]
fn a_login_is_ones_own_by_directory_or_by_its_projects() {
    let disk = Disk::new();
    let (a, b, c) = (disk.dir("a"), disk.dir("b"), disk.dir("c"));
    symlink(&a, disk.path("link")).unwrap();
    fs::create_dir(a.join("projects")).unwrap();
    symlink(a.join("projects"), b.join("projects")).unwrap();
    use HeadLogin::{Other, Own};
    assert_eq!(login(&disk.places, &a, &a), [Own, Own]);
    assert_eq!(login(&disk.places, &disk.path("link"), &a), [Own, Other]);
    assert_eq!(login(&disk.places, &a, &b), [Own, Other]);
    assert_eq!(login(&disk.places, &a, &c), [Other, Other]);
    assert_eq!(login(&disk.places, &disk.path("gone"), &disk.path("gone/")), [Own, Own]);
}

#[test]
fn logins_without_projects_are_not_one_for_that() {
    let disk = Disk::new();
    assert_eq!(login(&disk.places, &disk.dir("a"), &disk.dir("b")), [HeadLogin::Other; 2]);
}

#[test]
fn a_login_that_is_of_no_use_here_was_not_recorded() {
    let places = Places { home: None, agentmux_home: None };
    for recorded in [None, Some(""), Some("  "), Some(r"C:\cfg\a"), Some("cfg/a"), Some("~/a"), Some("/a\0b")] {
        assert_eq!(head_login(&places, recorded, Some("/cfg/a"), Compare::AtDisk), HeadLogin::Unrecorded);
    }
    assert_eq!(head_login(&places, Some("/cfg/a"), None, Compare::AtDisk), HeadLogin::Other);
}

#[test]
fn b35_a_tilde_is_the_home_directory() {
    let disk = Disk::new();
    let places = &disk.places;
    let home = disk.home();
    assert_eq!(places.usable(Some("~")), Some(home.clone()));
    assert_eq!(places.usable(Some("~/.cfg-a")), Some(home.join(".cfg-a")));
    assert_eq!(places.usable(Some("~//x")), Some(home.join("x")));
    assert_eq!(places.usable(Some("~other/x")), None);
    assert_eq!(places.usable(Some("/w/~")), Some(PathBuf::from("/w/~")));
    for how in [Compare::AtDisk, Compare::BySpelling] {
        let spelled = home.join("agents/x");
        assert_eq!(head_login(places, Some("~/.cfg-a"), Some(text(&home.join(".cfg-a"))), how), HeadLogin::Own);
        assert_eq!(head_project(places, Some("~/agents/x"), text(&spelled), how), HeadProject::Same);
    }
}

#[test]
fn b32_links_to_one_directory_are_one_project() {
    let disk = Disk::new();
    let real = disk.dir("real/w");
    symlink(&real, disk.path("w")).unwrap();
    let project = |how| head_project(&disk.places, Some(text(&disk.path("w"))), text(&real), how);
    assert_eq!(project(Compare::AtDisk), HeadProject::Same);
    assert_eq!(project(Compare::BySpelling), HeadProject::Different);
}

#[test]
fn a_directory_that_was_not_recorded_is_another_project() {
    for recorded in [None, Some(""), Some("w"), Some(r"C:\w")] {
        assert_eq!(head_project(&Places::default(), recorded, "/w", Compare::AtDisk), HeadProject::Different);
    }
    // B36
    let project = head_project(&Places::default(), Some("/repo"), "/repo/.wt/x", Compare::AtDisk);
    assert_eq!(project, HeadProject::Different);
}
