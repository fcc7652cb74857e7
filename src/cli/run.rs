//! `run`: an agent's provider, decided about, spawned, recorded and seen to its end.

use super::error::CliError;
use super::exit::Exit;
use super::record::record;
use super::spawn_args::{DEFAULT_BUDGET_MS, StoreArg, agent_uid, cwd, login, places};
use super::terminal::{Terminal, now_ms};
use crate::explain::Note;
use crate::process::ProcessTable;
use crate::spawn::run::{Audience, Input, Received, Run, RunError, SignalSender, Signals, Surroundings, Wanted};
use crate::spawn::{Decided, Offered, Parentage, PlanOutcome, SpawnRequest};
use clap::builder::NonEmptyStringValueParser;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::Duration;

/// The signals that are handed on to the provider.
const FORWARDED: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Run an agent's provider: decide what it resumes, spawn it, record it.
///
/// Resumes the agent's newest session unless told otherwise, forks it where somebody else went on in
/// it, and starts a new one where nothing can be resumed. What is done, and by which rule, is said in
/// one line on standard error. Ends with the provider's own exit status; with 128 and its number if
/// a signal ended it.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// The agent's stable id [default: $AGENTMUX_AGENT_UID]
    #[arg(long, value_name = "UID")]
    agent: Option<String>,
    #[command(flatten)]
    store: StoreArg,
    /// The provider's login [default: $CLAUDE_CONFIG_DIR, else ~/.claude]
    #[arg(long, value_name = "DIR")]
    config_dir: Option<String>,
    /// The provider's working directory [default: the current one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// An AgentMux database that says which agent this one was forked from
    #[arg(long, value_name = "PATH", conflicts_with = "forked_from")]
    agents_db: Option<PathBuf>,
    /// Resume this session [default: the agent's newest one]
    #[arg(long, value_name = "SID", allow_hyphen_values = true, conflicts_with = "new", value_parser = NonEmptyStringValueParser::new())]
    resume: Option<String>,
    /// Start a new session
    #[arg(long)]
    new: bool,
    /// The agent this one was forked from: without a session of its own it branches from that one's
    #[arg(long, value_name = "UID")]
    forked_from: Option<String>,
    /// The provider and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "PROVIDER")]
    provider: Vec<OsString>,
}

pub(super) fn run(args: &RunArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let stderr = io::stderr().as_fd().try_clone_to_owned().map(File::from);
    let stderr = stderr.map_err(|error| CliError::usage(format!("cannot use standard error: {error}")))?;
    let signals = Signals::new();
    let mut teller = Teller { terminal, signals: Some(signals.sender()) };
    let around =
        Surroundings { processes: ProcessTable::default(), now_ms, signals, stderr, input: Input::of(io::stdin()) };
    let status = crate::spawn::run::run(&args.run(terminal), &around, &mut teller).map_err(|error| failed(&error))?;
    Ok(Exit::Provider(u8::try_from(status).unwrap_or(u8::MAX)))
}

impl RunArgs {
    fn run(&self, terminal: &Terminal) -> Run {
        let env = &terminal.env;
        let (program, arguments) = match self.provider.split_first() {
            Some((program, arguments)) => (program.clone(), arguments.to_vec()),
            None => (OsString::new(), Vec::new()),
        };
        Run {
            request: SpawnRequest {
                agent_uid: agent_uid(self.agent.as_deref(), env),
                provider: "claude".to_owned(),
                candidate: None,
                offered: Offered::Held,
                poisoned: None,
                login: login(self.config_dir.as_deref(), env),
                cwd: cwd(self.cwd.as_deref(), env),
                identity: None,
                current: None,
                parentage: match (&self.forked_from, &self.agents_db) {
                    (Some(parent), _) => Parentage::ForkOf(parent.clone()),
                    (None, Some(path)) => Parentage::AgentsDb(path.clone()),
                    (None, None) => Parentage::None,
                },
                store: self.store.locate(env).ok(),
                places: places(env),
                budget: Duration::from_millis(DEFAULT_BUDGET_MS),
            },
            wanted: match (&self.resume, self.new) {
                (Some(session), _) => Wanted::Session(session.clone()),
                (None, true) => Wanted::New,
                (None, false) => Wanted::Newest,
            },
            program: in_place(&program),
            arguments,
        }
    }
}

/// A program given by its path is meant from here, not from the provider's working directory.
fn in_place(program: &OsStr) -> OsString {
    if !program.as_encoded_bytes().contains(&b'/') {
        return program.to_owned();
    }
    std::path::absolute(program).map_or_else(|_| program.to_owned(), PathBuf::into_os_string)
}

fn failed(error: &RunError) -> CliError {
    let exit = match error {
        RunError::Held(_) => Exit::Held,
        // As shells end for a program that is not there, or may not be executed.
        RunError::NotStarted { source, .. } if source.kind() == io::ErrorKind::NotFound => Exit::Provider(127),
        RunError::NotStarted { .. } => Exit::Provider(126),
        _ => Exit::Usage,
    };
    CliError::Failed { message: error.to_string(), help: Some(error.help().to_owned()), exit }
}

/// Says on standard error what happens.
struct Teller<'a> {
    terminal: &'a Terminal,
    /// Where caught signals go; taken once they are caught.
    signals: Option<SignalSender>,
}

impl Audience for Teller<'_> {
    fn about_to_spawn(&mut self, decided: &Decided) {
        self.terminal.say(&line(decided, self.terminal));
        let lost = record(decided, now_ms(), Duration::from_millis(DEFAULT_BUDGET_MS));
        for note in decided.notes.iter().chain(&lost) {
            self.note(note);
        }
        if let Some(sender) = self.signals.take()
            && let Err(error) = catch_signals(sender)
        {
            self.note(&Note::new("signals", format!("signals are not handed on to the provider: {error}")));
        }
    }

    fn note(&mut self, note: &Note) {
        self.terminal.note(note);
    }
}

/// What is done, and by which rule.
fn line(decided: &Decided, terminal: &Terminal) -> String {
    let outcome = terminal.err_ink.strong(&decided.plan.outcome_text(decided.input.effective_candidate()));
    let by = match &decided.gated {
        Some(gated) => format!(", {} by {}", gated.decision.kind().name(), gated.rule().id),
        None => ", no session was asked for".to_owned(),
    };
    let why = match &decided.gated {
        Some(_) if decided.plan.outcome == PlanOutcome::Fresh => format!(": {}", decided.reason()),
        _ => String::new(),
    };
    format!("{} {outcome}{}{why}", terminal.err_ink.faint("resume-gate:"), terminal.err_ink.faint(&by))
}

/// Catches the signals that are meant for the provider from now on. One that this process was told
/// to ignore, as `nohup` does, stays ignored, here and there.
fn catch_signals(sender: SignalSender) -> io::Result<()> {
    let ignored = ignored_signals();
    let caught = FORWARDED.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let mut signals = SignalsInfo::<WithOrigin>::new(caught)?;
    std::thread::spawn(move || {
        for origin in &mut signals {
            // A terminal sends to its whole group, in which the provider is too.
            let by_terminal = matches!(origin.cause, Cause::Kernel);
            sender.send(Received { signal: origin.signal, by_terminal });
        }
    });
    Ok(())
}

/// The signals that this process ignores, a bit each, the lowest for signal 1. None where that
/// cannot be read.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
