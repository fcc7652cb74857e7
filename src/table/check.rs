//! The proofs about a table: every possible combination of facts is tried, none is left to chance.
//!
//! A row that could not be understood whole still takes part as far as it is known: what it may
//! match at most. A combination that it may take is blamed on nobody else.

use super::diagnostic::{Clash, Masker, Problem, Shown};
use super::draft::{Conditions, Draft, DraftClaim, DraftCondition, DraftRule, Finding, Path};
use super::model::{Applies, Claim, ClaimKind, Condition, FactSpec, FactWord, Vocabulary};
use super::words::{claim_text, combination_text, value_names};
use std::borrow::Cow;

/// Every problem that shows only when rows are seen together.
pub(super) fn check(draft: &Draft, vocabulary: &Vocabulary) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(rules_key) = &draft.rules_key else {
        return findings;
    };
    let checker = Checker::new(draft, vocabulary);
    checker.impossible_conditions(&mut findings);
    checker.uncovered(rules_key, &mut findings);
    checker.dead_rules(&mut findings);
    checker.claims(&mut findings);
    checker.needless_conditions(&mut findings);
    checker.left_out(rules_key, &mut findings);
    findings
}

/// The bits that make a row with these conditions miss a combination.
fn forbidden<'c>(vocabulary: &Vocabulary, conditions: impl Iterator<Item = &'c Condition>) -> u64 {
    let each = conditions.filter_map(|c| Some(vocabulary.facts.get(c.fact)?.group() & !c.wanted));
    each.fold(0, |all, bits| all | bits)
}

fn of(conditions: &Conditions) -> impl Iterator<Item = &Condition> {
    conditions.known.iter().map(|known| &known.condition)
}

/// One possible combination and what is made of it.
#[derive(Debug, Clone, Copy)]
struct Case {
    word: FactWord,
    /// Index of the first rule that certainly matches.
    first: Option<usize>,
    /// Whether a rule before that one, not understood whole, may match.
    open: bool,
}

struct Checker<'d> {
    draft: &'d Draft,
    vocabulary: &'d Vocabulary,
    /// Of each rule, the bits that make it miss.
    forbidden: Vec<u64>,
    cases: Vec<Case>,
}

impl<'d> Checker<'d> {
    fn new(draft: &'d Draft, vocabulary: &'d Vocabulary) -> Self {
        let forbidden: Vec<u64> = draft.rules.iter().map(|rule| forbidden(vocabulary, of(&rule.when))).collect();
        let case = |word: FactWord| {
            let mut matching =
                draft.rules.iter().zip(&forbidden).enumerate().filter(|(_, (_, no))| word.bits() & *no == 0);
            let mut open = false;
            let first = matching.find(|(_, (rule, _))| {
                open |= !rule.when.whole;
                rule.when.whole
            });
            Case { word, first: first.map(|(index, _)| index), open }
        };
        let cases = vocabulary.combinations().into_iter().map(case).collect();
        Self { draft, vocabulary, forbidden, cases }
    }

