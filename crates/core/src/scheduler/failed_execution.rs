//! Failures of commands that the device began to execute. Each fails its own queue; other queues go on.

use crate::device::recorder::ExecutionFailure;
use crate::scheduler::engine::Engine;
use crate::scheduler::state::State;
use fencepost_sync::prim::MutexGuard;

impl Engine {
    /// Fails the queues of the commands that failed on the device. The caller then marks batches as complete.
    pub(crate) fn fail_executed<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let failures = self.device.take_failures(state.last_stamp());
        if failures.is_empty() {
            return state;
        }
        for ExecutionFailure { slot, first, error } in failures {
            state.fail_queue(slot, first, error);
        }
        // The wakers and the drops of the failed commands run without S.
        self.unlock(state);
        self.lock()
    }
}
