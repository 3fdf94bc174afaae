//! What is noted of waits while somebody records them.

use crate::error::site::CommandKind;
use crate::memory::uses::Use;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::ordering::admit::{access, label};
use crate::scheduler::ordering::wait_report::{AddedWait, Already, RedundantWait, WaitReport};
use crate::scheduler::state::State;
use crate::work::step::Work;
use fencepost_sync::Point;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// The waits since recording began, those of the same lines together.
#[derive(Default)]
pub(crate) struct WaitLog {
    added: FxHashMap<Added, Times>,
    pub(crate) redundant: FxHashMap<Redundant, u64>,
}

/// Two commands that the policy put in order, and the array that they share.
#[derive(PartialEq, Eq, Hash)]
struct Added {
    later: Line,
    earlier: Line,
    array: Arc<str>,
}

/// A line of the program: what it enqueues, and on which queue.
#[derive(PartialEq, Eq, Hash)]
struct Line {
    queue: Arc<str>,
    what: CommandKind,
    at: &'static Location<'static>,
}

struct Times {
    count: u64,
    range: Range<u64>,
    write: bool,
}

/// A wait that changed nothing.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Redundant {
    queue: Arc<str>,
    at: &'static Location<'static>,
    waited_for: Arc<str>,
    already: Already,
}

impl WaitLog {
    pub(crate) fn note_wait(&mut self, state: &State, by: Admission, work: &Work, wait: Point) {
        let is_for = |earlier: &&Use| (earlier.slot, earlier.stamp) == (wait.slot, wait.stamp);
        for touch in work.touches() {
            let order = touch.block.order();
            let Some(earlier) = order.uses.conflicts(touch.range.clone(), touch.write).find(is_for) else {
                continue;
            };
            let added = Added {
                later: Line { queue: state.queue(by.slot).label.clone(), what: by.what, at: by.at },
                earlier: Line { queue: label(state, earlier), what: earlier.what, at: earlier.at },
                array: order.label.clone(),
            };
            let range = touch.range.start.max(earlier.range.start)..touch.range.end.min(earlier.range.end);
            return self.added.entry(added).or_insert(Times::none(&range)).count(range, earlier.write);
        }
    }

    /// All of it, the most frequent first.
    pub(crate) fn report(&self, state: &State) -> WaitReport {
        let site = |line: &Line| state.site(line.queue.clone(), line.what, line.at);
        let added = |(wait, times): (&Added, &Times)| AddedWait {
            later: site(&wait.later),
            earlier: site(&wait.earlier),
            array: wait.array.to_string(),
            range: times.range.clone(),
            access: access(times.write),
            count: times.count,
        };
        let redundant = |(wait, &count): (&Redundant, &u64)| RedundantWait {
            queue: wait.queue.clone(),
            location: wait.at,
            waited_for: wait.waited_for.clone(),
            already: wait.already,
            count,
        };
        let mut added: Vec<AddedWait> = self.added.iter().map(added).collect();
        let mut redundant: Vec<RedundantWait> = self.redundant.iter().map(redundant).collect();
        added.sort_by_key(|wait| (Reverse(wait.count), wait.later.location, wait.earlier.location));
        redundant.sort_by_key(|wait| (Reverse(wait.count), wait.location));
        WaitReport { added, redundant }
    }
}

impl Times {
    fn none(range: &Range<u64>) -> Self {
        Self { count: 0, range: range.clone(), write: false }
    }

    fn count(&mut self, range: Range<u64>, write: bool) {
        self.count += 1;
        self.range = self.range.start.min(range.start)..self.range.end.max(range.end);
        self.write |= write;
    }
}