    /// The words among `cases`, as a message shows them; `None` if there are none.
    fn shown<'c>(&self, mut cases: impl Iterator<Item = &'c Case>) -> Option<Shown> {
        let example = combination_text(self.vocabulary, cases.next()?.word);
        Some(Shown { example, count: 1 + cases.count() })
    }

    fn matching(&self, forbidden: u64) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(move |case| case.word.bits() & forbidden == 0)
    }

    /// Rules with their index and the bits that make them miss.
    fn rules(&self) -> impl Iterator<Item = (usize, &'d DraftRule, u64)> {
        self.draft.rules.iter().zip(&self.forbidden).enumerate().map(|(i, (rule, forbidden))| (i, rule, *forbidden))
    }

    fn impossible_conditions(&self, findings: &mut Vec<Finding>) {
        for (_, rule, forbidden) in self.rules() {
            if self.matching(forbidden).next().is_some() {
                continue;
            }
            let clashes = clashes(self.vocabulary, &rule.when);
            findings.extend(clashes.into_iter().map(|(condition, other, clash)| Finding {
                problem: Problem::NeverHolds { clash },
                path: condition.at.clone(),
                labels: vec![(other.at.clone(), "this condition excludes it".to_owned())],
            }));
        }
    }

    fn uncovered(&self, rules_key: &Path, findings: &mut Vec<Finding>) {
        if let Some(shown) = self.shown(self.cases.iter().filter(|case| case.first.is_none() && !case.open)) {
            findings.push(Finding {
                problem: Problem::Uncovered { shown },
                path: rules_key.clone(),
                labels: Vec::new(),
            });
        }
    }

    fn dead_rules(&self, findings: &mut Vec<Finding>) {
        for (index, rule, forbidden) in self.rules().filter(|(_, rule, _)| rule.when.whole) {
            let mut taken = vec![0; index];
            let decides = self.matching(forbidden).any(|case| {
                let earlier = case.first.and_then(|first| taken.get_mut(first));
                let none = earlier.is_none();
                earlier.into_iter().for_each(|count| *count += 1);
                none
            });
            if decides || !clashes(self.vocabulary, &rule.when).is_empty() {
                continue;
            }
            let maskers = self.draft.rules.iter().zip(taken).filter(|(_, count)| *count > 0);
            let (masked_by, labels) = maskers
                .map(|(masker, count)| {
                    let shown = Masker { rule: masker.called.clone(), count };
                    (shown, (masker.at.clone(), format!("takes {count} of its combinations")))
                })
                .unzip();
            let problem = Problem::DeadRule { rule: rule.called.clone(), masked_by };
            findings.push(Finding { problem, path: rule.at.clone(), labels });
        }
    }

    fn claims(&self, findings: &mut Vec<Finding>) {
        for invariant in &self.draft.invariants {
            for claim in &invariant.claims {
                let invariant = invariant.id.clone().unwrap_or_default();
                let of = forbidden(self.vocabulary, of(&claim.of));
                if self.matching(of).next().is_none() {
                    let clash = clashes(self.vocabulary, &claim.of).into_iter().next().map(|(_, _, clash)| clash);
                    let problem = Problem::IdleClaim { invariant, clash };
                    findings.push(Finding { problem, path: claim.at.clone(), labels: Vec::new() });
                } else {
                    self.claim(&invariant, claim, of, findings);
                }
            }
        }
    }

    /// Reports every rule that decides against `claim`, which speaks of what `of` does not forbid.
    fn claim(&self, invariant: &str, claim: &DraftClaim, of: u64, findings: &mut Vec<Finding>) {
        for (index, rule, _) in self.rules() {
            let Some(then) = rule.then else { continue };
            let among = claim.then & (1 << then) != 0;
            if among == (claim.kind == ClaimKind::Only) {
                continue;
            }
            let broken = self.matching(of).filter(|case| case.first == Some(index) && !case.open);
            let Some(shown) = self.shown(broken) else { continue };
            let says = Claim { kind: claim.kind, of: Cow::Owned(claim.of.plain()), then: claim.then, line: 0 };
            findings.push(Finding {
                problem: Problem::BrokenClaim {
                    invariant: invariant.to_owned(),
                    rule: rule.called.clone(),
                    decision: self.vocabulary.decisions.get(then).copied().unwrap_or_default().to_owned(),
                    claim: claim_text(self.vocabulary, &says),
                    shown,
                },
                path: rule.then_at.clone(),
                labels: vec![(claim.at.clone(), format!("the claim of `{invariant}`"))],
            });
        }
    }

    fn needless_conditions(&self, findings: &mut Vec<Finding>) {
        for (index, rule, forbidden) in self.rules().filter(|(_, rule, _)| rule.when.whole) {
            // A rule without combinations of its own has a worse problem than this.
            if !self.matching(forbidden).any(|case| case.first == Some(index)) {
                continue;
            }
            for known in &rule.when.known {
                let others = of(&rule.when).filter(|other| other.fact != known.condition.fact);
                let wider = self::forbidden(self.vocabulary, others);
                if self.matching(wider).all(|case| case.first.is_some_and(|first| first <= index)) {
                    let fact = self.fact_name(known);
                    let problem = Problem::NeedlessCondition { rule: rule.called.clone(), fact };
                    findings.push(Finding { problem, path: known.at.clone(), labels: Vec::new() });
                }
            }
        }
    }

    fn left_out(&self, rules_key: &Path, findings: &mut Vec<Finding>) {
        let unclear = || self.draft.rules.iter().filter(|rule| !rule.when.whole || rule.then.is_none());
        let rules: Vec<_> = unclear().map(|rule| rule.called.clone()).collect();
        if !rules.is_empty() {
            findings.push(Finding {
                problem: Problem::LeftOut { rules },
                path: rules_key.clone(),
                labels: unclear().map(|rule| (rule.at.clone(), "not understood whole".to_owned())).collect(),
            });
        }
    }

    fn fact_name(&self, known: &DraftCondition) -> String {
        self.vocabulary.facts.get(known.condition.fact).map_or("", |spec| spec.name).to_owned()
    }
}

/// Of a row that matches nothing: each condition that another one, on an earlier fact, excludes.
fn clashes<'c>(vocabulary: &Vocabulary, when: &'c Conditions) -> Vec<(&'c DraftCondition, &'c DraftCondition, Clash)> {
    let mut ordered: Vec<&DraftCondition> = when.known.iter().collect();
    ordered.sort_by_key(|known| known.condition.fact);
    let mut found = Vec::new();
    for (i, later) in ordered.iter().enumerate() {
        let excluded = ordered.iter().take(i).find_map(|earlier| {
            let clash = clash(vocabulary, &later.condition, &earlier.condition)?;
            Some((*later, *earlier, clash))
        });
        found.extend(excluded);
    }
    found
}

/// Why two conditions exclude each other: the fact of which they need different values, if there is one.
fn clash(vocabulary: &Vocabulary, later: &Condition, earlier: &Condition) -> Option<Clash> {
    let needed = needs(vocabulary, earlier);
    needs(vocabulary, later).into_iter().find_map(|(spec, wanted)| {
        let (_, other) = needed.iter().find(|(other, _)| other.shift == spec.shift)?;
        let name = |condition: &Condition| vocabulary.facts.get(condition.fact).map_or("", |spec| spec.name).to_owned();
        let values = |bits| value_names(spec, bits).into_iter().map(str::to_owned).collect();
        (wanted & other == 0).then(|| Clash {
            fact: name(later),
            beside: name(earlier),
            over: spec.name.to_owned(),
            needs: values(wanted),
            other_needs: values(*other),
        })
    })
}

/// What must be for a condition to hold: its fact with the wanted values, and every fact that
/// makes that one applicable with the values that do.
fn needs<'v>(vocabulary: &'v Vocabulary, condition: &Condition) -> Vec<(&'v FactSpec, u64)> {
    let mut found = Vec::new();
    let mut next = vocabulary.facts.get(condition.fact).map(|spec| (spec, condition.wanted));
    while let Some((spec, wanted)) = next {
        found.push((spec, wanted));
        next = spec.applies.and_then(|Applies { fact, values }| {
            let parent = vocabulary.facts.get(fact)?;
            Some((parent, values << parent.shift))
        });
    }
    found
}
