//! One live instance of an agent, with real processes that hold, die and outlive one another.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use resume_gate::process::ProcessTable;
use resume_gate::spawn::lock::{AgentLock, Held, LockError, lock_path};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const UID: &str = "u1";
/// Tells a run of this test binary to be the process that holds the lock.
const HOLD: &str = "TEST_HOLD_LOCK_OF";

struct Place {
    _dir: TempDir,
    store: PathBuf,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("data/filestore.db");
    Place { _dir: dir, store }
}

fn acquire(store: &Path) -> Result<AgentLock, LockError> {
    AgentLock::acquire(store, UID, &ProcessTable::default())
}

fn held(result: Result<AgentLock, LockError>) -> Held {
    match result {
        Err(LockError::Held(held)) => held,
        other => panic!("expected the agent to be held: {other:?}"),
    }
}

fn sleeper() -> Child {
    Command::new("sleep").arg("60").spawn().unwrap()
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Another process that takes the lock, names a provider of its own and then waits.
struct Holder {
    process: Child,
    provider: u32,
}

impl Holder {
    fn start(store: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "another_process_that_holds_the_lock", "--ignored", "--nocapture"])
            .env(HOLD, store)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let provider = lines
            .map_while(Result::ok)
            .find_map(|line| line.split_once("provider ")?.1.trim().parse().ok())
            .expect("the holder says who its provider is");
        Self { process, provider }
    }

    /// Kills the holder alone; its provider lives on.
    fn kill(mut self) -> u32 {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.provider
    }
}

#[test]
#[ignore = "not a test: the other process of the tests here"]
fn another_process_that_holds_the_lock() {
    let Some(store) = std::env::var_os(HOLD) else { return };
    let mut lock = acquire(Path::new(&store)).unwrap();
    let mut provider = sleeper();
    lock.set_provider(provider.id()).unwrap();
    println!("provider {}", provider.id());
    provider.wait().unwrap();
}

fn kill_process(pid: u32) {
    let killed = Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}

/// Waits until a process that is not our child has ended, so that nothing depends on who reaps it.
fn until_ended(pid: u32) {
    let processes = ProcessTable::default();
    while processes.start_ticks(pid).is_some() {
        std::thread::yield_now();
    }
}

#[test]
fn a_second_taker_is_told_who_holds_the_agent() {
    let place = place();
    let lock = acquire(&place.store).unwrap();
    let held = held(acquire(&place.store));
    assert_eq!(held.pid(), Some(std::process::id()));
    assert_eq!(held.to_string(), format!("agent `u1` is held by process {}", std::process::id()));
    drop(lock);
    acquire(&place.store).unwrap();
}

#[test]
fn of_many_threads_one_takes_it() {
    let place = place();
    let results: Vec<_> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..8).map(|_| scope.spawn(|| acquire(&place.store))).collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
}

#[test]
fn agents_do_not_hold_each_other() {
    let place = place();
    let _lock = acquire(&place.store).unwrap();
    AgentLock::acquire(&place.store, "u2", &ProcessTable::default()).unwrap();
}

#[test]
fn one_store_has_one_lock_by_whatever_link_it_is_reached() {
    let place = place();
    let _first = acquire(&place.store).unwrap();
    fs::write(&place.store, "").unwrap();
    let link = place.store.with_file_name("link.db");
    std::os::unix::fs::symlink(&place.store, &link).unwrap();
    let elsewhere = place.store.parent().unwrap().parent().unwrap().join("elsewhere");
    std::os::unix::fs::symlink(place.store.parent().unwrap(), &elsewhere).unwrap();
    held(acquire(&link));
    held(acquire(&elsewhere.join("filestore.db")));
}

