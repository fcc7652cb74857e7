//! Nothing that lies on the disk makes a reader panic.

use crate::disk::{Disk, TURN, head, write};
use proptest::prelude::*;
use resume_gate::Head;
use resume_gate::claude::dirs::{Compare, head_login, head_project, same_dir};
use resume_gate::claude::identity::{Login, identity};
use resume_gate::claude::layout::session_file;
use resume_gate::claude::marker::Marker;
use resume_gate::claude::probes::{fork_record, head_busy, head_file, head_record};
use resume_gate::claude::rejection::is_rejection;
use resume_gate::claude::turns::{holds_turn, holds_turn_after, last_turn_uuid};
use resume_gate::process::ProcessTable;
use std::path::Path;

/// Bytes that are nearly what a file should hold: pieces of it, cut, repeated and spoilt.
fn nearly(whole: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let piece = (0..whole.len(), 0..=whole.len(), proptest::collection::vec(any::<u8>(), 0..4));
    proptest::collection::vec(piece, 0..5).prop_map(|pieces| {
        let cut = |(from, to, noise): &(usize, usize, Vec<u8>)| {
            [whole.as_bytes().get(*from..*to).unwrap_or(whole.as_bytes()), noise].concat()
        };
        pieces.iter().flat_map(cut).collect()
    })
}

proptest! {
    #[test]
    fn any_bytes_in_any_file_are_an_answer(
        session in nearly(TURN),
        account in nearly(r#"{"oauthAccount":{"accountUuid":"a","organizationUuid":"o"}}"#),
        marker in nearly(r#"{"owner_uid":"u","source":"s","bytes":3,"token":"t"}"#),
        entry in nearly(r#"{"pid":1,"sessionId":"B","startedAt":1,"procStart":"1","pidDomain":"d"}"#),
        stat in nearly("7 (a) S 1 7 7 0 -1 4 9 0 0 0 1 2 0 0 20 0 1 0 777 1"),
    ) {
        let disk = Disk::new();
        let (login, cwd) = (disk.dir("login"), disk.dir("w"));
        let file = disk.session(&login, &cwd, "B", session);
        write(&Marker::path_for(&file), marker);
        write(&login.join(".claude.json"), account);
        write(&login.join("sessions/1.json"), entry);
        write(&disk.path("proc/1/stat"), &stat);
        write(&disk.path("proc/stat"), stat);
        let recorded = head("B", &login, &cwd, 3);
        let table = ProcessTable { proc: disk.path("proc"), machine_id: disk.path("proc/stat") };
        let _ = head_file(&disk.places, &recorded, login.to_str(), cwd.to_str().unwrap());
        let _ = head_record(&disk.places, &recorded);
        let _ = fork_record(&disk.places, &recorded);
        let _ = head_busy(&disk.places, &table, &recorded, login.to_str());
        let _ = identity(&login, Login::Named, &disk.places);
        holds_turn(&file).unwrap();
        last_turn_uuid(&file).unwrap();
        holds_turn_after(&file, "u1").unwrap();
    }

    #[test]
    fn any_text_in_any_argument_is_an_answer(id in ".{0,9}", dir in "[~/C:]{0,3}.{0,30}", cwd in "[~/]{0,2}.{0,300}") {
        let disk = Disk::new();
        let recorded = Head {
            session_id: id,
            config_dir: Some(dir.clone()),
            cwd: Some(cwd.clone()),
            ..Head::default()
        };
        let _ = head_file(&disk.places, &recorded, Some(&dir), &cwd);
        let _ = head_record(&disk.places, &recorded);
        let _ = head_busy(&disk.places, &ProcessTable::default(), &recorded, Some(&dir));
        for how in [Compare::AtDisk, Compare::BySpelling] {
            let _ = head_login(&disk.places, Some(&cwd), Some(&dir), how);
            let _ = head_project(&disk.places, Some(&dir), &cwd, how);
        }
        prop_assert!(same_dir(Path::new(&dir), Path::new(&dir)));
        let _ = session_file(Path::new(&dir), Path::new(&cwd), &recorded.session_id);
    }

    #[test]
    fn any_output_is_an_answer(stderr in nearly("\u{1b}[31mNo conversation found with session ID: x\n")) {
        let _ = is_rejection(&stderr);
    }
}
