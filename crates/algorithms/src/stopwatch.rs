//! The time that measurements may take, by the clock or by a test.

use std::time::Duration;
use web_time::Instant;

/// Time that some measurements may take.
#[derive(Debug)]
pub(crate) struct TimeLimit {
    limit: Duration,
    start: Instant,
    /// Time that a test had given at the start.
    #[cfg(feature = "validation")]
    given_before: Duration,
}

impl TimeLimit {
    /// Returns a limit for measurements that begin now.
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            limit,
            start: Instant::now(),
            #[cfg(feature = "validation")]
            given_before: given::elapsed().unwrap_or_default(),
        }
    }

    /// Returns the whole time.
    pub(crate) fn whole(&self) -> Duration {
        self.limit
    }

    /// Returns the time that is left.
    pub(crate) fn left(&self) -> Duration {
        self.limit.saturating_sub(self.elapsed())
    }

    /// Returns `true` if no time is left.
    pub(crate) fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    fn elapsed(&self) -> Duration {
        #[cfg(feature = "validation")]
        if let Some(elapsed) = given::elapsed() {
            return elapsed.saturating_sub(self.given_before);
        }
        self.start.elapsed()
    }
}

#[cfg(feature = "validation")]
pub use given::{TimedRound, with_times};
#[cfg(feature = "validation")]
pub(crate) use given::{given_time, is_given};

/// Returns `true` if a test gives the times, which needs the feature.
#[cfg(not(feature = "validation"))]
pub(crate) fn is_given() -> bool {
    false
}

/// Returns the time that a test gives to a call, which needs the feature.
#[cfg(not(feature = "validation"))]
pub(crate) fn given_time(_: impl FnOnce() -> String, _: usize, _: usize) -> Option<f64> {
    None
}

#[cfg(feature = "validation")]
mod given {
    use std::cell::RefCell;
    use std::time::Duration;

    /// A round of calls whose time a test has given.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TimedRound {
        /// Kernels and parameters of the variant, or the name of a kernel that measures a rate.
        pub what: String,
        /// Number of elements of the arrays.
        pub elements: usize,
        /// Number of calls.
        pub calls: usize,
    }

    /// Function that returns the seconds of a call, by the name of its round and its number of elements.
    type GivenSeconds = Box<dyn Fn(&str, usize) -> f64>;

    /// Times in place of those of a clock.
    struct GivenTimes {
        seconds: GivenSeconds,
        elapsed: Duration,
        rounds: Vec<TimedRound>,
    }

    thread_local! {
        static TIMES: RefCell<Option<GivenTimes>> = const { RefCell::new(None) };
    }

    /// Calls `run`, and returns its result and the rounds that were measured. Meanwhile, `seconds` gives the measurements
    /// of this thread the time of a call, by the name of the round and the number of elements. The sum of these times is
    /// the time that passes.
    pub fn with_times<R>(
        seconds: impl Fn(&str, usize) -> f64 + 'static,
        run: impl FnOnce() -> R,
    ) -> (R, Vec<TimedRound>) {
        let given = GivenTimes { seconds: Box::new(seconds), elapsed: Duration::ZERO, rounds: Vec::new() };
        TIMES.set(Some(given));
        let result = run();
        let given = TIMES.take().expect("bug: the times of a test are given until its end");
        (result, given.rounds)
    }

    /// Returns the time that has passed, if a test gives the times.
    pub(crate) fn elapsed() -> Option<Duration> {
        TIMES.with_borrow(|times| times.as_ref().map(|times| times.elapsed))
    }

    /// Returns `true` if a test gives the times.
    pub(crate) fn is_given() -> bool {
        elapsed().is_some()
    }

    /// Returns the time of a call in a round, if a test gives it, and lets the time of the round pass.
    pub(crate) fn given_time(what: impl FnOnce() -> String, elements: usize, calls: usize) -> Option<f64> {
        TIMES.with_borrow_mut(|times| {
            let times = times.as_mut()?;
            let what = what();
            let seconds = (times.seconds)(&what, elements);
            times.elapsed += Duration::from_secs_f64(seconds * calls as f64);
            times.rounds.push(TimedRound { what, elements, calls });
            Some(seconds)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_limit_never_ends_and_the_shortest_is_over_at_once() {
        let [longest, shortest] = [Duration::MAX, Duration::ZERO].map(TimeLimit::new);
        assert!(!longest.is_over() && shortest.is_over());
        assert_eq!((longest.whole(), shortest.left()), (Duration::MAX, Duration::ZERO));
    }

    #[cfg(feature = "validation")]
    #[test]
    fn the_times_of_a_test_replace_the_clock_until_its_end() {
        let (left, rounds) = with_times(
            |what, elements| if what == "copy" { elements as f64 } else { 2.0 },
            || {
                let before = TimeLimit::new(Duration::from_secs(20));
                assert_eq!(given_time(|| "copy".into(), 3, 2), Some(3.0));
                let after = TimeLimit::new(Duration::from_secs(20));
                assert_eq!(given_time(|| "other".into(), 5, 1), Some(2.0));
                [before, after].map(|limit| limit.left().as_secs())
            },
        );
        assert_eq!(left, [12, 18]);
        let round = |what: &str, elements, calls| TimedRound { what: what.into(), elements, calls };
        assert_eq!(rounds, [round("copy", 3, 2), round("other", 5, 1)]);
        assert_eq!(given_time(|| "later".into(), 1, 1), None);
    }
}
