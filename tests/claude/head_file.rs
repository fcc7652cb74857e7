//! What is where the head's file should be.

use crate::disk::{Disk, Lay, TURN, head, pipe, promptly, text, write};
use resume_gate::Head;
use resume_gate::claude::layout::session_file;
use resume_gate::claude::marker::{MARKER_SUFFIX, Marker};
use resume_gate::claude::probes::head_file;
use resume_gate::gate::Evidence;
use resume_gate::gate::facts::HeadFile::{self, AsLeft, Empty, Grown, Missing, Shrunk, Unreadable, Unsized};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A spawn at a login and a working directory, and its head `B`, recorded there too.
struct Spawn {
    disk: Disk,
    login: PathBuf,
    cwd: PathBuf,
}

impl Spawn {
    fn new() -> Self {
        let disk = Disk::new();
        let (login, cwd) = (disk.dir("login"), disk.dir("w"));
        Self { disk, login, cwd }
    }

    fn file(&self) -> PathBuf {
        session_file(&self.login, &self.cwd, "B").unwrap()
    }

    fn own_head(&self, bytes: impl Into<Option<u64>>) -> Head {
        head("B", &self.login, &self.cwd, bytes)
    }

    fn see(&self, head: &Head) -> (HeadFile, Evidence) {
        let (places, head) = (self.disk.places.clone(), head.clone());
        let (login, cwd) = (text(&self.login).to_owned(), text(&self.cwd).to_owned());
        promptly(move || head_file(&places, &head, Some(&login), &cwd))
    }

    fn fact(&self, head: &Head) -> HeadFile {
        self.see(head).0
    }
}

fn marker(bytes: u64) -> Marker {
    Marker { owner_uid: "u2".into(), source: "/cfg/a/B.jsonl".into(), bytes, token: "t".into() }
}

fn write_marker(session_file: &Path, text: impl AsRef<[u8]>) {
    write(&Marker::path_for(session_file), text);
}

#[test]
fn b24_b25_the_size_is_held_against_the_recorded_one() {
    let spawn = Spawn::new();
    spawn.disk.session(&spawn.login, &spawn.cwd, "B", [b'x'; 800]);
    for (recorded, expected) in
        [(Some(800), AsLeft), (Some(500), Grown), (Some(5_000_000), Shrunk), (Some(u64::MAX), Shrunk), (None, Unsized)]
    {
        let (fact, evidence) = spawn.see(&spawn.own_head(recorded));
        assert_eq!(fact, expected);
        assert_eq!((evidence.size, evidence.recorded, evidence.error), (Some(800), recorded, None));
        assert_eq!((evidence.value, evidence.path), (expected.into(), Some(spawn.file())));
    }
}

#[test]
fn an_empty_file_is_empty_whatever_was_recorded() {
    let spawn = Spawn::new();
    spawn.disk.session(&spawn.login, &spawn.cwd, "B", "");
    for recorded in [None, Some(0), Some(500)] {
        assert_eq!(spawn.fact(&spawn.own_head(recorded)), Empty);
    }
}

#[test]
fn a_file_that_is_not_there_is_missing_and_the_place_is_named() {
    let spawn = Spawn::new();
    let (fact, evidence) = spawn.see(&spawn.own_head(500));
    assert_eq!((fact, evidence.path, evidence.error), (Missing, Some(spawn.file()), None));
    fs::create_dir_all(spawn.file().parent().unwrap()).unwrap();
    assert_eq!(spawn.fact(&spawn.own_head(500)), Missing);
    fs::remove_dir_all(&spawn.login).unwrap();
    assert_eq!(spawn.fact(&spawn.own_head(500)), Missing);
}

#[test]
fn b36_the_same_id_in_another_project_folder_is_not_here() {
    let spawn = Spawn::new();
    spawn.disk.session(&spawn.login, &spawn.disk.dir("other"), "B", TURN);
    assert_eq!(spawn.fact(&spawn.own_head(None)), Missing);
}

