//! From a decision to what the host carries out: what to resume, how, which file to copy first,
//! and what to record on the new segment. Pure.

use super::relocate::PlacedCopy;
use crate::explain::short;
use crate::gate::facts::HeadFile;
use crate::gate::{GateInput, Gated, ResumeGate, is_claude};
use crate::segments::{Rung, is_safe_session_id, rung_for_spawn};
use std::path::PathBuf;
use strum::{EnumString, IntoStaticStr};

/// How the candidate came to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Offered {
    /// The pane holds the id.
    #[default]
    Held,
    /// The pane holds none but renders that session's history: good for a copy and nothing else.
    History,
}

/// What the spawn comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum PlanOutcome {
    /// A session is resumed in place.
    Resume,
    /// A session is resumed under a new id.
    Fork,
    /// Nothing is resumed.
    Fresh,
    /// Another process holds the agent: nothing may be spawned.
    Held,
}

/// The file that has to be copied in before the spawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyPlan {
    /// The session's file at the login where it was recorded.
    pub from: PathBuf,
    /// Where the spawn looks for it.
    pub to: PathBuf,
    /// The marker beside the copy; `None` until it was made.
    pub marker: Option<PathBuf>,
    /// What settles this copy and no other; `None` until it was made.
    pub token: Option<String>,
    /// Size of the copy in bytes; `None` until it was made.
    pub bytes: Option<u64>,
}

impl From<PlacedCopy> for CopyPlan {
    fn from(placed: PlacedCopy) -> Self {
        Self {
            from: placed.from,
            to: placed.to,
            marker: Some(placed.marker),
            token: Some(placed.token),
            bytes: Some(placed.bytes),
        }
    }
}

/// What to write on the new segment when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The session that the spawn branches from, if it branches.
    pub forked_from: Option<String>,
    /// How the segment begins.
    pub rung: Rung,
    /// The session's id, only where it is certain before the provider says so.
    pub provider_session_id: Option<String>,
}

/// What a host carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnPlan {
    /// What the spawn comes to.
    pub outcome: PlanOutcome,
    /// The session to resume.
    pub resume: Option<String>,
    /// Whether it is resumed under a new id.
    pub fork_session: bool,
    /// The file to copy in first.
    pub copy: Option<CopyPlan>,
    /// The provider's arguments for all that; empty when nothing is resumed, and for a provider
    /// whose arguments are not known here.
    pub args: Vec<String>,
    /// What to write on the new segment.
    pub record: Recording,
}

/// Why a plan resumes nothing although there was a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withheld {
    /// The candidate was offered from history, and only a copy may be made of such a one.
    FromHistory,
    /// The candidate is no id that may reach the provider's command line.
    UnsafeId,
}

impl SpawnPlan {
    /// The plan that resumes nothing. `carries_record`: the host shows the provider the record of
    /// the conversation so far.
    #[must_use]
    pub fn fresh(carries_record: bool) -> Self {
        Self {
            outcome: PlanOutcome::Fresh,
            resume: None,
            fork_session: false,
            copy: None,
            args: Vec::new(),
            record: Recording {
                forked_from: None,
                rung: rung_for_spawn(false, carries_record),
                provider_session_id: None,
            },
        }
    }

    /// The plan while another process holds the agent.
    #[must_use]
    pub fn held() -> Self {
        Self { outcome: PlanOutcome::Held, ..Self::fresh(false) }
    }

    fn resume(session: &str, claude: bool, certain: bool) -> Self {
        Self {
            outcome: PlanOutcome::Resume,
            resume: Some(session.to_owned()),
            args: if claude { vec!["--resume".to_owned(), session.to_owned()] } else { Vec::new() },
            record: Recording {
                forked_from: None,
                rung: rung_for_spawn(true, false),
                provider_session_id: certain.then(|| session.to_owned()),
            },
            ..Self::fresh(false)
        }
    }

    fn fork(session: &str, copy: Option<CopyPlan>) -> Self {
        Self {
            outcome: PlanOutcome::Fork,
            resume: Some(session.to_owned()),
            fork_session: true,
            copy,
            args: vec!["--resume".to_owned(), session.to_owned(), "--fork-session".to_owned()],
            record: Recording {
                forked_from: Some(session.to_owned()),
                rung: rung_for_spawn(true, false),
                provider_session_id: None,
            },
        }
    }

    /// The outcome in a few words, for people: `resume 5f2c… instead of 91ab…`.
    #[must_use]
    pub fn outcome_text(&self, candidate: Option<&str>) -> String {
        let resumed = self.resume.as_deref().map(short).unwrap_or_default();
        let instead = match candidate {
            Some(candidate) if self.resume.as_deref() != Some(candidate) => format!(" instead of {}", short(candidate)),
            _ => String::new(),
        };
        match (self.outcome, &self.copy) {
            (PlanOutcome::Resume, _) => format!("resume {resumed}{instead}"),
            (PlanOutcome::Fork, None) => format!("fork {resumed}{instead}"),
            (PlanOutcome::Fork, Some(_)) => format!("copy {resumed} in and fork it{instead}"),
            (PlanOutcome::Fresh, _) if candidate.is_none() => "start fresh".to_owned(),
            (PlanOutcome::Fresh, _) => format!("start fresh{instead}"),
            (PlanOutcome::Held, _) => "spawn nothing: another process holds the agent".to_owned(),
        }
    }
}

/// The plan for a decision. `copy` is the file a Relocate or ForkFrom needs, or `None` if it
/// already lies where the spawn looks.
#[must_use]
pub fn plan(
    gated: Option<&Gated>,
    input: &GateInput,
    offered: Offered,
    copy: Option<CopyPlan>,
) -> (SpawnPlan, Option<Withheld>) {
    let (Some(gated), Some(candidate)) = (gated, input.effective_candidate()) else {
        return (SpawnPlan::fresh(false), None);
    };
    let claude = is_claude(&input.provider);
    let seen = [HeadFile::AsLeft, HeadFile::Unsized, HeadFile::Shrunk];
    let certain = seen.into_iter().any(|file| gated.evaluation.word.is(file));
    match &gated.decision {
        ResumeGate::Relocate { head, .. } | ResumeGate::ForkFrom { head, .. } => (SpawnPlan::fork(head, copy), None),
        ResumeGate::Refuse { .. } => (SpawnPlan::fresh(true), None),
        _ if offered == Offered::History => (SpawnPlan::fresh(true), Some(Withheld::FromHistory)),
        ResumeGate::Allow if claude && !is_safe_session_id(candidate) => {
            (SpawnPlan::fresh(false), Some(Withheld::UnsafeId))
        }
        ResumeGate::Allow => (SpawnPlan::resume(candidate, claude, certain), None),
        ResumeGate::Redirect { head } => (SpawnPlan::resume(head, claude, certain), None),
        ResumeGate::Fork { head } => (SpawnPlan::fork(head, None), None),
    }
}
