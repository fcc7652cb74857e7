//! Bookkeeping beside a running provider: its segment, the session that it turns out to have, the
//! copy that it was given.
//!
//! All of it happens on a thread of its own. A store that is locked, full or on a disk that does not
//! answer is a warning; it neither holds up a signal nor ends a provider.

use super::watch::SessionWatch;
use crate::claude::busy::{holder, session_of};
use crate::explain::Note;
use crate::process::ProcessTable;
use crate::segments::{EndReason, SegmentError, Start, record_end_with_provider_bytes, record_session, record_start};
use crate::spawn::CopyPlan;
use crate::spawn::lock::{AgentGuard, LockError};
use crate::spawn::settle::{Cleared, Fate, Reported, Settled, settle};
use crate::store::{SqliteStore, WRITER_WAIT};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// How long after the spawn the session's file is first looked at.
const FIRST_LOOK: Duration = Duration::from_millis(25);
/// The longest time between two looks. They become rarer; an idle provider is watched for hours.
const LAST_LOOK: Duration = Duration::from_millis(500);
/// How long the books may take to be closed once the provider has ended.
const CLOSING_PATIENCE: Duration = Duration::from_secs(2 * WRITER_WAIT.as_secs());

/// What the clerk has to know.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) store: PathBuf,
    pub(super) start: Start,
    /// The process that was spawned.
    pub(super) pid: u32,
    /// The process that may stand in the provider's registry: at first the same.
    pub(super) registered: u32,
    /// Its login, where it may keep a registry of its processes.
    pub(super) config_dir: Option<PathBuf>,
    pub(super) watch: Option<SessionWatch>,
    pub(super) copy: Option<CopyPlan>,
    pub(super) guard: Option<AgentGuard>,
    pub(super) processes: ProcessTable,
    pub(super) now_ms: fn() -> i64,
}

/// The books when they are closed.
#[derive(Debug, Default)]
pub(super) struct Closed {
    /// The agent is still held by this.
    pub(super) guard: Option<AgentGuard>,
    /// What a person should know.
    pub(super) notes: Vec<Note>,
}

/// The thread that keeps the books.
#[derive(Debug)]
pub(super) struct Clerk {
    ended: Sender<EndReason>,
    closed: Receiver<Closed>,
}

impl Clerk {
    /// Opens the books of a provider that was spawned.
    pub(super) fn open(books: Books) -> Self {
        let (ended, reason) = channel();
        let (closing, closed) = channel();
        thread::spawn(move || {
            // Nobody may be waiting any more.
            let _ = closing.send(books.keep(&reason));
        });
        Self { ended, closed }
    }

    /// Closes the books of a provider that was reaped.
    pub(super) fn close(self, reason: EndReason) -> Closed {
        // A clerk that is gone has closed the books.
        let _ = self.ended.send(reason);
        self.closed.recv_timeout(CLOSING_PATIENCE).unwrap_or_else(|_| {
            let text = "the segment's end could not be recorded in time; look for what holds the store";
            Closed { guard: None, notes: vec![Note::new("not-recorded", text)] }
        })
    }
}

/// An event that has yet to be recorded.
enum Entry {
    Start,
    Session { session_id: String, at_ms: i64 },
    End { reason: EndReason, provider_bytes: Option<u64>, at_ms: i64 },
}

impl Books {
    fn keep(mut self, reason: &Receiver<EndReason>) -> Closed {
        let mut log = Log { store: None, entries: VecDeque::from([Entry::Start]), note: None };
        let mut notes = Vec::new();
        self.name_provider(&mut notes);
        self.start.started_at_ms = Some((self.now_ms)());
        log.record(&self.store, &self.start);
        let mut pause = FIRST_LOOK;
        let reason = loop {
            match reason.recv_timeout(pause) {
                Ok(reason) => break Some(reason),
                Err(RecvTimeoutError::Disconnected) => break None,
                Err(RecvTimeoutError::Timeout) => {
                    self.follow();
                    self.look(&mut log, &mut notes);
                }
            }
            pause = LAST_LOOK.min(2 * pause);
        };
        if let Some(reason) = reason {
            self.look(&mut log, &mut notes);
            let provider_bytes = self.watch.as_ref().and_then(SessionWatch::bytes);
            log.entries.push_back(Entry::End { reason, provider_bytes, at_ms: (self.now_ms)() });
            log.record(&self.store, &self.start);
            if let Some(AgentGuard::Lock(lock)) = &mut self.guard {
                note_of(lock.clear_provider(), &mut notes);
            }
            // Nobody is left to fork from it.
            self.settle_copy(Reported::NewSession, &mut notes);
        }
        notes.extend(log.note);
        Closed { guard: self.guard, notes }
    }

