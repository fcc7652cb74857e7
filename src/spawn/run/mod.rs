//! An agent's provider run from its decision to its end, for people without a host.
//!
//! [`run()`] takes the agent's lock, decides, makes the copy that the plan asks for, spawns the
//! provider with the arguments of the plan and of the user, keeps the agent's chain, and gives back
//! what the provider ended with. If the provider rejects what it was given to resume, it is asked
//! again, once, without it.
//!
//! ```text
//! lock ─► candidate ─► decide_and_apply ─► spawn ─► wait, forward signals ─► reap ─► rejected? once more
//!                                            └► clerk: provider into the lock, start, session, settle, end
//! ```
//!
//! New sessions and forks get an id of our choosing, so nothing is parsed from what the provider
//! prints. [`SessionWatch`] tells when a session counts; a host that spawns for itself uses it too.

mod arguments;
mod candidate;
mod clerk;
mod error;
mod input;
mod process;
mod rejection;
mod watch;

pub use arguments::{Conflict, check as check_arguments};
pub use candidate::Wanted;
pub use error::RunError;
pub use input::Input;
pub use process::{Received, SignalSender, Signals};
pub use watch::SessionWatch;

use super::lock::{AgentGuard, AgentLock, Held, LockError};
use super::request::Login;
use super::settle::Reported;
use super::{Decided, PlanOutcome, SpawnRequest, decide_and_apply};
use crate::explain::{Note, short};
use crate::process::ProcessTable;
use crate::segments::{Rung, Start, exit_reason, is_agent_uid, kill_reason, recovery_allowed};
use clerk::{Books, Clerk, settled};
use process::{Ended, Provider};
use rejection::{Rejected, Written};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use uuid::Uuid;

/// What tells the provider which login to use.
const CONFIG_DIR_VARIABLE: &str = "CLAUDE_CONFIG_DIR";

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Run {
    /// The spawn. Its candidate, how that is offered, and what is poisoned are found out.
    pub request: SpawnRequest,
    /// The session that is wanted.
    pub wanted: Wanted,
    /// The provider's program; with a separator in it, absolute.
    pub program: OsString,
    /// The user's arguments for it.
    pub arguments: Vec<OsString>,
}

/// Whoever is told what happens, while it happens.
pub trait Audience {
    /// The decision has been made and carried out, and the provider is spawned next. Comes once more
    /// after a rejection. This is the place to record the decision, and to begin to catch signals.
    fn about_to_spawn(&mut self, decided: &Decided);

    /// Something that a person should know.
    fn note(&mut self, note: &Note);
}

/// The process around a run.
#[derive(Debug)]
pub struct Surroundings {
    /// The system's processes.
    pub processes: ProcessTable,
    /// The clock, in milliseconds since 1970.
    pub now_ms: fn() -> i64,
    /// The signals that this process receives.
    pub signals: Signals,
    /// Where the provider's standard error goes.
    pub stderr: File,
    /// What the provider's standard input is.
    pub input: Input,
}

/// Runs the provider to its end. Returns its status as shells give it: 128 and its number for a
/// signal.
///
/// The provider inherits standard input, output and the terminal. Once it is spawned, nothing that
/// goes wrong in the bookkeeping ends it.
///
/// # Errors
///
/// When nothing was spawned; see [`RunError`].
pub fn run(run: &Run, around: &Surroundings, audience: &mut dyn Audience) -> Result<i32, RunError> {
    arguments::check(&run.arguments)?;
    let cwd = PathBuf::from(&run.request.cwd);
    let cwd = run.request.places.usable(Some(&run.request.cwd)).unwrap_or(cwd);
    if !cwd.is_dir() {
        return Err(RunError::NoDirectory { cwd });
    }
    let mut guard = lock(&run.request, around)?;
    let (candidate, offered) = candidate::candidate(&run.request, &run.wanted)?;
    let request = SpawnRequest { candidate, offered, poisoned: None, ..run.request.clone() };
    let first = decided(&request, around, &mut guard)?;
    let is_held = guard.is_some();
    let attempt = Attempt { run, request: &request, decided: &first, cwd: &cwd, around };
    let (ended, rejected) = attempt.carry_out(&mut guard, audience)?;
    let (Some(rejected), Some(session)) = (rejected, &first.plan.resume) else {
        return Ok(ended.code());
    };
    // Without the guard the bookkeeping is stuck; then nothing more is begun.
    let may_go_on = !around.signals.is_asked_to_end() && guard.is_some() == is_held;
    if !may_go_on || !around.input.offer_again() {
        audience.note(&given_up(rejected, session, may_go_on));
        return Ok(ended.code());
    }
    let request = after_rejection(request.clone(), &first, rejected, session);
    let second = decided(&request, around, &mut guard)?;
    if rejected == Rejected::StillRunning && !second.plan.fork_session {
        audience.note(&given_up(rejected, session, false));
        return Ok(ended.code());
    }
    audience.note(&Note::new("rejected", format!("the provider rejected `{}`", short(session))));
    let attempt = Attempt { run, request: &request, decided: &second, cwd: &cwd, around };
    let (ended, _) = attempt.carry_out(&mut guard, audience)?;
    Ok(ended.code())
}

/// What is asked for after a rejection. A dead session is poisoned, and nothing older is picked up
/// in its place; one that is open elsewhere is asked for again.
fn after_rejection(mut request: SpawnRequest, first: &Decided, rejected: Rejected, session: &str) -> SpawnRequest {
    if rejected == Rejected::Dead {
        let head = first.input.head.head().map(|head| head.session_id.as_str());
        request.candidate = request.candidate.filter(|id| recovery_allowed(id, head));
        request.poisoned = Some(session.to_owned());
    }
    request
}

