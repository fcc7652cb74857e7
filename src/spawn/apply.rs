//! A decision carried out up to the spawn: the agent is locked, its own leftovers are swept, the
//! facts are gathered, and what has to be copied in is copied in.

use super::decide::{Decided, decide, own_folder};
use super::lock::{AgentGuard, AgentLock, Held, LockError};
use super::plan::SpawnPlan;
use super::relocate::{Placed, Source, relocate};
use super::request::SpawnRequest;
use super::settle::{Fate, Sweep, sweep};
use crate::claude::layout::{ProjectFolders, projects_dir};
use crate::claude::session::{Found, find_recorded};
use crate::explain::{Note, short};
use crate::gate::{GateInput, Head, ResumeGate};
use crate::process::ProcessTable;
use crate::segments::is_agent_uid;

/// Decides a spawn and carries the decision out up to the spawn itself, under the agent's lock.
///
/// `host_lease`: the host holds the agent by a lease of its own, so no lock is taken. The guard that
/// comes back keeps the agent held until it is dropped; there is none where another process holds
/// the agent (the plan says so, and nothing may be spawned) or the lock could not be taken (nothing
/// was swept, and a decision that needs a copy became a refusal).
#[must_use]
pub fn decide_and_apply(
    request: &SpawnRequest,
    processes: &ProcessTable,
    host_lease: bool,
) -> (Decided, Option<AgentGuard>) {
    let (Some(uid), Some(store)) = (request.agent_uid.as_deref().filter(|uid| is_agent_uid(uid)), &request.store)
    else {
        // Without an agent there is no chain, so no decision that would need a copy.
        return (decide(request, processes), None);
    };
    let guard = if host_lease {
        Ok(AgentGuard::HostLease { uid: uid.to_owned() })
    } else {
        AgentLock::acquire(store, uid, processes).map(AgentGuard::from)
    };
    match guard {
        Ok(guard) => {
            let swept = sweep_own(request, &guard);
            let mut decided = decide(request, processes);
            decided.notes.splice(0..0, swept);
            decided.copy_in(request, &guard);
            (decided, Some(guard))
        }
        Err(LockError::Held(held)) => (Decided::held(request, &held), None),
        Err(unavailable) => {
            let mut decided = decide(request, processes);
            let text = format!("{unavailable}, so nothing is swept or copied");
            decided.notes.push(Note::new("lock-unavailable", text));
            if decided.plan.copy.is_some() {
                decided.refuse();
            }
            (decided, None)
        }
    }
}

/// Removes what earlier spawns of this agent left in the spawn's project folder.
fn sweep_own(request: &SpawnRequest, guard: &AgentGuard) -> Vec<Note> {
    let Some((config_dir, cwd)) = own_folder(request) else {
        return Vec::new();
    };
    let projects = projects_dir(&config_dir);
    ProjectFolders::of(&cwd).names().flat_map(|name| sweep_notes(&sweep(guard, &projects.join(name)))).collect()
}

/// What a person should know of a sweep: copies that somebody went on in, and what went wrong.
fn sweep_notes(swept: &Sweep) -> Vec<Note> {
    let continued = swept.copies.iter().filter_map(|cleared| match cleared.fate {
        Fate::Continued { bytes, .. } => Some(Note::new(
            "copy-continued",
            format!(
                "the copy {} is not the file of {bytes} bytes that was copied any more: somebody went on in it or put another in its place, so it stays",
                cleared.path.display()
            ),
        )),
        _ => None,
    });
    let failed = swept.errors.iter().map(|error| Note::new("sweep-failed", error.to_string()));
    continued.chain(failed).collect()
}

impl Decided {
    /// The answer while another process holds the agent.
    pub(super) fn held(request: &SpawnRequest, held: &Held) -> Self {
        Self {
            agent_uid: request.agent_uid.clone(),
            offered: request.offered,
            input: GateInput {
                provider: request.provider.clone(),
                candidate: request.candidate.clone(),
                poisoned: request.poisoned.clone(),
                config_dir: request.login.dir().map(str::to_owned),
                cwd: request.cwd.clone(),
                ..GateInput::default()
            },
            gated: None,
            plan: SpawnPlan::held(),
            evidence: Vec::new(),
            notes: vec![Note::new("held", format!("{held}; spawn nothing until it has ended"))],
            store: request.store.clone(),
            took: std::time::Duration::ZERO,
        }
    }

    /// Turns the decision into a refusal of the same session; the rule that decided stays.
    pub(super) fn refuse(&mut self) {
        if let Some(gated) = &mut self.gated
            && let ResumeGate::Relocate { head, .. } | ResumeGate::ForkFrom { head, .. } = &gated.decision
        {
            gated.decision = ResumeGate::Refuse { head: head.clone() };
            self.plan = SpawnPlan::fresh(true);
        }
    }

    /// The session whose file a decision copies in, and how its source is treated.
    fn copied(&self) -> Option<(Head, Source)> {
        match &self.gated.as_ref()?.decision {
            ResumeGate::Relocate { .. } => Some((self.input.head.head()?.clone(), Source::AtRest)),
            ResumeGate::ForkFrom { head, .. } => Some((self.input.branch_point(head)?.clone(), Source::Live)),
            _ => None,
        }
    }

    /// Makes the copy that the plan asks for, or refuses.
    fn copy_in(&mut self, request: &SpawnRequest, guard: &AgentGuard) {
        let (Some(copy), Some((head, source))) = (self.plan.copy.clone(), self.copied()) else {
            return;
        };
        let id = short(&head.session_id);
        let failed = match find_recorded(&head, &request.places) {
            Some(Found::File(file)) => match relocate(guard, file, source, &copy.to) {
                Ok(Placed::InPlace) => {
                    self.plan.copy = None;
                    return;
                }
                Ok(Placed::Copied(placed)) => {
                    self.plan.copy = Some(placed.into());
                    return;
                }
                Err(error) => error.to_string(),
            },
            _ => format!("{} is not there any more", copy.from.display()),
        };
        self.notes
            .push(Note::new("copy-failed", format!("`{id}` could not be copied in: {failed}; nothing is resumed")));
        self.refuse();
    }
}
