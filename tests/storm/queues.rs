//! The steps with whole queues and contexts.

use super::failures::unless_planned;
use super::waits::Done;
use super::worker::Worker;
use fencepost::synchronize_all;
use std::thread;

/// Maximum number of a thread's own queues.
const MOST: usize = 4;

impl Worker<'_> {
    pub fn flush(&mut self) -> Done {
        let lane = self.some_lane();
        match self.rng.u32(..3) {
            0 => self.shared.homes[lane.home].ctx.flush()?,
            _ => lane.queue.flush()?,
        }
        if self.rng.bool() {
            self.pause();
        }
        Ok(())
    }

    /// Waits for a queue, or polls it until it is complete.
    pub fn finish_queue(&mut self) -> Done {
        let lane = self.some_lane();
        // Other threads continue to use the shared queues, so a thread polls only its own queues until they are done.
        if self.rng.u32(..3) == 0 && self.own.iter().any(|own| own.key == lane.key) {
            self.release();
            self.say(|| "polls a queue".into());
            while !lane.queue.marker().is_complete()? {
                thread::yield_now();
            }
            return Ok(());
        }
        let pending = lane.queue.finish();
        let way = self.way();
        self.say(|| format!("finishes {}, {way:?}", lane.queue.options().label));
        self.wait(pending, way)?;
        Ok(())
    }

    pub fn synchronize(&mut self) -> Done {
        let home = self.some_home();
        let all = self.rng.u32(..6) == 0;
        let pending = if all { synchronize_all() } else { self.shared.homes[home].ctx.synchronize() };
        let way = self.way();
        self.say(|| {
            format!(
                "synchronizes {}, {way:?}",
                if all { "all contexts".into() } else { format!("context {home}") }
            )
        });
        Ok(unless_planned(self.wait(pending, way).map(drop))?)
    }

    /// Makes a queue, forks one, or drops one with work in flight.
    pub fn change_queues(&mut self) -> Done {
        if self.own.len() >= MOST || (!self.own.is_empty() && self.rng.u32(..3) == 0) {
            let at = self.rng.usize(..self.own.len());
            drop(self.own.swap_remove(at));
            return Ok(());
        }
        let home = self.some_home();
        let urgency = self.rng.i32(-1..=1);
        let lane = match self.rng.u32(..3) {
            0 => {
                let from = self.lane_at(home);
                self.shared.lane(from.queue.fork("forked"), home)
            }
            _ => self.shared.queue(home, urgency),
        };
        if self.rng.u32(..4) == 0 {
            lane.queue.make_current();
        }
        self.own.push(lane);
        Ok(())
    }

    /// Calls reports of a context, releases its free memory, or limits its memory.
    pub fn look(&mut self) -> Done {
        let home = self.some_home();
        let ctx = &self.shared.homes[home].ctx;
        match self.rng.u32(..7) {
            0 => drop(ctx.diagnostics().state_dump()),
            1 => drop(ctx.pool().trim()),
            2 => ctx.pool().set_release_threshold(Some(self.rng.u64(..1 << 20))),
            3 => ctx.pool().set_release_threshold(None),
            4 => ctx.diagnostics().record_waits(self.rng.bool()),
            5 => drop(ctx.pool().track().report()),
            _ => drop(ctx.diagnostics().wait_report()),
        }
        let stats = ctx.pool().stats();
        assert!(stats.used <= stats.high_water, "{stats:?}");
        Ok(())
    }
}
