//! Picking a few values out of one JSON object without building the rest of it.

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The values at `names` in the JSON object that `bytes` is; `None` in the place of an absent one.
///
/// The whole text has to be one object in valid UTF-8, white space around it apart; everything
/// but the named values is checked and dropped, whatever its size or depth. Of a name that stands
/// there twice the last value counts, as in JavaScript.
pub(super) fn pick<const N: usize>(bytes: &[u8], names: [&str; N]) -> serde_json::Result<[Option<Value>; N]> {
    let text = std::str::from_utf8(bytes).map_err(serde_json::Error::custom)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let picked = reader.deserialize_map(Pick { names })?;
    reader.end()?;
    Ok(picked)
}

/// The text without the byte order mark that editors on Windows put in front.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// A value that is a string.
pub(super) fn text(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

struct Pick<'a, const N: usize> {
    names: [&'a str; N],
}

impl<'de, const N: usize> Visitor<'de> for Pick<'_, N> {
    type Value = [Option<Value>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut picked = [const { None }; N];
        while let Some(Name(name)) = map.next_key()? {
            let slot = self.names.iter().position(|wanted| wanted.as_bytes() == name.as_slice());
            match slot.and_then(|at| picked.get_mut(at)) {
                Some(slot) => *slot = Some(map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(picked)
    }
}

/// A member's name as bytes: half a surrogate pair in it is legal JSON, but no Rust string.
struct Name(Vec<u8>);

impl<'de> serde::Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Name, E> {
                Ok(Name(bytes.to_vec()))
            }
            fn visit_str<E>(self, text: &str) -> Result<Name, E> {
                Ok(Name(text.as_bytes().to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_object(text: &[u8]) -> bool {
        pick(text, []).is_ok()
    }

    #[test]
    fn the_named_values_are_taken_and_the_last_of_two_counts() {
        let [a, b, c] = pick(br#" {"a":1,"x":[{"a":2}],"b":"t","a":3,"\ud800":1e999} "#, ["a", "b", "c"]).unwrap();
        assert_eq!((a, text(b), c), (Some(3.into()), Some("t".into()), None));
    }

    #[test]
    fn only_one_whole_object_counts() {
        for whole in ["{}", " {\"a\":\"\\ud800\"}\r\n"] {
            assert!(is_object(whole.as_bytes()), "{whole}");
        }
        for not in ["", "[]", "1", "{\"a\":1", "{}{}", "{} x", "{\"a\":\"\u{1}\"}", "\0{}", "{\"a\":01}"] {
            assert!(!is_object(not.as_bytes()), "{not:?}");
        }
        assert!(!is_object(b"{\"a\":\"\xff\"}"));
    }

    #[test]
    fn depth_is_no_obstacle() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(is_object(deep.as_bytes()));
    }
}
