//! The HTML report: one self-contained page on which a person finds a decision and reads why it
//! was made. All evaluation happens here; the page only shows, filters and lays out.
//!
//! ```text
//! records, chains, tables ──► Report ──► data (JSON) ─┐
//!                             report.html, .css, .js ─┴─► one file, no network
//! ```

mod data;

use super::coverage::Coverage;
use super::entry::Entry;
use super::record::Record;
use crate::segments::Segment;
use crate::table::Table;
use data::{Strings, chain_json, fact_json, path_json, row_json, table_json};
use serde_json::{Value, json};
use std::collections::HashMap;

/// How many decisions a page carries at most, the first that are added; all are counted.
pub const MAX_ROWS: usize = 20_000;
/// How many segments of one agent a page carries at most, the newest.
pub const MAX_SEGMENTS_PER_AGENT: usize = 2_000;

/// A page in the making.
#[derive(Debug)]
pub struct Report<'t> {
    tables: Vec<&'t Table>,
    /// What each table's own records reached.
    coverage: Vec<Coverage<'t>>,
    strings: Strings,
    paths: HashMap<(Option<usize>, usize, u64), usize>,
    path_list: Vec<Value>,
    rows: Vec<Value>,
    agents: Vec<Value>,
    records: u64,
    unreadable: u64,
}

impl<'t> Report<'t> {
    /// An empty page. The first table is today's; the others are those that made older decisions.
    #[must_use]
    pub fn new(tables: Vec<&'t Table>) -> Self {
        Self {
            coverage: tables.iter().map(|table| Coverage::new(table)).collect(),
            tables,
            strings: Strings::default(),
            paths: HashMap::new(),
            path_list: Vec::new(),
            rows: Vec::new(),
            agents: Vec::new(),
            records: 0,
            unreadable: 0,
        }
    }

    /// How many records were added or counted.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.records
    }

    /// Whether another record would be shown, not only counted.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.rows.len() < MAX_ROWS
    }

    /// Counts a record that is not shown.
    pub fn count(&mut self, entry: &Entry<'_>) {
        self.records += 1;
        if let Some(made_by) = self.table_of(entry)
            && let Some(coverage) = self.coverage.get_mut(made_by)
        {
            coverage.add(entry);
        }
    }

    /// Adds a record; beyond [`MAX_ROWS`] it is only counted, so add the newest first.
    pub fn add(&mut self, record: &Record<'_>) {
        self.count(&record.entry);
        if !self.has_room() {
            return;
        }
        let path = self.path(record);
        let row = row_json(record, path, &mut self.strings);
        self.rows.push(row);
    }

    /// Counts a line that is no record.
    pub fn add_unreadable(&mut self) {
        self.unreadable += 1;
    }

    /// Adds an agent's chain, in log order.
    pub fn add_chain(&mut self, agent_uid: &str, chain: &[Segment]) {
        let first = chain.len().saturating_sub(MAX_SEGMENTS_PER_AGENT);
        let shown = chain.get(first..).unwrap_or_default();
        self.agents.push(chain_json(agent_uid, shown, chain.len(), &mut self.strings));
    }

    /// The page. `now_ms` is when it is made, in milliseconds since 1970, and `source` says from what.
    #[must_use]
    pub fn html(&self, now_ms: i64, source: &str) -> String {
        let data = json!({
            "schema": "resume-gate.report/1",
            "now_ms": now_ms,
            "source": source,
            "records": self.records,
            "unreadable": self.unreadable,
            "decisions": crate::gate::facts::VOCABULARY.decisions,
            "facts": <crate::gate::facts::Fact as strum::IntoEnumIterator>::iter().map(fact_json).collect::<Vec<_>>(),
            "tables": self.tables.iter().zip(&self.coverage).map(|(table, reached)| table_json(table, reached)).collect::<Vec<_>>(),
            "agents": self.agents,
            "paths": self.path_list,
            "rows": self.rows,
            "strings": self.strings.list(),
        });
        page(&data)
    }

    /// Index of the table that made a record.
    fn table_of(&self, entry: &Entry<'_>) -> Option<usize> {
        let sha256 = entry.table.as_deref()?;
        self.tables.iter().position(|table| table.sha256 == sha256)
    }

    /// Index of the record's way through the table that made it; the same way is kept once.
    fn path(&mut self, record: &Record<'_>) -> Option<usize> {
        let made_by = self.table_of(&record.entry);
        let word = *record.entry.facts.as_ref().ok()?;
        let table = made_by.and_then(|index| self.tables.get(index)).copied();
        let evaluation = table.and_then(|table| record.evaluation(table));
        let made_by = made_by.filter(|_| evaluation.is_some());
        let key = (made_by, evaluation.map_or(usize::MAX, |evaluation| evaluation.rule), word.bits());
        if let Some(index) = self.paths.get(&key) {
            return Some(*index);
        }
        let today = self.tables.first()?;
        let path = path_json(table.zip(evaluation), made_by, word, today);
        let index = self.path_list.len();
        self.path_list.push(path);
        self.paths.insert(key, index);
        Some(index)
    }
}

const PAGE: &str = include_str!("report.html");
const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// The template with its style, script and data in place.
fn page(data: &Value) -> String {
    let mut page = String::new();
    let mut rest = PAGE;
    for (mark, content) in [("/*STYLE*/", STYLE), ("/*DATA*/", &in_script(data)), ("/*SCRIPT*/", SCRIPT)] {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(content);
        rest = after;
    }
    page.push_str(rest);
    page
}

/// JSON that can stand in a `<script>` element whatever its strings say: nothing in it ends the
/// element, opens a comment, or breaks a line of script.
fn in_script(data: &Value) -> String {
    let mut escaped = String::new();
    for c in data.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = std::fmt::Write::write_fmt(&mut escaped, format_args!("\\u{:04x}", u32::from(c)));
            }
            c => escaped.push(c),
        }
    }
    escaped
}
