//! What the gate has to know of an agent's chain, and of its parent's, read from the store under
//! one deadline.

use super::deadline::Deadline;
use super::request::{Parentage, SpawnRequest};
use crate::explain::Note;
use crate::gate::{ChainHead, Head, is_claude};
use crate::segments::{
    ForkedFrom, Lineage, SegmentError, chain_head, earlier_sessions, fork_parent, fork_point, is_agent_uid, segments,
};
use crate::store::{AgentsDb, SqliteStore, StoreError};
use std::path::PathBuf;
use std::time::Duration;

/// The chain as far as a spawn needs it.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// The head of the agent's own chain.
    pub(super) head: ChainHead,
    /// The parent's head, of a fork without a conversation of its own.
    pub(super) fork_source: Option<Head>,
    /// The parent's newest segment that reported the candidate.
    pub(super) fork_point: Option<Head>,
    /// What a person should see of how it was read.
    note: Option<Note>,
}

/// What has to be read, owned by the thread that reads it.
struct Question {
    store: PathBuf,
    uid: String,
    current: Option<String>,
    parentage: Parentage,
    candidate: Option<String>,
    wait: Duration,
}

/// Reads the chain. What cannot be read in time is [`ChainHead::Unknown`], and a note says why.
pub(super) fn read_chain(request: &SpawnRequest, candidate: Option<&str>, deadline: Deadline) -> (Chain, Vec<Note>) {
    if !is_claude(&request.provider) {
        return (Chain::default(), Vec::new());
    }
    let unknown = |note| (Chain { head: ChainHead::Unknown, ..Chain::default() }, vec![note]);
    let Some(uid) = request.agent_uid.clone().filter(|uid| is_agent_uid(uid)) else {
        let given =
            request.agent_uid.as_deref().map_or_else(|| "none was given".to_owned(), |uid| format!("`{uid}` is none"));
        let text = format!("the agent has no usable uid ({given}), so its chain is not known; pass `--agent UID`");
        return unknown(Note::new("no-agent-uid", text));
    };
    let Some(store) = request.store.clone() else {
        return unknown(Note::new(
            "no-store",
            "there is no place for a store, so the agent's chain is not known; pass `--store PATH`",
        ));
    };
    let question = Question {
        uid,
        current: request.current.clone(),
        parentage: request.parentage.clone(),
        candidate: candidate.map(str::to_owned),
        wait: deadline.left(),
        store,
    };
    let shown = question.store.display().to_string();
    match deadline.run(move || question.answer()) {
        Some(Ok(mut chain)) => {
            let note = chain.note.take();
            (chain, note.into_iter().collect())
        }
        Some(Err(error)) => unknown(Note::new("chain-unreadable", format!("{error}; {}", error.help()))),
        None => unknown(Note::new(
            "chain-unreadable",
            format!(
                "the store `{shown}` was not read within the budget; look for a process that holds it, or allow more with `--budget`"
            ),
        )),
    }
}

impl Question {
    fn answer(&self) -> Result<Chain, SegmentError> {
        let mut store = SqliteStore::reader(&self.store, self.wait)?;
        let head = chain_head(&mut store, &self.uid, self.current.as_deref())?;
        let mut chain = Chain { head, ..Chain::default() };
        if let Parentage::AgentsDb(path) = &self.parentage
            && chain.head == ChainHead::Empty
            && matches!(path.try_exists(), Ok(false))
        {
            let text = format!("the agents database `{}` is not there, so no parent is known", path.display());
            chain.note = Some(Note::new("no-agents-db", text));
        }
        // Only an agent without a conversation of its own can branch from its parent's.
        if chain.head == ChainHead::Empty
            && let Some(parent) = parent_of(&self.parentage, &self.uid, self.wait)?
        {
            chain.fork_source = chain_head(&mut store, &parent, None)?.head().cloned();
            if let Some(candidate) = &self.candidate {
                chain.fork_point = fork_point(&mut store, &parent, candidate)?;
            }
        }
        Ok(chain)
    }
}

/// The agent that `uid` was forked from, if it was.
pub(super) fn parent_of(parentage: &Parentage, uid: &str, wait: Duration) -> Result<Option<String>, StoreError> {
    let lineage: Box<dyn Lineage> = match parentage {
        Parentage::None => return Ok(None),
        Parentage::ForkOf(parent) => Box::new(ForkedFrom(Some(parent.clone()))),
        Parentage::AgentsDb(path) => Box::new(AgentsDb::open(path, wait)?),
    };
    fork_parent(&*lineage, uid)
}

/// Sessions of the agent's chain other than `head`, the newest first. Empty if they cannot be had.
pub(super) fn sessions_before(request: &SpawnRequest, head: &str, deadline: Deadline) -> Vec<Head> {
    let (Some(uid), Some(path)) = (request.agent_uid.clone(), request.store.clone()) else {
        return Vec::new();
    };
    let (head, wait) = (head.to_owned(), deadline.left());
    let read = move || -> Result<Vec<Head>, SegmentError> {
        let mut store = SqliteStore::reader(&path, wait)?;
        Ok(earlier_sessions(&segments(&mut store, &uid)?.segments, &head))
    };
    deadline.run(read).and_then(Result::ok).unwrap_or_default()
}
