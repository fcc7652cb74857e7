//! One spawn decided: the chain and the login are read, the gate is asked, and a plan comes out.
//! `decide`, `explain` and a real spawn all come through here, so that they cannot disagree.

use super::chain::read_chain;
use super::deadline::Deadline;
use super::notes;
use super::plan::{CopyPlan, Offered, SpawnPlan, Withheld, plan};
use super::probes::DiskProbes;
use super::request::{Login, SpawnRequest};
use crate::claude::dirs::{Places, same_dir};
use crate::claude::identity::{self, identity};
use crate::claude::layout::{self, ProjectFolders};
use crate::explain::{Note, short};
use crate::gate::facts::{Fact, ForkRecord, HeadRecord};
use crate::gate::{Evidence, GateInput, Gated, Head, ResumeGate, resume_gate};
use crate::process::ProcessTable;
use crate::segments::{Start, with_legacy_identity};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A decided spawn with everything that led to it.
#[derive(Debug, Clone)]
pub struct Decided {
    /// The agent, as given.
    pub agent_uid: Option<String>,
    /// How the candidate came to be one.
    pub offered: Offered,
    /// What the gate was asked.
    pub input: GateInput,
    /// What it decided; `None` where there was nothing to decide.
    pub gated: Option<Gated>,
    /// What the host carries out.
    pub plan: SpawnPlan,
    /// What the probes saw, in the order they were asked.
    pub evidence: Vec<Evidence>,
    /// Remarks: what could not be read, what was withheld, what a person should see.
    pub notes: Vec<Note>,
    /// The store that was used.
    pub store: Option<PathBuf>,
    /// How long deciding took, without what carried the decision out.
    pub took: Duration,
}

/// Decides a spawn. Reads only; nothing is copied, swept or recorded.
#[must_use]
pub fn decide(request: &SpawnRequest, processes: &ProcessTable) -> Decided {
    let started = Instant::now();
    let (chain, mut notes) = read_chain(request, request.candidate.as_deref(), Deadline::after(request.budget));
    let deadline = Deadline::after(request.budget);
    let (own_identity, why_unknown) = own_identity(request, deadline, &mut notes);
    let mut legacy = |head: Head| with_recorded_identity(head, &request.places, deadline, &mut notes);
    let mut input = GateInput {
        provider: request.provider.clone(),
        candidate: request.candidate.clone(),
        head: chain.head,
        identity: own_identity,
        poisoned: request.poisoned.clone(),
        config_dir: request.login.dir().map(str::to_owned),
        cwd: request.cwd.clone(),
        fork_source: chain.fork_source.map(&mut legacy),
        fork_point: chain.fork_point.map(&mut legacy),
    };
    if let crate::gate::ChainHead::Headed(head) = input.head {
        input.head = crate::gate::ChainHead::Headed(legacy(head));
    }
    let probes = DiskProbes::new(request.places.clone(), processes.clone(), deadline);
    let gated = resume_gate(&input, &probes);
    let (evidence, missed) = probes.into_evidence();
    notes.extend(missed);
    let need = gated.as_ref().map_or(CopyNeed::None, |gated| copy_needed(request, gated, &evidence, deadline));
    let has_no_place = matches!(need, CopyNeed::NoPlace);
    let copy = if let CopyNeed::Copy(copy) = need { Some(copy) } else { None };
    let (plan, withheld) = plan(gated.as_ref(), &input, request.offered, copy);
    notes.extend(withheld.map(|withheld| withheld_note(withheld, &input)));
    let mut decided = Decided {
        agent_uid: request.agent_uid.clone(),
        offered: request.offered,
        input,
        gated,
        plan,
        evidence,
        notes,
        store: request.store.clone(),
        took: Duration::ZERO,
    };
    if has_no_place {
        decided.notes.push(Note::new(
            "copy-failed",
            "it is not known where the spawn looks for its sessions, so nothing is copied or resumed",
        ));
        decided.refuse();
    }
    let remarks = notes::about(&decided, request, why_unknown.as_deref(), deadline);
    decided.notes.extend(remarks);
    decided.took = started.elapsed();
    decided
}

impl Decided {
    /// The start of the spawn's segment, as far as the decision knows it: a host adds what it knows
    /// beside (its pane, its version) and hands it to
    /// [`record_start`](crate::segments::record_start) when it has spawned the provider.
    #[must_use]
    pub fn segment_start(&self) -> Start {
        let record = &self.plan.record;
        Start {
            agent_uid: self.agent_uid.clone().unwrap_or_default(),
            provider: self.input.provider.clone(),
            config_dir: self.input.config_dir.clone(),
            provider_session_id: record.provider_session_id.clone(),
            cwd: self.input.cwd.clone(),
            continuity_rung: record.rung.clone(),
            identity_key: self.input.identity.clone(),
            forked_from: record.forked_from.clone(),
            ..Start::default()
        }
    }
}

