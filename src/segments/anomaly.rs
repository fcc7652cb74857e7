//! What `segments check` finds: where a log is not as it should be, and what was made of it.

/// One place where a log is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// Offset in bytes of the line.
    pub offset: u64,
    /// Number of the line, from 1.
    pub line: u64,
    /// What it is.
    pub kind: AnomalyKind,
    /// The segment, session, word or field that it is about, if it is about one.
    pub subject: Option<String>,
}

/// How much an anomaly matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Severity {
    /// Unusual, and read in full.
    Note,
    /// Something that was recorded does not count, or is lost.
    Damage,
}

/// Declares the kinds with their severity, what each is, and what was made of it.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $severity:ident, $what:literal, $made:literal;)+) => {
        /// The kinds of anomalies. [`AnomalyKind::code`] is their stable name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr, strum::EnumIter)]
        #[strum(serialize_all = "snake_case")]
        pub enum AnomalyKind { $($(#[$doc])* $kind),+ }

        impl AnomalyKind {
            /// Its stable name.
            #[must_use]
            pub fn code(self) -> &'static str {
                self.into()
            }

            /// How much it matters.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$kind => Severity::$severity),+ }
            }

            /// What it is.
            #[must_use]
            pub fn what(self) -> &'static str {
                match self { $(Self::$kind => $what),+ }
            }

            /// What was made of it.
            #[must_use]
            pub fn made_of_it(self) -> &'static str {
                match self { $(Self::$kind => $made),+ }
            }
        }
    };
}

kinds! {
    /// No whole event could be found on the line.
    TornLine: Damage, "a cut or overwritten line", "nothing on it could be read";
    /// The line is damaged, and whole events were found on it.
    FusedLine: Damage, "a damaged line with whole events on it", "the whole events were read, the rest is lost";
    /// The line holds NUL bytes.
    NulBytes: Damage, "NUL bytes", "skipped";
    /// The line holds bytes that are not UTF-8.
    InvalidUtf8: Damage, "bytes that are not UTF-8", "strings that hold them count as unknown";
    /// The last line is whole but not ended.
    NoFinalNewline: Note, "a last line without a newline", "read; the next append ends it first";
    /// The line ends in a carriage return.
    CarriageReturn: Note, "a carriage return at the end of the line", "skipped";
    /// The line begins with a byte order mark.
    ByteOrderMark: Note, "a byte order mark", "skipped";
    /// The line is longer than 1 MiB.
    LongLine: Note, "a line of more than 1 MiB", "read in full";
    /// The line is an object or value, but no event.
    NotAnEvent: Damage, "JSON that is no event", "skipped";
    /// An event of a kind that this build does not know.
    UnknownEvent: Note, "an event of a newer build", "skipped";
    /// A rung or an end reason that this build does not know.
    UnknownWord: Note, "a word of a newer build", "kept as it is";
    /// An event without a segment id.
    NoSegmentId: Damage, "an event that names no segment", "skipped";
    /// A known field with a value that makes no sense.
    BadValue: Damage, "a value that makes no sense", "counts as unknown";
    /// A line that equals one shortly before it.
    RepeatedLine: Note, "a line that stands shortly before it too", "ignored";
    /// A start of a segment that was started shortly before.
    RepeatedStart: Note, "a start of a segment that was started shortly before", "ignored";
    /// A start of a segment that was started long before.
    SegmentIdReused: Damage, "a start of a segment that was started long before", "opens a second segment of that id";
    /// An event that stands shortly before its segment's start.
    RanAhead: Note, "an event that ran ahead of its segment's start", "taken by the segment";
    /// An event whose segment was never started.
    NoStart: Damage, "an event of a segment that has no start here", "ignored";
    /// A second end of a segment.
    SecondEnd: Note, "a second end of a segment", "ignored; the first one counts";
    /// A segment of another agent.
    OtherAgent: Damage, "a segment of another agent", "never counts";
    /// A session event without an id.
    BlankSession: Note, "a session without an id", "ignored";
    /// A session id of Claude's that cannot be a file name or an argument.
    UnsafeSession: Damage, "a session id that cannot be a file name or an argument", "ignored as if never reported";
    /// A session reported after the size of another's file was recorded.
    SizeLeft: Note, "another session after the recorded end", "the recorded size no longer counts";
}

impl Anomaly {
    /// The anomaly in one sentence, without its place.
    #[must_use]
    pub fn describe(&self) -> String {
        let subject = self.subject.as_ref().map(|subject| format!(" (`{subject}`)")).unwrap_or_default();
        format!("{}{subject}: {}", self.kind.what(), self.kind.made_of_it())
    }
}
