//! Every decision, for a candidate that is held, offered from history, and none: the plan.

use resume_gate::gate::facts::{ForkRecord, HeadBusy, HeadFile, HeadLogin, HeadProject, HeadRecord};
use resume_gate::gate::{Gated, is_claude};
use resume_gate::segments::is_safe_session_id;
use resume_gate::spawn::{CopyPlan, Offered, PlanOutcome, SpawnPlan, plan};
use resume_gate::{ChainHead, DecisionKind, GateInput, Head, Probes, ResumeGate, resume_gate};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use strum::IntoEnumIterator;

#[path = "../support/mod.rs"]
mod support;

/// The spawn's candidate, the head of the chain, the parent's session.
const CANDIDATE: &str = "cand";
const HEAD: &str = "head";
const PARENT: &str = "parent";

/// A disk that answers everything in one way.
#[derive(Clone, Copy)]
struct Disk {
    login: HeadLogin,
    project: HeadProject,
    file: HeadFile,
    busy: HeadBusy,
    record: HeadRecord,
    fork: ForkRecord,
}

const QUIET: Disk = Disk {
    login: HeadLogin::Own,
    project: HeadProject::Same,
    file: HeadFile::AsLeft,
    busy: HeadBusy::No,
    record: HeadRecord::Complete,
    fork: ForkRecord::Complete,
};

impl Probes for Disk {
    fn head_login(&self, _: &Head, _: &GateInput) -> HeadLogin {
        self.login
    }
    fn head_project(&self, _: &Head, _: &GateInput) -> HeadProject {
        self.project
    }
    fn head_file(&self, _: &Head, _: &GateInput) -> HeadFile {
        self.file
    }
    fn head_busy(&self, _: &Head, _: &GateInput) -> HeadBusy {
        self.busy
    }
    fn head_record(&self, _: &Head, _: &GateInput) -> HeadRecord {
        self.record
    }
    fn fork_record(&self, _: &Head, _: &GateInput) -> ForkRecord {
        self.fork
    }
}

struct Situation {
    name: &'static str,
    input: GateInput,
    disk: Disk,
}

fn segment(session: &str) -> Head {
    Head {
        segment_id: format!("{session}-segment"),
        session_id: session.to_owned(),
        identity_key: Some("k".to_owned()),
        config_dir: Some("/cfg/there".to_owned()),
        provider: String::new(),
        cwd: Some("/w".to_owned()),
        provider_bytes_end: Some(700),
    }
}

fn spawn(candidate: &str, head: ChainHead) -> GateInput {
    GateInput {
        candidate: Some(candidate.to_owned()),
        head,
        identity: Some("k".to_owned()),
        config_dir: Some("/cfg/here".to_owned()),
        cwd: "/w".to_owned(),
        ..GateInput::default()
    }
}

fn headed(candidate: &str) -> GateInput {
    spawn(candidate, ChainHead::Headed(segment(HEAD)))
}

fn fork_of_parent() -> GateInput {
    let (source, point) = (Some(segment(PARENT)), Some(segment(PARENT)));
    GateInput { fork_source: source, fork_point: point, ..spawn(PARENT, ChainHead::Empty) }
}

fn situations() -> Vec<Situation> {
    let there = Disk { login: HeadLogin::Other, file: HeadFile::Missing, ..QUIET };
    let at = |name, input, disk| Situation { name, input, disk };
    vec![
        at("the head, as it was left", headed(HEAD), QUIET),
        at("the head, its size unknown", headed(HEAD), Disk { file: HeadFile::Unsized, ..QUIET }),
        at("the head, shrunk", headed(HEAD), Disk { file: HeadFile::Shrunk, ..QUIET }),
        at("the head, unreadable", headed(HEAD), Disk { file: HeadFile::Unreadable, ..QUIET }),
        at("an older session", headed(CANDIDATE), QUIET),
        at("the head, deleted", headed(HEAD), Disk { file: HeadFile::Missing, ..QUIET }),
        at("the head, grown", headed(HEAD), Disk { file: HeadFile::Grown, ..QUIET }),
        at("an older session, the head open elsewhere", headed(CANDIDATE), Disk { busy: HeadBusy::Yes, ..QUIET }),
        at("an older session, the head under another login", headed(CANDIDATE), there),
        at("another person's login", GateInput { identity: Some("other".to_owned()), ..headed(HEAD) }, QUIET),
        at("no chain", spawn(CANDIDATE, ChainHead::Empty), QUIET),
        at("an unreadable chain", spawn(CANDIDATE, ChainHead::Unknown), QUIET),
        at("a head known to be dead", GateInput { poisoned: Some(HEAD.to_owned()), ..headed(CANDIDATE) }, QUIET),
        at("a fork without a session of its own", fork_of_parent(), QUIET),
        at("a fork whose parent's file is cut", fork_of_parent(), Disk { fork: ForkRecord::Incomplete, ..QUIET }),
        at("an id that is no file name", spawn("../x", ChainHead::Empty), QUIET),
        at("an id that looks like an option", spawn("--help", ChainHead::Unknown), QUIET),
        at(
            "the same ids for another provider",
            GateInput { provider: "codex".to_owned(), ..spawn("--help", ChainHead::Empty) },
            QUIET,
        ),
        at("the id that was rejected", GateInput { poisoned: Some(HEAD.to_owned()), ..headed(HEAD) }, QUIET),
    ]
}

