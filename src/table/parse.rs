//! From a tree to a draft of the table: rows, conditions and names. Nothing is judged here that
//! needs more than the row at hand; what a row does beside the others is for the checks.

use super::diagnostic::{Problem, quoted};
use super::draft::{Conditions, Draft, DraftClaim, DraftCondition, DraftInvariant, DraftRule, Finding, Path};
use super::fields::{At, Reader, Row, describe, misnamed};
use super::model::{ClaimKind, Condition, Vocabulary};
use super::tree::{Node, Step};

/// Makes a draft of the tree, and says what is wrong with it.
pub(super) fn draft(tree: &Node, vocabulary: &Vocabulary) -> (Draft, Vec<Finding>) {
    let mut reader = Reader { vocabulary, findings: Vec::new() };
    let draft = reader.table(&At { node: tree, path: Vec::new() });
    (draft, reader.findings)
}

impl Reader<'_> {
    fn table(&mut self, at: &At<'_>) -> Draft {
        let mut draft = Draft::default();
        let keys = ["table", "version", "hit_policy", "invariants", "rules"];
        let Some(row) = self.row(at, "the table", &keys) else {
            return draft;
        };
        draft.name = self.id(&row, "table", "a table", false).unwrap_or_default();
        draft.version = self.version(&row);
        self.hit_policy(&row);
        // `None`: not all of them are known, and an unknown one may be what a rule means.
        let mut declared: Option<Vec<String>> = None;
        if let Some(rows) = self.list(&row, "invariants") {
            draft.invariants = rows.iter().enumerate().map(|(i, row)| self.invariant(i, row)).collect();
            declared = draft.invariants.iter().map(|invariant| invariant.id.clone()).collect();
            let ids = draft.invariants.iter().map(|invariant| invariant.id.as_deref());
            self.same_ids(&rows, ids, |id| Problem::DuplicateInvariant { id });
        }
        if let Some(rows) = self.list(&row, "rules") {
            draft.rules = rows.iter().enumerate().map(|(i, row)| self.rule(i, row, declared.as_deref())).collect();
            let ids = draft.rules.iter().map(|rule| rule.id.as_deref());
            self.same_ids(&rows, ids, |id| Problem::DuplicateId { id });
            draft.rules_key = row.key("rules").cloned();
        }
        draft
    }

    fn version(&mut self, row: &Row<'_>) -> u32 {
        let Some(value) = self.required(row, "version") else { return 0 };
        let number = match value.node {
            Node::Integer(number) => u32::try_from(*number).unwrap_or_default(),
            _ => 0,
        };
        if number == 0 {
            self.report(&value.path, Problem::BadVersion { found: describe(value.node) });
        }
        number
    }

    fn hit_policy(&mut self, row: &Row<'_>) {
        if let Some((text, path)) = self.text(row, "hit_policy", "a name")
            && text != "first"
        {
            self.report(&path, Problem::HitPolicy { found: text });
        }
    }

    fn invariant(&mut self, index: usize, at: &At<'_>) -> DraftInvariant {
        let mut draft = DraftInvariant { id: None, states: String::new(), claims: Vec::new() };
        let called = format!("invariant {}", index + 1);
        let Some(mut row) = self.row(at, &called, &["id", "states", "claims"]) else {
            return draft;
        };
        draft.id = self.id(&row, "id", "an invariant", true);
        if let Some(id) = &draft.id {
            row.called = format!("the invariant {}", quoted(id));
        }
        draft.states = self.sentence(&row, "states");
        if let Some(claims) = self.list(&row, "claims") {
            draft.claims = claims.iter().filter_map(|claim| self.claim(claim, &row.called)).collect();
        }
        draft
    }

    /// A claim, unless a name in it is not known: then it says nothing that could be checked.
    fn claim(&mut self, at: &At<'_>, of: &str) -> Option<DraftClaim> {
        let row = self.row(at, &format!("a claim of {of}"), &["never", "only", "then"])?;
        let then = self.required(&row, "then").and_then(|then| self.decisions(&then));
        if row.has("never") == row.has("only") {
            self.report(&at.path, Problem::ClaimKind { both: row.has("never") });
            return None;
        }
        let (kind, key) = if row.has("never") { (ClaimKind::Never, "never") } else { (ClaimKind::Only, "only") };
        let of = self.conditions(row.value(key)?, &format!("`{key}`"));
        of.whole.then_some(DraftClaim { at: at.path.clone(), kind, of, then: then? })
    }

    fn rule(&mut self, index: usize, at: &At<'_>, declared: Option<&[String]>) -> DraftRule {
        let mut rule = DraftRule::unknown(at.path.clone(), format!("rule {}", index + 1));
        let keys = ["id", "invariant", "when", "then", "what", "why", "next"];
        let Some(mut row) = self.row(at, &rule.called, &keys) else {
            return rule;
        };
        rule.id = self.id(&row, "id", "a rule", false);
        if let Some(id) = &rule.id {
            rule.called = format!("the rule {}", quoted(id));
            row.called.clone_from(&rule.called);
        }
        rule.invariant = self.declared(&row, declared);
        if let Some(when) = self.required(&row, "when") {
            rule.when = self.conditions(&when, "`when`");
        }
        if let Some((name, path)) = self.text(&row, "then", "one decision") {
            rule.then = self.decision(&name, &path);
            rule.then_at = path;
        }
        rule.what = self.sentence(&row, "what");
        rule.why = self.sentence(&row, "why");
        rule.next = self.sentence(&row, "next");
        rule
    }

    /// The invariant that a rule names, which must be among those that are declared.
    fn declared(&mut self, row: &Row<'_>, declared: Option<&[String]>) -> String {
        let Some((name, path)) = self.text(row, "invariant", "the id of an invariant") else {
            return String::new();
        };
        if let Some(declared) = declared
            && !declared.contains(&name)
        {
            let name = misnamed(&name, declared.iter().map(String::as_str));
            self.report(&path, Problem::UndeclaredInvariant { name });
        }
        name
    }

    /// Reports every row whose id an earlier row has too.
    fn same_ids<'i>(
        &mut self,
        rows: &[At<'_>],
        ids: impl Iterator<Item = Option<&'i str>>,
        problem: impl Fn(String) -> Problem,
    ) {
        let mut seen: Vec<(&str, Path)> = Vec::new();
        for (row, id) in rows.iter().zip(ids) {
            let Some(id) = id else { continue };
            match seen.iter().find(|(other, _)| *other == id) {
                Some((_, first)) => self.report_twice(id_path(row), first.clone(), problem(id.to_owned())),
                None => seen.push((id, id_path(row))),
            }
        }
    }

    /// The mapping from facts to wanted values.
    fn conditions(&mut self, at: &At<'_>, whose: &str) -> Conditions {
        let Node::Map(entries) = at.node else {
            self.wrong_type(at, whose, "a mapping from facts to values (`{}`: always)");
            return Conditions::default();
        };
        let mut conditions = Conditions { known: Vec::new(), whole: true };
        for (i, (key, value)) in entries.iter().enumerate() {
            let key = at.step(key, Step::Key(i));
            let fact = self.name(&key).and_then(|name| Some((name, self.fact(name, &key.path)?)));
            let Some((name, fact)) = fact else {
                conditions.whole = false;
                continue;
            };
            let wanted = self.wanted(&at.step(value, Step::Value(i)), fact);
            let known = DraftCondition {
                at: key.path,
                // What is not understood still needs the fact to apply.
                condition: Condition { fact, wanted: wanted.unwrap_or_else(|| self.any_value(fact)) },
            };
            conditions.whole &= wanted.is_some();
            match conditions.known.iter_mut().find(|earlier| earlier.condition.fact == fact) {
                Some(earlier) => {
                    self.duplicate_key(at, entries, i, name);
                    earlier.condition.wanted = self.any_value(fact);
                    conditions.whole = false;
                }
                None => conditions.known.push(known),
            }
        }
        conditions
    }

    fn fact(&mut self, name: &str, path: &Path) -> Option<usize> {
        let found = self.vocabulary.fact_named(name);
        if found.is_none() {
            let name = misnamed(name, self.vocabulary.facts.iter().map(|fact| fact.name));
            self.report(path, Problem::UnknownFact { name });
        }
        found
    }

    fn any_value(&self, fact: usize) -> u64 {
        self.vocabulary.facts.get(fact).map_or(0, |spec| spec.value_bits())
    }

    /// The bits of the wanted values of fact `fact`.
    fn wanted(&mut self, at: &At<'_>, fact: usize) -> Option<u64> {
        let spec = self.vocabulary.facts.get(fact)?;
        self.names(at, &format!("`{}`", spec.name), |reader, name, path| {
            let value = spec.value_named(name);
            if value.is_none() {
                let name = misnamed(name, spec.values.iter().copied());
                reader.report(path, Problem::UnknownValue { fact: spec.name.to_owned(), name });
            }
            value.map(|value| spec.value_bit(value))
        })
    }

    /// The bits of a claim's decisions.
    fn decisions(&mut self, at: &At<'_>) -> Option<u64> {
        self.names(at, "`then`", |reader, name, path| reader.decision(name, path).map(|decision| 1 << decision))
    }

    fn decision(&mut self, name: &str, path: &Path) -> Option<usize> {
        let found = self.vocabulary.decision_named(name);
        if found.is_none() {
            let name = misnamed(name, self.vocabulary.decisions.iter().copied());
            self.report(path, Problem::UnknownDecision { name });
        }
        found
    }
}

/// Where the `id` of the row at `row` is.
fn id_path(row: &At<'_>) -> Path {
    let mut path = row.path.clone();
    if let Node::Map(entries) = row.node {
        let index = entries.iter().position(|(key, _)| matches!(key, Node::Text(name) if name == "id"));
        path.extend(index.map(Step::Value));
    }
    path
}
