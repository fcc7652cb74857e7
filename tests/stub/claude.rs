//! A stand-in for the Claude Code CLI: test equipment, never installed.
//!
//! A real executable that treats its config dir as the three measured versions do, so that
//! spawning, relocating and recording can be tested with real processes and real files. It is
//! built with the feature `stub`, which only the package's own tests turn on.
//!
//! `STUB_CLAUDE_VERSION` picks the version to be: `2.0.77`, `2.1.112` or `2.1.332` (the default).
//! The prompt steers what the model would: `[[say:TEXT]]` is the reply, `[[err:CODE]]` an API
//! error, `[[delay:SECONDS]]` and `[[hang]]` make it slow, `[[slow:SECONDS]]` spreads the copying of
//! a parent's turns over that time, `[[stderr:TEXT]]` prints there, `[[exit:CODE]]` ends with a
//! status of its own. Without `-p` every line of standard input is a prompt, `/clear` moves to a
//! new session, and the end of input quits.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command line program")]

mod arguments;
mod registry;
mod session;
mod steer;

use arguments::{Arguments, Format};
use registry::Registration;
use serde_json::json;
use session::{Conversation, Session};
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;
use steer::{Signal, Signals, Steer};

/// The versions that were measured; ordered as they were published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    O,
    M,
    L,
}

impl Version {
    fn from_env() -> Self {
        match std::env::var("STUB_CLAUDE_VERSION").as_deref() {
            Ok("2.0.77") => Self::O,
            Ok("2.1.112") => Self::M,
            _ => Self::L,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::O => "2.0.77",
            Self::M => "2.1.112",
            Self::L => "2.1.332",
        }
    }
}

/// Ends the program early: what to say on standard error, and the status.
struct Quit {
    says: String,
    status: u8,
}

impl Quit {
    fn rejecting(says: impl Into<String>) -> Self {
        Self { says: says.into(), status: 1 }
    }
}

impl From<io::Error> for Quit {
    fn from(error: io::Error) -> Self {
        Self { says: format!("stub: {error}"), status: 70 }
    }
}

fn main() -> ExitCode {
    let version = Version::from_env();
    match Cli::new(version).and_then(Cli::run) {
        Ok(status) => ExitCode::from(status),
        Err(quit) => {
            if !quit.says.is_empty() {
                eprintln!("{}", quit.says);
            }
            ExitCode::from(quit.status)
        }
    }
}

struct Cli {
    version: Version,
    arguments: Arguments,
    config_dir: PathBuf,
    cwd: PathBuf,
    project: PathBuf,
    signals: Signals,
}

impl Cli {
    fn new(version: Version) -> Result<Self, Quit> {
        let arguments = Arguments::parse(std::env::args().skip(1)).map_err(Quit::rejecting)?;
        let config_dir = match std::env::var_os("CLAUDE_CONFIG_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".claude"),
        };
        let cwd = std::env::current_dir()?.canonicalize()?;
        let project = config_dir.join("projects").join(session::project_name(version, &cwd));
        Ok(Self { version, arguments, config_dir, cwd, project, signals: Signals::listen(version)? })
    }

    fn run(self) -> Result<u8, Quit> {
        if self.arguments.version {
            println!("{} (Claude Code)", self.version.name());
            return Ok(0);
        }
        self.check_session_id()?;
        let resumed = match &self.arguments.resume {
            Some(id) => Some(self.find(id)?),
            None => None,
        };
        session::create_private_dirs(self.version, &self.project)?;
        let new_id = || self.arguments.session_id.clone().unwrap_or_else(session::new_uuid);
        let session = match resumed {
            Some((path, conversation)) if !self.arguments.fork => {
                let id = self.arguments.resume.clone().unwrap_or_default();
                Session::resume(self.version, path, id, &self.cwd, conversation)?
            }
            Some((_, conversation)) => Session::fork(self.version, &self.project, new_id(), &self.cwd, conversation)?,
            None => Session::fresh(self.version, &self.project, new_id(), &self.cwd)?,
        };
        let registration = Registration::write(self.version, &self.config_dir, &session.id, &self.cwd)?;
        if self.arguments.print {
            self.print_mode(session, registration)
        } else {
            self.interactive(session, registration)
        }
    }

