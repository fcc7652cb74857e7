//! From a tree to a draft of the table: keys, types and names. Nothing is judged here that needs
//! more than the row at hand; what a row does beside the others is for the checks.

use super::diagnostic::{Misnamed, Problem, quoted};
use super::model::{ClaimKind, Condition, Vocabulary};
use super::names::{ID_MAX_CHARS, nearest};
use super::tree::{Node, Step};

/// A way into the tree.
pub(super) type Path = Vec<Step>;

/// A problem whose places are still to be looked up.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) problem: Problem,
    pub(super) path: Path,
    pub(super) labels: Vec<(Path, String)>,
}

/// A table as far as it could be understood.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) invariants: Vec<DraftInvariant>,
    pub(super) rules: Vec<DraftRule>,
    /// The key `rules`, if there is a list of rules.
    pub(super) rules_key: Option<Path>,
}

#[derive(Debug)]
pub(super) struct DraftInvariant {
    /// `None`: there is an invariant here, but what it is called is not known.
    pub(super) id: Option<String>,
    pub(super) states: String,
    pub(super) claims: Vec<DraftClaim>,
}

#[derive(Debug)]
pub(super) struct DraftClaim {
    pub(super) at: Path,
    pub(super) kind: ClaimKind,
    pub(super) of: Conditions,
    pub(super) then: u64,
}

#[derive(Debug)]
pub(super) struct DraftRule {
    pub(super) at: Path,
    /// What messages call it: its id, or its place in the list.
    pub(super) called: String,
    pub(super) id: String,
    pub(super) invariant: String,
    pub(super) when: Conditions,
    /// `None`: it decides something, but what is not known.
    pub(super) then: Option<usize>,
    /// Where `then` is, or the row if it has none.
    pub(super) then_at: Path,
    pub(super) what: String,
    pub(super) why: String,
    pub(super) next: String,
}

/// A row's conditions, as far as they could be understood.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    pub(super) known: Vec<DraftCondition>,
    /// Whether `known` is all of it. If not, the row matches at most what `known` matches.
    pub(super) whole: bool,
}

#[derive(Debug, Clone)]
pub(super) struct DraftCondition {
    pub(super) at: Path,
    pub(super) condition: Condition,
}

impl Conditions {
    pub(super) fn plain(&self) -> Vec<Condition> {
        self.known.iter().map(|known| known.condition).collect()
    }
}

/// Makes a draft of the tree, and says what is wrong with it.
pub(super) fn draft(tree: &Node, vocabulary: &Vocabulary) -> (Draft, Vec<Finding>) {
    let mut reader = Reader { vocabulary, findings: Vec::new() };
    let draft = reader.table(&At { node: tree, path: Vec::new() });
    (draft, reader.findings)
}

/// A node and the way to it.
#[derive(Debug, Clone)]
struct At<'n> {
    node: &'n Node,
    path: Path,
}

impl<'n> At<'n> {
    fn step(&self, node: &'n Node, step: Step) -> Self {
        let mut path = self.path.clone();
        path.push(step);
        At { node, path }
    }

    fn items(&self, items: &'n [Node]) -> Vec<Self> {
        items.iter().enumerate().map(|(i, item)| self.step(item, Step::Item(i))).collect()
    }
}

/// One key of a mapping whose keys are prescribed.
#[derive(Debug, Clone)]
enum Field<'n> {
    Absent,
    /// Its key and its value.
    Given(Path, At<'n>),
    /// It stands there more than once, so what is meant is not known.
    Twice,
}

