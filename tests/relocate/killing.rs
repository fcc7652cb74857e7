//! A process killed hard at every step of a relocation, and at random moments, and what the next
//! spawn's sweep makes of it.

use crate::world::{B, U1, U2, World, conversation};
use resume_gate::claude::marker::Marker;
use resume_gate::process::ProcessTable;
use resume_gate::spawn::lock::AgentLock;
use resume_gate::spawn::relocate::{Placed, Source, Step, relocate_observed};
use resume_gate::spawn::settle::{Reported, settle, sweep};
use rustix::process::{Pid, Signal, getpid, kill_process};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};
use strum::IntoEnumIterator as _;

/// Tells a run of this test binary to be the process that is killed, and where.
const ROOT: &str = "TEST_RELOCATE_IN";
/// At which step it kills itself; it goes on for ever without.
const STEP: &str = "TEST_KILL_AT_STEP";

#[test]
#[ignore = "not a test: the process that the tests here kill"]
fn process_to_be_killed() {
    let Some(root) = std::env::var_os(ROOT) else { return };
    let world = World::at(Path::new(&root));
    let fatal: Option<usize> = std::env::var(STEP).ok().map(|step| step.parse().unwrap());
    println!("ready");
    loop {
        let guard = world.guard(U1);
        assert!(sweep(&guard, &world.project("b")).errors.is_empty());
        let placed =
            relocate_observed(&guard, world.open("a", B), Source::AtRest, &world.session("b", B), &mut |step| {
                if fatal == Some(step as usize) {
                    kill_process(getpid(), Signal::KILL).unwrap();
                }
            });
        let Placed::Copied(copy) = placed.unwrap() else { panic!("nothing was copied") };
        settle(&guard, &copy.to, &copy.token, Reported::NewSession).unwrap();
    }
}

fn start(world: &World, step: Option<Step>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "killing::process_to_be_killed", "--ignored", "--nocapture"])
        .env(ROOT, &world.root)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(step) = step {
        command.env(STEP, (step as usize).to_string());
    }
    command.spawn().unwrap()
}

struct Scene {
    world: World,
    source_modified: SystemTime,
    bystanders: usize,
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        let source = world.write("a", B, &conversation());
        world.write_copy("b", "foreign", "ten bytes\n", U2, "t2");
        world.write("b", "ordinary", "no marker\n");
        let source_modified = fs::metadata(source).unwrap().modified().unwrap();
        Self { world, source_modified, bystanders: 3 }
    }

    /// What has to hold at any moment, before anybody cleans up.
    fn check_untidied(&self) {
        let source = self.world.session("a", B);
        assert_eq!(fs::read_to_string(&source).unwrap(), conversation());
        assert_eq!(fs::metadata(&source).unwrap().modified().unwrap(), self.source_modified);
        let copy = self.world.session("b", B);
        if copy.exists() {
            assert_eq!(fs::read_to_string(&copy).unwrap(), conversation(), "a copy in its place is whole");
            assert_eq!(Marker::read(&copy).expect("a copy in its place is marked").owner_uid, U1);
        }
    }

    /// The next spawn: it gets the lock, sweeps, and relocates again.
    fn check_next_spawn(&self) {
        let guard = self.world.guard(U1);
        let swept = sweep(&guard, &self.world.project("b"));
        assert!(swept.errors.is_empty(), "{swept:?}");
        assert_eq!(World::listing(&self.world.project("b")).len(), self.bystanders, "only the bystanders are left");
        let copy = self.world.relocate(U1, B).unwrap();
        settle(&guard, &copy.to, &copy.token, Reported::NewSession).unwrap();
        assert_eq!(World::listing(&self.world.project("b")).len(), self.bystanders);
    }
}

#[test]
fn killed_at_any_step_it_leaves_nothing_that_the_next_sweep_does_not_take() {
    let mut left = Vec::new();
    for step in Step::iter() {
        let scene = Scene::new();
        let status = start(&scene.world, Some(step)).wait().unwrap();
        assert_eq!(status.signal(), Some(9), "it has to die at {step:?}");
        scene.check_untidied();
        left.push(World::listing(&scene.world.project("b")).len() - scene.bystanders);
        scene.check_next_spawn();
    }
    // Folder ready; copy begun, going on, written, checked; marker begun, written, placed; copy placed, synced.
    assert_eq!(left, [0, 1, 1, 1, 1, 2, 2, 2, 2, 2], "each step left what it should have made by then");
}

#[test]
fn of_two_hundred_relocations_killed_at_random_none_changes_the_source_or_leaves_anything() {
    let scene = Scene::new();
    let processes = ProcessTable::default();
    let store = scene.world.root.join("data/filestore.db");
    // Any even spread will do: the scheduler adds the chance.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut mid_way = 0;
    for _ in 0..200 {
        let mut child = start(&scene.world, None);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.ends_with("ready")));
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros(random >> 51));
        kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        scene.check_untidied();
        mid_way += usize::from(World::listing(&scene.world.project("b")).len() > scene.bystanders);
        drop(AgentLock::acquire(&store, U1, &processes).expect("the dead hold nothing"));
        scene.check_next_spawn();
    }
    assert!(mid_way > 20, "only {mid_way} of 200 kills hit a relocation half done");
}
