//! Which rules, and which values of each of their conditions, real decisions reached.
//!
//! Every record is decided again under the table in question, so that an edited table has a
//! coverage from its first day; under the table that made it, a record reaches what it reached.

use super::entry::Entry;
use crate::gate::facts::Fact;
use crate::gate::{Partial, evaluate_partial};
use crate::table::{FactWord, Rule, Table};

/// Counts by rule and by value. All are exact.
#[derive(Debug, Clone)]
pub struct Coverage<'t> {
    table: &'t Table,
    /// How many records were added.
    pub records: u64,
    /// Of these, how many the table cannot decide.
    pub undetermined: u64,
    /// Of these, how many had no candidate, so that there was nothing to decide.
    pub without_candidate: u64,
    /// Hits by rule.
    hits: Vec<u64>,
    /// Hits by rule and bit of the fact word.
    values: Vec<[u64; u64::BITS as usize]>,
}

/// What was reached of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleCoverage<'t> {
    /// The rule.
    pub rule: &'t Rule,
    /// How often it decided.
    pub hits: u64,
    /// Its conditions, in the order written.
    pub conditions: Vec<ConditionCoverage>,
}

/// What was reached of one condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionCoverage {
    /// The fact it tests.
    pub fact: Fact,
    /// Its wanted values in value order, and how often the rule decided with each of them. The
    /// counts add up to the rule's hits.
    pub values: Vec<(&'static str, u64)>,
}

impl<'t> Coverage<'t> {
    /// Coverage by nothing yet.
    #[must_use]
    pub fn new(table: &'t Table) -> Self {
        let rules = table.rules.len();
        Self {
            table,
            records: 0,
            undetermined: 0,
            without_candidate: 0,
            hits: vec![0; rules],
            values: vec![[0; u64::BITS as usize]; rules],
        }
    }

    /// Counts one record.
    pub fn add(&mut self, entry: &Entry<'_>) {
        match &entry.facts {
            _ if !entry.was_decided() => {
                self.records += 1;
                self.without_candidate += 1;
            }
            Ok(word) => self.add_word(*word),
            Err(_) => {
                self.records += 1;
                self.undetermined += 1;
            }
        }
    }

    /// Counts one set of facts, such as a test's.
    pub fn add_word(&mut self, word: FactWord) {
        self.records += 1;
        let Partial::Decided(index) = evaluate_partial(self.table, word) else {
            self.undetermined += 1;
            return;
        };
        if let (Some(hits), Some(values)) = (self.hits.get_mut(index), self.values.get_mut(index)) {
            *hits += 1;
            let mut bits = word.bits();
            while bits != 0 {
                if let Some(count) = values.get_mut(bits.trailing_zeros() as usize) {
                    *count += 1;
                }
                bits &= bits - 1;
            }
        }
    }

    /// Every rule of the table, in order.
    #[must_use]
    pub fn rules(&self) -> Vec<RuleCoverage<'t>> {
        self.table
            .rules
            .iter()
            .zip(self.hits.iter().zip(&self.values))
            .map(|(rule, (hits, values))| RuleCoverage { rule, hits: *hits, conditions: conditions(rule, values) })
            .collect()
    }
}

fn conditions(rule: &Rule, counts: &[u64]) -> Vec<ConditionCoverage> {
    let condition = |condition: &crate::table::Condition| {
        let fact: Fact = <Fact as strum::IntoEnumIterator>::iter().nth(condition.fact)?;
        let spec = fact.spec();
        let values = spec.values.iter().enumerate().filter(|(value, _)| condition.wanted & spec.value_bit(*value) != 0);
        let counted = values.map(|(value, name)| {
            let bit = spec.value_bit(value).trailing_zeros() as usize;
            (*name, counts.get(bit).copied().unwrap_or_default())
        });
        Some(ConditionCoverage { fact, values: counted.collect() })
    };
    rule.when.iter().filter_map(condition).collect()
}
