//! The points of a queue that handles of the program stand for.

use crate::scheduler::failure_history::FailureWatch;
use fencepost_sync::{Clock, Stamp};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

/// Handles that are looked at, or forgotten as their points are done, in one call.
const MANY: usize = 4096;
/// Handles at the end that are gone and are forgotten with each new one.
const FEW: usize = 64;
/// Handles that are looked through now and then for those that are gone.
const SWEPT: usize = 1 << 16;

/// By rising stamp. Each lives as long as something has its `PointHistory`.
#[derive(Default)]
pub(crate) struct HandlePoints {
    points: VecDeque<(Stamp, Weak<PointHistory>)>,
    /// How many there are when they are looked through next.
    sweep_at: usize,
}

impl HandlePoints {
    /// Notes that a handle stands for a point.
    pub(crate) fn add(&mut self, stamp: Stamp, past: &Arc<PointHistory>) {
        self.sweep();
        let at = self.points.partition_point(|(known, _)| *known <= stamp);
        self.points.insert(at, (stamp, Arc::downgrade(past)));
    }

    /// Forgets handles that are gone: a few at the end, as a program may drop a million at once, and wherever they are once
    /// there are twice as many as there were.
    pub(crate) fn sweep(&mut self) {
        for _ in 0..FEW {
            if self.points.back().is_none_or(is_held) {
                break;
            }
            self.points.pop_back();
        }
        if (self.sweep_at.max(FEW)..SWEPT).contains(&self.points.len()) {
            self.points.retain(is_held);
            self.sweep_at = 2 * self.points.len();
        }
    }

    /// The first point from `first` on of which the program has a handle; among many there may be one.
    pub(crate) fn first(&self, first: Stamp) -> Option<Stamp> {
        let from = self.points.partition_point(|(stamp, _)| *stamp < first);
        let mut handles = self.points.range(from..);
        if handles.len() > MANY {
            return Some(first);
        }
        handles.find(|point| is_held(point)).map(|(stamp, _)| *stamp)
    }

    /// Forgets points that are done, up to so many that the call stays short.
    pub(crate) fn settle(&mut self, completed: Stamp) {
        let over = self.points.partition_point(|(stamp, _)| *stamp <= completed);
        self.points.drain(..over.min(MANY));
    }
}

fn is_held((_, past): &(Stamp, Weak<PointHistory>)) -> bool {
    past.strong_count() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(handles: &mut HandlePoints, stamp: u64) -> Arc<PointHistory> {
        let past = Arc::new(PointHistory::default());
        handles.add(Stamp(stamp), &past);
        past
    }

    #[test]
    fn handles_that_are_gone_are_forgotten_a_few_at_a_time() {
        let mut handles = HandlePoints::default();
        let kept: Vec<_> = (0..SWEPT + 10).map(|_| add(&mut handles, 1)).collect();
        assert_eq!(handles.first(Stamp(1)), Some(Stamp(1)));
        drop(kept);
        let last = add(&mut handles, 1);
        assert_eq!(handles.points.len(), SWEPT + 11 - FEW);
        drop(last);
        (0..SWEPT).for_each(|_| drop(add(&mut handles, 1)));
        assert!(handles.points.len() <= 1 && handles.first(Stamp(1)).is_none());
    }

    #[test]
    fn a_handle_in_the_place_of_another_takes_no_memory() {
        for kept in [0, 1, 100, 3000] {
            let mut handles = HandlePoints::default();
            let mut notify: VecDeque<_> = (0..=kept).map(|_| add(&mut handles, 1)).collect();
            for _ in 0..100_000 {
                notify.push_back(add(&mut handles, 1));
                notify.pop_front();
            }
            let found = handles.points.len();
            assert!(found <= 2 * (kept + 2) + FEW, "{found} are kept for {} that live", kept + 1);
        }
    }

    #[test]
    fn points_that_are_done_are_forgotten_many_at_a_time() {
        let mut handles = HandlePoints::default();
        let kept: Vec<_> = (0..2 * MANY).map(|_| add(&mut handles, 1)).collect();
        let later = add(&mut handles, 5);
        handles.settle(Stamp(1));
        assert_eq!((handles.points.len(), kept.len()), (MANY + 1, 2 * MANY));
        assert_eq!(handles.first(Stamp(2)), Some(Stamp(5)));
        handles.settle(Stamp(1));
        assert_eq!(handles.points.len(), 1);
        drop(later);
        assert_eq!(handles.first(Stamp(2)), None);
    }
}

/// What goes with a point of a queue.
#[derive(Clone, Default)]
pub(crate) struct PointHistory {
    /// What the queue was ordered after there, besides its own commands.
    pub(crate) clock: Clock,
    /// The right to hear whether the work before it failed.
    pub(crate) stretch: FailureWatch,
}
