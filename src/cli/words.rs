//! How recorded things are put into words for people: times, sizes, places, and strings that
//! somebody else chose.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::path::Path;

/// Shown for what was not recorded.
pub(in crate::cli) const NOTHING: &str = "–";

/// The present, handed in so that what is rendered depends on nothing else.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Clock {
    /// In milliseconds since 1970.
    pub(in crate::cli) now_ms: i64,
    /// Where the person is.
    pub(in crate::cli) zone: TimeZone,
}

impl Clock {
    /// A recorded time: local, to the minute, and how long ago that is.
    pub(in crate::cli) fn when(&self, at_ms: Option<i64>) -> String {
        let Some(at_ms) = at_ms else { return NOTHING.to_owned() };
        format!("{} {}", self.local(at_ms), self.ago(at_ms))
    }

    fn local(&self, at_ms: i64) -> String {
        match Timestamp::from_millisecond(at_ms) {
            Ok(at) => at.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
            Err(_) => format!("{at_ms} ms"),
        }
    }

    fn ago(&self, at_ms: i64) -> String {
        let span = span(at_ms.abs_diff(self.now_ms));
        if at_ms > self.now_ms { format!("(in {span})") } else { format!("({span} ago)") }
    }
}

/// A length of time, in its largest unit.
pub(in crate::cli) fn span(ms: u64) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let seconds = ms / 1000;
    let (count, unit) = match seconds {
        0..MINUTE => (seconds, "s"),
        MINUTE..HOUR => (seconds / MINUTE, "min"),
        HOUR..DAY => (seconds / HOUR, "h"),
        _ if seconds < 60 * DAY => (seconds / DAY, "d"),
        _ if seconds < 730 * DAY => (seconds / (30 * DAY), "months"),
        _ => (seconds / (365 * DAY), "years"),
    };
    format!("{count} {unit}")
}

/// A size, with three digits at most.
pub(in crate::cli) fn size(bytes: u64) -> String {
    let mut unit = "B";
    // Tenths of the unit.
    let mut tenths = u128::from(bytes) * 10;
    for larger in ["kB", "MB", "GB", "TB", "PB", "EB"] {
        if tenths < 10_000 {
            break;
        }
        (tenths, unit) = (tenths / 1000, larger);
    }
    if unit == "B" || tenths >= 100 {
        format!("{} {unit}", tenths / 10)
    } else {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

pub(in crate::cli) use crate::explain::{short as session, visible as shown};

/// A directory, with `~` for the home directory.
pub(in crate::cli) fn directory(path: &str, home: Option<&Path>) -> String {
    let home = home.and_then(Path::to_str).map(|home| home.trim_end_matches('/')).filter(|home| !home.is_empty());
    let below = home.and_then(|home| path.strip_prefix(home)).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match below {
        Some(rest) => format!("~{}", shown(rest)),
        None => shown(path),
    }
}

/// `1 segment`, `2 segments`.
pub(in crate::cli) fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// `1 anomaly`, `2 anomalies`.
pub(in crate::cli) fn anomalies(number: u64) -> String {
    format!("{number} {}", if number == 1 { "anomaly" } else { "anomalies" })
}

#[cfg(test)]
mod tests {
    use super::{Clock, directory, shown, size, span};
    use jiff::tz::{Offset, TimeZone};
    use std::path::Path;

    #[test]
    fn times_are_local_and_say_how_long_ago_they_were() {
        let at = |now_ms| Clock { now_ms, zone: TimeZone::fixed(Offset::constant(2)) }.when(Some(1_700_000_000_000));
        assert_eq!(at(1_700_000_000_999), "2023-11-15 00:13 (0 s ago)");
        assert_eq!(at(1_700_010_800_000), "2023-11-15 00:13 (3 h ago)");
        assert_eq!(at(1_699_999_700_000), "2023-11-15 00:13 (in 5 min)");
        let utc = Clock { now_ms: 0, zone: TimeZone::UTC };
        assert_eq!(utc.when(Some(i64::MAX)), format!("{} ms (in 292471208 years)", i64::MAX));
        assert_eq!(utc.when(None), "–");
    }

    #[test]
    fn spans_are_told_in_their_largest_unit() {
        let seconds = [0, 59, 60, 3599, 3600, 86_399, 86_400, 59 * 86_400, 60 * 86_400, 729 * 86_400, 730 * 86_400];
        let spans: Vec<String> = seconds.iter().map(|seconds| span(seconds * 1000)).collect();
        let expected =
            ["0 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d", "59 d", "2 months", "24 months", "2 years"];
        assert_eq!(spans, expected);
    }

    #[test]
    fn sizes_have_three_digits_at_most() {
        let sizes: Vec<String> =
            [0, 999, 1000, 1999, 9_999, 10_500, 999_999, 40_000_000_000, u64::MAX].map(size).into();
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "1.9 kB", "9.9 kB", "10 kB", "999 kB", "40 GB", "18 EB"]);
    }

    #[test]
    fn what_could_move_the_cursor_is_escaped() {
        assert_eq!(shown("a\u{1b}[2Jb\r\n\u{202e}c\u{9b}é漢"), "a\\u{1b}[2Jb\\r\\n\\u{202e}c\\u{9b}é漢");
    }

    #[test]
    fn the_home_directory_is_a_tilde_and_its_namesakes_are_not() {
        let home = Some(Path::new("/home/ann"));
        assert_eq!(directory("/home/ann", home), "~");
        assert_eq!(directory("/home/ann/src", home), "~/src");
        assert_eq!(directory("/home/anna", home), "/home/anna");
        assert_eq!(directory("/w", Some(Path::new("/"))), "/w");
    }
}
