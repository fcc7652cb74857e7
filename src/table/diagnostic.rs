//! Everything that can be wrong with a table, and the only place that words it.
//!
//! The reader and the checks make a [`Problem`] out of plain data; its code, message and help are
//! views of that. A message is one line in lower case without a full stop, text from the table
//! stands in backticks, and advice goes to the help line.

use super::tree::Place;
use strum::{EnumDiscriminants, EnumIter, IntoStaticStr, VariantNames};

/// One thing to say about a table, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong.
    pub problem: Problem,
    /// Where: the name, value or row that should change.
    pub place: Place,
    /// Other places that belong to it, each with a word on why.
    pub labels: Vec<Label>,
}

/// A second place that a diagnostic points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub place: Place,
    /// What is there.
    pub text: String,
}

/// How much a diagnostic weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Severity {
    /// There is no table until it is mended.
    Error,
    /// Worth knowing; changes nothing.
    Note,
}

/// A name that does not exist, with what may have been meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misnamed {
    /// The name as written.
    pub name: String,
    /// The nearest right name, if one is near.
    pub nearest: Option<String>,
    /// All right names.
    pub known: Vec<String>,
}

/// Combinations of facts that show a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The first of them, in fact order and value order.
    pub example: String,
    /// How many there are.
    pub count: usize,
}

/// Two conditions of one row that cannot both hold, because they need different values of one fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// The fact of the condition that is excluded.
    pub fact: String,
    /// The fact of the condition that excludes it.
    pub beside: String,
    /// The fact of which they need different values.
    pub over: String,
    /// The values of it that the one needs.
    pub needs: Vec<String>,
    /// The values of it that the other needs.
    pub other_needs: Vec<String>,
}

/// A rule that takes combinations of a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masker {
    /// What messages call it.
    pub rule: String,
    /// How many combinations it takes.
    pub count: usize,
}

