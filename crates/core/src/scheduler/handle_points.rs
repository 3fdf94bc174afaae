//! The points of a queue for which the program holds handles.

use crate::scheduler::failure_history::FailureWatch;
use fencepost_sync::{Clock, Stamp};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

/// Limits the handles that one call examines or drops.
const HANDLES_PER_CALL: usize = 4096;
/// Limits the dropped handles that are removed from the end with each new one.
const DROPPED_PER_CALL: usize = 64;
/// Limits the length of a list that is searched as a whole for dropped handles.
const SWEPT: usize = 1 << 16;

/// Lists the points with handles in ascending order of their stamps. A handle exists while its `PointHistory` is
/// referenced.
#[derive(Default)]
pub(crate) struct HandlePoints {
    points: VecDeque<(Stamp, Weak<PointHistory>)>,
    /// Holds the length at which the whole list is searched next.
    sweep_at: usize,
}

impl HandlePoints {
    /// Records a handle of a point.
    pub(crate) fn add(&mut self, stamp: Stamp, past: &Arc<PointHistory>) {
        self.sweep();
        let at = self.points.partition_point(|(known, _)| *known <= stamp);
        self.points.insert(at, (stamp, Arc::downgrade(past)));
    }

    /// Removes dropped handles. Each call removes a few at the end only, as a program may drop a million at once. The
    /// whole list is searched once it has doubled.
    pub(crate) fn sweep(&mut self) {
        for _ in 0..DROPPED_PER_CALL {
            if self.points.back().is_none_or(is_held) {
                break;
            }
            self.points.pop_back();
        }
        if (self.sweep_at.max(DROPPED_PER_CALL)..SWEPT).contains(&self.points.len()) {
            self.points.retain(is_held);
            self.sweep_at = 2 * self.points.len();
        }
    }

    /// Returns the first point from `first` on for which the program holds a handle. If there are too many
    /// candidates to examine, returns `first`, as if the program held a handle there.
    pub(crate) fn first(&self, first: Stamp) -> Option<Stamp> {
        let from = self.points.partition_point(|(stamp, _)| *stamp < first);
        let mut handles = self.points.range(from..);
        if handles.len() > HANDLES_PER_CALL {
            return Some(first);
        }
        handles.find(|point| is_held(point)).map(|(stamp, _)| *stamp)
    }

    /// Removes points that are done, [`HANDLES_PER_CALL`] at most, so that the call stays short.
    pub(crate) fn remove_completed(&mut self, completed: Stamp) {
        let over = self.points.partition_point(|(stamp, _)| *stamp <= completed);
        self.points.drain(..over.min(HANDLES_PER_CALL));
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
    fn dropped_handles_are_removed_a_few_at_a_time() {
        let mut handles = HandlePoints::default();
        let kept: Vec<_> = (0..SWEPT + 10).map(|_| add(&mut handles, 1)).collect();
        assert_eq!(handles.first(Stamp(1)), Some(Stamp(1)));
        drop(kept);
        let last = add(&mut handles, 1);
        assert_eq!(handles.points.len(), SWEPT + 11 - DROPPED_PER_CALL);
        drop(last);
        (0..SWEPT).for_each(|_| drop(add(&mut handles, 1)));
        assert!(handles.points.len() <= 1 && handles.first(Stamp(1)).is_none());
    }

    #[test]
    fn replacing_handles_does_not_grow_the_list() {
        for kept in [0, 1, 100, 3000] {
            let mut handles = HandlePoints::default();
            let mut notify: VecDeque<_> = (0..=kept).map(|_| add(&mut handles, 1)).collect();
            for _ in 0..100_000 {
                notify.push_back(add(&mut handles, 1));
                notify.pop_front();
            }
            let found = handles.points.len();
            assert!(found <= 2 * (kept + 2) + DROPPED_PER_CALL, "{found} are kept for {} handles", kept + 1);
        }
    }

    #[test]
    fn completed_points_are_removed_many_at_a_time() {
        let mut handles = HandlePoints::default();
        let kept: Vec<_> = (0..2 * HANDLES_PER_CALL).map(|_| add(&mut handles, 1)).collect();
        let later = add(&mut handles, 5);
        handles.remove_completed(Stamp(1));
        assert_eq!((handles.points.len(), kept.len()), (HANDLES_PER_CALL + 1, 2 * HANDLES_PER_CALL));
        assert_eq!(handles.first(Stamp(2)), Some(Stamp(5)));
        handles.remove_completed(Stamp(1));
        assert_eq!(handles.points.len(), 1);
        drop(later);
        assert_eq!(handles.first(Stamp(2)), None);
    }
}

/// Holds the facts that a handle of a point carries.
#[derive(Clone, Default)]
pub(crate) struct PointHistory {
    /// Holds the points of other queues that this point comes after.
    pub(crate) clock: Clock,
    /// Keeps the failures of the work before the point.
    pub(crate) stretch: FailureWatch,
}
