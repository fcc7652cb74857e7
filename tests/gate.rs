//! The gate against a second opinion: the whole fact space, probes counted, and random spawns
//! over an in-memory disk.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::allow_attributes, reason = "tests")]

mod support;

use proptest::prelude::*;
use resume_gate::gate::facts::*;
use resume_gate::gate::{Evaluation, Partial, Ready, TABLE, decision_of, evaluate, evaluate_partial};
use resume_gate::table::{FactWord, INDEXED_RULES, Index, Rule, State, Table, Verdict};
use resume_gate::{ChainHead, GateInput, Head, Probes, ResumeGate, resume_gate};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use strum::IntoEnumIterator;
use support::answers::{FromWord, unasked};
use support::reference::{self, Facts};

fn word_of(facts: &Facts) -> FactWord {
    let mut word = FactWord::EMPTY;
    for (fact, value) in facts {
        let fact: Fact = fact.parse().unwrap();
        word = word.with_bits(fact.spec(), fact.spec().value_bit(fact.spec().value_named(value).unwrap()));
    }
    VOCABULARY.settle(word)
}

#[test]
fn the_reference_and_the_vocabulary_know_the_same_899_cases() {
    let by_hand: BTreeSet<FactWord> = reference::every_case().iter().map(word_of).collect();
    let enumerated: BTreeSet<FactWord> = VOCABULARY.combinations().into_iter().collect();
    assert_eq!(by_hand.len(), 899);
    assert_eq!(by_hand, enumerated);
}

#[test]
fn every_case_is_decided_as_the_reference_decides_it() {
    for facts in reference::every_case() {
        let (rule, decision) = reference::decide(&facts);
        let word = word_of(&facts);
        let mut answers = FromWord::new(word);
        let lazily = evaluate(&TABLE, unasked(word), &mut answers);
        for (how, index) in [("with all facts", TABLE.first_hit(word)), ("asking", lazily.rule)] {
            assert_eq!(TABLE.rules[index].id, rule, "{how}: {facts:?}");
            assert_eq!(decision_of(&TABLE.rules[index]).name(), decision, "{how}: {facts:?}");
        }
        assert_eq!(evaluate_partial(&TABLE, word), Partial::Decided(lazily.rule), "{facts:?}");
    }
}

#[test]
fn probes_are_asked_in_order_at_most_once_and_only_where_all_cheaper_conditions_hold() {
    for word in VOCABULARY.combinations() {
        let mut answers = FromWord::new(word);
        evaluate(&TABLE, unasked(word), &mut answers);

        // What the rows ask for when tried one after the other by hand.
        let mut known = unasked(word);
        let mut expected = Vec::new();
        'rows: for rule in TABLE.rules.iter() {
            for fact in Fact::iter().filter(|fact| fact.spec().probe) {
                let tests_it = rule.when.iter().any(|condition| condition.fact == fact as usize);
                if tests_it && known.fact(fact) == State::NotAsked && rule.verdict(known) != Verdict::Misses {
                    expected.push(fact);
                    known = known.with_bits(fact.spec(), word.bits() & fact.spec().group());
                }
            }
            if rule.verdict(known) == Verdict::Hits {
                break 'rows;
            }
        }
        assert_eq!(answers.asked, expected);
        assert_eq!(expected.iter().collect::<BTreeSet<_>>().len(), expected.len(), "asked twice: {expected:?}");
    }
}

#[test]
fn a_partial_fact_set_is_decided_exactly_when_the_rows_before_the_hit_are_settled() {
    for word in VOCABULARY.combinations() {
        for left_out in Fact::iter() {
            let partial = word.with_bits(left_out.spec(), 0);
            match evaluate_partial(&TABLE, partial) {
                Partial::Decided(rule) => assert_eq!(rule, TABLE.first_hit(word), "without {left_out:?}"),
                Partial::Needs(needs) => assert_eq!(needs, [left_out]),
            }
        }
    }
}

/// A disk made of plain answers, counting the questions.
#[derive(Debug)]
struct Memory {
    login: HeadLogin,
    project: HeadProject,
    ready: Ready,
    asked: RefCell<Vec<Fact>>,
}

impl Memory {
    fn note(&self, fact: Fact) {
        self.asked.borrow_mut().push(fact);
    }
}

impl Probes for Memory {
    fn head_login(&self, _: &Head, _: &GateInput) -> HeadLogin {
        self.note(Fact::HeadLogin);
        self.login
    }
    fn head_project(&self, _: &Head, _: &GateInput) -> HeadProject {
        self.note(Fact::HeadProject);
        self.project
    }
    fn head_file(&self, _: &Head, _: &GateInput) -> HeadFile {
        self.note(Fact::HeadFile);
        self.ready.head_file
    }
    fn head_busy(&self, _: &Head, _: &GateInput) -> HeadBusy {
        self.note(Fact::HeadBusy);
        self.ready.head_busy
    }
    fn head_record(&self, _: &Head, _: &GateInput) -> HeadRecord {
        self.note(Fact::HeadRecord);
        self.ready.head_record
    }
    fn fork_record(&self, _: &Head, _: &GateInput) -> ForkRecord {
        self.note(Fact::ForkRecord);
        self.ready.fork_record
    }
}

