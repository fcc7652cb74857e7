//! From a file's bytes to a checked table, or to everything that is wrong with it.

use super::check;
use super::diagnostic::{Code, Diagnostic, Label, Problem, Severity};
use super::draft::{Draft, DraftRule, Finding, Path};
use super::index::Index;
use super::model::{Claim, Condition, Invariant, Rule, Table, Vocabulary};
use super::parse;
use super::tree::{self, Place, Unreadable};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::fmt::Write as _;

/// How many diagnostics are given at most; each costs a walk through the source.
const MAX_DIAGNOSTICS: usize = 100;

/// How many other places each of them points at.
const MAX_LABELS: usize = 20;

/// What came of reading a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The table, if nothing is wrong with it that keeps it from its use.
    pub table: Option<Table>,
    /// What there is to say about it, in the file's order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads and checks the table in `source`, which is written in `vocabulary`.
///
/// A file that is no YAML gives one diagnostic; everything else that is wrong is found in one run.
#[must_use]
pub fn load(source: &[u8], vocabulary: &Vocabulary) -> Loaded {
    load_unless(source, vocabulary, |code| code.severity() == Severity::Error)
}

/// Reads a table that is only to be compared: there is one as soon as every row was understood and
/// every combination is decided, also if it breaks a promise or has a row that never decides.
#[must_use]
pub fn load_candidate(source: &[u8], vocabulary: &Vocabulary) -> Loaded {
    load_unless(source, vocabulary, |code| {
        let harmless = matches!(code, Code::BrokenClaim | Code::IdleClaim | Code::DeadRule | Code::NeverHolds);
        code.severity() == Severity::Error && !harmless
    })
}

/// Reads a table; there is none if a diagnostic `stops` it.
fn load_unless(source: &[u8], vocabulary: &Vocabulary, stops: impl Fn(Code) -> bool) -> Loaded {
    let text = match text(source) {
        Ok(text) => text,
        Err(place) => return Loaded::alone(Problem::NotUtf8, place),
    };
    let tree = match tree::read(text) {
        Ok(tree) => tree,
        Err(Unreadable::Syntax { detail, place }) => return Loaded::alone(Problem::Syntax { detail }, place),
        Err(Unreadable::TooLarge { what, limit }) => {
            return Loaded::alone(Problem::TooLarge { what, limit }, Place::START);
        }
    };
    let line = |path: &Path| tree::locate(text, path).line;
    let (draft, mut findings) = parse::draft(&tree, vocabulary);
    findings.extend(check::check(&draft, vocabulary));
    let sound = !findings.iter().any(|finding| stops(finding.problem.code()));
    let diagnostics = place(text, findings);
    let table = sound.then(|| table(&draft, vocabulary, &line, sha256(source)));
    Loaded { table, diagnostics }
}

impl Loaded {
    /// What a build prints when there is no table: one line for each diagnostic on the file called
    /// `path`. Advice about a row that merely says more than it must is not for a build.
    #[must_use]
    pub fn build_errors(&self, path: &str) -> Vec<String> {
        let told = self.diagnostics.iter().filter(|diagnostic| diagnostic.code() != Code::NeedlessCondition);
        told.map(|diagnostic| diagnostic.one_line(path)).collect()
    }

    fn alone(problem: Problem, place: Place) -> Self {
        Self { table: None, diagnostics: vec![Diagnostic { problem, place, labels: Vec::new() }] }
    }
}

/// The source as text without a byte order mark, or where it stops being text.
fn text(source: &[u8]) -> Result<&str, Place> {
    let source = source.strip_prefix("\u{feff}".as_bytes()).unwrap_or(source);
    str::from_utf8(source).map_err(|error| {
        let good = source.get(..error.valid_up_to()).and_then(|good| str::from_utf8(good).ok()).unwrap_or_default();
        Place::of(good, good.len())
    })
}

/// Looks up every finding's places and puts them in the file's order.
fn place(text: &str, findings: Vec<Finding>) -> Vec<Diagnostic> {
    let more = findings.len().saturating_sub(MAX_DIAGNOSTICS);
    let mut diagnostics: Vec<Diagnostic> = findings
        .into_iter()
        .take(MAX_DIAGNOSTICS)
        .map(|Finding { problem, path, labels }| Diagnostic {
            problem,
            place: tree::locate(text, &path),
            labels: labels
                .into_iter()
                .take(MAX_LABELS)
                .map(|(path, text_there)| Label { place: tree::locate(text, &path), text: text_there })
                .collect(),
        })
        .collect();
    diagnostics.sort_by_key(|diagnostic| diagnostic.place);
    if more > 0 {
        let place = diagnostics.last().map_or(Place::START, |last| last.place);
        diagnostics.push(Diagnostic { problem: Problem::More { count: more }, place, labels: Vec::new() });
    }
    diagnostics
}

fn sha256(source: &[u8]) -> String {
    Sha256::digest(source).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The table of a draft in which nothing is amiss.
fn table(draft: &Draft, vocabulary: &Vocabulary, line: &dyn Fn(&Path) -> u32, sha256: String) -> Table {
    let invariants = draft.invariants.iter().map(|invariant| Invariant {
        id: Cow::Owned(invariant.id.clone().unwrap_or_default()),
        states: Cow::Owned(invariant.states.clone()),
        claims: invariant
            .claims
            .iter()
            .map(|claim| Claim {
                kind: claim.kind,
                of: Cow::Owned(claim.of.plain()),
                then: claim.then,
                line: line(&claim.at),
            })
            .collect(),
    });
    let rules: Vec<Rule> = draft.rules.iter().map(|draft| rule(draft, vocabulary, line(&draft.at))).collect();
    let masks: Vec<(u64, u64)> = rules.iter().map(|rule| (rule.forbidden, rule.asks)).collect();
    Table {
        name: Cow::Owned(draft.name.clone()),
        version: draft.version,
        sha256: Cow::Owned(sha256),
        invariants: invariants.collect(),
        rules: rules.into(),
        index: Cow::Owned(Index::of(&masks)),
    }
}

fn rule(draft: &DraftRule, vocabulary: &Vocabulary, line: u32) -> Rule {
    let when = draft.when.plain();
    let bits = |bits: fn(&super::model::FactSpec, &Condition) -> u64| {
        when.iter().filter_map(|c| Some(bits(vocabulary.facts.get(c.fact)?, c))).fold(0, |all, more| all | more)
    };
    Rule {
        id: Cow::Owned(draft.id.clone().unwrap_or_default()),
        invariant: Cow::Owned(draft.invariant.clone()),
        then: draft.then.unwrap_or_default(),
        what: Cow::Owned(draft.what.clone()),
        why: Cow::Owned(draft.why.clone()),
        next: Cow::Owned(draft.next.clone()),
        line,
        forbidden: bits(|spec, c| spec.group() & !spec.not_asked_bit() & !c.wanted),
        asks: bits(|spec, _| spec.not_asked_bit()),
        tested: bits(|spec, _| spec.group()),
        when: Cow::Owned(when),
    }
}