#[test]
fn the_file_is_private_named_by_a_hash_and_stays() {
    let place = place();
    drop(acquire(&place.store).unwrap());
    let path = lock_path(&place.store, UID);
    // SHA-256 of `u1`.
    let name = "bb82030dbc2bcaba32a90bf2e207a84a856fc5f033b77c480836ab6f77f40f19.lock";
    assert_eq!(path.file_name().unwrap(), name);
    assert_eq!(path.parent().unwrap(), place.store.with_file_name("locks"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn another_process_holds_it_with_its_provider() {
    let place = place();
    let holder = Holder::start(&place.store);
    let held = held(acquire(&place.store));
    assert_eq!((held.holder, held.provider), (Some(holder.process.id()), Some(holder.provider)));
    let provider = holder.kill();
    kill_process(provider);
}

#[test]
fn a_provider_that_outlives_its_killed_holder_still_holds_the_agent() {
    let place = place();
    let provider = Holder::start(&place.store).kill();
    let held = held(acquire(&place.store));
    assert_eq!((held.holder, held.provider), (None, Some(provider)));
    assert_eq!(held.pid(), Some(provider));
    kill_process(provider);
    until_ended(provider);
    acquire(&place.store).unwrap();
}

#[test]
fn a_zombie_provider_holds_nothing() {
    let place = place();
    let mut child = sleeper();
    let mut lock = acquire(&place.store).unwrap();
    lock.set_provider(child.id()).unwrap();
    drop(lock);
    held(acquire(&place.store));
    child.kill().unwrap();
    until_ended(child.id());
    acquire(&place.store).unwrap();
    child.wait().unwrap();
}

#[test]
fn a_reused_pid_is_not_the_provider() {
    let place = place();
    let child = sleeper();
    let mut lock = acquire(&place.store).unwrap();
    lock.set_provider(child.id()).unwrap();
    drop(lock);
    // The same pid with another start: what a later process under a reused pid looks like.
    let path = lock_path(&place.store, UID);
    let ticks = ProcessTable::default().start_ticks(child.id()).unwrap();
    let text = fs::read_to_string(&path).unwrap().replace(&ticks.to_string(), &(ticks - 1).to_string());
    fs::write(&path, text).unwrap();
    acquire(&place.store).unwrap();
    end(child);
}

#[test]
fn a_provider_that_was_struck_out_holds_nothing_though_it_runs() {
    let place = place();
    let child = sleeper();
    let mut lock = acquire(&place.store).unwrap();
    lock.set_provider(child.id()).unwrap();
    lock.clear_provider().unwrap();
    drop(lock);
    acquire(&place.store).unwrap();
    end(child);
}

#[test]
fn a_command_line_host_names_its_provider_and_strikes_it_out() {
    let place = place();
    let processes = ProcessTable::default();
    let child = sleeper();
    let mut lock = AgentLock::beside_provider(&place.store, UID, &processes).unwrap();
    lock.set_provider(child.id()).unwrap();
    drop(lock);
    assert_eq!(held(acquire(&place.store)).provider, Some(child.id()));

    let other = sleeper();
    let mut lock = AgentLock::beside_provider(&place.store, UID, &processes).unwrap();
    assert!(matches!(lock.set_provider(other.id()), Err(LockError::Held(_))), "a second provider beside a live one");
    lock.set_provider(child.id()).unwrap();
    lock.clear_provider().unwrap();
    drop(lock);
    acquire(&place.store).unwrap();
    end(child);
    end(other);
}

#[test]
fn bookkeeping_waits_for_bookkeeping_but_not_for_a_run() {
    let place = place();
    let processes = ProcessTable::default();
    let brief = acquire(&place.store).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| AgentLock::beside_provider(&place.store, UID, &processes));
        drop(brief);
        waiting.join().unwrap().unwrap();
    });
    let _long = acquire(&place.store).unwrap();
    held(AgentLock::beside_provider(&place.store, UID, &processes));
}

#[test]
fn a_spawned_child_does_not_inherit_the_lock() {
    let place = place();
    let lock = acquire(&place.store).unwrap();
    let child = sleeper();
    drop(lock);
    acquire(&place.store).unwrap();
    end(child);
}

#[test]
fn a_lock_file_full_of_rubbish_names_nobody() {
    let place = place();
    drop(acquire(&place.store).unwrap());
    let path = lock_path(&place.store, UID);
    for rubbish in ["", "{", "{\"holder\":7}", "\0\0\0\0", &"x".repeat(100_000)] {
        fs::write(&path, rubbish).unwrap();
        let lock = acquire(&place.store).unwrap();
        assert_eq!(held(acquire(&place.store)).holder, Some(std::process::id()), "after {} bytes", rubbish.len());
        drop(lock);
    }
}

#[test]
fn a_lock_that_cannot_be_made_is_unavailable_and_not_held() {
    let place = place();
    fs::create_dir_all(place.store.parent().unwrap()).unwrap();
    fs::write(place.store.with_file_name("locks"), "a file where the folder should be").unwrap();
    let error = acquire(&place.store).unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error}");
    assert!(error.to_string().starts_with("cannot create the folder of the agent's lock `"), "{error}");
}
