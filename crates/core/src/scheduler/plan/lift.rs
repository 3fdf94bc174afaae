//! Reorders the planned batches.

use fencepost_sync::Seq;

use crate::scheduler::batch::{Info, Status};
use crate::scheduler::priority::Priority;
use crate::scheduler::state::State;
use rustc_hash::{FxHashMap, FxHashSet};

impl State {
    /// Moves a batch, and the batches that it depends on, before all others on every lane, because a caller waits for
    /// the batch.
    ///
    /// In every list each batch stays after its dependencies: the needed batches come first and the others follow, each
    /// group in its previous order.
    pub(crate) fn move_to_front(&mut self, seq: Seq) {
        let Some(&Info { lane, status: Status::Ready(priority), .. }) = self.batches.get(seq) else { return };
        if self.lanes[lane].list(priority).front().is_some_and(|front| front.seq == seq) {
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
            list.make_contiguous().sort_by_key(|batch| !needed.contains(&batch.seq));
        }
    }

    /// Moves a batch, and the batches that it depends on, up to `priority`, the priority of a queue that waits for the
    /// batch. Does nothing if the batch already has at least this priority.
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
