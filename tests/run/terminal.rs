//! `run` on a terminal: its input can be offered again, and what is typed there as a signal reaches
//! the provider once.

use crate::world::{NEWEST, U1, World, signal, size, until};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};

/// Tells a run of this test binary to become a command on the terminal at this path.
const TERMINAL: &str = "TEST_BECOME_ON_TERMINAL";
/// The command's words, one a line.
const WORDS: &str = "TEST_BECOME_WORDS";

/// A terminal and the program on it.
struct Terminal {
    keyboard: File,
    screen: Arc<Mutex<String>>,
    program: Child,
}

impl Terminal {
    /// Starts a command with a terminal of its own, as a shell in a window does.
    fn start(world: &World, command: &Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        let words: Vec<&str> = std::iter::once(command.get_program())
            .chain(command.get_args())
            .map(|word| word.to_str().unwrap())
            .collect();
        let mut helper = world.bare_command(std::env::current_exe().unwrap().to_str().unwrap());
        helper
            .args(["--exact", "terminal::become_the_program_on_a_terminal", "--ignored", "--nocapture"])
            .env(TERMINAL, path.to_str().unwrap())
            .env(WORDS, words.join("\n"));
        let program = helper.spawn().unwrap();
        let keyboard = File::from(master);
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut out, shown) = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal that nobody has open any more is an error to read.
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { keyboard, screen, program }
    }

    fn shows(&self, text: &str) -> bool {
        self.screen.lock().unwrap().contains(text)
    }
}

#[test]
#[ignore = "not a test: the process that becomes the program on a terminal"]
fn become_the_program_on_a_terminal() {
    let (Some(terminal), Ok(words)) = (std::env::var_os(TERMINAL), std::env::var(WORDS)) else { return };
    rustix::process::setsid().unwrap();
    // The first terminal that the leader of a session opens is its own.
    let open = || File::options().read(true).write(true).open(&terminal).unwrap();
    let (stdin, stdout, stderr) = (open(), open(), open());
    let mut words = words.lines();
    let error = Command::new(words.next().unwrap()).args(words).stdin(stdin).stdout(stdout).stderr(stderr).exec();
    panic!("{error}");
}

#[test]
fn a_rejection_on_a_terminal_goes_on_there() {
    let world = World::new(NEWEST);
    world.say("one");
    let file = world.session("a", &world.head(U1));
    fs::write(&file, "\0".repeat(usize::try_from(size(&file)).unwrap())).unwrap();
    let mut terminal = Terminal::start(&world, &world.run_command(&[], &["-p", "two [[say:fresh]]"]));
    assert_eq!(terminal.program.wait().unwrap().code(), Some(0), "{:?}", terminal.screen);
    until("the screen shows it", || (terminal.shows("rejected") && terminal.shows("\nfresh")).then_some(()));
    assert_eq!(world.chain(U1).len(), 3);
}

#[test]
fn an_interrupt_typed_on_a_terminal_reaches_the_provider_once() {
    let world = World::new(NEWEST);
    let script = world.root.join("counting");
    let text = "#!/bin/bash\ntrap 'echo one more' INT\necho ready\nuntil [ -e stop ]; do sleep 0.01; done\nexit 7\n";
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut run = world.gate(["run", "--agent", U1, "--new", "--config-dir"]);
    run.arg(world.login("a")).arg("--").arg(&script);
    let mut terminal = Terminal::start(&world, &run);
    let count = |terminal: &Terminal| terminal.screen.lock().unwrap().matches("one more").count();
    until("it is ready", || terminal.shows("ready").then_some(()));
    terminal.keyboard.write_all(b"\x03").unwrap();
    until("it was interrupted", || (count(&terminal) > 0).then_some(()));
    // Sent by a process, it is meant for `run` alone, and so handed on.
    signal(terminal.program.id(), "INT");
    until("it was interrupted again", || (count(&terminal) > 1).then_some(()));
    fs::write(world.cwd.join("stop"), "").unwrap();
    assert_eq!(terminal.program.wait().unwrap().code(), Some(7), "{:?}", terminal.screen);
    assert_eq!(count(&terminal), 2);
}
