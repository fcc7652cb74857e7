//! Full, read-only and far too small disks. Real ones need a mount namespace of their own; where that
//! cannot be had, the tests say so and pass.

use crate::world::{B, U1, World, conversation};
use resume_gate::spawn::lock::AgentGuard;
use resume_gate::spawn::relocate::{RelocateError, Source, Step, relocate, relocate_observed};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Set in the run of this test binary that has a mount namespace of its own.
const INSIDE: &str = "TEST_MOUNTS_ARE_OURS";

/// Runs a test again where it may mount; false if it may do so already.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn moved_to_own_namespace(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    let namespace = ["--map-root-user", "--mount"];
    let may = Command::new("unshare").args(namespace).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        println!("skipped: a mount namespace cannot be had here");
        return true;
    }
    let output = Command::new("unshare")
        .args(namespace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("disks::{test}"), "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    true
}

fn mount(options: &str, at: &Path) {
    fs::create_dir_all(at).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(at).status().unwrap();
    assert!(mounted.success());
}

fn lease() -> AgentGuard {
    AgentGuard::HostLease { uid: U1.into() }
}

/// A world whose login `b` is on a disk of 512 KiB.
fn small_disk() -> (World, PathBuf) {
    let world = World::new();
    world.write("a", B, &conversation());
    let disk = world.login("b");
    mount("size=512k", &disk);
    (world, disk)
}

#[test]
fn b50_a_session_larger_than_the_disk_is_refused_before_a_byte_is_copied() {
    if moved_to_own_namespace("b50_a_session_larger_than_the_disk_is_refused_before_a_byte_is_copied") {
        return;
    }
    let (world, disk) = small_disk();
    const FORTY_GB: u64 = 40 << 30;
    let source = File::options().append(true).open(world.session("a", B)).unwrap();
    source.set_len(FORTY_GB).unwrap();
    (&source).write_all(b"\n{\"type\":\"user\"}\n").unwrap();
    let began = Instant::now();
    let error = world.relocate(U1, B).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(1));
    let RelocateError::NoSpace { needed, free, .. } = &error else { panic!("{error}") };
    assert!(*needed > FORTY_GB && *free <= 512 << 10, "{error}");
    assert_eq!(fs::read_dir(disk).unwrap().count(), 0);
}

#[test]
fn a_disk_that_fills_up_during_the_copy_is_left_as_it_was() {
    if moved_to_own_namespace("a_disk_that_fills_up_during_the_copy_is_left_as_it_was") {
        return;
    }
    for full_at in [Step::CopyBegun, Step::MarkerBegun] {
        let (world, disk) = small_disk();
        let filler = disk.join("filler");
        let error =
            relocate_observed(&lease(), world.open("a", B), Source::AtRest, &world.session("b", B), &mut |step| {
                if step == full_at {
                    let full = io::copy(&mut io::repeat(0), &mut File::create(&filler).unwrap()).unwrap_err();
                    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
                }
            })
            .unwrap_err();
        let RelocateError::Io { doing: "write", source, .. } = &error else { panic!("{error}") };
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        fs::remove_file(filler).unwrap();
        assert_eq!(World::listing(&disk).len(), 0, "neither files nor folders");
        world.relocate(U1, B).unwrap();
    }
}

#[test]
fn a_read_only_destination_is_refused_and_stays_as_it_was() {
    if moved_to_own_namespace("a_read_only_destination_is_refused_and_stays_as_it_was") {
        return;
    }
    for with_folder in [true, false] {
        let (world, disk) = small_disk();
        if with_folder {
            fs::create_dir_all(world.project("b")).unwrap();
        }
        let before = World::listing(&disk);
        mount_read_only(&disk);
        let error = world.relocate(U1, B).unwrap_err();
        let RelocateError::Io { doing: "create", source, .. } = &error else { panic!("{error}") };
        assert_eq!(source.kind(), io::ErrorKind::ReadOnlyFilesystem);
        assert_eq!(World::listing(&disk), before);
    }
}

fn mount_read_only(at: &Path) {
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(at).status().unwrap();
    assert!(remounted.success());
}

#[test]
fn a_destination_under_something_that_is_no_folder_is_refused() {
    let world = World::new();
    world.write("a", B, &conversation());
    fs::create_dir_all(world.login("b")).unwrap();
    for obstacle in ["file", "link"] {
        let projects = world.login("b").join("projects");
        if obstacle == "file" {
            fs::write(&projects, "").unwrap()
        } else {
            symlink("nowhere", &projects).unwrap()
        }
        let before = World::listing(&world.root);
        let error = relocate(&lease(), world.open("a", B), Source::AtRest, &world.session("b", B)).unwrap_err();
        assert!(matches!(error, RelocateError::Io { doing: "create", .. }), "{error}");
        assert_eq!(World::listing(&world.root), before);
        fs::remove_file(projects).unwrap();
    }
}