fn one_of<T: IntoEnumIterator + Copy + std::fmt::Debug + 'static>() -> impl Strategy<Value = T> {
    proptest::sample::select(T::iter().collect::<Vec<T>>())
}

fn head() -> impl Strategy<Value = Head> {
    let key = proptest::option::of(proptest::sample::select(vec!["k1".to_owned(), "k2".to_owned()]));
    let provider = proptest::sample::select(vec!["", "claude", "claude-code", "codex"]);
    ("[ABC]", key, provider).prop_map(|(id, identity_key, provider)| Head {
        segment_id: format!("segment-{id}"),
        session_id: id,
        identity_key,
        config_dir: Some("/cfg/a".to_owned()),
        provider: provider.to_owned(),
        cwd: Some("/w".to_owned()),
        provider_bytes_end: Some(700),
    })
}

fn input() -> impl Strategy<Value = GateInput> {
    let chain = prop_oneof![
        1 => Just(ChainHead::Unknown),
        3 => Just(ChainHead::Empty),
        8 => head().prop_map(ChainHead::Headed),
    ];
    (
        proptest::sample::select(vec!["", "claude", "claude-code", "codex", "Claude"]),
        proptest::option::weighted(0.95, "[ABC ]"),
        chain,
        proptest::option::of(proptest::sample::select(vec!["k1".to_owned(), "k2".to_owned()])),
        proptest::option::weighted(0.2, "[ABC]"),
        proptest::option::of(head()),
        proptest::option::of(head()),
    )
        .prop_map(|(provider, candidate, head, identity, poisoned, fork_source, fork_point)| GateInput {
            provider: provider.to_owned(),
            candidate,
            head,
            identity,
            poisoned,
            config_dir: Some("/cfg/b".to_owned()),
            cwd: "/w".to_owned(),
            fork_source,
            fork_point,
        })
}

fn memory() -> impl Strategy<Value = Memory> {
    let ready =
        (one_of(), one_of(), one_of(), one_of()).prop_map(|(fork_record, head_file, head_busy, head_record)| Ready {
            fork_record,
            head_file,
            head_busy,
            head_record,
        });
    (one_of(), one_of(), ready).prop_map(|(login, project, ready)| Memory {
        login,
        project,
        ready,
        asked: RefCell::default(),
    })
}

/// The case in the words of the reference, worked out from the input by hand.
fn facts_by_hand(input: &GateInput, disk: &Memory, candidate: &str) -> Facts {
    let claude = |provider: &str| ["", "claude", "claude-code"].contains(&provider);
    let keys = |recorded: &Option<String>| match (recorded, &input.identity) {
        (Some(a), Some(b)) if a == b => "same",
        (Some(_), Some(_)) => "different",
        _ => "unknown",
    };
    let mut facts = Facts::new();
    if !claude(&input.provider) {
        facts.insert("spawn_provider", "other");
        return facts;
    }
    facts.insert("spawn_provider", "claude");
    match &input.head {
        ChainHead::Unknown => {
            facts.insert("chain", "unknown");
        }
        ChainHead::Empty => {
            facts.insert("chain", "empty");
            let reported = |head: &&Head| head.session_id == candidate;
            let point = input.fork_point.as_ref().filter(reported).or(input.fork_source.as_ref().filter(reported));
            match (&input.fork_source, point) {
                (None, _) => facts.insert("fork_source", "none"),
                (Some(_), None) => facts.insert("fork_source", "elsewhere"),
                (Some(source), Some(point)) => {
                    facts.insert("fork_provider", if claude(&point.provider) { "claude" } else { "other" });
                    facts.insert("fork_identity", keys(&point.identity_key));
                    facts.insert("fork_record", disk.ready.fork_record.into());
                    let at = source.session_id == candidate;
                    facts.insert("fork_source", if at { "at_candidate" } else { "behind" })
                }
            };
        }
        ChainHead::Headed(head) => {
            facts.insert("chain", "headed");
            if input.poisoned.as_ref() == Some(&head.session_id) {
                facts.insert("head_health", "poisoned");
                return facts;
            }
            facts.insert("head_health", "ok");
            facts.insert("head_identity", keys(&head.identity_key));
            facts.insert("candidate", if head.session_id == candidate { "head" } else { "other" });
            if !claude(&head.provider) {
                facts.insert("head_provider", "other");
                return facts;
            }
            facts.insert("head_provider", "claude");
            facts.insert("head_login", disk.login.into());
            facts.insert("head_project", disk.project.into());
            facts.insert("head_file", disk.ready.head_file.into());
            facts.insert("head_busy", disk.ready.head_busy.into());
            if disk.login == HeadLogin::Other {
                facts.insert("head_record", disk.ready.head_record.into());
            }
        }
    }
    facts
}