#[test]
fn b48_what_cannot_be_opened_is_not_taken_for_missing() {
    let lay: [(&str, Lay); 7] = [
        ("a folder", |file| fs::create_dir_all(file).unwrap()),
        ("a pipe", |file| pipe(file)),
        ("a socket", |file| {
            // A socket's own path has to be short.
            let folder = file.parent().unwrap();
            fs::create_dir_all(folder).unwrap();
            let short = folder.ancestors().nth(3).unwrap().join("s");
            drop(UnixListener::bind(&short).unwrap());
            fs::rename(short, file).unwrap();
        }),
        ("a loop of links", |file| {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            symlink(file, file).unwrap();
        }),
        ("a link to nothing", |file| {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            symlink("nothing", file).unwrap();
        }),
        ("a project folder that is a file", |file| write(file.parent().unwrap(), "")),
        ("a projects folder that is a link to nothing", |file| {
            symlink("/nothing/here", file.ancestors().nth(2).unwrap()).unwrap();
        }),
    ];
    for (what, lay) in lay {
        let spawn = Spawn::new();
        lay(&spawn.file());
        let (fact, evidence) = spawn.see(&spawn.own_head(500));
        assert_eq!(fact, Unreadable, "{what}");
        assert_eq!(evidence.path, Some(spawn.file()), "{what}");
        assert!(evidence.error.is_some_and(|error| !error.starts_with(char::is_uppercase)), "{what}");
    }
}

#[test]
fn a_path_that_is_too_long_is_unreadable() {
    let spawn = Spawn::new();
    let login = format!("/{}", "x/".repeat(3000));
    let (fact, evidence) = head_file(&spawn.disk.places, &spawn.own_head(500), Some(&login), text(&spawn.cwd));
    assert_eq!(fact, Unreadable);
    assert!(evidence.error.is_some());
}

#[test]
fn a_file_or_folder_without_permission_is_unreadable() {
    if rustix::process::geteuid().is_root() {
        // Modes do not bind root; the other ways of being unreadable are tested above.
        return;
    }
    let spawn = Spawn::new();
    let file = spawn.disk.session(&spawn.login, &spawn.cwd, "B", TURN);
    for path in [file.clone(), file.parent().unwrap().to_owned()] {
        let mode = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        assert_eq!(spawn.fact(&spawn.own_head(500)), Unreadable);
        fs::set_permissions(&path, mode).unwrap();
    }
}

#[test]
fn links_to_a_file_are_followed() {
    let spawn = Spawn::new();
    write(&spawn.disk.path("elsewhere"), "12345");
    fs::create_dir_all(spawn.file().parent().unwrap()).unwrap();
    symlink(spawn.disk.path("elsewhere"), spawn.file()).unwrap();
    assert_eq!(spawn.fact(&spawn.own_head(5)), AsLeft);
}

