//! One deadline over several blocking calls, so that a dead network disk or a pipe in a file's
//! place never holds up a spawn.

use crate::store::within_deadline;
use std::time::{Duration, Instant};

/// A moment by which blocking calls have to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    at: Instant,
}

impl Deadline {
    /// A deadline `budget` from now.
    #[must_use]
    pub fn after(budget: Duration) -> Self {
        Self { at: Instant::now() + budget }
    }

    /// The time that is left.
    #[must_use]
    pub fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// What `call` gives, or `None` if it does not give it in time; it is then left behind.
    pub fn run<T: Send + 'static>(self, call: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let left = self.left();
        if left.is_zero() { None } else { within_deadline(left, call) }
    }
}

#[cfg(test)]
mod tests {
    use super::Deadline;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn a_quick_call_answers_and_a_stuck_one_is_left_behind() {
        let deadline = Deadline::after(Duration::from_millis(300));
        assert_eq!(deadline.run(|| 1), Some(1));
        assert_eq!(deadline.run(|| sleep(Duration::from_secs(60))), None);
        assert_eq!(deadline.left(), Duration::ZERO);
        assert_eq!(deadline.run(|| 2), None, "after the deadline nothing is tried");
    }
}
