//! Session files where they were recorded: whole, cut, gone, or under the login's twin.

use crate::disk::{Disk, Lay, TITLE, TURN, head, pipe, promptly, text, write};
use resume_gate::Head;
use resume_gate::claude::complete::{Incomplete, Tail, check, whole_bytes};
use resume_gate::claude::dirs::Places;
use resume_gate::claude::layout::session_file;
use resume_gate::claude::marker::Marker;
use resume_gate::claude::probes::{fork_record, head_record};
use resume_gate::gate::facts::ForkRecord::{self, Complete, Missing, Unrecorded};
use resume_gate::gate::facts::HeadRecord;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const INCOMPLETE: ForkRecord = ForkRecord::Incomplete;

/// What both probes say of the file of a session `B`.
fn both(places: &Places, head: &Head) -> (HeadRecord, ForkRecord) {
    let (places, head) = (places.clone(), head.clone());
    promptly(move || (head_record(&places, &head).0, fork_record(&places, &head).0))
}

/// What both probes say of a session file that holds `text`.
fn of(text: impl AsRef<[u8]>) -> (HeadRecord, ForkRecord) {
    let disk = Disk::new();
    let (login, cwd) = (disk.dir("login"), disk.dir("w"));
    disk.session(&login, &cwd, "B", text);
    both(&disk.places, &head("B", &login, &cwd, None))
}

const WHOLE: (HeadRecord, ForkRecord) = (HeadRecord::Complete, Complete);
const CUT: (HeadRecord, ForkRecord) = (HeadRecord::Incomplete, INCOMPLETE);
const TORN: (HeadRecord, ForkRecord) = (HeadRecord::Incomplete, Complete);
const GONE: (HeadRecord, ForkRecord) = (HeadRecord::Missing, Missing);

#[test]
fn a_conversation_that_ends_in_a_whole_record_is_complete() {
    let unended = TURN.trim_end();
    for text in [
        TURN.to_owned(),
        unended.to_owned(),
        format!("{TITLE}{TURN}{TITLE}"),
        format!("{TURN}\n \r\n\t\n"),
        format!("{TURN}{TITLE}").replace('\n', "\r\n"),
        format!("\u{feff}{TURN}"),
        TURN.replace("user", "assistant"),
        format!("not json\n{TURN}"),
        // The name of the file is the session's id, whatever the record says.
        TURN.replace("\"uuid\"", "\"sessionId\":\"other\",\"uuid\""),
        TURN.replace("hello", "a\u{2028}b\u{85}c \\n\\\" \\ud83d"),
    ] {
        assert_eq!(of(&text), WHOLE, "{text:?}");
    }
}

#[test]
fn a_file_without_a_whole_turn_is_incomplete() {
    for text in [
        "",
        "\n\n",
        TITLE,
        "[]\n",
        "{}\n",
        "{\"type\":{\"type\":\"user\"}}\n",
        "{\"message\":{\"type\":\"user\"}}\n",
        "{\"type\":\"user \"}\n",
        "{\"type\":\"user\"\n",
        "[{\"type\":\"user\"}]\n",
        "\0\0\0\0",
        "{\"type\":\"user\",\n\"uuid\":\"u\"}\n",
    ] {
        assert_eq!(of(text), CUT, "{text:?}");
    }
}

#[test]
fn a_last_line_that_is_cut_counts_only_where_nobody_is_writing() {
    for end in 1..TITLE.len() - 1 {
        let text = format!("{TURN}{}", &TITLE[..end]);
        assert_eq!(of(&text), TORN, "{text:?}");
    }
    assert_eq!(of(format!("{TURN}{}", "\0".repeat(300))), TORN);
    assert_eq!(of([TURN.as_bytes(), b"{\"type\":\"user\",\"x\":\"\xe2\x80"].concat()), TORN);
    // What is cut holds no turn.
    assert_eq!(of(format!("{TITLE}{}", TURN.trim_end().trim_end_matches('}'))), CUT);
}

