//! The exit codes, all of them.

use crate::gate::decision::DecisionKind;
use strum::EnumIter;

/// How the process ends. The numbers are part of the command line's contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// A check found something.
    Found,
    /// Wrong usage, or input that cannot be used.
    Usage,
    /// Another process holds the agent: spawn nothing.
    Held,
    /// With `--exit-code`: redirect.
    Redirect,
    /// With `--exit-code`: refuse, or a candidate was given and nothing is resumed.
    Refuse,
    /// With `--exit-code`: relocate.
    Relocate,
    /// With `--exit-code`: fork.
    Fork,
    /// With `--exit-code`: fork from the parent.
    ForkFrom,
    /// What a provider under `run` ended with.
    Provider(u8),
}

impl Exit {
    /// The process's exit status.
    #[must_use]
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Found => 1,
            Self::Usage => 2,
            Self::Held => 3,
            Self::Redirect => 10,
            Self::Refuse => 11,
            Self::Relocate => 12,
            Self::Fork => 13,
            Self::ForkFrom => 14,
            Self::Provider(code) => code,
        }
    }

    /// What the status means, in a few words.
    #[must_use]
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done; with `--exit-code`: allow, or there was nothing to decide",
            Self::Found => "a check found something (`rules check`, `segments check`, `audit replay --fail-on-change`)",
            Self::Usage => "wrong usage, or input that cannot be used",
            Self::Held => "another process holds the agent: spawn nothing",
            Self::Redirect => "`decide --exit-code`: redirect",
            Self::Refuse => "`decide --exit-code`: refuse, or a candidate was given and nothing is resumed",
            Self::Relocate => "`decide --exit-code`: relocate",
            Self::Fork => "`decide --exit-code`: fork",
            Self::ForkFrom => "`decide --exit-code`: fork from the parent",
            Self::Provider(_) => "under `run`: the provider's own status",
        }
    }

    /// The status that stands for a decision under `--exit-code`.
    #[must_use]
    pub(crate) fn of(decision: DecisionKind) -> Self {
        match decision {
            DecisionKind::Allow => Self::Done,
            DecisionKind::Redirect => Self::Redirect,
            DecisionKind::Refuse => Self::Refuse,
            DecisionKind::Relocate => Self::Relocate,
            DecisionKind::Fork => Self::Fork,
            DecisionKind::ForkFrom => Self::ForkFrom,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;
    use strum::IntoEnumIterator;

    #[test]
    fn no_two_outcomes_share_a_status() {
        let mut codes: Vec<u8> =
            Exit::iter().filter(|exit| !matches!(exit, Exit::Provider(_))).map(Exit::code).collect();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 10, 11, 12, 13, 14]);
    }
}
