//! What a copy is, and what keeps one from being made.

use crate::world::{B, U1, U2, World, conversation};
use resume_gate::Head;
use resume_gate::claude::dirs::Places;
use resume_gate::claude::marker::Marker;
use resume_gate::claude::session::{Found, find, find_recorded};
use resume_gate::spawn::lock::AgentGuard;
use resume_gate::spawn::relocate::{Placed, RelocateError, Source, Step, relocate, relocate_observed};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, SystemTime};

fn lease(uid: &str) -> AgentGuard {
    AgentGuard::HostLease { uid: uid.into() }
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn b16_the_copy_is_whole_private_and_marked_and_the_source_is_untouched() {
    let world = World::new();
    let source = world.write("a", B, &conversation());
    let before = fs::metadata(&source).unwrap();
    let copy = world.relocate(U1, B).unwrap();

    assert_eq!((&copy.from, &copy.to), (&source, &world.session("b", B)));
    assert_eq!(fs::read_to_string(&copy.to).unwrap(), conversation());
    assert_eq!(copy.marker, Marker::path_for(&copy.to));
    let marker = Marker::read(&copy.to).unwrap();
    let bytes = conversation().len() as u64;
    let source_text = source.to_str().unwrap().to_owned();
    assert_eq!(marker, Marker { owner_uid: U1.into(), source: source_text, bytes, token: copy.token.clone() });
    assert_eq!(copy.bytes, bytes);

    for path in [&copy.to, &copy.marker] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
    for folder in [world.project("b"), world.login("b")] {
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
    }
    assert_eq!(World::listing(&world.project("b")).len(), 2, "the copy and its marker, nothing else");
    let after = fs::metadata(&source).unwrap();
    assert_eq!((before.len(), before.modified().unwrap()), (after.len(), after.modified().unwrap()));
    assert!(matches!(find(&world.login("b"), &world.cwd, B), Found::Missing { copy: Some(_), .. }));
}

#[test]
fn b23_a_copy_of_an_old_session_is_new() {
    let world = World::new();
    let source = world.write("a", B, &conversation());
    let forty_days = Duration::from_secs(40 * 24 * 60 * 60);
    let old = SystemTime::now() - forty_days;
    fs::File::options().append(true).open(&source).unwrap().set_modified(old).unwrap();
    let copy = world.relocate(U1, B).unwrap();
    let age = SystemTime::now().duration_since(fs::metadata(copy.to).unwrap().modified().unwrap()).unwrap_or_default();
    assert!(age < Duration::from_secs(60), "{age:?}");
}

#[test]
fn b20_an_older_file_of_the_login_stays_under_its_own_name() {
    let world = World::new();
    let c = "c0c0c0c0-0000-4000-8000-00000000000c";
    world.write("b", B, "the older session of this login\n");
    world.write("a", c, &conversation());
    let before = World::listing(&world.project("b"));
    world.relocate(U1, c).unwrap();
    let mut after = World::listing(&world.project("b"));
    after.retain(|path, _| !path.to_str().unwrap().starts_with(c));
    assert_eq!(after, before);
}

#[test]
fn b21_a_source_that_grows_once_is_copied_again() {
    let world = World::new();
    let source = world.write("a", B, &conversation());
    let late = "{\"type\":\"last-prompt\"}\n";
    let mut grown = false;
    let placed =
        relocate_observed(&lease(U1), world.open("a", B), Source::AtRest, &world.session("b", B), &mut |step| {
            if step == Step::CopyWritten && !grown {
                grown = true;
                append(&source, late);
            }
        });
    let Placed::Copied(copy) = placed.unwrap() else { panic!("nothing was copied") };
    assert_eq!(fs::read_to_string(&copy.to).unwrap(), conversation() + late);
    assert_eq!(copy.bytes, fs::metadata(&copy.to).unwrap().len());
}

#[test]
fn b21_a_source_that_keeps_changing_is_not_copied() {
    let world = World::new();
    let source = world.write("a", B, &conversation());
    // Growing, or written to without growing.
    let ways: [&dyn Fn(); 2] = [&|| append(&source, "{}\n"), &|| {
        let file = fs::File::options().append(true).open(&source).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        file.set_modified(modified - Duration::from_millis(1)).unwrap();
    }];
    for change in ways {
        let mut tries = 0;
        let to = world.session("b", B);
        let error = relocate_observed(&lease(U1), world.open("a", B), Source::AtRest, &to, &mut |step| {
            if step == Step::CopyWritten {
                tries += 1;
                change();
            }
        })
        .unwrap_err();
        assert!(matches!(error, RelocateError::SourceChanged(_)), "{error}");
        assert_eq!(tries, 2);
        assert!(!world.login("b").exists(), "not even the folders are left");
    }
}

#[test]
fn a_source_that_is_replaced_meanwhile_is_not_copied() {
    let world = World::new();
    let source = world.write("a", B, &conversation());
    let to = world.session("b", B);
    let error = relocate_observed(&lease(U1), world.open("a", B), Source::AtRest, &to, &mut |step| {
        if step == Step::CopyWritten {
            let other = source.with_extension("other");
            fs::write(&other, conversation()).unwrap();
            fs::rename(&other, &source).unwrap();
        }
    })
    .unwrap_err();
    assert!(matches!(error, RelocateError::SourceChanged(_)), "{error}");
    assert!(!world.login("b").exists());
}

#[test]
fn b28_a_live_parent_is_copied_up_to_its_last_whole_line_and_left_alone() {
    let world = World::new();
    let source = world.write("a", B, &(conversation() + "{\"type\":\"user\",\"mess"));
    let to = world.session("b", B);
    let placed = relocate_observed(&lease(U2), world.open("a", B), Source::Live, &to, &mut |step| {
        if step == Step::CopyBegun {
            append(&source, "age\":{}}\n");
        }
    });
    let Placed::Copied(copy) = placed.unwrap() else { panic!("nothing was copied") };
    assert_eq!(fs::read_to_string(&copy.to).unwrap(), conversation());
    assert_eq!(fs::read_to_string(&source).unwrap(), conversation() + "{\"type\":\"user\",\"message\":{}}\n");
}

#[test]
fn a_live_parent_whose_last_record_lacks_only_its_line_end_is_copied_to_the_end() {
    let world = World::new();
    let text = conversation();
    world.write("a", B, text.trim_end());
    let placed = relocate(&lease(U2), world.open("a", B), Source::Live, &world.session("b", B)).unwrap();
    let Placed::Copied(copy) = placed else { panic!("nothing was copied") };
    assert_eq!(fs::read_to_string(&copy.to).unwrap(), text.trim_end());
}

#[test]
fn a_parent_without_a_whole_line_is_not_copied() {
    let world = World::new();
    for text in ["", "{\"type\":\"us"] {
        world.write("a", B, text);
        let error = relocate(&lease(U2), world.open("a", B), Source::Live, &world.session("b", B)).unwrap_err();
        assert!(matches!(error, RelocateError::NothingWhole(_)), "{error}");
        assert!(!world.login("b").exists());
    }
}

#[test]
fn b27_a_parents_session_where_the_fork_looks_is_forked_in_place() {
    let world = World::new();
    world.write("a", B, &conversation());
    fs::create_dir_all(world.login("b")).unwrap();
    symlink(world.login("a").join("projects"), world.login("b").join("projects")).unwrap();
    let before = World::listing(&world.root);
    for login in ["a", "b"] {
        let placed = relocate(&lease(U2), world.open("a", B), Source::Live, &world.session(login, B)).unwrap();
        assert_eq!(placed, Placed::InPlace, "login {login}");
    }
    assert_eq!(World::listing(&world.root), before);
}

#[test]
fn a_file_is_never_copied_onto_itself_by_any_link() {
    let link = |world: &World, how: &dyn Fn(&Path, &Path)| {
        fs::create_dir_all(world.project("b")).unwrap();
        how(&world.session("a", B), &world.session("b", B));
    };
    let soft = |from: &Path, to: &Path| symlink(from, to).unwrap();
    let hard = |from: &Path, to: &Path| fs::hard_link(from, to).unwrap();
    for how in [&soft as &dyn Fn(&Path, &Path), &hard] {
        let world = World::new();
        world.write("a", B, &conversation());
        link(&world, how);
        let before = World::listing(&world.root);
        let error = world.relocate(U1, B).unwrap_err();
        assert!(matches!(error, RelocateError::SameFile { .. }), "{error}");
        assert_eq!(World::listing(&world.root), before);
    }

    let world = World::new();
    world.write("a", B, &conversation());
    fs::create_dir_all(world.login("b")).unwrap();
    symlink(world.login("a").join("projects"), world.login("b").join("projects")).unwrap();
    let error = world.relocate(U1, B).unwrap_err();
    assert!(matches!(error, RelocateError::SameFile { .. }), "{error}");
}

#[test]
fn whatever_has_the_copys_name_is_never_replaced() {
    let occupy: [&dyn Fn(&Path); 4] = [
        &|path| fs::write(path, "someone's session\n").unwrap(),
        &|path| fs::write(path, "").unwrap(),
        &|path| fs::create_dir(path).unwrap(),
        &|path| symlink("nowhere", path).unwrap(),
    ];
    for occupy in occupy {
        let world = World::new();
        world.write("a", B, &conversation());
        fs::create_dir_all(world.project("b")).unwrap();
        occupy(&world.session("b", B));
        let before = World::listing(&world.root);
        let error = world.relocate(U1, B).unwrap_err();
        assert!(matches!(error, RelocateError::Occupied(_)), "{error}");
        assert_eq!(World::listing(&world.root), before);
    }
}

#[test]
fn a_file_that_comes_into_being_while_the_copy_is_made_is_not_replaced() {
    for step in [Step::CopyChecked, Step::MarkerWritten, Step::MarkerPlaced] {
        let world = World::new();
        world.write("a", B, &conversation());
        let to = world.session("b", B);
        let error = relocate_observed(&lease(U1), world.open("a", B), Source::AtRest, &to, &mut |now| {
            if now == step {
                fs::write(&to, "someone's session\n").unwrap();
            }
        })
        .unwrap_err();
        assert!(matches!(error, RelocateError::Occupied(_)), "{error}");
        assert_eq!(fs::read_to_string(&to).unwrap(), "someone's session\n");
        assert_eq!(World::listing(&world.project("b")).len(), 1, "neither marker nor temporary is left");
    }
}

#[test]
fn a_place_that_another_agent_has_marked_is_refused_with_its_name() {
    let world = World::new();
    world.write("a", B, &conversation());
    world.write_copy("b", B, &conversation(), U2, "t2");
    let before = World::listing(&world.root);
    let error = world.relocate(U1, B).unwrap_err();
    assert!(matches!(&error, RelocateError::Claimed { owner: Some(owner), .. } if owner == U2), "{error}");
    assert!(error.to_string().ends_with("agent `u2` has one there"), "{error}");
    fs::remove_file(world.session("b", B)).unwrap();
    let error = world.relocate(U1, B).unwrap_err();
    assert!(matches!(&error, RelocateError::Claimed { owner: Some(owner), .. } if owner == U2), "{error}");
    fs::write(world.session("b", B), conversation()).unwrap();
    assert_eq!(World::listing(&world.root), before);
}

#[test]
fn of_two_agents_that_copy_one_session_into_one_folder_at_once_one_wins_and_is_named() {
    for _ in 0..60 {
        let world = World::new();
        world.write("a", B, &conversation());
        let start = Barrier::new(2);
        let copy_for = |uid| {
            start.wait();
            world.relocate(uid, B)
        };
        let (first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| copy_for(U1));
            let second = scope.spawn(|| copy_for(U2));
            (first.join().unwrap(), second.join().unwrap())
        });
        let (winner, won, lost) = match (first, second) {
            (Ok(won), Err(lost)) => (U1, won, lost),
            (Err(lost), Ok(won)) => (U2, won, lost),
            other => panic!("one has to win: {other:?}"),
        };
        assert!(matches!(&lost, RelocateError::Claimed { owner: Some(owner), .. } if owner == winner), "{lost}");
        let marker = Marker::read(&won.to).unwrap();
        assert_eq!((marker.owner_uid.as_str(), &marker.token), (winner, &won.token));
        assert_eq!(World::listing(&world.project("b")).len(), 2);
    }
}

