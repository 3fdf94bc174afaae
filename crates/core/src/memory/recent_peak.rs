//! The recent maximum of the bytes in use.

/// Length of a window in turns. A value older than two windows is forgotten.
pub(crate) const WINDOW: u32 = 1024;

/// The largest value of this window and of the previous one. A turn is the end of one use: a block becomes free.
#[derive(Default)]
pub(crate) struct RecentPeak {
    this: u64,
    before: u64,
    turns: u32,
}

impl RecentPeak {
    /// Records that `bytes` bytes are in use when a use ends.
    pub(crate) fn turn(&mut self, bytes: u64) {
        self.turns += 1;
        if self.turns == WINDOW {
            self.before = self.this;
            self.this = 0;
            self.turns = 0;
        }
        self.note(bytes);
    }

    /// Records that `bytes` bytes are in use while no use ends, so the window does not advance.
    pub(crate) fn note(&mut self, bytes: u64) {
        self.this = self.this.max(bytes);
    }

    pub(crate) fn most(&self) -> u64 {
        self.this.max(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m08_a_peak_lasts_for_one_window_at_least_and_two_at_most() {
        for early in [0, 1, WINDOW / 2, WINDOW - 1] {
            let mut recent_peak = RecentPeak::default();
            (0..early).for_each(|_| recent_peak.turn(1));
            recent_peak.turn(100);
            for turn in 1..=WINDOW {
                recent_peak.turn(1);
                assert_eq!(recent_peak.most(), 100, "turn {turn} after {early}");
            }
            (0..WINDOW).for_each(|_| recent_peak.turn(1));
            assert_eq!(recent_peak.most(), 1, "after {early}");
        }
    }

    #[test]
    fn m08_a_noted_value_does_not_advance_the_window() {
        let mut recent_peak = RecentPeak::default();
        (0..3 * WINDOW).for_each(|_| recent_peak.note(7));
        (0..WINDOW - 1).for_each(|_| recent_peak.turn(1));
        assert_eq!(recent_peak.most(), 7);
    }
}