#[test]
fn a_last_line_that_is_ended_and_damaged_is_nobodys_half_of_a_line() {
    for last in ["garbage\n", "[1]\n", "{\"type\":\"user\"\n", "\0\0\n", "{}{}\n", "{\"a\":1} x\n"] {
        assert_eq!(of(format!("{TURN}{last}")), CUT, "{last:?}");
    }
    assert_eq!(of([TURN.as_bytes(), b"{\"x\":\"\xff\"}\n"].concat()), CUT);
    assert_eq!(of([TURN.as_bytes(), b"{\"x\":\"\xff\"}\n", TITLE.as_bytes()].concat()), WHOLE, "it spoils one line");
}

#[test]
fn a_parent_with_nothing_but_title_rows_has_nothing_to_fork() {
    assert_eq!(of(TITLE.repeat(50)), CUT);
}

#[test]
fn lines_of_many_megabytes_are_taken_in() {
    let long = TURN.replace("hello", &"x".repeat(9 << 20));
    assert_eq!(of(format!("{TITLE}{long}{TITLE}")), WHOLE);
    assert_eq!(of(format!("{TITLE}{long}")), WHOLE);
    assert_eq!(of(format!("{TURN}{}", &long[..8 << 20])), TORN);
}

#[test]
fn a_turn_is_looked_for_at_both_ends_and_not_in_between() {
    let rows = TITLE.repeat((5 << 20) / TITLE.len());
    assert_eq!(of(format!("{TURN}{rows}")), WHOLE);
    assert_eq!(of(format!("{rows}{rows}{TURN}{TITLE}")), WHOLE);
    assert_eq!(of(format!("{rows}{TURN}{rows}")), CUT);
}

#[test]
fn a_last_line_over_sixty_four_megabytes_is_incomplete() {
    let mut file = tempfile::tempfile().unwrap();
    let long = TURN.replace("hello", &"x".repeat(64 << 20));
    file.write_all(format!("{TURN}{long}").as_bytes()).unwrap();
    let size = file.metadata().unwrap().len();
    for tail in [Tail::Whole, Tail::MayBeTorn] {
        let checked = check(&mut file, size, tail);
        assert!(matches!(checked, Err(Incomplete::LastLineTooLong)), "{checked:?}");
    }
    let whole = whole_bytes(&mut file, size - 1);
    assert!(matches!(whole, Err(Incomplete::LastLineTooLong)), "{whole:?}");
}

/// A file with a hole of 40 GB between what it begins and what it ends with.
fn sparse(begin: &str, end: &str) -> (File, u64) {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(begin.as_bytes()).unwrap();
    file.set_len(40 << 30).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(end.as_bytes()).unwrap();
    let size = file.metadata().unwrap().len();
    (file, size)
}

#[test]
fn b50_a_hole_of_forty_gigabytes_is_not_read() {
    let before = Instant::now();
    for (begin, end, is_whole) in [
        (TURN, &*format!("\n{TITLE}"), true),
        ("", &format!("\n{TURN}"), true),
        ("", &format!("\n{TITLE}"), false),
        (TURN, TURN, false),
        (TURN, "", false),
    ] {
        let (mut file, size) = sparse(begin, end);
        for tail in [Tail::Whole, Tail::MayBeTorn] {
            assert_eq!(check(&mut file, size, tail).is_ok(), is_whole, "{begin:?} {end:?} {tail:?}");
        }
    }
    assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
}

#[test]
fn whole_lines_are_what_can_be_copied_of_a_file_in_the_writing() {
    let whole = |text: &[u8]| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        whole_bytes(&mut file, text.len() as u64).unwrap()
    };
    let length = TURN.len() as u64;
    assert_eq!(whole(b""), 0);
    assert_eq!(whole(TURN.as_bytes()), length);
    assert_eq!(whole(TURN.trim_end().as_bytes()), length - 1);
    assert_eq!(whole(format!("{TURN}{{\"type\":").as_bytes()), length);
    assert_eq!(whole(&[TURN.as_bytes(), &[0; 200]].concat()), length);
    assert_eq!(whole(b"{\"type\":"), 0);
}

#[test]
fn a_file_that_became_shorter_meanwhile_is_an_error_and_no_panic() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(TURN.as_bytes()).unwrap();
    let checked = check(&mut file, 500_000, Tail::Whole);
    assert!(matches!(checked, Err(Incomplete::Io(_))), "{checked:?}");
}

