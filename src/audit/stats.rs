//! Counts over a decision log: by decision, rule, agent, outcome and table, and how long deciding took.

use super::entry::Entry;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// What a log holds, counted as it was recorded.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// How many records.
    pub records: u64,
    /// Of these, how many had no candidate, so that there was nothing to decide.
    pub without_candidate: u64,
    /// Lines that are no record; whoever reads the log adds them.
    pub unreadable: u64,
    /// First and last time, in milliseconds since 1970.
    pub at_ms: Option<RangeInclusive<u64>>,
    decisions: BTreeMap<String, u64>,
    rules: BTreeMap<String, u64>,
    agents: BTreeMap<String, u64>,
    outcomes: BTreeMap<String, u64>,
    tables: BTreeMap<String, u64>,
    durations_us: BTreeMap<u64, u64>,
}

/// A name and how many records have it.
pub type Count<'a> = (&'a str, u64);

impl Stats {
    /// Counts one record.
    pub fn add(&mut self, entry: &Entry<'_>) {
        self.records += 1;
        self.without_candidate += u64::from(!entry.was_decided());
        for (counts, name) in [
            (&mut self.decisions, &entry.decision),
            (&mut self.rules, &entry.rule),
            (&mut self.agents, &entry.agent_uid),
            (&mut self.outcomes, &entry.outcome),
            (&mut self.tables, &entry.table),
        ] {
            if let Some(name) = name {
                match counts.get_mut(name.as_ref()) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(name.to_string(), 1)),
                }
            }
        }
        if let Some(at) = entry.at_ms {
            self.at_ms = Some(match &self.at_ms {
                Some(range) => at.min(*range.start())..=at.max(*range.end()),
                None => at..=at,
            });
        }
        if let Some(duration) = entry.duration_us {
            *self.durations_us.entry(duration).or_default() += 1;
        }
    }

    /// Records by decision, the most frequent first.
    #[must_use]
    pub fn decisions(&self) -> Vec<Count<'_>> {
        by_count(&self.decisions)
    }

    /// Records by rule, the most frequent first.
    #[must_use]
    pub fn rules(&self) -> Vec<Count<'_>> {
        by_count(&self.rules)
    }

    /// Records by agent, the most frequent first.
    #[must_use]
    pub fn agents(&self) -> Vec<Count<'_>> {
        by_count(&self.agents)
    }

    /// Records by outcome of the plan, the most frequent first.
    #[must_use]
    pub fn outcomes(&self) -> Vec<Count<'_>> {
        by_count(&self.outcomes)
    }

    /// Records by the table that decided (SHA-256), the most frequent first.
    #[must_use]
    pub fn tables(&self) -> Vec<Count<'_>> {
        by_count(&self.tables)
    }

    /// The shortest time in microseconds within which `percent` of the decisions were made, by
    /// nearest rank; `None` if no record says how long it took.
    #[must_use]
    pub fn duration_us(&self, percent: u64) -> Option<u64> {
        let all: u64 = self.durations_us.values().sum();
        let rank = (all * percent.min(100)).div_ceil(100).max(1);
        let mut passed = 0;
        self.durations_us.iter().find_map(|(duration, count)| {
            passed += count;
            (passed >= rank).then_some(*duration)
        })
    }
}

fn by_count(counts: &BTreeMap<String, u64>) -> Vec<Count<'_>> {
    let mut counts: Vec<Count<'_>> = counts.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}
