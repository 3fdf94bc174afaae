//! The most bytes that were in use at once lately.

/// Uses in a window: what is older than two windows is forgotten.
pub(crate) const WINDOW: u32 = 1024;

/// The largest of the numbers that it was told of in this window and the one before.
#[derive(Default)]
pub(crate) struct RecentPeak {
    this: u64,
    before: u64,
    turns: u32,
}

impl RecentPeak {
    /// Notes that so many bytes are in use, as the next use ends.
    pub(crate) fn turn(&mut self, bytes: u64) {
        self.turns += 1;
        if self.turns == WINDOW {
            (self.before, self.this, self.turns) = (self.this, 0, 0);
        }
        self.note(bytes);
    }

    /// As [`turn`](Self::turn), while no use ends.
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
    fn m08_a_peak_counts_for_one_window_at_least_and_for_two_at_most() {
        for early in [0, 1, WINDOW / 2, WINDOW - 1] {
            let mut lately = RecentPeak::default();
            (0..early).for_each(|_| lately.turn(1));
            lately.turn(100);
            for turn in 1..=WINDOW {
                lately.turn(1);
                assert_eq!(lately.most(), 100, "turn {turn} after {early}");
            }
            (0..WINDOW).for_each(|_| lately.turn(1));
            assert_eq!(lately.most(), 1, "after {early}");
        }
    }

    #[test]
    fn m08_what_is_noted_takes_no_turn() {
        let mut lately = RecentPeak::default();
        (0..3 * WINDOW).for_each(|_| lately.note(7));
        (0..WINDOW - 1).for_each(|_| lately.turn(1));
        assert_eq!(lately.most(), 7);
    }
}
