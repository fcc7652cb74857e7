//! What the prompt's markers ask for, and the signals that interrupt it.

use crate::Version;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a wait looks for signals.
pub(crate) const POLL: Duration = Duration::from_millis(5);

/// The markers of one prompt.
#[derive(Debug, Default)]
pub(crate) struct Steer {
    say: Option<String>,
    /// Status of the failing request.
    pub(crate) error: Option<u16>,
    delay: Duration,
    hang: bool,
    /// Time that copying a parent's turns takes.
    pub(crate) slow: Duration,
    /// Text for standard error.
    pub(crate) stderr: Option<String>,
    /// Status to end with.
    pub(crate) exit: Option<u8>,
}

impl Steer {
    pub(crate) fn read(prompt: &str) -> Self {
        let marker = |name: &str| {
            let (_, rest) = prompt.split_once(&format!("[[{name}:"))?;
            Some(rest.split_once("]]")?.0.to_owned())
        };
        let seconds =
            |name| marker(name).and_then(|text| text.parse().ok()).map_or(Duration::ZERO, Duration::from_secs_f64);
        Self {
            say: marker("say"),
            error: marker("err").and_then(|code| code.parse().ok()),
            delay: seconds("delay"),
            hang: prompt.contains("[[hang]]"),
            slow: seconds("slow"),
            stderr: marker("stderr"),
            exit: marker("exit").and_then(|code| code.parse().ok()),
        }
    }

    pub(crate) fn think_time(&self) -> Duration {
        if self.hang { Duration::from_secs(600) } else { self.delay }
    }

    pub(crate) fn reply(&self) -> String {
        match self.error {
            Some(code) => {
                format!("API Error: {code} {{\"type\":\"error\",\"error\":{{\"message\":\"stub says no\"}}}}")
            }
            None => self.say.clone().unwrap_or_else(|| "stub reply".to_owned()),
        }
    }
}

/// A signal that ends the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Interrupt,
    Terminate,
    HangUp,
}

impl Signal {
    /// The status it ends with; an interrupt is no failure to the CLI.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self::Interrupt => 0,
            Self::Terminate => 143,
            Self::HangUp => 129,
        }
    }
}

/// The signals seen so far.
pub(crate) struct Signals(Vec<(Signal, Arc<AtomicBool>)>);

impl Signals {
    /// Catches what the version catches: the oldest one dies of a hang-up.
    pub(crate) fn listen(version: Version) -> io::Result<Self> {
        let mut caught = vec![(Signal::Interrupt, SIGINT), (Signal::Terminate, SIGTERM)];
        if version > Version::O {
            caught.push((Signal::HangUp, SIGHUP));
        }
        let mut flags = Vec::new();
        for (signal, number) in caught {
            let seen = Arc::new(AtomicBool::new(false));
            flag::register(number, Arc::clone(&seen))?;
            flags.push((signal, seen));
        }
        Ok(Self(flags))
    }

    pub(crate) fn seen(&self) -> Option<Signal> {
        self.0.iter().find(|(_, seen)| seen.load(Ordering::SeqCst)).map(|(signal, _)| *signal)
    }

    /// Waits, or says which signal cut the wait short.
    pub(crate) fn wait(&self, time: Duration) -> Option<Signal> {
        let end = Instant::now() + time;
        loop {
            if let Some(signal) = self.seen() {
                return Some(signal);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            std::thread::sleep(left.min(POLL));
        }
    }
}