#[test]
fn of_two_agents_that_copy_different_sessions_into_one_folder_both_win() {
    let world = World::new();
    let other = "c0c0c0c0-0000-4000-8000-00000000000c";
    world.write("a", B, &conversation());
    world.write("a", other, &conversation());
    std::thread::scope(|scope| {
        let first = scope.spawn(|| world.relocate(U1, B).unwrap());
        let second = scope.spawn(|| world.relocate(U2, other).unwrap());
        assert_ne!(first.join().unwrap().token, second.join().unwrap().token);
    });
    assert_eq!(World::listing(&world.project("b")).len(), 4);
}

#[test]
fn a_login_that_moved_is_copied_from_its_global_twin() {
    let world = World::new();
    let home = world.root.join("home");
    let rest = "identities/p1/claude";
    let recorded = world.root.join("old-build").join(rest);
    let twin = home.join(".agentmux/shared").join(rest);
    let source = resume_gate::claude::layout::session_file(&twin, &world.cwd, B).unwrap();
    fs::create_dir_all(source.parent().unwrap()).unwrap();
    fs::write(&source, conversation()).unwrap();
    let head = Head {
        session_id: B.into(),
        config_dir: Some(recorded.to_str().unwrap().into()),
        cwd: Some(world.cwd.to_str().unwrap().into()),
        ..Head::default()
    };
    let places = Places { home: Some(home), agentmux_home: None };
    let Some(Found::File(found)) = find_recorded(&head, &places) else { panic!("the twin is not found") };
    let placed = relocate(&lease(U1), found, Source::AtRest, &world.session("b", B)).unwrap();
    let Placed::Copied(copy) = placed else { panic!("nothing was copied") };
    assert_eq!(copy.from, source);
    assert_eq!(Marker::read(&copy.to).unwrap().source, source.to_str().unwrap());
}

#[test]
fn a_copy_is_a_file_of_its_own() {
    let world = World::new();
    let source = world.write("a", B, &conversation());
    let copy = world.relocate(U1, B).unwrap();
    let (of_source, of_copy) = (fs::metadata(&source).unwrap(), fs::metadata(&copy.to).unwrap());
    assert_ne!((of_source.dev(), of_source.ino()), (of_copy.dev(), of_copy.ino()));
    append(&copy.to, "{}\n");
    assert_eq!(fs::read_to_string(&source).unwrap(), conversation());
}
