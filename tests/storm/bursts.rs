//! A step that enqueues many commands on several queues, flushes them, and waits.

use super::array::{Access, Owned};
use super::waits::Done;
use super::worker::Worker;
use std::time::Duration;

impl Worker<'_> {
    /// Enqueues many small commands on queues of one context and flushes them in one of several ways. Then it
    /// waits once.
    pub fn burst(&mut self) -> Done {
        let home = self.some_home();
        let policy = self.shared.homes[home].policy;
        for _ in 0..self.rng.usize(1..=3) {
            let lane = self.lane_at(home);
            let value = self.rng.u32(..);
            let array = self.shared.homes[home].ctx.full([64], value)?;
            let mut owned = Owned::of_context(array, home, policy, vec![value; 64]);
            for turn in 0..self.rng.u32(10..60) {
                lane.queue.fill(&mut owned.array, turn)?;
                owned.change(0..64, |_, _| turn);
            }
            owned.used(&lane, Access::Write, &mut self.rng);
            self.arrays.push(owned);
        }
        self.start(home)?;
        let last = self.arrays.len() - 1;
        match self.rng.u32(..6) {
            0 | 1 => self.map_read_of(last),
            2 => self.map_write_of(last),
            3 => self.end_one(),
            4 => self.end_event(),
            _ => self.finish_queue(),
        }
    }

    /// Flushes the enqueued work of a context, and gives it up to 400 microseconds.
    fn start(&mut self, home: usize) -> Done {
        match self.rng.u32(..4) {
            0 | 1 => self.shared.homes[home].ctx.flush()?,
            2 => self.lane_at(home).queue.flush()?,
            _ => {}
        }
        if self.rng.bool() {
            std::thread::sleep(Duration::from_micros(self.rng.u64(..400)));
        }
        Ok(())
    }
}