#[test]
fn what_is_not_there_is_missing_and_what_cannot_be_opened_is_incomplete() {
    let lay: [(&str, Lay, _); 4] = [
        ("nothing", |_| {}, GONE),
        ("a folder", |file| fs::create_dir_all(file).unwrap(), CUT),
        ("a pipe", |file| pipe(file), CUT),
        ("a project folder that is a file", |file| write(file.parent().unwrap(), ""), CUT),
    ];
    for (what, lay, expected) in lay {
        let disk = Disk::new();
        let (login, cwd) = (disk.dir("login"), disk.dir("w"));
        lay(&session_file(&login, &cwd, "B").unwrap());
        let recorded = head("B", &login, &cwd, None);
        assert_eq!(both(&disk.places, &recorded), expected, "{what}");
        let evidence = head_record(&disk.places, &recorded).1;
        assert_eq!(evidence.error.is_some(), expected == CUT, "{what}: {evidence:?}");
        assert_eq!(evidence.path, session_file(&login, &cwd, "B"), "{what}");
    }
}

#[test]
fn a_place_that_is_of_no_use_here_was_not_recorded() {
    let disk = Disk::new();
    let (login, cwd) = (disk.dir("login"), disk.dir("w"));
    let whole = head("B", &login, &cwd, None);
    for recorded in [
        Head { config_dir: None, ..whole.clone() },
        Head { config_dir: Some(r"C:\cfg\a".into()), ..whole.clone() },
        Head { cwd: None, ..whole.clone() },
        Head { cwd: Some("w".into()), ..whole.clone() },
    ] {
        assert_eq!(both(&disk.places, &recorded), (HeadRecord::Missing, Unrecorded));
        assert!(fork_record(&disk.places, &recorded).1.error.is_some());
    }
    let unsafe_id = Head { session_id: "../B".into(), ..whole };
    assert_eq!(both(&disk.places, &unsafe_id), GONE);
}

#[test]
fn a_marked_copy_is_no_record() {
    let disk = Disk::new();
    let (login, cwd) = (disk.dir("login"), disk.dir("w"));
    let file = disk.session(&login, &cwd, "B", TURN);
    let marker = Marker { owner_uid: "u".into(), source: "s".into(), bytes: TURN.len() as u64, token: "t".into() };
    write(&Marker::path_for(&file), marker.to_text());
    assert_eq!(both(&disk.places, &head("B", &login, &cwd, None)), GONE);
    fs::write(&file, TURN.repeat(2)).unwrap();
    assert_eq!(both(&disk.places, &head("B", &login, &cwd, None)), WHOLE);
}

#[test]
fn a_login_that_is_gone_is_looked_for_under_its_global_twin() {
    let disk = Disk::new();
    let cwd = disk.dir("w");
    let gone = disk.path("build-7/identities/i1/claude");
    let recorded = head("B", &gone, &cwd, None);
    assert_eq!(both(&disk.places, &recorded), GONE);
    let twin = disk.dir("home/.agentmux/shared/identities/i1/claude");
    let path = disk.session(&twin, &cwd, "B", TURN);
    assert_eq!(both(&disk.places, &recorded), WHOLE);
    assert_eq!(head_record(&disk.places, &recorded).1.path, Some(path));
    // The root can be elsewhere.
    let moved = Places { agentmux_home: Some(disk.path("am")), ..disk.places.clone() };
    assert_eq!(both(&moved, &recorded), GONE);
    disk.session(&disk.dir("am/shared/identities/i1/claude"), &cwd, "B", TITLE);
    assert_eq!(both(&moved, &recorded), CUT);
    // What is where it was recorded comes first.
    disk.session(&gone, &cwd, "B", TITLE);
    assert_eq!(both(&disk.places, &recorded), CUT);
}

#[test]
fn b35_a_recorded_tilde_is_expanded_for_the_record_too() {
    let disk = Disk::new();
    let (login, cwd) = (disk.dir("home/.cfg-a"), disk.dir("home/agents/x"));
    disk.session(&login, &cwd, "B", TURN);
    let recorded = head("B", Path::new("~/.cfg-a"), Path::new("~/agents/x"), None);
    assert_eq!(both(&disk.places, &recorded), WHOLE, "{}", text(&login));
}