/// Holds the agent; `None` if there is none, or its lock cannot be had.
fn lock(request: &SpawnRequest, around: &Surroundings) -> Result<Option<AgentGuard>, RunError> {
    let (Some(uid), Some(store)) = (&request.agent_uid, &request.store) else { return Ok(None) };
    if !is_agent_uid(uid) {
        return Ok(None);
    }
    match AgentLock::acquire(store, uid, &around.processes) {
        Ok(lock) => Ok(Some(lock.into())),
        Err(LockError::Held(held)) => Err(held.into()),
        // Deciding meets it again, and says so.
        Err(LockError::Unavailable { .. }) => Ok(None),
    }
}

/// Decides, and carries the decision out up to the spawn. A lock that could not be had before and
/// now can comes with it in `guard`.
fn decided(request: &SpawnRequest, around: &Surroundings, guard: &mut Option<AgentGuard>) -> Result<Decided, RunError> {
    let (decided, late) = decide_and_apply(request, &around.processes, guard.is_some());
    if decided.plan.outcome == PlanOutcome::Held {
        // Asked again for the names of who holds it; it may have ended since.
        *guard = lock(request, around)?;
        let uid = request.agent_uid.clone().unwrap_or_default();
        return Err(Held { uid, holder: None, provider: None }.into());
    }
    if guard.is_none() {
        *guard = late;
    }
    Ok(decided)
}

/// What to say when a rejected resume is not followed by another spawn.
fn given_up(rejected: Rejected, session: &str, is_input_gone: bool) -> Note {
    let session = short(session);
    let text = match rejected {
        Rejected::StillRunning => format!(
            "the provider has `{session}` open in a process of its own; end that, or start a new session with `resume-gate run --new`"
        ),
        Rejected::Dead if is_input_gone => format!(
            "the provider rejected `{session}`, and its input cannot be offered again; to go on without that session, give it once more to `resume-gate run --new`"
        ),
        Rejected::Dead => {
            format!("the provider rejected `{session}`; to go on without that session, `resume-gate run --new`")
        }
    };
    Note::new("rejected", text)
}

/// One spawn of a run.
struct Attempt<'a> {
    run: &'a Run,
    request: &'a SpawnRequest,
    decided: &'a Decided,
    cwd: &'a Path,
    around: &'a Surroundings,
}

impl Attempt<'_> {
    /// Spawns the provider and sees it to its end. The guard comes back, unless the bookkeeping is
    /// stuck.
    fn carry_out(
        &self,
        guard: &mut Option<AgentGuard>,
        audience: &mut dyn Audience,
    ) -> Result<(Ended, Option<Rejected>), RunError> {
        audience.about_to_spawn(self.decided);
        let plan = &self.decided.plan;
        let is_new = plan.resume.is_none() || plan.fork_session;
        let new_session = is_new.then(|| Uuid::new_v4().to_string());
        let watch = SessionWatch::before_spawn(self.request, self.decided, new_session.as_deref());
        let written = Written::before_spawn(self.request, plan, new_session.as_deref());
        let mut command = self.command(new_session.as_deref());
        let provider = Provider::spawn(&mut command, written.is_some().then_some(&self.around.stderr));
        let provider = provider.map_err(|source| {
            if let (Some(guard), Some(copy)) = (&guard, &plan.copy) {
                settled(guard, copy, Reported::NewSession).iter().for_each(|note| audience.note(note));
            }
            RunError::NotStarted { program: self.run.program.to_string_lossy().into_owned(), source }
        })?;
        let pid = provider.pid();
        let clerk = self.books(pid, watch, guard).map(Clerk::open);
        let ended = provider.wait(&self.around.signals).map_err(|source| RunError::Lost { pid, source })?;
        if let Some(clerk) = clerk {
            let is_killed = ended.is_stopped && ended.code() != 0;
            let reason = if is_killed { kill_reason(false, false) } else { exit_reason(ended.code()) };
            let closed = clerk.close(reason);
            closed.notes.iter().for_each(|note| audience.note(note));
            *guard = closed.guard;
        }
        let rejected = written.and_then(|written| written.rejected(&ended));
        Ok((ended, rejected))
    }

    fn command(&self, new_session: Option<&str>) -> Command {
        let mut command = Command::new(&self.run.program);
        command.args(arguments::all(&self.decided.plan, new_session, &self.run.arguments)).current_dir(self.cwd);
        if let Login::Named(dir) = &self.request.login {
            let dir = self.request.places.usable(Some(dir)).unwrap_or_else(|| PathBuf::from(dir));
            command.env(CONFIG_DIR_VARIABLE, dir);
        }
        command
    }

    /// What the clerk has to know; none without an agent to keep books for.
    fn books(&self, pid: u32, watch: Option<SessionWatch>, guard: &mut Option<AgentGuard>) -> Option<Books> {
        self.request.agent_uid.as_deref().filter(|uid| is_agent_uid(uid))?;
        let plan = &self.decided.plan;
        // There is no record here that a fresh session could carry.
        let continuity_rung = if plan.resume.is_some() { plan.record.rung.clone() } else { Rung::Fresh };
        let segment_id = Uuid::new_v4().to_string();
        Some(Books {
            store: self.request.store.clone()?,
            start: Start { segment_id, continuity_rung, ..self.decided.segment_start() },
            pid,
            registered: pid,
            config_dir: self.request.places.usable(self.request.login.dir()),
            watch,
            copy: plan.copy.clone(),
            guard: guard.take(),
            processes: self.around.processes.clone(),
            now_ms: self.around.now_ms,
        })
    }
}
