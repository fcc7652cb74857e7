//! Reading a tree whose shape is prescribed: which keys a mapping has, what type each value is.

use super::diagnostic::{Misnamed, Problem, quoted};
use super::draft::{Finding, Path};
use super::model::Vocabulary;
use super::names::{ID_MAX_CHARS, nearest};
use super::tree::{Node, Step};

/// A node and the way to it.
#[derive(Debug, Clone)]
pub(super) struct At<'n> {
    pub(super) node: &'n Node,
    pub(super) path: Path,
}

impl<'n> At<'n> {
    pub(super) fn step(&self, node: &'n Node, step: Step) -> Self {
        let mut path = self.path.clone();
        path.push(step);
        At { node, path }
    }

    pub(super) fn items(&self, items: &'n [Node]) -> Vec<Self> {
        items.iter().enumerate().map(|(i, item)| self.step(item, Step::Item(i))).collect()
    }
}

/// A mapping whose keys are prescribed.
#[derive(Debug)]
pub(super) struct Row<'n> {
    pub(super) path: Path,
    /// What messages call it.
    pub(super) called: String,
    fields: Vec<(&'static str, Field<'n>)>,
}

/// One of its keys.
#[derive(Debug)]
enum Field<'n> {
    Absent,
    Given {
        key: Path,
        value: At<'n>,
    },
    /// It stands there more than once, so what is meant is not known.
    Twice,
}

impl<'n> Row<'n> {
    /// The value under `key`, if it is given once.
    pub(super) fn value(&self, key: &str) -> Option<&At<'n>> {
        match self.field(key) {
            Some(Field::Given { value, .. }) => Some(value),
            _ => None,
        }
    }

    /// Where `key` is, if it is given once.
    pub(super) fn key(&self, key: &str) -> Option<&Path> {
        match self.field(key) {
            Some(Field::Given { key, .. }) => Some(key),
            _ => None,
        }
    }

    /// Whether `key` is given at all.
    pub(super) fn has(&self, key: &str) -> bool {
        !matches!(self.field(key), None | Some(Field::Absent))
    }

    fn field(&self, key: &str) -> Option<&Field<'n>> {
        self.fields.iter().find(|(name, _)| *name == key).map(|(_, field)| field)
    }
}

/// Reads, and collects what is wrong on the way.
pub(super) struct Reader<'v> {
    pub(super) vocabulary: &'v Vocabulary,
    pub(super) findings: Vec<Finding>,
}

