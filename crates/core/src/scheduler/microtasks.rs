//! The browser has no threads: what they would do is done in microtasks.

use crate::scheduler::engine::Engine;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Engine {
    /// Has everything that is due done in one microtask, however often it is asked before that runs.
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

    /// Has what a turn has made possible done in the next microtask: that ends, as each does something. What the device
    /// has says itself when it is done.
    pub(crate) fn schedule_more(&self) {
        let state = self.lock();
        let more = !state.calls.is_empty() || (0..self.lanes.len()).any(|lane| state.something_for(lane));
        drop(state);
        if more {
            self.schedule();
        }
    }

    /// Has fences tell when they move.
    pub(crate) fn listen(self: &Arc<Self>) {
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
