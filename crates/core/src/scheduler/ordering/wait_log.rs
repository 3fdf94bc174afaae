//! The counts of waits that a context keeps while it records waits.

use crate::error::site::CommandKind;
use crate::scheduler::ordering::wait_report::Already;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// All waits since recording began. Waits of the same source lines share an entry.
#[derive(Default)]
pub(crate) struct WaitLog {
    pub(crate) added: FxHashMap<AddedWaitKey, WaitCount>,
    pub(crate) redundant: FxHashMap<RedundantWaitKey, u64>,
}

/// Two commands that the policy put in order, and the array that both use.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct AddedWaitKey {
    pub(crate) later: WaitSite,
    pub(crate) earlier: WaitSite,
    pub(crate) array: Arc<str>,
}

/// A line of the program, the command that it enqueues, and the queue.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct WaitSite {
    pub(crate) queue: Arc<str>,
    pub(crate) what: CommandKind,
    pub(crate) at: &'static Location<'static>,
}

/// Waits of one entry: their number, the smallest range that contains their bytes, and `true` if an earlier command
/// wrote them.
pub(crate) struct WaitCount {
    pub(crate) count: u64,
    pub(crate) range: Range<u64>,
    pub(crate) write: bool,
}

/// A wait of the program that changed no order.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct RedundantWaitKey {
    pub(crate) queue: Arc<str>,
    pub(crate) at: &'static Location<'static>,
    pub(crate) waited_for: Arc<str>,
    pub(crate) already: Already,
}

impl WaitCount {
    pub(crate) fn none(range: &Range<u64>) -> Self {
        Self { count: 0, range: range.clone(), write: false }
    }

    pub(crate) fn count(&mut self, range: Range<u64>, write: bool) {
        self.count += 1;
        self.range = self.range.start.min(range.start)..self.range.end.max(range.end);
        self.write |= write;
    }
}