/// What is wrong with a table. Its kind, without the particulars, is its [`Code`].
#[derive(Debug, Clone, PartialEq, Eq, EnumDiscriminants)]
#[strum_discriminants(
    name(Code),
    doc = "The stable name of a kind of problem.",
    derive(Hash, PartialOrd, Ord, EnumIter, IntoStaticStr, VariantNames),
    strum(serialize_all = "snake_case")
)]
#[expect(missing_docs, reason = "each field is named for what the message says about it")]
pub enum Problem {
    /// The file is no text.
    NotUtf8,
    /// The file breaks YAML's rules.
    Syntax { detail: String },
    /// The file goes beyond what is read at all.
    TooLarge { what: &'static str, limit: usize },
    /// A value is of another type than its key needs.
    WrongType { whose: String, wanted: &'static str, found: String },
    /// A key that means nothing where it stands.
    UnknownKey { of: String, name: Misnamed },
    /// A key that must be there is not.
    MissingKey { of: String, key: &'static str },
    /// A key stands twice in one mapping.
    DuplicateKey { key: String },
    /// A list names something twice.
    DuplicateValue { value: String },
    /// A list is empty where it would match or allow nothing.
    EmptyList { whose: String },
    /// The version is no whole number from 1.
    BadVersion { found: String },
    /// The hit policy is not `first`.
    HitPolicy { found: String },
    /// An id has characters that an id cannot have.
    IllFormedId { id: String, of: &'static str },
    /// Two rules have one id.
    DuplicateId { id: String },
    /// Two invariants have one id.
    DuplicateInvariant { id: String },
    /// A rule names an invariant that is not declared.
    UndeclaredInvariant { name: Misnamed },
    /// A sentence that people need is absent or empty.
    MissingSentence { of: String, key: &'static str },
    /// A sentence is not one line of plain text.
    IllFormedSentence { of: String, key: &'static str },
    /// A condition tests a fact that does not exist.
    UnknownFact { name: Misnamed },
    /// A condition wants a value that its fact does not have.
    UnknownValue { fact: String, name: Misnamed },
    /// A decision that does not exist.
    UnknownDecision { name: Misnamed },
    /// A claim has neither `never` nor `only`, or both.
    ClaimKind { both: bool },
    /// A condition that the other conditions of its row exclude.
    NeverHolds { clash: Clash },
    /// Combinations that no rule decides.
    Uncovered { shown: Shown },
    /// A rule that never decides, with the rules that come first; the labels point at them.
    DeadRule { rule: String, masked_by: Vec<Masker> },
    /// A rule decides against a claim; the label points at the claim.
    BrokenClaim { invariant: String, rule: String, decision: String, claim: String, shown: Shown },
    /// A claim that speaks of no possible combination.
    IdleClaim { invariant: String, clash: Option<Clash> },
    /// A condition that changes nothing.
    NeedlessCondition { rule: String, fact: String },
    /// Rules that some checks had to leave out; the labels point at them.
    LeftOut { rules: Vec<String> },
    /// There is more to say than is shown.
    More { count: usize },
}

impl Code {
    /// Its name, as it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// How much it weighs.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::NeedlessCondition | Self::LeftOut | Self::More => Severity::Note,
            _ => Severity::Error,
        }
    }
}

impl Diagnostic {
    /// What kind of problem it is.
    #[must_use]
    pub fn code(&self) -> Code {
        self.problem.code()
    }

    /// How much it weighs.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.code().severity()
    }

    /// What is wrong, in one line.
    #[must_use]
    pub fn message(&self) -> String {
        self.problem.message(&self.labels)
    }

    /// What to do about it, in one line, where that is not plain from the message.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        self.problem.help()
    }

    /// All of it in one line, as a build prints it.
    #[must_use]
    pub fn one_line(&self, path: &str) -> String {
        let Place { line, column } = self.place;
        let mut text = format!("{path}:{line}:{column}: [{}] {}", self.code().name(), self.message());
        if let Some(help) = self.help() {
            text.push_str("; help: ");
            text.push_str(&help);
        }
        text
    }
}

impl Problem {
    /// Its kind.
    #[must_use]
    pub fn code(&self) -> Code {
        self.into()
    }

    fn message(&self, labels: &[Label]) -> String {
        match self {
            Self::NotUtf8 => "the file is not UTF-8 text".to_owned(),
            Self::Syntax { detail } => format!("this cannot be read as YAML: {detail}"),
            Self::TooLarge { what, limit } => format!("the file has more than {limit} {what}"),
            Self::WrongType { whose, wanted, found } => format!("{whose} must be {wanted}, not {found}"),
            Self::UnknownKey { of, name } => format!("{of} has no key {}", quoted(&name.name)),
            Self::MissingKey { of, key } => format!("{of} lacks the key `{key}`"),
            Self::DuplicateKey { key } => format!("the key {} stands here for the second time", quoted(key)),
            Self::DuplicateValue { value } => format!("{} is listed twice", quoted(value)),
            Self::EmptyList { whose } => format!("{whose} is an empty list, which nothing can match"),
            Self::BadVersion { found } => {
                format!("`version` must be a whole number from 1 to {}, not {found}", u32::MAX)
            }
            Self::HitPolicy { found } => format!("the hit policy {} is not supported", quoted(found)),
            Self::IllFormedId { id, of } => format!("{} is no id for {of}", quoted(id)),
            Self::DuplicateId { id } => format!("a rule with the id {} stands farther up", quoted(id)),
            Self::DuplicateInvariant { id } => format!("the invariant {} is declared farther up", quoted(id)),
            Self::UndeclaredInvariant { name } => format!("the invariant {} is not declared", quoted(&name.name)),
            Self::MissingSentence { of, key } => format!("{of} has no sentence `{key}`"),
            Self::IllFormedSentence { of, key } => {
                format!("the sentence `{key}` of {of} is not one line of plain text")
            }
            Self::UnknownFact { name } => format!("there is no fact {}", quoted(&name.name)),
            Self::UnknownValue { fact, name } => format!("the fact `{fact}` has no value {}", quoted(&name.name)),
            Self::UnknownDecision { name } => format!("there is no decision {}", quoted(&name.name)),
            Self::ClaimKind { both: true } => "this claim has both `never` and `only`".to_owned(),
            Self::ClaimKind { both: false } => "this claim has neither `never` nor `only`".to_owned(),
            Self::NeverHolds { clash } => clash.text(),
            Self::Uncovered { shown } => format!("no rule decides {}", shown.text()),
            Self::DeadRule { rule, masked_by } if masked_by.is_empty() => {
                format!("{rule} never decides: no possible combination meets all of its conditions")
            }
            Self::DeadRule { rule, masked_by } => {
                let maskers = masked_by.iter().map(|Masker { rule, count }| format!("{count} go to {rule}"));
                format!("{rule} never decides: of its combinations, {}", list(maskers, labels))
            }
            Self::BrokenClaim { invariant, rule, decision, claim, shown } => format!(
                "{rule} breaks the invariant {}: it decides `{decision}` for {}, and the claim is {}",
                quoted(invariant),
                shown.text(),
                list([format!("`{claim}`")].into_iter(), labels),
            ),
            Self::IdleClaim { invariant, clash } => {
                let text = format!("this claim of {} speaks of no possible combination", quoted(invariant));
                clash.as_ref().map_or(text.clone(), |clash| format!("{text}: {}", clash.text()))
            }
            Self::NeedlessCondition { rule, fact } => {
                format!("{rule} would decide the same without its condition on `{fact}`")
            }
            Self::LeftOut { rules } => {
                format!(
                    "coverage, dead rules and claims leave out what could be decided by {}",
                    list(rules.iter().cloned(), labels)
                )
            }
            Self::More { count } => format!("{count} more problems are not shown"),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::NotUtf8 => Some("save it as UTF-8".to_owned()),
            Self::Syntax { detail } if detail.starts_with("mapping values") => {
                Some("a sentence with `: ` in it needs quotes around it".to_owned())
            }
            Self::UnknownKey { name, .. } => Some(name.help("keys")),
            Self::UndeclaredInvariant { name } => Some(name.help("declared")),
            Self::UnknownFact { name } => Some(name.help("facts")),
            Self::UnknownValue { name, .. } => Some(name.help("values")),
            Self::UnknownDecision { name } => Some(name.help("decisions")),
            Self::HitPolicy { .. } => Some("write `first`: rules are tried in order and the first hit decides".to_owned()),
            Self::IllFormedId { .. } => {
                Some("use up to 64 letters and digits, in parts joined by `-`, beginning with a letter; lower case but for invariants".to_owned())
            }
            Self::EmptyList { .. } => Some("name at least one, or remove the key".to_owned()),
            Self::ClaimKind { .. } => Some("write one of them: a claim says what is never decided, or the only thing that is".to_owned()),
            Self::DuplicateId { .. } => Some("ids are stable and never used again; choose a new one".to_owned()),
            Self::IllFormedSentence { .. } => Some("write it in one line, without control characters".to_owned()),
            Self::Uncovered { .. } => Some("end with a rule that has no conditions: `when: {}`".to_owned()),
            Self::DeadRule { .. } => Some("remove it, move it up, or narrow the rules above it".to_owned()),
            Self::NeedlessCondition { .. } => Some("keep it if the row reads better with it".to_owned()),
            Self::LeftOut { .. } => Some("mend what is said of them and check again".to_owned()),
            _ => None,
        }
    }
}

impl Misnamed {
    fn help(&self, what: &str) -> String {
        let more = self.known.len().saturating_sub(MAX_LISTED);
        let mut known: Vec<String> = self.known.iter().take(MAX_LISTED).map(|name| quoted(name)).collect();
        if more > 0 {
            known.push(format!("{more} more"));
        }
        let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        match &self.nearest {
            Some(nearest) => format!("did you mean {}? {what}: {list}", quoted(nearest)),
            None => format!("{what}: {list}"),
        }
    }
}

impl Shown {
    fn text(&self) -> String {
        match self.count {
            1 => format!("1 combination ({})", self.example),
            count => format!("{count} combinations (the first: {})", self.example),
        }
    }
}

impl Clash {
    fn text(&self) -> String {
        let Self { fact, beside, over, needs, other_needs } = self;
        let [needs, other_needs] = [needs, other_needs].map(|values| values.join(" or "));
        format!(
            "the condition on `{fact}` can never hold beside the one on `{beside}`: \
             it needs `{over}` to be {needs}, the other one {other_needs}"
        )
    }
}

/// Items with the line of the label that points at each, and how many have none.
fn list(items: impl ExactSizeIterator<Item = String>, labels: &[Label]) -> String {
    let more = items.len().saturating_sub(labels.len());
    let lined = items.zip(labels).map(|(item, label)| format!("{item} (line {})", label.place.line));
    let text = lined.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// How many right names a message lists.
const MAX_LISTED: usize = 20;
/// How much of a text from the table a message repeats, in characters.
const MAX_QUOTED_CHARS: usize = 60;

/// Text from the table in backticks: one line, no control characters, not endless.
pub(super) fn quoted(text: &str) -> String {
    let mut shown = String::from("`");
    for (i, c) in text.chars().enumerate() {
        if i == MAX_QUOTED_CHARS {
            shown.push('…');
            break;
        }
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown.push('`');
    shown
}
