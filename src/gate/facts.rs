//! The facts a rule may test: names, values, when each applies, and how a case becomes a
//! [`FactWord`]. Shared with the build script, which checks the table against [`VOCABULARY`].

use super::decision::DecisionKind;
use super::table::{Applies, FactSpec, FactWord, State, Vocabulary, lay_out};
use strum::{EnumIter, EnumString, IntoStaticStr, VariantNames};

/// Declares a fact's value enum with the derives that all of them share.
macro_rules! fact_values {
    ($(#[$doc:meta])* $name:ident is $fact:ident { $($(#[$value_doc:meta])* $value:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumIter, EnumString, IntoStaticStr, VariantNames)]
        #[strum(serialize_all = "snake_case")]
        pub enum $name { $($(#[$value_doc])* $value),+ }

        impl FactValue for $name {
            const FACT: Fact = Fact::$fact;
            fn index(self) -> usize {
                self as usize
            }
        }
    };
}

/// A value of one particular fact.
pub trait FactValue: Copy + VariantNames {
    /// The fact it is a value of.
    const FACT: Fact;
    /// Its place among the fact's values.
    fn index(self) -> usize;
}

fact_values! {
    /// The spawn's provider; only Claude's files can be checked.
    SpawnProvider is SpawnProvider {
        /// `claude`, `claude-code` or empty.
        Claude,
        /// Any other provider.
        Other,
    }
}
fact_values! {
    /// What is known of the agent's chain of segments.
    Chain is Chain {
        /// No usable agent UID, or a log that cannot be read.
        Unknown,
        /// Readable, and no segment has a session.
        Empty,
        /// There is a head.
        Headed,
    }
}
fact_values! {
    /// Where the candidate stands in the chain of the agent this one was forked from.
    ForkSource is ForkSource {
        /// Not a fork, or the parent has no head.
        None,
        /// The parent's chain never reported the candidate.
        Elsewhere,
        /// An earlier session of the parent's chain.
        Behind,
        /// The parent's head.
        AtCandidate,
    }
}
fact_values! {
    /// The provider recorded on the head; empty counts as Claude.
    HeadProvider is HeadProvider {
        /// Claude Code.
        Claude,
        /// Any other.
        Other,
    }
}
fact_values! {
    /// The provider recorded on the parent's segment that reported the candidate.
    ForkProvider is ForkProvider {
        /// Claude Code.
        Claude,
        /// Any other.
        Other,
    }
}
fact_values! {
    /// The parent segment's identity key against the spawn's.
    ForkIdentity is ForkIdentity {
        /// Both known and equal.
        Same,
        /// One of them is not known.
        Unknown,
        /// Both known, and they differ.
        Different,
    }
}
fact_values! {
    /// The parent's session file where it was recorded.
    ForkRecord is ForkRecord {
        /// It holds a turn, and nothing but its last line may be torn.
        Complete,
        /// It is there but is no whole conversation, or cannot be read.
        Incomplete,
        /// It is not there.
        Missing,
        /// No usable place was recorded.
        Unrecorded,
    }
}
fact_values! {
    /// Whether the head was already rejected by the provider.
    HeadHealth is HeadHealth {
        /// Not known to be dead.
        Ok,
        /// It equals the poisoned id.
        Poisoned,
    }
}
fact_values! {
    /// The head's identity key against the spawn's.
    HeadIdentity is HeadIdentity {
        /// Both known and equal.
        Same,
        /// One of them is not known.
        Unknown,
        /// Both known, and they differ.
        Different,
    }
}
fact_values! {
    /// Whether the candidate is the head's session.
    Candidate is Candidate {
        /// It is.
        Head,
        /// It is another one.
        Other,
    }
}
fact_values! {
    /// The head's recorded login against the spawn's.
    HeadLogin is HeadLogin {
        /// One directory, or one `projects` folder.
        Own,
        /// Another one.
        Other,
        /// None that could be used was recorded.
        Unrecorded,
    }
}
fact_values! {
    /// The head's recorded working directory against the spawn's project folder.
    HeadProject is HeadProject {
        /// It maps to the spawn's project folder.
        Same,
        /// It maps to another one.
        Different,
    }
}
fact_values! {
    /// The head's file under the spawn's login and working directory.
    HeadFile is HeadFile {
        /// As large as its segment left it.
        AsLeft,
        /// There, with no recorded size to compare with.
        Unsized,
        /// Smaller than its segment left it.
        Shrunk,
        /// Larger than its segment left it.
        Grown,
        /// There, with no bytes.
        Empty,
        /// Definitely not there.
        Missing,
        /// It could not be opened, or is no regular file.
        Unreadable,
    }
}
fact_values! {
    /// Whether a live provider process has the head's session open.
    HeadBusy is HeadBusy {
        /// None is known to.
        No,
        /// One has.
        Yes,
    }
}
fact_values! {
    /// The head's file at the login where it was recorded.
    HeadRecord is HeadRecord {
        /// It holds a turn and ends in a whole record.
        Complete,
        /// It is there but is no whole conversation, or cannot be read.
        Incomplete,
        /// It is not there.
        Missing,
    }
}

/// The facts, in the order that decides witnesses, listings and the order of probes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, EnumIter, EnumString, IntoStaticStr, VariantNames,
)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each one is documented at its values and in `Fact::means`")]
pub enum Fact {
    SpawnProvider,
    Chain,
    ForkSource,
    ForkProvider,
    ForkIdentity,
    ForkRecord,
    HeadHealth,
    HeadIdentity,
    HeadProvider,
    Candidate,
    HeadLogin,
    HeadProject,
    HeadFile,
    HeadBusy,
    HeadRecord,
}

/// Bits of values by index, for [`Applies`].
const fn values<const N: usize>(indexes: [usize; N]) -> u64 {
    let mut bits = 0;
    let mut i = 0;
    while i < N {
        bits |= 1 << indexes[i];
        i += 1;
    }
    bits
}

const fn fact(
    name: &'static str,
    values: &'static [&'static str],
    applies: Option<Applies>,
    probe: bool,
    means: &'static str,
) -> FactSpec {
    FactSpec { name, values, applies, probe, means, shift: 0 }
}

const fn when<const N: usize>(parent: Fact, indexes: [usize; N]) -> Option<Applies> {
    Some(Applies { fact: parent as usize, values: values(indexes) })
}

const IF_CLAUDE: Option<Applies> = when(Fact::SpawnProvider, [SpawnProvider::Claude as usize]);
const IF_EMPTY: Option<Applies> = when(Fact::Chain, [Chain::Empty as usize]);
const IF_FORKED: Option<Applies> =
    when(Fact::ForkSource, [ForkSource::Behind as usize, ForkSource::AtCandidate as usize]);
const IF_HEADED: Option<Applies> = when(Fact::Chain, [Chain::Headed as usize]);
const IF_LIVE: Option<Applies> = when(Fact::HeadHealth, [HeadHealth::Ok as usize]);
const IF_CLAUDES_HEAD: Option<Applies> = when(Fact::HeadProvider, [HeadProvider::Claude as usize]);
const IF_ELSEWHERE: Option<Applies> = when(Fact::HeadLogin, [HeadLogin::Other as usize]);

const CHEAP: bool = false;
const PROBE: bool = true;

/// Every fact, in order; index with `Fact as usize`.
pub static FACTS: [FactSpec; 15] = lay_out([
    fact("spawn_provider", SpawnProvider::VARIANTS, None, CHEAP, "the provider that is about to be spawned"),
    fact("chain", Chain::VARIANTS, IF_CLAUDE, CHEAP, "what is known of the agent's chain of segments"),
    fact(
        "fork_source",
        ForkSource::VARIANTS,
        IF_EMPTY,
        CHEAP,
        "where the candidate stands in the chain of the agent this one was forked from",
    ),
    fact(
        "fork_provider",
        ForkProvider::VARIANTS,
        IF_FORKED,
        CHEAP,
        "the provider recorded on the parent's segment that reported the candidate",
    ),
    fact("fork_identity", ForkIdentity::VARIANTS, IF_FORKED, CHEAP, "that segment's identity against the spawn's"),
    fact("fork_record", ForkRecord::VARIANTS, IF_FORKED, PROBE, "the parent's session file where it was recorded"),
    fact("head_health", HeadHealth::VARIANTS, IF_HEADED, CHEAP, "whether the provider already rejected the head"),
    fact("head_identity", HeadIdentity::VARIANTS, IF_LIVE, CHEAP, "the head's identity against the spawn's"),
    fact("head_provider", HeadProvider::VARIANTS, IF_LIVE, CHEAP, "the provider recorded on the head"),
    fact("candidate", Candidate::VARIANTS, IF_LIVE, CHEAP, "whether the candidate is the head's session"),
    fact("head_login", HeadLogin::VARIANTS, IF_CLAUDES_HEAD, CHEAP, "the head's recorded login against the spawn's"),
    fact(
        "head_project",
        HeadProject::VARIANTS,
        IF_CLAUDES_HEAD,
        CHEAP,
        "whether the head's recorded directory maps to the spawn's project folder",
    ),
    fact(
        "head_file",
        HeadFile::VARIANTS,
        IF_CLAUDES_HEAD,
        PROBE,
        "the head's file under the spawn's login and directory, against the size its segment left",
    ),
    fact(
        "head_busy",
        HeadBusy::VARIANTS,
        IF_CLAUDES_HEAD,
        PROBE,
        "whether a live provider process has the head's session open",
    ),
    fact(
        "head_record",
        HeadRecord::VARIANTS,
        IF_ELSEWHERE,
        PROBE,
        "the head's file at the login where it was recorded",
    ),
]);

/// What the gate's table may name.
pub static VOCABULARY: Vocabulary = Vocabulary { facts: &FACTS, decisions: DecisionKind::VARIANTS };

impl Fact {
    /// Its specification: values, when it applies, its bits.
    #[inline]
    #[must_use]
    pub fn spec(self) -> &'static FactSpec {
        &FACTS[self as usize]
    }

    /// Its name, as a table spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl FactWord {
    /// The word with the fact that `value` belongs to set to it.
    #[inline]
    #[must_use]
    pub fn with<V: FactValue>(self, value: V) -> Self {
        let spec = V::FACT.spec();
        self.with_bits(spec, spec.value_bit(value.index()))
    }

    /// Whether the fact that `value` belongs to has that value.
    #[inline]
    #[must_use]
    pub fn is<V: FactValue>(self, value: V) -> bool {
        self.bits() & V::FACT.spec().value_bit(value.index()) != 0
    }

    /// What the word says of a fact.
    #[must_use]
    pub fn fact(self, fact: Fact) -> State {
        self.state(fact.spec())
    }

    /// The name of a fact's value, if it is known.
    #[must_use]
    pub fn value_name(self, fact: Fact) -> Option<&'static str> {
        match self.fact(fact) {
            State::Value(index) => fact.spec().values.get(index).copied(),
            _ => None,
        }
    }
}
