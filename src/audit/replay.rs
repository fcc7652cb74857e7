//! What recorded decisions would be under another table. The gate's own evaluation decides; a
//! record that lacks a fact the table needs is undetermined, never unchanged.

use super::entry::Entry;
use crate::gate::decision::DecisionKind;
use crate::gate::facts::Fact;
use crate::gate::{FactSetError, Partial, decision_of, evaluate_partial};
use crate::table::Table;
use std::collections::HashMap;

/// How many records a group names as examples.
pub const MAX_EXAMPLES: usize = 5;

/// Recorded decisions under one table. Every record is counted in exactly one place.
#[derive(Debug, Clone)]
pub struct Replay<'t> {
    table: &'t Table,
    made_by: Vec<&'t Table>,
    /// How many records were added.
    pub records: u64,
    /// Decided the same, by the rule of the same id.
    pub unchanged: u64,
    /// Records of a spawn that had no candidate, so that nothing was decided.
    pub without_candidate: u64,
    changes: HashMap<(u32, u32, usize), (u64, Vec<Example>)>,
    undetermined: HashMap<Why, (u64, Vec<Example>)>,
    rules: Names,
    decisions: Names,
}

/// Records that would be decided otherwise, all in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<'a> {
    /// Id of the rule that decided then; empty if none was recorded.
    pub from_rule: &'a str,
    /// The decision then, as recorded; empty if none was.
    pub from_decision: &'a str,
    /// Id of the rule that decides now.
    pub to_rule: &'a str,
    /// The decision now.
    pub to_decision: DecisionKind,
    /// How many records.
    pub count: u64,
    /// The first of them, up to [`MAX_EXAMPLES`].
    pub examples: &'a [Example],
}

impl Change<'_> {
    /// Whether the decision is another one; if not, only the rule is.
    #[must_use]
    pub fn changes_decision(&self) -> bool {
        self.from_decision != self.to_decision.name()
    }
}

/// Records of which the table cannot say what it would decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undetermined<'a> {
    /// The facts that the first open rule needs; empty if `error` says why.
    pub needs: &'a [Fact],
    /// Why this version cannot express the recorded facts.
    pub error: Option<&'a FactSetError>,
    /// How many records.
    pub count: u64,
    /// The first of them, up to [`MAX_EXAMPLES`].
    pub examples: &'a [Example],
}

/// A record to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Its id; empty if it has none.
    pub id: String,
    /// Its agent; empty if it names none.
    pub agent_uid: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Why {
    Needs(Vec<Fact>),
    Foreign(FactSetError),
}

impl<'t> Replay<'t> {
    /// A replay of nothing yet, under `table`. `made_by` are the tables, as far as they are known,
    /// that made the decisions: what a rule of theirs decided and could not be carried out was
    /// recorded as a refusal, and is no change.
    #[must_use]
    pub fn new(table: &'t Table, made_by: Vec<&'t Table>) -> Self {
        Self {
            table,
            made_by,
            records: 0,
            unchanged: 0,
            without_candidate: 0,
            changes: HashMap::new(),
            undetermined: HashMap::new(),
            rules: Names::default(),
            decisions: Names::default(),
        }
    }

    /// Decides one record again.
    pub fn add(&mut self, entry: &Entry<'_>) {
        self.records += 1;
        if !entry.was_decided() {
            self.without_candidate += 1;
            return;
        }
        let index = match &entry.facts {
            Err(error) => return self.undecided(Why::Foreign(error.clone()), entry),
            Ok(word) => match evaluate_partial(self.table, *word) {
                Partial::Needs(needs) => return self.undecided(Why::Needs(needs), entry),
                Partial::Decided(index) => index,
            },
        };
        let Some(rule) = self.table.rules.get(index) else { return };
        let from_rule = entry.rule.as_deref().unwrap_or_default();
        let from_decision = self.decided(entry).or(entry.decision.as_deref()).unwrap_or_default();
        if from_rule == rule.id && from_decision == decision_of(rule).name() {
            self.unchanged += 1;
            return;
        }
        let key = (self.rules.number(from_rule), self.decisions.number(from_decision), index);
        count(self.changes.entry(key).or_default(), entry);
    }

    /// What the recorded rule came to in the table that made the record.
    fn decided(&self, entry: &Entry<'_>) -> Option<&'static str> {
        let made_by = self.made_by.iter().find(|table| entry.table.as_deref() == Some(&table.sha256))?;
        let rule = made_by.rules.get(made_by.rule_named(entry.rule.as_deref()?)?)?;
        Some(decision_of(rule).name())
    }

    fn undecided(&mut self, why: Why, entry: &Entry<'_>) {
        count(self.undetermined.entry(why).or_default(), entry);
    }

    /// The groups of records that are decided otherwise: most records first, then by name.
    #[must_use]
    pub fn changes(&self) -> Vec<Change<'_>> {
        let mut changes: Vec<Change<'_>> = self
            .changes
            .iter()
            .filter_map(|((from_rule, from_decision, to), (count, examples))| {
                let rule = self.table.rules.get(*to)?;
                Some(Change {
                    from_rule: self.rules.name(*from_rule),
                    from_decision: self.decisions.name(*from_decision),
                    to_rule: &rule.id,
                    to_decision: decision_of(rule),
                    count: *count,
                    examples,
                })
            })
            .collect();
        changes.sort_by(|a, b| {
            let names = |c: &Change<'_>| (c.from_rule.to_owned(), c.to_rule.to_owned(), c.from_decision.to_owned());
            (b.count, names(a)).cmp(&(a.count, names(b)))
        });
        changes
    }

    /// The records of which nothing can be said, by what is missing: most records first.
    #[must_use]
    pub fn undetermined(&self) -> Vec<Undetermined<'_>> {
        let mut groups: Vec<Undetermined<'_>> = self
            .undetermined
            .iter()
            .map(|(why, (count, examples))| match why {
                Why::Needs(needs) => Undetermined { needs, error: None, count: *count, examples },
                Why::Foreign(error) => Undetermined { needs: &[], error: Some(error), count: *count, examples },
            })
            .collect();
        groups.sort_by_key(|group| {
            (std::cmp::Reverse(group.count), group.needs.to_vec(), group.error.map(ToString::to_string))
        });
        groups
    }

    /// How many records get another decision.
    #[must_use]
    pub fn changed(&self) -> u64 {
        self.changes().iter().filter(|change| change.changes_decision()).map(|change| change.count).sum()
    }

    /// How many records get the same decision by another rule.
    #[must_use]
    pub fn changed_rule_only(&self) -> u64 {
        self.changes().iter().filter(|change| !change.changes_decision()).map(|change| change.count).sum()
    }

    /// How many records the table cannot decide.
    #[must_use]
    pub fn undetermined_count(&self) -> u64 {
        self.undetermined.values().map(|(count, _)| count).sum()
    }
}

fn count((count, examples): &mut (u64, Vec<Example>), entry: &Entry<'_>) {
    *count += 1;
    if examples.len() < MAX_EXAMPLES {
        let text = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().unwrap_or_default().to_owned();
        examples.push(Example { id: text(&entry.id), agent_uid: text(&entry.agent_uid) });
    }
}

/// Names seen in records, each kept once.
#[derive(Debug, Clone, Default)]
struct Names {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }
}
