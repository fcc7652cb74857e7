//! From a [`GateInput`] to its cheap facts, and from the decided rule back to a [`ResumeGate`].

use super::decision::{DecisionKind, ResumeGate};
use super::evaluate::Answers;
use super::facts::{
    Candidate, Chain, ForkIdentity, ForkProvider, ForkRecord, ForkSource, HeadBusy, HeadFile, HeadHealth, HeadIdentity,
    HeadProvider, HeadRecord, SpawnProvider, VOCABULARY,
};
use super::input::{ChainHead, GateInput, Head, Probes, is_claude};
use super::table::FactWord;

/// How two identity keys stand to each other; `None`: one of them is not known. A blank key is none.
fn keys_equal(recorded: Option<&String>, spawn: Option<&String>) -> Option<bool> {
    let known = |key: &String| !key.trim().is_empty();
    Some(recorded.filter(|key| known(key))?.trim() == spawn.filter(|key| known(key))?.trim())
}

/// The facts that cost nothing, settled: what does not apply is marked, probes are "not asked".
pub(super) fn cheap_facts<P: Probes>(input: &GateInput, candidate: &str, probes: &P) -> FactWord {
    let word = if is_claude(&input.provider) {
        chain_facts(FactWord::EMPTY.with(SpawnProvider::Claude), input, candidate, probes)
    } else {
        FactWord::EMPTY.with(SpawnProvider::Other)
    };
    VOCABULARY.settle(word)
}

fn chain_facts<P: Probes>(word: FactWord, input: &GateInput, candidate: &str, probes: &P) -> FactWord {
    match &input.head {
        ChainHead::Unknown => word.with(Chain::Unknown),
        ChainHead::Empty => fork_facts(word.with(Chain::Empty), input, candidate),
        ChainHead::Headed(head) => head_facts(word.with(Chain::Headed), head, input, candidate, probes),
    }
}

fn fork_facts(word: FactWord, input: &GateInput, candidate: &str) -> FactWord {
    let Some(source) = &input.fork_source else {
        return word.with(ForkSource::None);
    };
    let Some(point) = input.branch_point(candidate) else {
        return word.with(ForkSource::Elsewhere);
    };
    word.with(if source.session_id == candidate { ForkSource::AtCandidate } else { ForkSource::Behind })
        .with(if is_claude(&point.provider) { ForkProvider::Claude } else { ForkProvider::Other })
        .with(match keys_equal(point.identity_key.as_ref(), input.identity.as_ref()) {
            Some(true) => ForkIdentity::Same,
            Some(false) => ForkIdentity::Different,
            None => ForkIdentity::Unknown,
        })
}

fn head_facts<P: Probes>(word: FactWord, head: &Head, input: &GateInput, candidate: &str, probes: &P) -> FactWord {
    if input.poisoned.as_deref() == Some(head.session_id.as_str()) {
        return word.with(HeadHealth::Poisoned);
    }
    let word = word
        .with(HeadHealth::Ok)
        .with(match keys_equal(head.identity_key.as_ref(), input.identity.as_ref()) {
            Some(true) => HeadIdentity::Same,
            Some(false) => HeadIdentity::Different,
            None => HeadIdentity::Unknown,
        })
        .with(if head.session_id == candidate { Candidate::Head } else { Candidate::Other });
    if is_claude(&head.provider) {
        word.with(HeadProvider::Claude).with(probes.head_login(head, input)).with(probes.head_project(head, input))
    } else {
        word.with(HeadProvider::Other)
    }
}

/// The probes of one case: the questions are about the head, or about the branch point of a fork.
pub(super) struct Asked<'a, P> {
    pub(super) input: &'a GateInput,
    pub(super) candidate: &'a str,
    pub(super) probes: &'a P,
}

impl<P: Probes> Answers for Asked<'_, P> {
    fn fork_record(&mut self) -> ForkRecord {
        self.input
            .branch_point(self.candidate)
            .map_or(ForkRecord::Unrecorded, |point| self.probes.fork_record(point, self.input))
    }
    fn head_file(&mut self) -> HeadFile {
        self.input.head.head().map_or(HeadFile::Unreadable, |head| self.probes.head_file(head, self.input))
    }
    fn head_busy(&mut self) -> HeadBusy {
        self.input.head.head().map_or(HeadBusy::No, |head| self.probes.head_busy(head, self.input))
    }
    fn head_record(&mut self) -> HeadRecord {
        self.input.head.head().map_or(HeadRecord::Incomplete, |head| self.probes.head_record(head, self.input))
    }
}

/// The decision with what it carries.
///
/// The shipped table's claims keep a rule from coming to a decision whose subject does not exist;
/// an edited one that did would refuse, naming the candidate.
pub(super) fn decision(kind: DecisionKind, input: &GateInput, candidate: &str) -> ResumeGate {
    let head = input.head.head();
    let session = |head: &Head| head.session_id.clone();
    let refuse = || ResumeGate::Refuse { head: head.map_or_else(|| candidate.to_owned(), session) };
    let carried = match kind {
        DecisionKind::Allow => Some(ResumeGate::Allow),
        DecisionKind::Refuse => None,
        DecisionKind::Redirect => head.map(|head| ResumeGate::Redirect { head: session(head) }),
        DecisionKind::Fork => head.map(|head| ResumeGate::Fork { head: session(head) }),
        DecisionKind::Relocate => head.and_then(|head| {
            Some(ResumeGate::Relocate { head: session(head), from_config_dir: head.config_dir.clone()? })
        }),
        DecisionKind::ForkFrom => input.branch_point(candidate).and_then(|point| {
            Some(ResumeGate::ForkFrom {
                head: session(point),
                from_config_dir: point.config_dir.clone()?,
                from_cwd: point.cwd.clone()?,
            })
        }),
    };
    carried.unwrap_or_else(refuse)
}
