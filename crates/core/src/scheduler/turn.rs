//! Turns of the scheduler in a web page, which has no threads. A turn does all due work of a context.
//!
//! New commands, the ends of holds and completions on the device schedule a turn as a microtask. A turn that has done
//! something schedules the next one; any other turn schedules none, so that a page whose device is busy has no turns. One of
//! [`TURNS_IN_A_ROW`] turns is a task of its own, before which the page handles its timers and frames.
//!
//! While the device is busy, unflushed commands are planned at most once a tick, so that they gather. The turn that plans
//! the rest comes from a timer, or from the completion of the busy work if that is earlier.

use crate::driver::page::{after, after_the_event_loop};
use crate::scheduler::engine::{Engine, LOOPS_END};
use crate::scheduler::plan::open_batch::DueCommands;
use crate::scheduler::threads::{SignallingMark, TICK};
use fencepost_kernels::report;
use fencepost_sync::page::in_turn;
use fencepost_sync::prim::lock;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use web_time::Instant;

/// Number of turns of which one is a task of its own.
const TURNS_IN_A_ROW: u32 = 8;

impl Engine {
    /// Schedules a turn, unless one is already scheduled.
    pub(crate) fn schedule(&self) {
        if self.scheduled.swap(true, Ordering::Relaxed) {
            return;
        }
        let engine = self.me.clone();
        let turn = move || {
            if let Some(engine) = engine.upgrade() {
                engine.turn();
            }
        };
        if (self.turns.fetch_add(1, Ordering::Relaxed) + 1) % TURNS_IN_A_ROW == 0 {
            after_the_event_loop(turn);
        } else {
            wasm_bindgen_futures::spawn_local(async move { in_turn(turn) });
        }
    }

    /// Schedules a turn after a tick, unless one is already scheduled.
    fn schedule_tick(&self) {
        if self.tick_scheduled.swap(true, Ordering::Relaxed) {
            return;
        }
        let engine = self.me.clone();
        let turn = move || {
            if let Some(engine) = engine.upgrade() {
                engine.tick_scheduled.store(false, Ordering::Relaxed);
                engine.turn();
            }
        };
        if after(TICK, turn).is_err() {
            self.tick_scheduled.store(false, Ordering::Relaxed);
        }
    }

    fn turn(&self) {
        self.scheduled.store(false, Ordering::Relaxed);
        // The program's own call, which the page has suspended, may be signalling an event. This turn is not part of it.
        let _mark = SignallingMark::set(false);
        // A lost device completes nothing, and its fences report the loss.
        (0..self.lanes.len()).for_each(|lane| self.poll_lane(lane));
        if self.closed.get().is_some_and(|closed| closed.elapsed() > LOOPS_END) {
            self.end_loops();
        }
        let is_tick = self.has_ticked();
        let any = is_tick && self.plan_and_submit(DueCommands::All);
        if self.make_progress(Duration::ZERO) || any {
            self.schedule();
        } else if !is_tick && self.has_plannable_commands() {
            // Otherwise a callback of an idle queue would wait for the device, which is busy with work of other queues.
            self.schedule_tick();
        }
    }

    /// Returns `true` if a planning of all commands could take one.
    fn has_plannable_commands(&self) -> bool {
        let state = self.lock();
        state.lost.is_none() && (0..self.lanes.len()).any(|lane| state.has_plannable(lane, false))
    }

    /// Returns `true` once after each tick.
    fn has_ticked(&self) -> bool {
        let mut last = lock(&self.last_tick);
        let ticked = last.elapsed() >= TICK;
        if ticked {
            *last = Instant::now();
        }
        ticked
    }

    /// Makes each fence schedule a turn when its value grows.
    pub(crate) fn listen(self: &Arc<Self>) {
        report::schedule_by(|| wasm_bindgen_futures::spawn_local(async { in_turn(report::pass_on) }));
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