    fn check_session_id(&self) -> Result<(), Quit> {
        let Some(id) = &self.arguments.session_id else { return Ok(()) };
        if !session::is_uuid(id) {
            return Err(Quit::rejecting("Error: Invalid session ID. Must be a valid UUID."));
        }
        if self.arguments.resume.is_some() && !self.arguments.fork {
            return Err(Quit::rejecting(if self.version == Version::L {
                "Error: --session-id with --continue or --resume also needs --fork-session."
            } else {
                "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified."
            }));
        }
        if self.project.join(format!("{id}.jsonl")).exists() {
            return Err(Quit::rejecting(format!("Error: Session ID {id} is already in use.")));
        }
        Ok(())
    }

    /// The file and the turns of the session to resume, or the words of its rejection.
    fn find(&self, id: &str) -> Result<(PathBuf, Conversation), Quit> {
        if !session::is_uuid(id) {
            return Err(Quit::rejecting(match self.version {
                Version::O => format!(
                    "Error: --resume requires a valid session ID when used with --print\nUsage: claude -p --resume \
                     <session-id>\nSession IDs must be in UUID format (e.g., 550e8400-e29b-41d4-a716-446655440000)\n\
                     Provided value \"{id}\" is not a valid UUID"
                ),
                _ => format!(
                    "Error: --resume requires a valid session ID or session title when used with --print. Usage: \
                     claude -p --resume <session-id|title>. Provided value \"{id}\" is not a UUID and does not match \
                     any session title."
                ),
            }));
        }
        let path = self.locate(id);
        match path.as_deref().map(Conversation::load) {
            Some(Ok(Some(conversation))) => Ok((path.unwrap_or_default(), conversation)),
            Some(Err(error)) if self.version == Version::L && error.kind() == io::ErrorKind::IsADirectory => {
                let says = "Failed to resume session: EISDIR: illegal operation on a directory, read";
                Err(Quit::rejecting(says))
            }
            _ => {
                self.leave_stray_of_a_rejection()?;
                if self.version > Version::O && self.arguments.format == Format::StreamJson {
                    let id = session::new_uuid();
                    let line = json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
                        "num_turns": 0, "session_id": id});
                    println!("{line}");
                }
                Err(Quit::rejecting(format!("No conversation found with session ID: {id}")))
            }
        }
    }

    /// The oldest version has already made its new session's file when it finds nothing to resume.
    fn leave_stray_of_a_rejection(&self) -> io::Result<()> {
        if self.version == Version::O {
            let id = self.arguments.session_id.clone().unwrap_or_else(session::new_uuid);
            session::create_private_dirs(self.version, &self.project)?;
            session::create_private(&self.project.join(format!("{id}.jsonl")))?;
        }
        Ok(())
    }

    /// The session's file under the own project, or (newest version) under the only other one that has it.
    fn locate(&self, id: &str) -> Option<PathBuf> {
        let name = format!("{id}.jsonl");
        let own = self.project.join(&name);
        if own.exists() {
            return Some(own);
        }
        if self.version < Version::L {
            return None;
        }
        let projects = std::fs::read_dir(self.config_dir.join("projects")).ok()?;
        let mut found = projects.flatten().map(|entry| entry.path().join(&name)).filter(|path| path.is_file());
        let only = found.next()?;
        found.next().is_none().then_some(only)
    }

    fn print_mode(&self, mut session: Session, mut registration: Registration) -> Result<u8, Quit> {
        let prompt = match &self.arguments.prompt {
            Some(prompt) => prompt.clone(),
            None => {
                let mut text = String::new();
                io::stdin().read_to_string(&mut text)?;
                text
            }
        };
        if prompt.trim().is_empty() {
            return Err(Quit::rejecting("Error: Input must be provided either through stdin or as a prompt argument"));
        }
        let status = self.turn(&mut session, &mut registration, &prompt)?;
        registration.remove();
        Ok(status)
    }

    fn interactive(&self, mut session: Session, mut registration: Registration) -> Result<u8, Quit> {
        session.note_opened()?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut status = 0;
        loop {
            if let Some(signal) = self.signals.seen() {
                status = signal.status();
                break;
            }
            match lines.recv_timeout(steer::POLL) {
                Ok(line) if line.trim() == "/clear" => {
                    session = Session::fresh(self.version, &self.project, session::new_uuid(), &self.cwd)?;
                    registration = Registration::write(self.version, &self.config_dir, &session.id, &self.cwd)?;
                }
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    self.turn(&mut session, &mut registration, &line)?;
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        session.note_closed()?;
        registration.remove();
        Ok(status)
    }

    /// One prompt and its reply. Each version writes its records in its own order; the two newer
    /// ones still write after the result line is out.
    fn turn(&self, session: &mut Session, registration: &mut Registration, prompt: &str) -> Result<u8, Quit> {
        let steer = Steer::read(prompt);
        if let Some(text) = &steer.stderr {
            eprintln!("{text}");
        }
        session.begin_turn(prompt)?;
        if self.version > Version::O {
            session.copy_parent(steer.slow)?;
            session.user(prompt)?;
        }
        if let Some(signal) = self.signals.wait(steer.think_time()) {
            return self.interrupted(session, registration, signal);
        }
        if self.version == Version::O {
            session.copy_parent(steer.slow)?;
            session.user(prompt)?;
        }
        let reply = steer.reply();
        if self.version != Version::M {
            session.assistant(&reply, steer.error)?;
        }
        self.print_result(&session.id, &reply, steer.error)?;
        if self.version > Version::O {
            if self.arguments.print && self.version == Version::M {
                registration.remove();
            }
            std::thread::sleep(LATE_WRITES);
            if self.version == Version::M {
                session.assistant(&reply, steer.error)?;
            }
            session.end_turn(prompt)?;
        }
        Ok(steer.exit.unwrap_or(u8::from(steer.error.is_some())))
    }

    fn interrupted(&self, session: &mut Session, registration: &mut Registration, signal: Signal) -> Result<u8, Quit> {
        registration.remove();
        if self.version > Version::O {
            if signal == Signal::Interrupt && self.version == Version::M && self.arguments.format != Format::Text {
                let line = json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
                    "session_id": session.id});
                println!("{line}");
            }
            session.note_interrupted()?;
        }
        Err(Quit { says: String::new(), status: signal.status() })
    }

    fn print_result(&self, session_id: &str, reply: &str, error: Option<u16>) -> io::Result<()> {
        let mut out = io::stdout().lock();
        match self.arguments.format {
            Format::Text => writeln!(out, "{reply}"),
            Format::Json | Format::StreamJson => {
                if self.arguments.format == Format::StreamJson {
                    let init = json!({"type": "system", "subtype": "init", "cwd": self.cwd, "session_id": session_id});
                    writeln!(out, "{init}")?;
                }
                // A failed request says `success` too; only `is_error` tells.
                let line = json!({"type": "result", "subtype": "success", "is_error": error.is_some(),
                    "api_error_status": error, "result": reply, "session_id": session_id});
                writeln!(out, "{line}")
            }
        }?;
        out.flush()
    }
}

/// How long the newer versions still write after their result is out (measured: up to 0.2 s).
const LATE_WRITES: Duration = Duration::from_millis(120);

/// The start of this process in clock ticks since boot, field 22 of its stat line.
fn own_start_ticks() -> io::Result<String> {
    let stat = std::fs::read_to_string(Path::new("/proc/self/stat"))?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    Ok(after_name.split_whitespace().nth(19).unwrap_or("0").to_owned())
}
