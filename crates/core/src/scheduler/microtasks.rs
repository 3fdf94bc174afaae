//! Microtasks do the work of the scheduler's threads in the browser, which has no threads.

use crate::scheduler::engine::Engine;
use fencepost_kernels::report;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Engine {
    /// Schedules one microtask that does all due work. Calls before that microtask runs have no further effect.
    pub(crate) fn schedule(&self) {
        if self.scheduled.swap(true, Ordering::Relaxed) {
            return;
        }
        let engine = self.me.clone();
        wasm_bindgen_futures::spawn_local(async move {
            if let Some(engine) = engine.upgrade() {
                engine.scheduled.store(false, Ordering::Relaxed);
                engine.make_progress(Duration::ZERO);
            }
        });
    }

    /// Schedules another microtask if the last one has made more work possible. The chain ends, as each microtask makes
    /// progress. A completion on the device schedules a microtask of its own.
    pub(crate) fn schedule_more(&self) {
        let state = self.lock();
        let more = !state.calls.is_empty() || (0..self.lanes.len()).any(|lane| state.something_for(lane));
        drop(state);
        if more {
            self.schedule();
        }
    }

    /// Makes each fence schedule a microtask when its value grows.
    pub(crate) fn listen(self: &Arc<Self>) {
        report::schedule_by(|| wasm_bindgen_futures::spawn_local(async { report::pass_on() }));
        for lane in &self.lanes {
            let engine = Arc::downgrade(self);
            lane.fence.on_move(Box::new(move || {
                if let Some(engine) = engine.upgrade() {
                    engine.schedule();
                }
            }));
        }
    }
}
