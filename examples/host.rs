//! A host's spawn code with the gate in front of it, complete: lock, decision, copy, provider, chain.
//!
//! ```sh
//! cargo run --example host -- AGENT STORE CONFIG_DIR CWD [SESSION] -- claude -p 'hello'
//! ```
//!
//! A host of its own would keep the pane's session where this takes SESSION from, watch its providers
//! with whatever it has for that, and drop the agent's lock when the provider has been reaped.

use resume_gate::claude::dirs::Places;
use resume_gate::claude::rejection::is_rejection;
use resume_gate::process::ProcessTable;
use resume_gate::segments::{self, exit_reason, recovery_allowed};
use resume_gate::spawn::lock::AgentGuard;
use resume_gate::spawn::run::SessionWatch;
use resume_gate::spawn::settle::{Reported, settle};
use resume_gate::spawn::{Decided, Login, Offered, Parentage, PlanOutcome, SpawnRequest, decide_and_apply};
use resume_gate::store::{SqliteStore, WRITER_WAIT};
use std::error::Error;
use std::fmt::Display;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut halves = words.split(|word| word == "--");
    let (Some([agent, store, config_dir, cwd, session @ ..]), Some([program, arguments @ ..])) =
        (halves.next(), halves.next())
    else {
        return Err("usage: host AGENT STORE CONFIG_DIR CWD [SESSION] -- claude ARGUMENTS".into());
    };
    let request = SpawnRequest {
        agent_uid: Some(agent.clone()),
        provider: "claude".to_owned(),
        candidate: session.first().cloned(),
        offered: Offered::Held,
        poisoned: None,
        login: Login::Named(config_dir.clone()),
        cwd: cwd.clone(),
        identity: None,
        current: None,
        parentage: Parentage::None,
        store: Some(store.into()),
        places: Places { home: std::env::home_dir(), agentmux_home: None },
        budget: Duration::from_secs(1),
    };
    let code = spawn_agent(request, program, arguments)?;
    Ok(u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Spawns an agent's provider and sees it to its end; its status, or 3 if the agent runs already.
pub(crate) fn spawn_agent(
    mut request: SpawnRequest,
    program: &str,
    arguments: &[String],
) -> Result<i32, Box<dyn Error>> {
    loop {
        // Ask after the agent's previous process was reaped, and keep the guard until this one is.
        let (decided, guard) = decide_and_apply(&request, &ProcessTable::default(), false);
        for note in &decided.notes {
            say(&note.text);
        }
        if decided.plan.outcome == PlanOutcome::Held {
            return Ok(3);
        }
        // Anything but a plain resume is for the user to see.
        say(&format!("{}: {}", decided.plan.outcome_text(decided.input.effective_candidate()), decided.reason()));
        let (code, stderr) = spawn(&request, &decided, guard, program, arguments)?;

        // A rejected session is poisoned and the gate asked once more; nothing older takes its place.
        let rejected = decided.plan.resume.clone().filter(|_| code != 0 && is_rejection(&stderr));
        if request.poisoned.is_some() || rejected.is_none() {
            return Ok(code);
        }
        let head = decided.input.head.head().map(|head| head.session_id.as_str());
        request.candidate = request.candidate.filter(|id| recovery_allowed(id, head));
        request.poisoned = rejected;
    }
}

fn spawn(
    request: &SpawnRequest,
    decided: &Decided,
    mut guard: Option<AgentGuard>,
    program: &str,
    arguments: &[String],
) -> Result<(i32, Vec<u8>), Box<dyn Error>> {
    // The plan's arguments come first. A new session gets an id of our choosing, so that nothing has
    // to be parsed from what the provider prints.
    let plan = &decided.plan;
    let new_session = uuid::Uuid::new_v4().to_string();
    let new_session = (plan.resume.is_none() || plan.fork_session).then_some(new_session.as_str());
    let mut watch = SessionWatch::before_spawn(request, decided, new_session);
    let mut command = Command::new(program);
    command.args(&plan.args).args(new_session.into_iter().flat_map(|id| ["--session-id", id])).args(arguments);
    command.current_dir(&request.cwd).envs(request.login.dir().map(|dir| ("CLAUDE_CONFIG_DIR", dir)));
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let stderr = child.stderr.take().map(|mut pipe| std::thread::spawn(move || pass_on(&mut pipe)));

    // The provider holds the agent from now on, even if this process is killed.
    if let Some(AgentGuard::Lock(lock)) = &mut guard {
        told(lock.set_provider(child.id()));
    }
    let mut store = told(SqliteStore::recorder(request.store.as_deref().unwrap_or(Path::new("")), WRITER_WAIT));
    let mut book = store.as_mut().and_then(|store| {
        let segment = told(segments::record_start(store, &decided.segment_start(), now_ms()))?;
        Some((store, segment))
    });
    let agent = request.agent_uid.as_deref().unwrap_or_default();
    let status = loop {
        let ended = child.try_wait()?;
        if let Some(session) = watch.as_mut().and_then(SessionWatch::look) {
            // The session has a turn of its own: it is recorded, and the copy it began from goes.
            if let Some((store, segment)) = &mut book {
                told(segments::record_session(*store, agent, segment, &session, now_ms()));
            }
            if let (Some(guard), Some(copy)) = (&guard, &plan.copy) {
                told(settle(guard, &copy.to, copy.token.as_deref().unwrap_or_default(), Reported::NewSession));
            }
        }
        match ended {
            Some(status) => break status,
            None => sleep(Duration::from_millis(50)),
        }
    };

    // Measured after the provider was reaped; growth beyond it is somebody else's.
    let code = status.code().unwrap_or(-1);
    let bytes = watch.and_then(|watch| watch.bytes());
    if let Some((store, segment)) = &mut book {
        let reason = exit_reason(code);
        told(segments::record_end_with_provider_bytes(*store, agent, segment, reason, None, bytes, now_ms()));
    }
    if let Some(AgentGuard::Lock(lock)) = &mut guard {
        told(lock.clear_provider());
    }
    let stderr = stderr.and_then(|reader| reader.join().ok()).unwrap_or_default();
    Ok((code, stderr))
}

/// What cannot be recorded or locked is said, and never ends a provider.
fn told<T, E: Display>(result: Result<T, E>) -> Option<T> {
    result.inspect_err(|error| say(&error.to_string())).ok()
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

fn pass_on(pipe: &mut impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    // What cannot be read any more has been kept up to there.
    let _ = pipe.read_to_end(&mut kept);
    let _ = std::io::stderr().write_all(&kept);
    kept
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "host: {text}");
}