/// The key of who is signed in at the spawn's login, or why it is not known.
fn own_identity(request: &SpawnRequest, deadline: Deadline, notes: &mut Vec<Note>) -> (Option<String>, Option<String>) {
    if let Some(key) = request.identity.as_deref().map(str::trim).filter(|key| !key.is_empty()) {
        return (Some(key.to_owned()), None);
    }
    let how = match request.login {
        Login::Default(_) => identity::Login::Defaulted,
        Login::Named(_) | Login::Unknown => identity::Login::Named,
    };
    let places = request.places.clone();
    let Some(dir) = places.usable(request.login.dir()) else {
        return (None, Some("the spawn's config dir is not known".to_owned()));
    };
    match deadline.run(move || identity(&dir, how, &places)) {
        Some(found) => match found.key {
            Ok(key) => (Some(key), None),
            Err(unknown) => (None, Some(unknown.to_string())),
        },
        None => {
            let text = "the spawn's account file was not read within the budget, so its identity counts as unknown";
            notes.push(Note::new("deadline-missed", text));
            (None, Some("its account file was not read within the budget".to_owned()))
        }
    }
}

/// Fills in the identity of a session recorded before identities were, from its own login.
fn with_recorded_identity(head: Head, places: &Places, deadline: Deadline, notes: &mut Vec<Note>) -> Head {
    let id = short(&head.session_id);
    with_legacy_identity(head, |recorded| {
        let dir = places.usable(Some(recorded))?;
        let places = places.clone();
        deadline.run(move || identity(&dir, identity::Login::Named, &places).key.ok()).unwrap_or_else(|| {
            let text = format!(
                "the account file where `{id}` was recorded was not read within the budget, so its identity counts as unknown"
            );
            let note = Note::new("deadline-missed", text);
            // The parent's head and the branch point are often one session.
            if !notes.contains(&note) {
                notes.push(note);
            }
            None
        })
    })
}

/// What a decision's session file needs before it can be resumed.
enum CopyNeed {
    /// It lies where the spawn looks, or the decision is about no other file.
    None,
    /// It has to be copied in.
    Copy(CopyPlan),
    /// Where the spawn looks is not known, so there is no place for a copy.
    NoPlace,
}

/// The copy that a decision needs.
fn copy_needed(request: &SpawnRequest, gated: &Gated, evidence: &[Evidence], deadline: Deadline) -> CopyNeed {
    let (session, complete): (&str, &str) = match &gated.decision {
        ResumeGate::Relocate { head, .. } => (head, HeadRecord::Complete.into()),
        ResumeGate::ForkFrom { head, .. } => (head, ForkRecord::Complete.into()),
        _ => return CopyNeed::None,
    };
    let record = |seen: &&Evidence| matches!(seen.fact, Fact::HeadRecord | Fact::ForkRecord) && seen.value == complete;
    let from = evidence.iter().find(record).and_then(|seen| seen.path.clone());
    let (Some(from), Some((config_dir, cwd))) = (from, own_folder(request)) else {
        return CopyNeed::NoPlace;
    };
    let session = session.to_owned();
    let place =
        move |folders: &ProjectFolders| layout::session_files_in(&config_dir, folders, &session).into_iter().next();
    let (there, at_disk, own_cwd) = (from.clone(), place.clone(), cwd.clone());
    let looked = deadline.run(move || {
        let to = at_disk(&ProjectFolders::of(&own_cwd))?;
        Some((same_dir(&there, &to), to))
    });
    let by_spelling = || place(&ProjectFolders::by_spelling(&cwd)).map(|to| (from == to, to));
    match looked.unwrap_or_else(by_spelling) {
        Some((true, _)) => CopyNeed::None,
        Some((false, to)) => CopyNeed::Copy(CopyPlan { from, to, marker: None, token: None, bytes: None }),
        None => CopyNeed::NoPlace,
    }
}

fn withheld_note(withheld: Withheld, input: &GateInput) -> Note {
    let id = short(input.effective_candidate().unwrap_or_default());
    match withheld {
        Withheld::FromHistory => Note::new(
            "from-history",
            format!(
                "`{id}` was offered from history, which is good for a copy and nothing else, so nothing is resumed"
            ),
        ),
        Withheld::UnsafeId => Note::new(
            "unsafe-id",
            format!("`{id}` cannot be a session of Claude's (it is no safe file name), so nothing is resumed"),
        ),
    }
}

/// The login and working directory of a spawn as paths of this system.
pub(super) fn own_folder(request: &SpawnRequest) -> Option<(PathBuf, PathBuf)> {
    Some((request.places.usable(request.login.dir())?, request.places.usable(Some(&request.cwd))?))
}

/// Whether a session's file is where the spawn looks.
pub(super) fn is_here(config_dir: &Path, cwd: &Path, session: &str) -> bool {
    matches!(crate::claude::session::find(config_dir, cwd, session), crate::claude::session::Found::File(file) if file.size > 0)
}

#[cfg(test)]
mod tests {
    use super::{Deadline, Head, Places, with_recorded_identity};
    use std::time::Duration;

    #[test]
    fn a_recorded_identity_that_is_not_read_in_time_is_unknown_and_noted_once() {
        let head = Head { session_id: "A".into(), config_dir: Some("/cfg/a".into()), ..Head::default() };
        let mut notes = Vec::new();
        for _ in 0..2 {
            let known =
                with_recorded_identity(head.clone(), &Places::default(), Deadline::after(Duration::ZERO), &mut notes);
            assert_eq!(known.identity_key, None);
        }
        assert_eq!(notes.iter().map(|note| note.code.as_str()).collect::<Vec<_>>(), ["deadline-missed"]);
    }
}
