//! `segments start`: records that a provider process was started.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::spawn_args::{cwd, login, places};
use super::super::terminal::{Environment, Terminal, now_ms};
use super::super::words::shown;
use super::document::print_segment;
use super::{DISK_BUDGET, LogArgs, failed, find, note, path_of};
use crate::claude::identity::{self, identity};
use crate::explain::Note;
use crate::gate::is_claude;
use crate::process::ProcessTable;
use crate::segments::{Rung, Start, is_safe_session_id, record_start};
use crate::spawn::lock::{AgentLock, LockError};
use crate::spawn::{Deadline, Login};
use std::path::Path;

/// Record that a provider process was started, and print its segment's id
///
/// What is not given is found out where it can be: the login and directory as for `decide`, the
/// identity signed in there, the time, the segment before. It is on disk when this returns.
#[derive(Debug, clap::Args)]
pub(crate) struct StartArgs {
    #[command(flatten)]
    log: LogArgs,
    /// The provider
    #[arg(long, value_name = "NAME", default_value = "claude")]
    provider: String,
    /// The login [default: $CLAUDE_CONFIG_DIR, else ~/.claude]
    #[arg(long, value_name = "DIR")]
    config_dir: Option<String>,
    /// The provider's session, if it is certain before the provider reports it
    #[arg(long, value_name = "SID", allow_hyphen_values = true)]
    session: Option<String>,
    /// The working directory [default: the current one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// How it began [default: native with --session or --forked-from, else fresh]
    #[arg(long, value_name = "RUNG", value_parser = ["native", "virtualized", "fresh", "relocated"])]
    rung: Option<String>,
    /// The session that it was forked from
    #[arg(long, value_name = "SID", allow_hyphen_values = true)]
    forked_from: Option<String>,
    /// Key of the identity signed in at the login, instead of reading it there
    #[arg(long, value_name = "KEY")]
    identity: Option<String>,
    /// The provider's process: holds the agent for as long as it runs, or until `segments end`
    #[arg(long)]
    pid: Option<u32>,
    /// The segment's id [default: a new one]
    #[arg(long, value_name = "SEGMENT")]
    segment: Option<String>,
    /// The segment before [default: the newest one]
    #[arg(long, value_name = "SEGMENT")]
    predecessor: Option<String>,
    /// The lease under which it was started
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    lease_epoch: Option<i64>,
    /// The agent's definition
    #[arg(long, value_name = "ID")]
    definition_id: Option<String>,
    /// The host's release channel
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// The host's version
    #[arg(long, value_name = "VERSION")]
    agentmux_version: Option<String>,
    /// The pane
    #[arg(long, value_name = "ID")]
    block_id: Option<String>,
    /// The zone of the transcript
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Size of the transcript at the start, in bytes
    #[arg(long, value_name = "BYTES")]
    byte_start: Option<u64>,
    /// When it was started, in milliseconds since 1970 [default: now]
    #[arg(long, value_name = "MS", allow_hyphen_values = true)]
    at_ms: Option<i64>,
}

pub(super) fn run(args: &StartArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let uid = args.log.named_agent(&terminal.env)?;
    let mut notes = Vec::new();
    let start = args.start(&uid, &terminal.env, &mut notes)?;
    let mut store = args.log.recorder(&terminal.env)?;
    if !start.segment_id.is_empty() && find(&mut store, &uid, &start.segment_id).map_err(failed)?.is_some() {
        let segment = shown(&start.segment_id);
        return Err(CliError::usage(format!("the log of agent `{uid}` already has a segment `{segment}`"))
            .help("leave out `--segment` for a new id; a second start of one would be ignored"));
    }
    let lock = args.pid.map(|pid| name_provider(&path_of(&store), &uid, pid, &mut notes)).transpose()?;
    let segment_id = record_start(&mut store, &start, now_ms()).map_err(failed)?;
    drop(lock);
    for note in &notes {
        terminal.note(note);
    }
    if args.log.format == Format::Text {
        terminal.out(&format!("{}\n", shown(&segment_id)))?;
        return Ok(Exit::Done);
    }
    let recorded = find(&mut store, &uid, &segment_id).map_err(failed)?.unwrap_or_default();
    print_segment(&recorded, [], &notes, &store, terminal)?;
    Ok(Exit::Done)
}

