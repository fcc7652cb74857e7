//! What a line of a segment log says.

use serde::{Serialize, Serializer};

/// Declares a closed list of words that newer builds may extend: a word we do not know is kept.
macro_rules! open_words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$word_doc])* $word,)+
            /// A word of a newer build, or none at all (empty).
            Unknown(String),
        }

        impl $name {
            /// The word as it is recorded.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$word => $text,)+
                    Self::Unknown(word) => word,
                }
            }

            /// Whether this build knows the word.
            #[must_use]
            pub fn is_known(&self) -> bool {
                !matches!(self, Self::Unknown(_))
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($text => Self::$word,)+
                    other => Self::Unknown(other.to_owned()),
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Unknown(String::new())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

open_words! {
    /// How a segment began.
    Rung {
        /// The provider resumed its own session.
        Native = "native",
        /// A fresh session that carries the record of what went before.
        Virtualized = "virtualized",
        /// A fresh session.
        Fresh = "fresh",
        /// Resumed from a copy of another login's file; newer builds write it.
        Relocated = "relocated",
    }
}

open_words! {
    /// How a segment ended.
    EndReason {
        /// The provider exited with status 0.
        Exited = "exited",
        /// The provider exited with another status.
        Crashed = "crashed",
        /// The pane was closed.
        Closed = "closed",
        /// It was stopped because a changed configuration was pending.
        Restarted = "restarted",
        /// It was stopped for any other reason.
        Stopped = "stopped",
    }
}

/// One event of a segment log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "events are handled one at a time")]
pub enum Event {
    /// A provider process was started.
    Start(Start),
    /// It reported its session.
    Session(Session),
    /// It ended.
    End(End),
}

impl Event {
    /// The segment it belongs to.
    #[must_use]
    pub fn segment_id(&self) -> &str {
        match self {
            Self::Start(start) => &start.segment_id,
            Self::Session(session) => &session.segment_id,
            Self::End(end) => &end.segment_id,
        }
    }
}

/// A provider process was started. Empty strings stand for what is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Start {
    /// Id of the segment; filled in when it is recorded.
    pub segment_id: String,
    /// The agent; a segment of another agent than the log's never counts.
    pub agent_uid: String,
    /// The agent's definition.
    pub definition_id: Option<String>,
    /// The provider; empty is Claude.
    pub provider: String,
    /// The login (provider config dir).
    pub config_dir: Option<String>,
    /// The provider's session, if it was certain at the start.
    pub provider_session_id: Option<String>,
    /// The working directory.
    pub cwd: String,
    /// The host's release channel.
    pub channel: String,
    /// The host's version.
    pub agentmux_version: String,
    /// The pane.
    pub block_id: String,
    /// The zone of the transcript.
    pub zone: Option<String>,
    /// Size of the transcript at the start, in bytes.
    pub byte_start: Option<u64>,
    /// When it was started, in milliseconds since 1970. Shown, never sorted by.
    pub started_at_ms: Option<i64>,
    /// How it began.
    pub continuity_rung: Rung,
    /// The newest segment at that time; filled in when it is recorded.
    pub predecessor_segment_id: Option<String>,
    /// The lease under which it was started.
    pub lease_epoch: Option<i64>,
    /// Key of the identity that was signed in.
    pub identity_key: Option<String>,
    /// The session that it was forked from.
    pub forked_from: Option<String>,
}

/// A provider process reported its session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Session {
    /// Id of the segment.
    pub segment_id: String,
    /// The provider's session; none if what stands there is no id.
    pub provider_session_id: Option<String>,
    /// When, in milliseconds since 1970.
    pub at_ms: Option<i64>,
}

/// A provider process ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct End {
    /// Id of the segment.
    pub segment_id: String,
    /// What was recorded of it.
    #[serde(flatten)]
    pub ended: Ended,
}

/// What is recorded of a segment's end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Ended {
    /// When, in milliseconds since 1970.
    pub ended_at_ms: Option<i64>,
    /// How.
    pub end_reason: EndReason,
    /// Size of the transcript at the end, in bytes.
    pub byte_end: Option<u64>,
    /// Size of the provider's session file at the end, in bytes.
    pub provider_bytes_end: Option<u64>,
}

/// How a segment begins: `native` if the provider resumed, else `virtualized` if the fresh session
/// carries the record, else `fresh`.
#[must_use]
pub fn rung_for_spawn(resumed: bool, carries_record: bool) -> Rung {
    match (resumed, carries_record) {
        (true, _) => Rung::Native,
        (false, true) => Rung::Virtualized,
        (false, false) => Rung::Fresh,
    }
}

/// How a provider that exited by itself ended.
#[must_use]
pub fn exit_reason(code: i32) -> EndReason {
    if code == 0 { EndReason::Exited } else { EndReason::Crashed }
}

/// How a provider that the host stopped ended.
#[must_use]
pub fn kill_reason(closing: bool, restart_pending: bool) -> EndReason {
    match (closing, restart_pending) {
        (true, _) => EndReason::Closed,
        (false, true) => EndReason::Restarted,
        (false, false) => EndReason::Stopped,
    }
}