#[test]
fn b50_a_file_of_forty_gigabytes_is_only_measured() {
    let spawn = Spawn::new();
    let file = spawn.disk.session(&spawn.login, &spawn.cwd, "B", TURN);
    fs::File::options().write(true).open(file).unwrap().set_len(40 << 30).unwrap();
    let before = Instant::now();
    assert_eq!(spawn.fact(&spawn.own_head(40 << 30)), AsLeft);
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[test]
fn without_a_login_a_directory_or_a_file_name_nothing_is_looked_at() {
    let spawn = Spawn::new();
    let places = &spawn.disk.places;
    let (login, cwd) = (text(&spawn.login), text(&spawn.cwd));
    for config_dir in [None, Some(""), Some("login"), Some(r"C:\cfg")] {
        let (fact, evidence) = head_file(places, &spawn.own_head(5), config_dir, cwd);
        assert_eq!((fact, evidence.path), (Unreadable, None));
        assert!(evidence.error.unwrap().contains("config dir"));
    }
    assert_eq!(head_file(places, &spawn.own_head(5), Some(login), "w").0, Unreadable);
    for id in ["../../../B", "--continue", ""] {
        let head = Head { session_id: id.into(), ..spawn.own_head(5) };
        assert_eq!(head_file(places, &head, Some(login), cwd).0, Unreadable);
    }
}

#[test]
fn b17_a_temporary_copy_counts_as_missing_whoever_owns_it() {
    let spawn = Spawn::new();
    let file = spawn.disk.session(&spawn.login, &spawn.cwd, "B", [b'x'; 700]);
    write_marker(&file, marker(700).to_text());
    let (fact, evidence) = spawn.see(&spawn.own_head(700));
    assert_eq!((fact, evidence.path, evidence.size), (Missing, Some(file.clone()), Some(700)));
    assert!(evidence.error.unwrap().contains("`u2`"));
    // Continued by someone: a session like any other.
    fs::write(&file, [b'x'; 701]).unwrap();
    assert_eq!(spawn.fact(&spawn.own_head(700)), Grown);
}

#[test]
#[cfg(unix)]
fn a_link_beside_a_marker_is_no_copy_before_a_sweep_as_after_it() {
    let spawn = Spawn::new();
    let file = spawn.disk.session(&spawn.login, &spawn.cwd, "B", [b'x'; 700]);
    let elsewhere = file.with_file_name("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    write_marker(&file, marker(700).to_text());
    assert_eq!(spawn.fact(&spawn.own_head(700)), AsLeft);
    fs::remove_file(Marker::path_for(&file)).unwrap();
    assert_eq!(spawn.fact(&spawn.own_head(700)), AsLeft);
}

#[test]
fn a_marker_that_is_not_whole_marks_nothing() {
    let spawn = Spawn::new();
    let file = spawn.disk.session(&spawn.login, &spawn.cwd, "B", [b'x'; 700]);
    let whole = marker(700).to_text();
    for text in [
        "",
        whole.get(..whole.len() - 2).unwrap(),
        &whole.replace("700", "-700"),
        &whole.replace("700", "\"700\""),
        &whole.replace("700", "700.5"),
        &whole.replace("\"u2\"", "null"),
        &whole.replace("\"u2\"", "\"\""),
        &whole.replace("token", "tokens"),
        r#"["u2","/cfg/a/B.jsonl",700,"t"]"#,
        &format!("{whole}{whole}"),
        &" ".repeat(1 << 20),
    ] {
        write_marker(&file, text);
        assert_eq!(spawn.fact(&spawn.own_head(700)), AsLeft, "{text}");
    }
    write_marker(&file, whole.replace('{', "{\"newer\":[1],"));
    assert_eq!(spawn.fact(&spawn.own_head(700)), Missing);
}

#[test]
fn a_pipe_or_folder_in_the_markers_place_marks_nothing() {
    let spawn = Spawn::new();
    let file = spawn.disk.session(&spawn.login, &spawn.cwd, "B", [b'x'; 700]);
    pipe(&Marker::path_for(&file));
    assert_eq!(spawn.fact(&spawn.own_head(700)), AsLeft);
    fs::remove_file(Marker::path_for(&file)).unwrap();
    fs::create_dir(Marker::path_for(&file)).unwrap();
    assert_eq!(spawn.fact(&spawn.own_head(700)), AsLeft);
}

#[test]
fn a_marker_belongs_to_the_file_of_exactly_that_name() {
    let spawn = Spawn::new();
    let file = spawn.disk.session(&spawn.login, &spawn.cwd, "B", [b'x'; 700]);
    let other = spawn.disk.session(&spawn.login, &spawn.cwd, "BB", [b'x'; 700]);
    write_marker(&other, marker(700).to_text());
    assert_eq!(spawn.fact(&spawn.own_head(700)), AsLeft);
    assert_eq!(text(&Marker::path_for(&file)), format!("{}{MARKER_SUFFIX}", text(&file)));
}

/// The head was recorded at another login without its size, and its file is here too.
fn elsewhere(spawn: &Spawn, here: usize, there: Option<usize>) -> Head {
    let other = spawn.disk.dir("other");
    spawn.disk.session(&spawn.login, &spawn.cwd, "B", vec![b'x'; here]);
    if let Some(there) = there {
        spawn.disk.session(&other, &spawn.cwd, "B", vec![b'x'; there]);
    }
    head("B", &other, &spawn.cwd, None)
}

#[test]
fn without_a_recorded_size_the_file_at_the_recorded_login_is_the_measure() {
    for (here, there, expected) in [
        (700, Some(700), AsLeft),
        (701, Some(700), Grown),
        (10, Some(700), Shrunk),
        (700, None, Unsized),
        (700, Some(0), Unsized),
        (0, Some(700), Empty),
    ] {
        let spawn = Spawn::new();
        let head = elsewhere(&spawn, here, there);
        assert_eq!(spawn.fact(&head), expected, "{here} {there:?}");
    }
}

#[test]
fn a_recorded_size_comes_before_the_file_at_the_recorded_login() {
    let spawn = Spawn::new();
    let head = Head { provider_bytes_end: Some(700), ..elsewhere(&spawn, 700, Some(900)) };
    assert_eq!(spawn.fact(&head), AsLeft);
}

#[test]
fn the_very_same_file_at_the_recorded_login_is_as_left() {
    let spawn = Spawn::new();
    let head = elsewhere(&spawn, 700, None);
    let there = session_file(&spawn.disk.path("other"), &spawn.cwd, "B").unwrap();
    fs::create_dir_all(there.parent().unwrap()).unwrap();
    fs::hard_link(spawn.file(), &there).unwrap();
    assert_eq!(spawn.fact(&head), AsLeft);
}

#[test]
fn ones_own_file_is_no_measure_for_itself() {
    let spawn = Spawn::new();
    spawn.disk.session(&spawn.login, &spawn.cwd, "B", TURN);
    symlink(&spawn.login, spawn.disk.path("link")).unwrap();
    assert_eq!(spawn.fact(&head("B", &spawn.disk.path("link"), &spawn.cwd, None)), Unsized);
}
