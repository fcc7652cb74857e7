//! What the gate is asked, and what it may ask back.

use super::facts::{ForkRecord, HeadBusy, HeadFile, HeadLogin, HeadProject, HeadRecord};

/// A session of some chain, as the segment that reported it recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// The segment that reported the session.
    pub segment_id: String,
    /// The provider's session id; opaque.
    pub session_id: String,
    /// Key of the identity that was signed in, if it is known.
    pub identity_key: Option<String>,
    /// The login (provider config dir) as recorded.
    pub config_dir: Option<String>,
    /// The provider as recorded; empty is Claude.
    pub provider: String,
    /// The working directory as recorded.
    pub cwd: Option<String>,
    /// Size in bytes of the session's file when its segment ended, if one was recorded.
    pub provider_bytes_end: Option<u64>,
}

/// What is known of a chain's newest session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ChainHead {
    /// The chain could not be read. Never the same as an empty one.
    Unknown,
    /// The chain is readable, and no segment has a session.
    #[default]
    Empty,
    /// The newest segment that has a session, leaving out the one that is being spawned.
    Headed(Head),
}

impl ChainHead {
    /// The head, if there is one.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        match self {
            Self::Headed(head) => Some(head),
            Self::Unknown | Self::Empty => None,
        }
    }
}

/// One spawn that is about to happen, as far as the gate needs to know it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GateInput {
    /// The provider to be spawned; empty, `claude` and `claude-code` are Claude.
    pub provider: String,
    /// The session id the spawn would resume. `None`, blank or equal to `poisoned`: the gate is not asked.
    pub candidate: Option<String>,
    /// The head of the agent's own chain. For a fork without a conversation of its own whose
    /// parent's chain cannot be read, this is [`ChainHead::Unknown`] too.
    pub head: ChainHead,
    /// Key of the identity signed in at `config_dir`, if it is known.
    pub identity: Option<String>,
    /// A session id that this host already saw the provider reject.
    pub poisoned: Option<String>,
    /// The spawn's login (provider config dir), if it is known.
    pub config_dir: Option<String>,
    /// The spawn's working directory.
    pub cwd: String,
    /// The head of the chain of the agent this one was forked from.
    pub fork_source: Option<Head>,
    /// The newest segment of that chain that ever reported the candidate.
    pub fork_point: Option<Head>,
}

impl GateInput {
    /// The candidate, unless it counts as none: blank, or already rejected by the provider.
    #[must_use]
    pub fn effective_candidate(&self) -> Option<&str> {
        let candidate = self.candidate.as_deref()?;
        let counts = !candidate.trim().is_empty() && self.poisoned.as_deref() != Some(candidate);
        counts.then_some(candidate)
    }

    /// The segment of the parent's chain that a fork at `session` would branch from.
    #[must_use]
    pub fn branch_point(&self, session: &str) -> Option<&Head> {
        let named = |head: &&Head| head.session_id == session;
        self.fork_point.as_ref().filter(named).or_else(|| self.fork_source.as_ref().filter(named))
    }
}

/// The questions about the disk that the gate may ask; implemented over real files by the host
/// side of this crate and over plain data in tests.
///
/// The two comparisons are asked when facts are gathered, once each and only for a live head of
/// Claude's. The other four are the probes: each is asked at most once, and only when the rule
/// under consideration needs it. An implementation answers with a fact, never an error; what it
/// saw on the way it keeps as evidence.
pub trait Probes {
    /// The head's recorded login against the spawn's.
    fn head_login(&self, head: &Head, input: &GateInput) -> HeadLogin;
    /// Whether the head's recorded directory maps to the spawn's project folder.
    fn head_project(&self, head: &Head, input: &GateInput) -> HeadProject;
    /// The head's file under the spawn's login and directory.
    fn head_file(&self, head: &Head, input: &GateInput) -> HeadFile;
    /// Whether a live provider process has the head's session open.
    fn head_busy(&self, head: &Head, input: &GateInput) -> HeadBusy;
    /// The head's file at the login where it was recorded.
    fn head_record(&self, head: &Head, input: &GateInput) -> HeadRecord;
    /// The file of the parent's session at `point`, where it was recorded.
    fn fork_record(&self, point: &Head, input: &GateInput) -> ForkRecord;
}

/// Whether a provider's name means Claude Code: `claude`, `claude-code` or nothing.
#[must_use]
pub fn is_claude(provider: &str) -> bool {
    matches!(provider.trim(), "" | "claude" | "claude-code")
}
