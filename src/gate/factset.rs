//! A set of facts as JSON, `{"spawn_provider":"claude","chain":"headed",…}`, read into a word.
//! Absent facts stay open; what is given must exist and must be able to apply.

use super::facts::{Fact, VOCABULARY};
use super::table::{FactWord, nearest};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::str::FromStr;
use strum::VariantNames;

/// What is wrong with a fact set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FactSetError {
    /// It is no JSON object.
    #[error("not a json object of facts: {0}")]
    Json(String),
    /// It names a fact that does not exist.
    #[error("unknown fact `{fact}`{}; facts are {}", did_you_mean(fact, Fact::VARIANTS), Fact::VARIANTS.join(", "))]
    UnknownFact {
        /// The name as given.
        fact: String,
    },
    /// It gives a fact a value that the fact cannot have.
    #[error(
        "`{value}` is no value of `{}`{}; values are {}",
        fact.name(),
        did_you_mean(value, fact.spec().values),
        fact.spec().values.join(", ")
    )]
    UnknownValue {
        /// The fact.
        fact: Fact,
        /// The value as given.
        value: String,
    },
    /// It names a fact twice.
    #[error("`{}` is given twice", fact.name())]
    Duplicate {
        /// The fact.
        fact: Fact,
    },
    /// It gives a fact that makes no sense beside the others.
    #[error("`{}` does not apply here: {}", fact.name(), requirement(*fact))]
    NotApplicable {
        /// The fact.
        fact: Fact,
    },
}

fn did_you_mean(name: &str, names: &[&'static str]) -> String {
    nearest(name, names.iter().copied()).map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

/// What has to be the case for the fact to apply, in words.
fn requirement(fact: Fact) -> String {
    let Some(applies) = fact.spec().applies else {
        return "it always applies".to_owned();
    };
    let parent = &VOCABULARY.facts[applies.fact];
    let values: Vec<&str> =
        (0..).zip(parent.values).filter(|(i, _)| applies.values & (1 << i) != 0).map(|(_, v)| *v).collect();
    format!("it needs `{}` to be {}", parent.name, values.join(" or "))
}

/// Pairs of names in the order given, duplicates kept; a value that is no string is kept as JSON.
struct Pairs(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;
        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of fact names and values")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some((fact, value)) = map.next_entry::<String, serde_json::Value>()? {
                    pairs.push((fact, value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairsVisitor)
    }
}

/// Reads a fact set. In the word, facts that are known not to apply are marked so, probes that are
/// known to apply and are not given are "not asked", and everything else that is not given is absent.
///
/// ```
/// use resume_gate::gate::{facts::Chain, parse_fact_set};
/// let word = parse_fact_set(r#"{"spawn_provider":"claude","chain":"unknown"}"#)?;
/// assert!(word.is(Chain::Unknown));
/// assert!(parse_fact_set(r#"{"chian":"unknown"}"#).unwrap_err().to_string().contains("did you mean `chain`?"));
/// # Ok::<(), resume_gate::gate::FactSetError>(())
/// ```
///
/// # Errors
/// For text that is no JSON object, and for facts and values that do not exist, are given twice,
/// or are given where another given fact excludes them.
pub fn parse_fact_set(json: &str) -> Result<FactWord, FactSetError> {
    let pairs: Pairs = serde_json::from_str(json).map_err(|error| FactSetError::Json(error.to_string()))?;
    let mut set = FactSetBuilder::default();
    for (name, value) in pairs.0 {
        set.give(&name, &value)?;
    }
    set.finish()
}

/// Collects facts by name, in any order, into a word.
#[derive(Debug, Clone, Copy)]
pub struct FactSetBuilder(FactWord);

impl Default for FactSetBuilder {
    fn default() -> Self {
        Self(FactWord::EMPTY)
    }
}

impl FactSetBuilder {
    /// Adds one fact.
    ///
    /// # Errors
    /// If there is no such fact, it has no such value, or it was given before.
    pub fn give(&mut self, name: &str, value: &str) -> Result<(), FactSetError> {
        let fact = Fact::from_str(name).map_err(|_| FactSetError::UnknownFact { fact: name.to_owned() })?;
        let spec = fact.spec();
        let Some(index) = spec.value_named(value) else {
            return Err(FactSetError::UnknownValue { fact, value: value.to_owned() });
        };
        if self.0.bits() & spec.group() != 0 {
            return Err(FactSetError::Duplicate { fact });
        }
        self.0 = self.0.with_bits(spec, spec.value_bit(index));
        Ok(())
    }

    /// The word, with everything that was not given settled as [`parse_fact_set`] says.
    ///
    /// # Errors
    /// If a given fact is excluded by another one.
    pub fn finish(self) -> Result<FactWord, FactSetError> {
        consistent(self.0)
    }
}

/// The word settled, unless a given fact is excluded by another one.
fn consistent(given: FactWord) -> Result<FactWord, FactSetError> {
    let mut word = FactWord::EMPTY;
    for fact in <Fact as strum::IntoEnumIterator>::iter() {
        let spec = fact.spec();
        let bits = given.bits() & spec.group();
        match VOCABULARY.applies(fact as usize, word) {
            Some(false) if bits != 0 => return Err(FactSetError::NotApplicable { fact }),
            Some(false) => word = word.with_bits(spec, spec.not_applicable_bit()),
            _ => word = word.with_bits(spec, bits),
        }
    }
    Ok(VOCABULARY.settle(word))
}
