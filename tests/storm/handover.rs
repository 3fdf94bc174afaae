//! Passes arrays with their expected words, and pending reads, from one thread to another.

use super::array::Owned;
use super::waits::{Coming, Done};
use super::worker::Worker;
use fencepost::Policy;
use std::sync::{Mutex, PoisonError};

/// Arrays and reads between two threads.
#[derive(Default)]
pub struct Handover {
    arrays: Mutex<Vec<Owned>>,
    comings: Mutex<Vec<Coming>>,
}

impl Handover {
    fn put(&self, array: Owned) {
        self.arrays.lock().unwrap_or_else(PoisonError::into_inner).push(array);
    }

    fn put_coming(&self, coming: Coming) {
        self.comings.lock().unwrap_or_else(PoisonError::into_inner).push(coming);
    }

    fn take(&self) -> Option<Owned> {
        let mut arrays = self.arrays.lock().unwrap_or_else(PoisonError::into_inner);
        (!arrays.is_empty()).then(|| arrays.remove(0))
    }

    fn take_coming(&self) -> Option<Coming> {
        self.comings.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Returns the arrays and reads that were not taken.
    pub fn empty(&self) -> (Vec<Owned>, Vec<Coming>) {
        let arrays = std::mem::take(&mut *self.arrays.lock().unwrap_or_else(PoisonError::into_inner));
        let comings = std::mem::take(&mut *self.comings.lock().unwrap_or_else(PoisonError::into_inner));
        (arrays, comings)
    }
}

impl Worker<'_> {
    /// Gives an array or a read to the first thread that takes it.
    pub fn give(&mut self) -> Done {
        if self.rng.u32(..4) == 0 && !self.comings.is_empty() {
            let at = self.rng.usize(..self.comings.len());
            self.shared.handover.put_coming(self.comings.swap_remove(at));
            return Ok(());
        }
        let Some(at) = self.some_array(|owned| !owned.part) else { return Ok(()) };
        let mut owned = self.arrays.swap_remove(at);
        match self.rng.u32(..4) {
            0 => self.settle(&mut owned)?,
            1 | 2 if !self.shared.drawn.callbacks_wait => self.signal_after(&mut owned)?,
            _ => {}
        }
        self.shared.handover.put(owned);
        Ok(())
    }

    /// Takes an array and a read that this or another thread has given.
    pub fn take(&mut self) -> Done {
        self.arrays.extend(self.shared.handover.take());
        self.comings.extend(self.shared.handover.take_coming());
        Ok(())
    }

    /// Waits on the host for every use of an array. Later uses need no wait for them, except for uses in another
    /// context.
    fn settle(&mut self, owned: &mut Owned) -> Done {
        self.release();
        for event in owned.uses.events() {
            event.wait()?;
        }
        owned.uses.settled();
        Ok(())
    }

    /// Enqueues a callback after the last use that signals an event. The next use waits for the event.
    fn signal_after(&mut self, owned: &mut Owned) -> Done {
        let home = &self.shared.homes[owned.home];
        if !home.threads && !self.shared.drawn.driven {
            return Ok(()); // a wait in another context would not run a callback of this context
        }
        let lane = self.lane_at(owned.home);
        lane.queue.wait_for(&owned.uses.events())?;
        let event = home.ctx.user_event("handed over");
        let signaller = event.clone();
        lane.queue.callback(move || signaller.signal())?;
        if !home.threads {
            lane.queue.flush()?;
        }
        owned.uses.come_after(event.event(), owned.policy == Policy::Unchecked);
        Ok(())
    }
}
