//! A step that opens a context and drops it with work in flight.

use super::array::{Access, Owned};
use super::shared::Lane;
use super::waits::Done;
use super::worker::Worker;
use fencepost::testing::{self, CpuFaults};
use fencepost::{Context, Policy, SimulatorOptions};

impl Worker<'_> {
    /// Copies an array to a new context and back, and drops all handles of that context at once.
    pub fn temporary(&mut self) -> Done {
        let Some(at) = self.some_array(|owned| !owned.part) else { return Ok(()) };
        let ctx = self.guest();
        let home = self.shared.homes.len();
        let len = self.arrays[at].len();
        let value = self.rng.u32(..);
        let guest = self.shared.lane(ctx.queue("guest"), home);
        let mut there = Owned::of_context(ctx.zeros([len])?, home, Policy::Ordered, vec![0; len]);

        let lane = self.either(&guest, at);
        self.order(at, &lane, Access::Read)?;
        lane.queue.copy(&self.arrays[at].array, &mut there.array)?;
        self.used(at, &lane, Access::Read);

        let range = self.some_range(len);
        guest.queue.fill(&mut there.array.slice(range.clone())?, value)?;

        let lane = self.either(&guest, at);
        self.order(at, &lane, Access::Write)?;
        lane.queue.copy(&there.array, &mut self.arrays[at].array)?;
        self.arrays[at].change(range, |_, _| value);
        self.used(at, &lane, Access::Write);
        Ok(())
    }

    /// Returns the queue of the new context, or a queue of the array's context.
    fn either(&mut self, guest: &Lane, at: usize) -> Lane {
        let home = self.arrays[at].home;
        if self.rng.bool() { guest.clone() } else { self.lane_at(home) }
    }

    /// Opens a context on the CPU recorder that other threads do not use.
    fn guest(&mut self) -> Context {
        let seed = self.rng.u64(..);
        let lanes = self.rng.usize(1..=2);
        let faults = CpuFaults { delays: self.rng.u32(..4) == 0, ..CpuFaults::default() };
        let ctx =
            testing::on_cpu(SimulatorOptions::default().seed(seed).lanes(lanes), faults, Policy::Ordered);
        self.shared.watches.add(&ctx);
        ctx
    }
}