/// The session a decision would have the provider append to, without a fork.
fn resumed_in_place<'a>(decision: &'a ResumeGate, candidate: &'a str) -> Option<&'a str> {
    match decision {
        ResumeGate::Allow => Some(candidate),
        ResumeGate::Redirect { head } => Some(head),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_spawn_is_decided_as_the_reference_decides_it_and_keeps_every_invariant(input in input(), disk in memory()) {
        let Some(gated) = resume_gate(&input, &disk) else {
            let candidate = input.candidate.as_deref().unwrap_or_default();
            prop_assert!(candidate.trim().is_empty() || input.poisoned.as_deref() == Some(candidate));
            prop_assert!(disk.asked.borrow().is_empty(), "the disk was asked though there is nothing to decide");
            return Ok(());
        };
        let candidate = input.candidate.as_deref().unwrap();
        let facts = facts_by_hand(&input, &disk, candidate);
        let (rule, kind) = reference::decide(&facts);
        prop_assert_eq!(gated.rule().id.as_ref(), rule);
        prop_assert_eq!(gated.decision.kind().name(), kind);

        let asked = disk.asked.borrow();
        prop_assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len(), "asked twice: {:?}", asked);

        let claude = facts["spawn_provider"] == "claude";
        if let ChainHead::Headed(head) = &input.head
            && claude
            && input.poisoned.as_ref() != Some(&head.session_id)
        {
            let is = |fact: &str, value: &str| facts.get(fact) == Some(&value);
            // I1: whatever is resumed, in place or as a fork, is the head.
            let forked = match &gated.decision {
                ResumeGate::Relocate { head, .. } | ResumeGate::Fork { head } => Some(head.as_str()),
                _ => None,
            };
            for resumed in resumed_in_place(&gated.decision, candidate).into_iter().chain(forked) {
                prop_assert_eq!(resumed, &head.session_id);
            }
            // I2.
            if let (Some(a), Some(b)) = (&head.identity_key, &input.identity)
                && a != b
            {
                prop_assert_eq!(&gated.decision, &ResumeGate::Refuse { head: head.session_id.clone() });
            }
            if let ResumeGate::Relocate { from_config_dir, .. } = &gated.decision {
                prop_assert!(head.identity_key.is_some() && head.identity_key == input.identity);
                prop_assert_eq!(Some(from_config_dir), head.config_dir.as_ref());
                prop_assert!(is("head_file", "missing") && is("head_record", "complete"));
            }
            // file-presence, growth-since-end, one-writer.
            let here = ["as_left", "unsized", "shrunk", "grown"].iter().any(|file| is("head_file", file));
            match &gated.decision {
                ResumeGate::Redirect { .. } | ResumeGate::Fork { .. } => prop_assert!(here),
                ResumeGate::Allow => prop_assert!(!is("head_file", "grown")),
                _ => {}
            }
            if here && is("head_busy", "yes") {
                prop_assert_eq!(resumed_in_place(&gated.decision, candidate), None);
            }
            prop_assert!(gated.decision.kind() != resume_gate::DecisionKind::ForkFrom);
        } else if claude && matches!(input.head, ChainHead::Empty) && facts.contains_key("fork_record") {
            // fork-source: a fork without a conversation never resumes its parent's session in place.
            prop_assert_eq!(resumed_in_place(&gated.decision, candidate), None);
        } else {
            prop_assert_eq!(&gated.decision, &ResumeGate::Allow);
        }
    }
}

#[test]
fn evaluation_is_small_and_copied() {
    fn is_copy<T: Copy>() {}
    is_copy::<Evaluation>();
    assert!(size_of::<Evaluation>() <= 16);
}

#[test]
fn rows_beyond_the_index_are_tried_one_by_one_with_the_same_outcome() {
    // As many rows in front as the index covers, none of which can ever hit.
    let never = Rule { forbidden: u64::MAX, ..TABLE.rules[0].clone() };
    let rules: Vec<Rule> = std::iter::repeat_n(never, INDEXED_RULES).chain(TABLE.rules.iter().cloned()).collect();
    let masks: Vec<(u64, u64)> = rules.iter().map(|rule| (rule.forbidden, rule.asks)).collect();
    let long = Table { rules: rules.into(), index: Cow::Owned(Index::of(&masks)), ..TABLE.clone() };
    for word in VOCABULARY.combinations() {
        let short_way = evaluate(&TABLE, unasked(word), &mut FromWord::new(word));
        let long_way = evaluate(&long, unasked(word), &mut FromWord::new(word));
        assert_eq!(long_way.rule, short_way.rule + INDEXED_RULES);
        assert_eq!(long_way.word, short_way.word);
    }
}
