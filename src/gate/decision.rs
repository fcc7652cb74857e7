//! The six decisions and what each carries.

use serde::{Deserialize, Serialize};
use strum::{EnumDiscriminants, EnumIter, EnumString, IntoStaticStr, VariantNames};

/// What the host may do with the session it was about to resume.
///
/// Exhaustive on purpose: a host must handle all six. Serialises with the tag `kind`:
///
/// ```
/// use resume_gate::ResumeGate;
/// let decision = ResumeGate::Redirect { head: "B".into() };
/// assert_eq!(serde_json::to_string(&decision)?, r#"{"kind":"redirect","head":"B"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, EnumDiscriminants)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[strum_discriminants(
    name(DecisionKind),
    doc = "A decision without what it carries; the names are those a table's `then` uses.",
    derive(EnumIter, EnumString, IntoStaticStr, VariantNames, Hash, PartialOrd, Ord),
    strum(serialize_all = "snake_case")
)]
pub enum ResumeGate {
    /// Resume the candidate.
    Allow,
    /// Resume the head instead of the candidate.
    Redirect {
        /// The head's session id.
        head: String,
    },
    /// Resume nothing; start fresh and carry the record.
    Refuse {
        /// The session that could not be resumed.
        head: String,
    },
    /// Copy the head's file in from another login and resume it with `--fork-session`.
    Relocate {
        /// The head's session id.
        head: String,
        /// The login where the head was recorded.
        from_config_dir: String,
    },
    /// Resume the head with `--fork-session`.
    Fork {
        /// The head's session id.
        head: String,
    },
    /// Copy the parent's file in and resume it with `--fork-session`.
    ForkFrom {
        /// The parent's session id.
        head: String,
        /// The login where the parent's session was recorded.
        from_config_dir: String,
        /// The working directory it was recorded under.
        from_cwd: String,
    },
}

impl ResumeGate {
    /// The decision without what it carries.
    #[must_use]
    pub fn kind(&self) -> DecisionKind {
        self.into()
    }
}

impl DecisionKind {
    /// The decision's name, as a table's `then` spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