struct Reader<'v> {
    vocabulary: &'v Vocabulary,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn report(&mut self, path: &Path, problem: Problem) {
        self.findings.push(Finding { problem, path: path.clone(), labels: Vec::new() });
    }

    fn wrong_type(&mut self, at: &At<'_>, whose: String, wanted: &'static str) {
        self.report(&at.path, Problem::WrongType { whose, wanted, found: describe(at.node) });
    }

    fn table(&mut self, at: &At<'_>) -> Draft {
        let of = "the table".to_owned();
        let keys = ["table", "version", "hit_policy", "invariants", "rules"];
        let Some([name, version, hit_policy, invariants, rules]) = self.fields(at, &of, keys) else {
            return Draft::default();
        };
        let name = self.id(at, &of, "table", "a table", &name).map(|(id, _)| id).unwrap_or_default();
        let version = self.version(at, &of, &version);
        self.hit_policy(at, &of, &hit_policy);
        let mut draft = Draft { name, version, ..Draft::default() };
        let mut declared = None;
        if let Some((_, rows)) = self.list(at, &of, "invariants", &invariants) {
            draft.invariants = rows.iter().enumerate().map(|(i, row)| self.invariant(i, row)).collect();
            self.duplicates(&rows, &draft.invariants);
            // One that could not be read may be the one that a rule means.
            declared = draft.invariants.iter().map(|invariant| invariant.id.clone()).collect();
        }
        if let Some((key, rows)) = self.list(at, &of, "rules", &rules) {
            draft.rules = rows.iter().enumerate().map(|(i, row)| self.rule(i, row, &declared)).collect();
            self.duplicate_rules(&rows, &draft.rules);
            draft.rules_key = Some(key);
        }
        draft
    }

    fn version(&mut self, at: &At<'_>, of: &str, field: &Field<'_>) -> u32 {
        let Some((_, value)) = self.required(at, of, "version", field) else { return 0 };
        match value.node {
            Node::Integer(number @ 1..=0xFFFF_FFFF) => u32::try_from(*number).unwrap_or_default(),
            node => {
                self.report(&value.path, Problem::BadVersion { found: describe(node) });
                0
            }
        }
    }

    fn hit_policy(&mut self, at: &At<'_>, of: &str, field: &Field<'_>) {
        if let Some((text, path)) = self.text(at, of, "hit_policy", "a name", field)
            && text != "first"
        {
            self.report(&path, Problem::HitPolicy { found: text });
        }
    }

    fn invariant(&mut self, index: usize, at: &At<'_>) -> DraftInvariant {
        let mut of = format!("invariant {}", index + 1);
        let mut draft = DraftInvariant { id: None, states: String::new(), claims: Vec::new() };
        let Some([id, states, claims]) = self.fields(at, &of, ["id", "states", "claims"]) else { return draft };
        if let Some((id, _)) = self.id(at, &of, "id", "an invariant", &id) {
            of = format!("the invariant {}", quoted(&id));
            draft.id = Some(id);
        }
        draft.states = self.sentence(at, &of, "states", &states);
        if let Some((_, rows)) = self.list(at, &of, "claims", &claims) {
            draft.claims = rows.iter().filter_map(|row| self.claim(row, &of)).collect();
        }
        draft
    }

    fn claim(&mut self, at: &At<'_>, of: &str) -> Option<DraftClaim> {
        let of = format!("a claim of {of}");
        let [never, only, then] = self.fields(at, &of, ["never", "only", "then"])?;
        let then_names = self.required(at, &of, "then", &then).map(|(_, value)| self.decisions(&value));
        let (kind, conditions) = match (never, only) {
            (Field::Given(_, never), Field::Absent) => (ClaimKind::Never, self.conditions(&never, "`never`")),
            (Field::Absent, Field::Given(_, only)) => (ClaimKind::Only, self.conditions(&only, "`only`")),
            (Field::Absent, Field::Absent) => {
                self.report(&at.path, Problem::ClaimKind { both: false });
                return None;
            }
            (Field::Given(..), Field::Given(..)) => {
                self.report(&at.path, Problem::ClaimKind { both: true });
                return None;
            }
            _ => return None,
        };
        let then = then_names.flatten()?;
        conditions.whole.then(|| DraftClaim { at: at.path.clone(), kind, of: conditions, then })
    }

    fn rule(&mut self, index: usize, at: &At<'_>, declared: &Option<Vec<String>>) -> DraftRule {
        let mut rule = DraftRule {
            at: at.path.clone(),
            called: format!("rule {}", index + 1),
            id: String::new(),
            invariant: String::new(),
            when: Conditions::default(),
            then: None,
            then_at: at.path.clone(),
            what: String::new(),
            why: String::new(),
            next: String::new(),
        };
        let keys = ["id", "invariant", "when", "then", "what", "why", "next"];
        let Some([id, invariant, when, then, what, why, next]) = self.fields(at, &rule.called, keys) else {
            return rule;
        };
        if let Some((id, _)) = self.id(at, &rule.called, "id", "a rule", &id) {
            rule.called = format!("the rule {}", quoted(&id));
            rule.id = id;
        }
        let of = rule.called.clone();
        if let Some((name, path)) = self.text(at, &of, "invariant", "the id of an invariant", &invariant) {
            if let Some(declared) = declared
                && !declared.contains(&name)
            {
                let name = misnamed(&name, declared.iter().map(String::as_str));
                self.report(&path, Problem::UndeclaredInvariant { name });
            }
            rule.invariant = name;
        }
        if let Some((_, value)) = self.required(at, &of, "when", &when) {
            rule.when = self.conditions(&value, "`when`");
        }
        if let Some((name, path)) = self.text(at, &of, "then", "one decision", &then) {
            rule.then = self.decision(&name, &path);
            rule.then_at = path;
        }
        rule.what = self.sentence(at, &of, "what", &what);
        rule.why = self.sentence(at, &of, "why", &why);
        rule.next = self.sentence(at, &of, "next", &next);
        rule
    }

    /// The values of a mapping under the keys it may have.
    fn fields<'n, const N: usize>(&mut self, at: &At<'n>, of: &str, keys: [&'static str; N]) -> Option<[Field<'n>; N]> {
        let Node::Map(entries) = at.node else {
            self.wrong_type(at, of.to_owned(), "a mapping");
            return None;
        };
        let mut fields = [const { Field::Absent }; N];
        for (i, (key, value)) in entries.iter().enumerate() {
            let key_at = at.step(key, Step::Key(i));
            let Some(name) = self.key(&key_at) else { continue };
            let known = keys.iter().zip(fields.iter_mut()).find(|(known, _)| **known == name);
            let Some((_, field)) = known else {
                let key = misnamed(name, keys.iter().copied());
                self.report(&key_at.path, Problem::UnknownKey { of: of.to_owned(), key });
                continue;
            };
            if matches!(field, Field::Absent) {
                *field = Field::Given(key_at.path, at.step(value, Step::Value(i)));
            } else {
                *field = Field::Twice;
                self.duplicate_key(at, entries, i, name);
            }
        }
        Some(fields)
    }

    /// A mapping's key, which must be text.
    fn key<'n>(&mut self, at: &At<'n>) -> Option<&'n str> {
        match at.node {
            Node::Text(name) => Some(name),
            _ => {
                self.wrong_type(at, "a key".to_owned(), "a name");
                None
            }
        }
    }

    fn duplicate_key(&mut self, at: &At<'_>, entries: &[(Node, Node)], index: usize, name: &str) {
        let first = entries.iter().position(|(key, _)| matches!(key, Node::Text(text) if text == name));
        let path = |index| {
            let mut path = at.path.clone();
            path.push(Step::Key(index));
            path
        };
        let labels = first.map(|first| (path(first), "it stands here first".to_owned())).into_iter().collect();
        self.findings.push(Finding {
            problem: Problem::DuplicateKey { key: name.to_owned() },
            path: path(index),
            labels,
        });
    }

    fn required<'n>(&mut self, at: &At<'_>, of: &str, key: &'static str, field: &Field<'n>) -> Option<(Path, At<'n>)> {
        match field {
            Field::Given(key, value) => Some((key.clone(), value.clone())),
            Field::Twice => None,
            Field::Absent => {
                self.report(&at.path, Problem::MissingKey { of: of.to_owned(), key });
                None
            }
        }
    }

    /// A required list: its key and its items.
    fn list<'n>(&mut self, at: &At<'_>, of: &str, key: &'static str, field: &Field<'n>) -> Option<(Path, Vec<At<'n>>)> {
        let (key_path, value) = self.required(at, of, key, field)?;
        match value.node {
            Node::List(items) => Some((key_path, value.items(items))),
            _ => {
                self.wrong_type(&value, format!("`{key}`"), "a list");
                None
            }
        }
    }

    /// A required text and where it is.
    fn text(
        &mut self,
        at: &At<'_>,
        of: &str,
        key: &'static str,
        wanted: &'static str,
        field: &Field<'_>,
    ) -> Option<(String, Path)> {
        let (_, value) = self.required(at, of, key, field)?;
        match value.node {
            Node::Text(text) => Some((text.clone(), value.path)),
            _ => {
                self.wrong_type(&value, format!("`{key}`"), wanted);
                None
            }
        }
    }

    fn id(
        &mut self,
        at: &At<'_>,
        of: &str,
        key: &'static str,
        kind: &'static str,
        field: &Field<'_>,
    ) -> Option<(String, Path)> {
        let (id, path) = self.text(at, of, key, "an id", field)?;
        if !is_id(&id, kind == "an invariant") {
            self.report(&path, Problem::IllFormedId { id: id.clone(), of: kind });
        }
        Some((id, path))
    }

    fn sentence(&mut self, at: &At<'_>, of: &str, key: &'static str, field: &Field<'_>) -> String {
        let missing = Problem::MissingSentence { of: of.to_owned(), key };
        match field {
            Field::Twice => String::new(),
            Field::Absent => {
                self.report(&at.path, missing);
                String::new()
            }
            Field::Given(_, value) => match value.node {
                Node::Nothing => {
                    self.report(&value.path, missing);
                    String::new()
                }
                Node::Text(text) if text.trim().is_empty() => {
                    self.report(&value.path, missing);
                    String::new()
                }
                Node::Text(text) => {
                    if text.chars().any(char::is_control) {
                        self.report(&value.path, Problem::IllFormedSentence { of: of.to_owned(), key });
                    }
                    text.clone()
                }
                _ => {
                    self.wrong_type(value, format!("`{key}`"), "a sentence");
                    String::new()
                }
            },
        }
    }

    fn duplicates(&mut self, rows: &[At<'_>], invariants: &[DraftInvariant]) {
        let ids: Vec<&str> = invariants.iter().map(|invariant| invariant.id.as_deref().unwrap_or_default()).collect();
        self.same_ids(rows, &ids, |id| Problem::DuplicateInvariant { id });
    }

    fn duplicate_rules(&mut self, rows: &[At<'_>], rules: &[DraftRule]) {
        let ids: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
        self.same_ids(rows, &ids, |id| Problem::DuplicateId { id });
    }

    /// Reports every row whose id, if it has one, an earlier row has too.
    fn same_ids(&mut self, rows: &[At<'_>], ids: &[&str], problem: impl Fn(String) -> Problem) {
        for (i, (row, id)) in rows.iter().zip(ids).enumerate() {
            let first = ids.iter().position(|other| other == id).filter(|first| *first < i && !id.is_empty());
            if let Some(first) = first.and_then(|first| rows.get(first)) {
                self.findings.push(Finding {
                    problem: problem((*id).to_owned()),
                    path: id_path(row),
                    labels: vec![(id_path(first), "it stands here first".to_owned())],
                });
            }
        }
    }

    /// Reads the mapping from facts to wanted values.
    fn conditions(&mut self, at: &At<'_>, whose: &str) -> Conditions {
        let mut conditions = Conditions { known: Vec::new(), whole: true };
        let Node::Map(entries) = at.node else {
            self.wrong_type(at, whose.to_owned(), "a mapping from facts to values (`{}`: always)");
            return Conditions::default();
        };
        for (i, (key, value)) in entries.iter().enumerate() {
            let key_at = at.step(key, Step::Key(i));
            let Some(name) = self.key(&key_at) else {
                conditions.whole = false;
                continue;
            };
            let Some(fact) = self.vocabulary.fact_named(name) else {
                let name = misnamed(name, self.vocabulary.facts.iter().map(|fact| fact.name));
                self.report(&key_at.path, Problem::UnknownFact { name });
                conditions.whole = false;
                continue;
            };
            let twice = conditions.known.iter().position(|known| known.condition.fact == fact);
            let wanted = self.wanted(&at.step(value, Step::Value(i)), fact);
            if let Some(first) = twice {
                self.duplicate_key(at, entries, i, name);
                conditions.known.remove(first);
            }
            // What cannot be understood still needs the fact to apply.
            let any = self.vocabulary.facts.get(fact).map_or(0, |spec| spec.value_bits());
            conditions.whole &= twice.is_none() && wanted.is_some();
            let wanted = if twice.is_some() { any } else { wanted.unwrap_or(any) };
            conditions.known.push(DraftCondition { at: key_at.path, condition: Condition { fact, wanted } });
        }
        conditions
    }

    /// The bits of the wanted values of fact `fact`.
    fn wanted(&mut self, at: &At<'_>, fact: usize) -> Option<u64> {
        let spec = self.vocabulary.facts.get(fact)?;
        self.names(at, &format!("`{}`", spec.name), |reader, name, path| {
            if let Some(value) = spec.value_named(name) {
                return Some(spec.value_bit(value));
            }
            let name = misnamed(name, spec.values.iter().copied());
            reader.report(path, Problem::UnknownValue { fact: spec.name.to_owned(), name });
            None
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

    /// Reads one name or a list of them, each of which stands for a bit.
    fn names(
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
        let mut bits = Some(0);
        for item in items {
            let Node::Text(name) = item.node else {
                self.wrong_type(&item, whose.to_owned(), "a name or a list of names");
                bits = None;
                continue;
            };
            match bit(self, name, &item.path) {
                Some(bit) => {
                    if bits.is_some_and(|bits| bits & bit != 0) {
                        self.report(&item.path, Problem::DuplicateValue { value: name.clone() });
                    }
                    bits = bits.map(|bits| bits | bit);
                }
                None => bits = None,
            }
        }
        bits
    }
}

/// Where a row's `id` is.
fn id_path(row: &At<'_>) -> Path {
    let mut path = row.path.clone();
    if let Node::Map(entries) = row.node {
        let index = entries.iter().position(|(key, _)| matches!(key, Node::Text(name) if name == "id"));
        path.extend(index.map(Step::Value));
    }
    path
}

fn misnamed<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Misnamed {
    Misnamed {
        name: name.to_owned(),
        nearest: nearest(name, known.clone()).map(str::to_owned),
        known: known.map(str::to_owned).collect(),
    }
}

/// Whether `id` is parts of letters and digits joined by `-`, beginning with a letter.
fn is_id(id: &str, upper_case: bool) -> bool {
    id.len() <= ID_MAX_CHARS
        && id.starts_with(|c: char| c.is_ascii_alphabetic())
        && id.split('-').all(|part| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_ascii_digit() || c.is_ascii_lowercase() || upper_case && c.is_ascii_uppercase())
        })
}

/// What a node is, for a message.
fn describe(node: &Node) -> String {
    match node {
        Node::Nothing => "nothing".to_owned(),
        Node::Text(text) => format!("the text {}", quoted(text)),
        Node::Integer(number) => format!("the number `{number}`"),
        Node::Other(what) => (*what).to_owned(),
        Node::List(_) => "a list".to_owned(),
        Node::Map(_) => "a mapping".to_owned(),
    }
}