impl Reader<'_> {
    pub(super) fn report(&mut self, path: &Path, problem: Problem) {
        self.findings.push(Finding { problem, path: path.clone(), labels: Vec::new() });
    }

    /// Reports what stands in the file for the second time.
    pub(super) fn report_twice(&mut self, path: Path, first: Path, problem: Problem) {
        let labels = vec![(first, "it stands here first".to_owned())];
        self.findings.push(Finding { problem, path, labels });
    }

    pub(super) fn wrong_type(&mut self, at: &At<'_>, whose: &str, wanted: &'static str) {
        let problem = Problem::WrongType { whose: whose.to_owned(), wanted, found: describe(at.node) };
        self.report(&at.path, problem);
    }

    /// A mapping that may have these keys and no others.
    pub(super) fn row<'n>(&mut self, at: &At<'n>, called: &str, keys: &[&'static str]) -> Option<Row<'n>> {
        let Node::Map(entries) = at.node else {
            self.wrong_type(at, called, "a mapping");
            return None;
        };
        let mut fields: Vec<(&'static str, Field<'n>)> = keys.iter().map(|key| (*key, Field::Absent)).collect();
        for (i, (key, value)) in entries.iter().enumerate() {
            let key = at.step(key, Step::Key(i));
            let Some(name) = self.name(&key) else { continue };
            match fields.iter_mut().find(|(known, _)| *known == name) {
                Some((_, field @ Field::Absent)) => {
                    *field = Field::Given { key: key.path, value: at.step(value, Step::Value(i)) };
                }
                Some((_, field)) => {
                    *field = Field::Twice;
                    self.duplicate_key(at, entries, i, name);
                }
                None => {
                    let name = misnamed(name, keys.iter().copied());
                    self.report(&key.path, Problem::UnknownKey { of: called.to_owned(), name });
                }
            }
        }
        Some(Row { path: at.path.clone(), called: called.to_owned(), fields })
    }

    /// A mapping's key, which must be text.
    pub(super) fn name<'n>(&mut self, key: &At<'n>) -> Option<&'n str> {
        match key.node {
            Node::Text(name) => Some(name),
            _ => {
                self.wrong_type(key, "a key", "a name");
                None
            }
        }
    }

    /// Reports that entry `index` of the mapping at `at` has a key that an earlier one has too.
    pub(super) fn duplicate_key(&mut self, at: &At<'_>, entries: &[(Node, Node)], index: usize, name: &str) {
        let first = entries.iter().position(|(key, _)| matches!(key, Node::Text(text) if text == name));
        let path = |index| at.step(at.node, Step::Key(index)).path;
        let problem = Problem::DuplicateKey { key: name.to_owned() };
        self.report_twice(path(index), path(first.unwrap_or(index)), problem);
    }

    /// The value of a key that must be there.
    pub(super) fn required<'n>(&mut self, row: &Row<'n>, key: &'static str) -> Option<At<'n>> {
        if !row.has(key) {
            self.report(&row.path, Problem::MissingKey { of: row.called.clone(), key });
        }
        row.value(key).cloned()
    }

    /// The items of a list that must be there.
    pub(super) fn list<'n>(&mut self, row: &Row<'n>, key: &'static str) -> Option<Vec<At<'n>>> {
        let value = self.required(row, key)?;
        match value.node {
            Node::List(items) => Some(value.items(items)),
            _ => {
                self.wrong_type(&value, &format!("`{key}`"), "a list");
                None
            }
        }
    }

    /// A text that must be there, and where it is.
    pub(super) fn text(&mut self, row: &Row<'_>, key: &'static str, wanted: &'static str) -> Option<(String, Path)> {
        let value = self.required(row, key)?;
        match value.node {
            Node::Text(text) => Some((text.clone(), value.path)),
            _ => {
                self.wrong_type(&value, &format!("`{key}`"), wanted);
                None
            }
        }
    }

    /// An id that must be there; an ill-formed one is reported and used all the same.
    pub(super) fn id(&mut self, row: &Row<'_>, key: &'static str, of: &'static str, cased: bool) -> Option<String> {
        let (id, path) = self.text(row, key, "an id")?;
        if !is_id(&id, cased) {
            self.report(&path, Problem::IllFormedId { id: id.clone(), of });
        }
        Some(id)
    }

    /// A sentence that must be there; empty if it is not.
    pub(super) fn sentence(&mut self, row: &Row<'_>, key: &'static str) -> String {
        let missing = Problem::MissingSentence { of: row.called.clone(), key };
        let Some(value) = row.value(key) else {
            if !row.has(key) {
                self.report(&row.path, missing);
            }
            return String::new();
        };
        match value.node {
            Node::Nothing => self.report(&value.path, missing),
            Node::Text(text) if text.trim().is_empty() => self.report(&value.path, missing),
            Node::Text(text) => {
                if text.chars().any(char::is_control) {
                    self.report(&value.path, Problem::IllFormedSentence { of: row.called.clone(), key });
                }
                return text.clone();
            }
            _ => self.wrong_type(value, &format!("`{key}`"), "a sentence"),
        }
        String::new()
    }

    /// One name or a list of them, each of which stands for a bit.
    pub(super) fn names(
        &mut self,
        at: &At<'_>,
        whose: &str,
        mut bit: impl FnMut(&mut Self, &str, &Path) -> Option<u64>,
    ) -> Option<u64> {
        let items = match at.node {
            Node::List(items) => at.items(items),
            _ => vec![at.clone()],
        };
        if items.is_empty() {
            self.report(&at.path, Problem::EmptyList { whose: whose.to_owned() });
            return None;
        }
        let mut seen = 0;
        let mut all_known = true;
        for item in items {
            let Node::Text(name) = item.node else {
                self.wrong_type(&item, whose, "a name or a list of names");
                all_known = false;
                continue;
            };
            let bit = bit(self, name, &item.path);
            if seen & bit.unwrap_or_default() != 0 {
                self.report(&item.path, Problem::DuplicateValue { value: name.clone() });
            }
            seen |= bit.unwrap_or_default();
            all_known &= bit.is_some();
        }
        all_known.then_some(seen)
    }
}

/// A name that is not among `known`.
pub(super) fn misnamed<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Misnamed {
    Misnamed {
        name: name.to_owned(),
        nearest: nearest(name, known.clone()).map(str::to_owned),
        known: known.map(str::to_owned).collect(),
    }
}

/// Whether `id` is parts of letters and digits joined by `-`, beginning with a letter.
fn is_id(id: &str, upper_case: bool) -> bool {
    let fits = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase() || upper_case && c.is_ascii_uppercase();
    id.len() <= ID_MAX_CHARS
        && id.starts_with(|c: char| c.is_ascii_alphabetic())
        && id.split('-').all(|part| !part.is_empty() && part.chars().all(fits))
}

/// What a node is, for a message.
pub(super) fn describe(node: &Node) -> String {
    match node {
        Node::Nothing => "nothing".to_owned(),
        Node::Text(text) => format!("the text {}", quoted(text)),
        Node::Integer(number) => format!("the number `{number}`"),
        Node::Other(what) => (*what).to_owned(),
        Node::List(_) => "a list".to_owned(),
        Node::Map(_) => "a mapping".to_owned(),
    }
}