    /// From now on the provider holds the agent, whatever becomes of this process.
    fn name_provider(&mut self, notes: &mut Vec<Note>) {
        if let Some(AgentGuard::Lock(lock)) = &mut self.guard {
            note_of(lock.set_provider(self.pid), notes);
        }
    }

    /// Follows the provider where it moves to another session, if its version tells.
    fn follow(&mut self) {
        let (Some(watch), Some(config_dir)) = (&mut self.watch, &self.config_dir) else { return };
        // A provider that was started by a script has another pid than the script; but it registers
        // with the session that we chose.
        let open = session_of(config_dir, self.registered, &self.processes).or_else(|| {
            let holder = holder(config_dir, watch.session()?, &self.processes)?;
            self.registered = holder.pid;
            session_of(config_dir, holder.pid, &self.processes)
        });
        if let Some(session_id) = open {
            watch.reported(&session_id);
        }
    }

    /// Sees whether there is a session to record.
    fn look(&mut self, log: &mut Log, notes: &mut Vec<Note>) {
        let Some(session_id) = self.watch.as_mut().and_then(SessionWatch::look) else { return };
        let is_copys = self.start.forked_from.as_ref() == Some(&session_id);
        log.entries.push_back(Entry::Session { session_id, at_ms: (self.now_ms)() });
        log.record(&self.store, &self.start);
        self.settle_copy(if is_copys { Reported::SameSession } else { Reported::NewSession }, notes);
    }

    fn settle_copy(&mut self, reported: Reported, notes: &mut Vec<Note>) {
        if let (Some(copy), Some(guard)) = (self.copy.take(), &self.guard) {
            notes.extend(settled(guard, &copy, reported));
        }
    }
}

/// Takes a copy away whose provider has forked it, or has ended, and says what a person should know of it.
pub(super) fn settled(guard: &AgentGuard, copy: &CopyPlan, reported: Reported) -> Option<Note> {
    let token = copy.token.as_deref()?;
    let at = copy.to.display();
    match settle(guard, &copy.to, token, reported) {
        Ok(Settled::Cleared(Cleared { fate: Fate::Continued { .. }, .. })) => {
            Some(Note::new("copy-continued", format!("the copy {at} was continued by somebody, so it stays")))
        }
        Ok(Settled::Cleared(Cleared { fate: Fate::ResumedInPlace, .. })) => Some(Note::new(
            "copy-resumed",
            format!("the provider went on in the copy {at}: two files have one session id now"),
        )),
        Ok(_) => None,
        Err(error) => Some(Note::new("settle-failed", format!("{error}; the agent's next spawn tries again"))),
    }
}

fn note_of(result: Result<(), LockError>, notes: &mut Vec<Note>) {
    if let Err(error) = result {
        notes.push(Note::new("lock-unavailable", error.to_string()));
    }
}

/// What could not be recorded stays in line, so that nothing is recorded before the segment's start.
struct Log {
    store: Option<SqliteStore>,
    entries: VecDeque<Entry>,
    /// The first failure; one warning is enough.
    note: Option<Note>,
}

impl Log {
    fn record(&mut self, store: &Path, start: &Start) {
        while let Some(entry) = self.entries.front() {
            let recorded = open(&mut self.store, store).and_then(|store| entry.record(store, start));
            match recorded {
                Ok(()) => drop(self.entries.pop_front()),
                Err(error) => {
                    let text = format!("the segment is not recorded: {error}; {}", error.help());
                    self.note.get_or_insert_with(|| Note::new("not-recorded", text));
                    return;
                }
            }
        }
        self.note = None;
    }
}

fn open<'a>(opened: &'a mut Option<SqliteStore>, path: &Path) -> Result<&'a mut SqliteStore, SegmentError> {
    let store = match opened.take() {
        Some(store) => store,
        None => SqliteStore::recorder(path, WRITER_WAIT)?,
    };
    Ok(opened.insert(store))
}

impl Entry {
    fn record(&self, store: &mut SqliteStore, start: &Start) -> Result<(), SegmentError> {
        let (uid, segment) = (&start.agent_uid, &start.segment_id);
        match self {
            Self::Start => record_start(store, start, start.started_at_ms.unwrap_or_default()).map(|_| ()),
            Self::Session { session_id, at_ms } => record_session(store, uid, segment, session_id, *at_ms).map(|_| ()),
            Self::End { reason, provider_bytes, at_ms } => {
                let (reason, bytes) = (reason.clone(), *provider_bytes);
                record_end_with_provider_bytes(store, uid, segment, reason, None, bytes, *at_ms).map(|_| ())
            }
        }
    }
}
