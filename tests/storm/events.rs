//! The steps with events: markers, recorded events, and user events.

use super::helper_threads::Order;
use super::waits::{Done, Way, Wrong};
use super::worker::Worker;
use fencepost::prelude::*;
use std::thread;
use std::time::Duration;

/// An event that a thread keeps.
pub struct Kept {
    event: Event,
    home: usize,
    /// `true` if the event can be recorded again.
    again: bool,
}

/// Maximum number of events that a thread keeps.
const MOST: usize = 12;

impl Worker<'_> {
    /// Enqueues a marker, which is kept or dropped, or records an event.
    pub fn mark(&mut self) -> Done {
        let lane = self.some_lane();
        match self.rng.u32(..4) {
            0 => drop(lane.queue.marker()),
            1 => {
                let known = self.events.iter().position(|kept| kept.again && kept.home == lane.home);
                let event = known.map_or_else(
                    || self.shared.homes[lane.home].ctx.event(),
                    |at| self.events.swap_remove(at).event,
                );
                event.record(&lane.queue)?;
                self.keep(Kept { event, home: lane.home, again: true });
            }
            _ => self.keep(Kept { event: lane.queue.marker(), home: lane.home, again: false }),
        }
        Ok(())
    }

    fn keep(&mut self, kept: Kept) {
        if self.events.len() >= MOST {
            let at = self.rng.usize(..MOST);
            self.events.swap_remove(at);
        }
        self.events.push(kept);
    }

    /// Waits for an event, or polls it until it is complete.
    pub fn end_event(&mut self) -> Done {
        if self.events.is_empty() {
            return Ok(());
        }
        let at = self.rng.usize(..self.events.len());
        let event = self.events[at].event.clone();
        if self.rng.u32(..4) == 0 {
            self.release();
            self.say(|| "polls an event".into());
            while !event.is_complete()? {
                thread::yield_now();
            }
        } else {
            let way = self.way();
            self.say(|| format!("waits for an event, {way:?}"));
            if self.wait(event.done(), way)?.is_some() && !event.is_complete()? && !self.events[at].again {
                return Err(Wrong("an event that was waited for is not complete".into()));
            }
        }
        if self.rng.bool() {
            drop(self.events.swap_remove(at));
        }
        Ok(())
    }

    /// Makes a queue wait for events, or for another queue, of any context.
    pub fn wait_on_device(&mut self) -> Done {
        let lane = self.some_lane();
        if self.rng.u32(..3) == 0 || self.events.is_empty() {
            return Ok(lane.queue.wait_for(&self.some_lane().queue)?);
        }
        let from = self.rng.usize(..self.events.len());
        let events: Vec<&Event> = self.events[from..].iter().map(|kept| &kept.event).take(4).collect();
        Ok(lane.queue.wait_for(&events)?)
    }

    /// Makes a queue wait for a user event. The keeper signals the event soon, or this thread signals it before its own
    /// next wait.
    pub fn user_event(&mut self) -> Done {
        let lane = self.some_lane();
        let home = self.some_home();
        let event = self.shared.homes[home].ctx.user_event(&format!("of thread {}", self.me));
        lane.queue.wait_for(&event.event())?;
        if self.rng.bool() {
            self.keep(Kept { event: event.event(), home, again: false });
        }
        // A thread that does the work of a context may, in any of its calls, run a callback that waits; so it must not
        // hold an unsignalled event.
        if self.rng.bool() && !self.shared.drawn.callbacks_wait {
            self.held.push(event);
        } else {
            let after = Duration::from_micros(self.rng.u64(..2000));
            self.order_signal(event, after, false);
        }
        Ok(())
    }

    /// Makes the keeper signal an event, or drop it.
    pub fn order_signal(&self, event: UserEvent, after: Duration, abandon: bool) {
        self.keeper.send(Order { event, after, abandon }).expect("the keeper outlives all threads");
    }

    /// Signals an event that this thread holds.
    pub fn signal(&mut self) -> Done {
        if let Some(event) = self.held.pop() {
            event.signal();
        }
        Ok(())
    }

    /// Requests the time between two events, and drops the request or waits for it.
    pub fn ask_for_times(&mut self) -> Done {
        let lane = self.some_lane();
        let start = lane.queue.marker();
        lane.queue.flush()?;
        let pending = lane.queue.marker().seconds_since(&start);
        let way = self.way();
        self.say(|| format!("waits for a time, {way:?}"));
        self.release();
        let asked = match way {
            Way::Drop | Way::SelectAndDrop(_) => return Ok(()),
            Way::Await => self.awaited(pending),
            _ => pending.wait(),
        };
        match asked {
            Ok(seconds) if seconds >= 0.0 => Ok(()),
            Err(error)
                if matches!(
                    error.detail(),
                    ErrorDetail::Untimed { .. } | ErrorDetail::NotMeasured { .. }
                ) =>
            {
                Ok(())
            }
            other => Err(Wrong(format!("the time between two markers is {other:?}"))),
        }
    }
}
