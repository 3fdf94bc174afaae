//! Turns of the scheduler in a web page, which has no threads. A turn does all due work of a context.
//!
//! New commands, the ends of holds and completions on the device schedule a turn as a microtask. A turn that has done
//! something schedules the next one; any other turn schedules none, so that a page whose device is busy has no turns. After
//! [`TURNS_IN_A_ROW`] turns the next one is a task of its own, before which the page handles its timers and frames.

use crate::scheduler::engine::Engine;
use fencepost_kernels::report;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use wasm_bindgen_futures::js_sys::{Function, Reflect, global};
use wasm_bindgen_futures::wasm_bindgen::closure::Closure;
use wasm_bindgen_futures::wasm_bindgen::{JsCast, JsValue};

/// Maximum number of turns without a turn of the page's event loop.
const TURNS_IN_A_ROW: u32 = 8;

/// Runs `task` after the page's event loop has run.
pub(crate) fn after_the_event_loop(task: impl FnOnce() + 'static) {
    let task = Closure::<dyn FnMut()>::once_into_js(task);
    // Pages and workers both have this function as a property of their global object.
    let timer = Reflect::get(&global(), &JsValue::from_str("setTimeout"));
    let started = timer.and_then(|timer| {
        let timer: Function = timer.dyn_into()?;
        timer.call1(&JsValue::UNDEFINED, &task)
    });
    if let Err(error) = started {
        report!(Error, "the browser starts no timer: {error:?}");
    }
}

impl Engine {
    /// Schedules a turn, unless one is already scheduled.
    pub(crate) fn schedule(&self) {
        if self.scheduled.swap(true, Ordering::Relaxed) {
            return;
        }
        let engine = self.me.clone();
        let turn = move || {
            if let Some(engine) = engine.upgrade() {
                engine.scheduled.store(false, Ordering::Relaxed);
                if engine.make_progress(Duration::ZERO) {
                    engine.schedule();
                }
            }
        };
        if (self.turns.fetch_add(1, Ordering::Relaxed) + 1) % TURNS_IN_A_ROW == 0 {
            after_the_event_loop(turn);
        } else {
            wasm_bindgen_futures::spawn_local(async move { turn() });
        }
    }

    /// Makes each fence schedule a turn when its value grows.
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