fn copy() -> CopyPlan {
    CopyPlan { from: "/from".into(), to: "/to".into(), marker: None, token: None, bytes: None }
}

fn planned(situation: &Situation, offered: Option<Offered>) -> (Option<Gated>, SpawnPlan, &'static str) {
    let mut input = situation.input.clone();
    if offered.is_none() {
        input.candidate = None;
    }
    let gated = resume_gate(&input, &situation.disk);
    let needs_copy = matches!(
        gated.as_ref().map(|gated| &gated.decision),
        Some(ResumeGate::Relocate { .. } | ResumeGate::ForkFrom { .. })
    );
    let (plan, withheld) = plan(gated.as_ref(), &input, offered.unwrap_or_default(), needs_copy.then(copy));
    check(&input, gated.as_ref(), offered, &plan);
    let withheld = match withheld {
        Some(withheld) => format!("{withheld:?}").leak(),
        None => "",
    };
    (gated, plan, withheld)
}

/// What holds of every plan, whatever the table says.
fn check(input: &GateInput, gated: Option<&Gated>, offered: Option<Offered>, plan: &SpawnPlan) {
    assert_eq!(plan.outcome == PlanOutcome::Fresh, plan.resume.is_none(), "{plan:?}");
    assert_eq!(plan.outcome == PlanOutcome::Fork, plan.fork_session, "{plan:?}");
    assert_eq!(plan.record.forked_from, plan.resume.clone().filter(|_| plan.fork_session), "{plan:?}");
    assert!(plan.copy.is_none() || plan.fork_session, "a copy is only ever forked: {plan:?}");
    if gated.is_none() || offered.is_none() {
        assert_eq!(plan, &SpawnPlan::fresh(false), "nothing is invented");
    }
    if offered == Some(Offered::History) {
        assert_eq!(plan.resume.is_some(), plan.copy.is_some(), "history is good for a copy alone: {plan:?}");
    }
    if let Some(id) = &plan.resume
        && is_claude(&input.provider)
    {
        assert!(is_safe_session_id(id), "{plan:?}");
        assert!(plan.args.contains(id), "{plan:?}");
    }
}

#[test]
fn every_decision_becomes_its_plan() {
    let mut table = String::new();
    let mut kinds = BTreeSet::new();
    for situation in situations() {
        writeln!(table, "{}", situation.name).unwrap();
        for offered in [Some(Offered::Held), Some(Offered::History), None] {
            let (gated, plan, withheld) = planned(&situation, offered);
            let offer = offered.map_or("none", Into::into);
            let by = gated.as_ref().map_or_else(
                || "not asked".to_owned(),
                |gated| format!("{} by {}", gated.decision.kind().name(), gated.rule().id),
            );
            kinds.extend(gated.map(|gated| gated.decision.kind()));
            let outcome: &str = plan.outcome.into();
            let args = if plan.args.is_empty() { "no arguments".to_owned() } else { plan.args.join(" ") };
            let copy = if plan.copy.is_some() { ", copied in first" } else { "" };
            let certain = plan.record.provider_session_id.as_deref().unwrap_or("no session yet");
            let rung = plan.record.rung.as_str();
            let withheld = if withheld.is_empty() { String::new() } else { format!(" ({withheld})") };
            writeln!(table, "  {offer:<7} {by:<36} {outcome}{withheld}: {args}{copy}; {rung}, {certain}").unwrap();
        }
    }
    assert_eq!(kinds, DecisionKind::iter().collect(), "every decision stands in the table");
    support::snapshots("plan").bind(|| insta::assert_snapshot!("plans", table));
}