impl StartArgs {
    /// The event, with what can be found out filled in.
    fn start(&self, uid: &str, env: &Environment, notes: &mut Vec<Note>) -> Result<Start, CliError> {
        let claude = is_claude(&self.provider);
        let (session, forked_from) = (given(&self.session), given(&self.forked_from));
        let ids = [session.as_deref(), forked_from.as_deref()];
        if let Some(id) = ids.into_iter().flatten().find(|id| claude && !is_safe_session_id(id)) {
            return Err(unsafe_session(id));
        }
        // Without one given, only Claude's login is known.
        let login =
            if claude || self.config_dir.is_some() { login(self.config_dir.as_deref(), env) } else { Login::Unknown };
        let identity_key = given(&self.identity).or_else(|| claude.then(|| signed_in(&login, env, notes)).flatten());
        let rung = match self.rung.as_deref() {
            Some(rung) => Rung::from(rung),
            None if session.is_some() || forked_from.is_some() => Rung::Native,
            None => Rung::Fresh,
        };
        Ok(Start {
            segment_id: given(&self.segment).unwrap_or_default(),
            agent_uid: uid.to_owned(),
            definition_id: given(&self.definition_id),
            provider: self.provider.clone(),
            config_dir: login.dir().map(str::to_owned),
            provider_session_id: session,
            cwd: cwd(given(&self.cwd).as_deref(), env),
            channel: given(&self.channel).unwrap_or_default(),
            agentmux_version: given(&self.agentmux_version).unwrap_or_default(),
            block_id: given(&self.block_id).unwrap_or_default(),
            zone: given(&self.zone),
            byte_start: self.byte_start,
            started_at_ms: self.at_ms,
            continuity_rung: rung,
            predecessor_segment_id: given(&self.predecessor),
            lease_epoch: self.lease_epoch,
            identity_key,
            forked_from,
        })
    }
}

/// An option that says something: a host passes variables, and some of them are empty.
fn given(option: &Option<String>) -> Option<String> {
    option.clone().filter(|text| !text.trim().is_empty())
}

/// The error for an id of Claude's that every reader of the log would ignore.
pub(super) fn unsafe_session(id: &str) -> CliError {
    CliError::usage(format!("`{}` cannot be a session of Claude's: it is no safe file name", shown(id)))
        .help("pass the id as the provider reported it; nothing was recorded")
}

/// The key of who is signed in, as far as it can be told.
fn signed_in(login: &Login, env: &Environment, notes: &mut Vec<Note>) -> Option<String> {
    let how = match login {
        Login::Default(_) => identity::Login::Defaulted,
        Login::Named(_) | Login::Unknown => identity::Login::Named,
    };
    let places = places(env);
    let dir = places.usable(login.dir())?;
    let why = match Deadline::after(DISK_BUDGET).run(move || identity(&dir, how, &places).key) {
        Some(Ok(key)) => return Some(key),
        Some(Err(unknown)) => unknown.to_string(),
        None => "its account file was not read in time".to_owned(),
    };
    note(notes, "identity-unknown", format!("who is signed in is not known, and not recorded: {why}"));
    None
}

/// Names the provider in the agent's lock, and keeps that until the start is recorded.
fn name_provider(store: &Path, uid: &str, pid: u32, notes: &mut Vec<Note>) -> Result<Option<AgentLock>, CliError> {
    let processes = ProcessTable::default();
    if processes.start_ticks(pid).is_none() {
        note(notes, "provider-not-running", format!("process {pid} is not running, so it does not hold the agent"));
        return Ok(None);
    }
    let named = AgentLock::beside_provider(store, uid, &processes).and_then(|mut lock| {
        lock.set_provider(pid)?;
        Ok(lock)
    });
    match named {
        Ok(lock) => Ok(Some(lock)),
        Err(LockError::Held(held)) => {
            let help = "two processes of one agent would write one conversation; end one of them, nothing was recorded";
            Err(CliError::Failed { message: held.to_string(), help: Some(help.to_owned()), exit: Exit::Held })
        }
        Err(error @ LockError::Unavailable { .. }) => {
            note(notes, "lock-unavailable", format!("{error}; the provider does not hold the agent"));
            Ok(None)
        }
    }
}
