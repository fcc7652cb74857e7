//! Times as people write them.

use super::super::error::CliError;
use super::super::terminal::now_ms;
use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

/// From one moment to before another, in milliseconds since 1970; open where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub(super) from_ms: Option<u64>,
    pub(super) to_ms: Option<u64>,
}

impl Span {
    /// Whether a recorded time lies in it; one that is not known lies only in an open span.
    pub(super) fn contains(self, at_ms: Option<u64>) -> bool {
        match at_ms {
            Some(at) => self.from_ms.is_none_or(|from| at >= from) && self.to_ms.is_none_or(|to| at < to),
            None => self == Self::default(),
        }
    }

    /// The whole of a day.
    pub(super) fn of_day(text: &str) -> Result<Self, CliError> {
        Self::of_day_at(text, &now())
            .ok_or_else(|| unknown(text, "a day", "`2026-03-01`, `tuesday`, `yesterday` or `today`"))
    }

    fn of_day_at(text: &str, now: &ZonedDateTime) -> Option<Self> {
        let day = day(text, now)?;
        Some(Self {
            from_ms: Some(midnight(day, now)),
            to_ms: day.tomorrow().ok().map(|tomorrow| midnight(tomorrow, now)),
        })
    }
}

/// A moment, in milliseconds since 1970.
pub(super) fn moment(text: &str) -> Result<u64, CliError> {
    let examples = "`2026-03-01`, `2026-03-01 14:30`, `90min`, `2d`, `tuesday` or an RFC 3339 time";
    moment_at(text, &now()).ok_or_else(|| unknown(text, "a time", examples))
}

fn moment_at(text: &str, now: &ZonedDateTime) -> Option<u64> {
    let text = text.trim();
    if let Some(day) = day(text, now) {
        return Some(midnight(day, now));
    }
    // A zone in brackets; what follows would pass over it, and take the time for one of here.
    if text.contains('[') {
        return text.parse().ok().map(|at: ZonedDateTime| ms(at.timestamp()));
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(ms(at));
    }
    if let Ok(local) = text.parse::<DateTime>() {
        return Some(ms(local.to_zoned_datetime(now.time_zone().clone()).ok()?.timestamp()));
    }
    // How long ago.
    let span: jiff::Span = text.trim_end_matches(" ago").parse().ok()?;
    Some(ms(now.checked_sub(span.abs()).ok()?.timestamp()))
}

/// A date, a weekday (the last one before today), `today` or `yesterday`.
fn day(text: &str, now: &ZonedDateTime) -> Option<Date> {
    let text = text.trim().to_lowercase();
    let weekdays = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    let weekday = weekdays.iter().find(|(name, _)| *name == text || name.get(..3) == Some(text.as_str()));
    match (text.as_str(), weekday) {
        ("today", _) => Some(now.date()),
        ("yesterday", _) => now.date().yesterday().ok(),
        (_, Some((_, weekday))) => now.date().nth_weekday(-1, *weekday).ok(),
        // A date and nothing else: with a time of day it is a moment.
        _ if text.len() == "2026-03-01".len() => text.parse().ok(),
        _ => None,
    }
}

/// When a day begins. The last day there is begins after all that can be told from another.
fn midnight(day: Date, now: &ZonedDateTime) -> u64 {
    match day.to_zoned_datetime(now.time_zone().clone()) {
        Ok(at) => ms(at.timestamp()),
        Err(_) if day < now.date() => 0,
        Err(_) => u64::MAX,
    }
}

/// In milliseconds since 1970; nothing was recorded before.
fn ms(at: Timestamp) -> u64 {
    u64::try_from(at.as_millisecond()).unwrap_or(0)
}

fn now() -> ZonedDateTime {
    Timestamp::from_millisecond(now_ms()).unwrap_or_default().to_zoned_datetime(TimeZone::system())
}

fn unknown(text: &str, what: &str, examples: &str) -> CliError {
    CliError::usage(format!("`{text}` is not {what}")).help(format!("write it like {examples}"))
}

#[cfg(test)]
mod tests {
    use super::{Span, moment_at};
    use jiff::ZonedDateTime;

    /// A Thursday in winter time.
    fn now() -> ZonedDateTime {
        "2026-11-26T10:00:00+01:00[Europe/Berlin]".parse().unwrap()
    }

    fn at(text: &str) -> u64 {
        u64::try_from(text.parse::<jiff::Timestamp>().unwrap().as_millisecond()).unwrap()
    }

    #[test]
    fn a_time_is_written_in_many_ways() {
        for (text, expected) in [
            ("2026-11-20", "2026-11-19T23:00:00Z"),
            ("2026-11-20 14:30", "2026-11-20T13:30:00Z"),
            ("2026-11-20T14:30:05Z", "2026-11-20T14:30:05Z"),
            ("2026-07-01T12:00:00-05:00", "2026-07-01T17:00:00Z"),
            ("90min", "2026-11-26T07:30:00Z"),
            ("2 days ago", "2026-11-24T09:00:00Z"),
            ("2d", "2026-11-24T09:00:00Z"),
            ("tuesday", "2026-11-23T23:00:00Z"),
            ("Thu", "2026-11-18T23:00:00Z"),
            ("yesterday", "2026-11-24T23:00:00Z"),
            ("today", "2026-11-25T23:00:00Z"),
        ] {
            assert_eq!(moment_at(text, &now()), Some(at(expected)), "{text}");
        }
        assert_eq!(moment_at("1900-01-01", &now()), Some(0), "before anything was recorded");
        assert_eq!(moment_at("9999-12-31", &now()), Some(u64::MAX), "after everything that will be");
        let there = "2026-11-20 14:30[America/New_York]";
        assert_eq!(moment_at(there, &now()), Some(at("2026-11-20T19:30:00Z")), "{there}");
        for text in ["", "2026-11-20 14:30[Nowhere/Else]", "soon", "2026-13-01", "-", "1e9", "tu"] {
            assert_eq!(moment_at(text, &now()), None, "{text}");
        }
    }

    #[test]
    fn a_day_is_as_long_as_its_clock_says() {
        let day = Span::of_day_at("2026-10-25", &now()).unwrap();
        assert_eq!(day.to_ms.unwrap() - day.from_ms.unwrap(), 25 * 3_600_000, "an hour comes twice");
        assert!(day.contains(day.from_ms) && !day.contains(day.to_ms) && !day.contains(None));
        assert!(Span::default().contains(None));
    }

    #[test]
    fn a_day_on_which_nothing_can_have_been_recorded_is_no_open_span() {
        for day in ["0000-01-01", "1960-05-05", "1969-12-31", "9999-12-31"] {
            let span = Span::of_day_at(day, &now()).unwrap();
            assert!(!span.contains(Some(at("2026-11-20T12:00:00Z"))) && !span.contains(None), "{day}");
        }
    }
}
