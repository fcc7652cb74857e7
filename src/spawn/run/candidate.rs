//! The session that a run asks for, where its user named none.

use super::RunError;
use crate::segments::{SegmentError, head_segment, is_agent_uid, newest_segment};
use crate::spawn::chain::parent_of;
use crate::spawn::{Deadline, Offered, SpawnRequest};
use crate::store::SqliteStore;

/// What the user wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Wanted {
    /// The agent's conversation, wherever it is.
    #[default]
    Newest,
    /// This session.
    Session(String),
    /// A new one.
    New,
}

/// What the store says of an agent's conversation.
enum Newest {
    /// It has this one.
    Own(String),
    /// It is a fork without one; this is the session it branches from.
    Parents(String),
    /// It was to branch from this session, and whose it is was not said this time.
    SomebodyElses(String),
    /// None yet.
    None,
}

/// The candidate of a run, and how it is offered to the gate.
///
/// # Errors
///
/// When the user named nothing and the chain (of a fork without a conversation, its parent's too)
/// cannot be known: starting fresh might then abandon a conversation.
pub(super) fn candidate(request: &SpawnRequest, wanted: &Wanted) -> Result<(Option<String>, Offered), RunError> {
    match wanted {
        Wanted::Session(id) => return Ok((Some(id.clone()), Offered::Held)),
        Wanted::New => return Ok((None, Offered::Held)),
        Wanted::Newest => {}
    }
    let Some(uid) = request.agent_uid.clone().filter(|uid| is_agent_uid(uid)) else {
        return Err(RunError::NoAgent { given: request.agent_uid.clone() });
    };
    let Some(store) = request.store.clone() else {
        return Err(RunError::NoStore);
    };
    let question = request.clone();
    match Deadline::after(request.budget).run(move || newest(&question, &uid)) {
        Some(Ok(Newest::Own(id))) => Ok((Some(id), Offered::Held)),
        // Good for branching from it, never for going on in it.
        Some(Ok(Newest::Parents(id))) => Ok((Some(id), Offered::History)),
        Some(Ok(Newest::SomebodyElses(session))) => Err(RunError::ParentNotNamed { session }),
        Some(Ok(Newest::None)) => Ok((None, Offered::Held)),
        Some(Err(error)) => Err(RunError::ChainUnreadable { store, why: error.to_string() }),
        None => {
            let why = format!("it did not answer within {} ms", request.budget.as_millis());
            Err(RunError::ChainUnreadable { store, why })
        }
    }
}

fn newest(request: &SpawnRequest, uid: &str) -> Result<Newest, SegmentError> {
    let Some(path) = &request.store else { return Ok(Newest::None) };
    let mut store = SqliteStore::reader(path, request.budget)?;
    if let Some(head) = head_segment(&mut store, uid, None)?.and_then(|segment| segment.session_id) {
        return Ok(Newest::Own(head));
    }
    let forked_from = newest_segment(&mut store, uid)?.and_then(|segment| segment.start.forked_from);
    let Some(parent) = parent_of(&request.parentage, uid, request.budget)? else {
        return Ok(forked_from.map_or(Newest::None, Newest::SomebodyElses));
    };
    if let Some(session) = forked_from {
        return Ok(Newest::Parents(session));
    }
    let head = head_segment(&mut store, &parent, None)?.and_then(|segment| segment.session_id);
    Ok(head.map_or(Newest::None, Newest::Parents))
}
