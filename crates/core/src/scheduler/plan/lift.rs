//! Reorders the planned batches.

use fencepost_sync::Seq;

use crate::scheduler::batch::{Info, Status};
use crate::scheduler::priority::Priority;
use crate::scheduler::state::State;
use rustc_hash::{FxHashMap, FxHashSet};

impl State {
    /// Moves a batch, and the batches that it depends on, before those for which no caller waits, on every lane.
    ///
    /// Of the batches for which callers wait, those of the caller that waits for the fewest come first: a short wait does not
    /// take longer beside a long one, and equal waits end in the order in which they begin. In every list each batch stays
    /// behind its dependencies, because a caller that waits for a batch waits for its dependencies too.
    pub(crate) fn move_to_front(&mut self, seq: Seq) {
        let Some(&Info { lane, status: Status::Ready(priority), .. }) = self.batches.get(seq) else { return };
        if let Some(front) = self.lanes[lane].list(priority).front_mut().filter(|front| front.seq == seq) {
            front.awaited_with = 1;
            return;
        }
        let planned = self.lanes.iter().flat_map(|lane| lane.ready.iter().flatten());
        let planned: FxHashMap<Seq, &[Seq]> = planned.map(|batch| (batch.seq, &batch.deps[..])).collect();
        let (mut needed, mut stack) = (FxHashSet::default(), vec![seq]);
        while let Some(seq) = stack.pop() {
            if let Some(deps) = planned.get(&seq).filter(|_| needed.insert(seq)) {
                stack.extend_from_slice(deps);
            }
        }
        self.lanes.iter_mut().for_each(|lane| lane.mixed = true);
        for list in self.lanes.iter_mut().flat_map(|lane| &mut lane.ready) {
            for batch in list.iter_mut().filter(|batch| needed.contains(&batch.seq)) {
                batch.awaited_with = batch.awaited_with.min(needed.len());
            }
            list.make_contiguous().sort_by_key(|batch| batch.awaited_with);
        }
    }

    /// Moves a batch, and the batches that it depends on, up to `priority`, the priority of a queue that waits for the
    /// batch. Does nothing if the batch has at least this priority.
    pub(crate) fn raise_priority(&mut self, seq: Seq, priority: Priority) {
        let Some(info) = self.batches.get(seq) else { return };
        let (lane, Status::Ready(from)) = (info.lane, info.status) else { return };
        if from >= priority {
            return;
        }
        let list = self.lanes[lane].list(from);
        let Some(batch) = list.iter().position(|batch| batch.seq == seq).and_then(|at| list.remove(at))
        else {
            return;
        };
        for &dep in &batch.deps {
            self.raise_priority(dep, priority);
        }
        self.batches.set(seq, Status::Ready(priority));
        self.lanes[lane].list(priority).push_back(batch);
    }
}
