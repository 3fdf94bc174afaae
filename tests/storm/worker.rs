//! One thread of a storm: what it holds, and how it chooses among it.

use super::array::{Access, Owned};
use super::callbacks::Callbacks;
use super::events::Kept;
use super::keeper::Order;
use super::pinned::{Download, Upload};
use super::waits::{Coming, Done, Way};
use super::world::{Lane, PART, World};
use fastrand::Rng;
use fencepost::UserEvent;
use std::ops::Range;
use std::sync::mpsc::Sender;
use std::time::Duration;

pub struct Worker<'w> {
    pub world: &'w World,
    pub me: usize,
    /// The number of the step.
    pub at: usize,
    /// The numbers of the step: those of the next one do not depend on how many were drawn.
    pub rng: Rng,
    pub arrays: Vec<Owned>,
    pub comings: Vec<Coming>,
    pub events: Vec<Kept>,
    /// Queues that no other thread has.
    pub own: Vec<Lane>,
    /// User events that this thread signals before it waits for anything.
    pub held: Vec<UserEvent>,
    pub callbacks: Callbacks,
    pub uploads: Vec<Upload>,
    pub downloads: Vec<Download>,
    pub keeper: Sender<Order>,
}

impl<'w> Worker<'w> {
    pub fn new(world: &'w World, me: usize, keeper: Sender<Order>) -> Done<Self> {
        let mut worker = Self {
            world,
            me,
            at: 0,
            rng: world.drawn.step(me, 0),
            arrays: Vec::new(),
            comings: Vec::new(),
            events: Vec::new(),
            own: Vec::new(),
            held: Vec::new(),
            callbacks: Callbacks::default(),
            uploads: Vec::new(),
            downloads: Vec::new(),
            keeper,
        };
        for home in 0..world.homes.len() {
            worker.take_part(home)?;
        }
        Ok(worker)
    }

    /// Takes its part of the array that is cut.
    fn take_part(&mut self, home: usize) -> Done {
        let at = &self.world.homes[home];
        let array = at.parts.slice(self.me * PART..(self.me + 1) * PART)?;
        let words = vec![home as u32; PART];
        self.arrays.push(Owned { part: true, ..Owned::of_context(array, home, at.policy, words) });
        Ok(())
    }

    /// Does the whole program.
    pub fn run(mut self) -> Done {
        for at in 1..=self.world.drawn.steps {
            self.at = at;
            self.rng = self.world.drawn.step(self.me, at);
            self.step()?;
        }
        self.at += 1;
        self.finish()?;
        self.say(|| "has ended".into());
        Ok(())
    }

    /// Notes what the thread does, for the message of a hang.
    pub fn say(&self, what: impl Fn() -> String) {
        self.world.board.note(self.me, format!("step {}: {}", self.at, what()));
    }

    /// What messages call this step.
    pub fn here(&self) -> String {
        format!("thread {}, step {}", self.me, self.at)
    }

    /// What messages call something that was enqueued.
    pub fn on(&self, lane: &Lane) -> String {
        format!("{} on {}", self.here(), lane.queue.label())
    }

    /// Signals the user events that it holds: it is about to wait.
    pub fn release(&mut self) {
        self.held.drain(..).for_each(|event| event.signal());
    }

    /// The number of an array for which something holds.
    pub fn some_array(&mut self, fits: impl Fn(&Owned) -> bool) -> Option<usize> {
        let fitting: Vec<usize> = (0..self.arrays.len()).filter(|&at| fits(&self.arrays[at])).collect();
        (!fitting.is_empty()).then(|| fitting[self.rng.usize(..fitting.len())])
    }

    /// A queue of a context: one that all threads use, or one of this thread.
    pub fn lane_at(&mut self, home: usize) -> Lane {
        let all = self.world.queues.iter().chain(&self.own).filter(|lane| lane.home == home);
        let lanes: Vec<&Lane> = all.collect();
        lanes[self.rng.usize(..lanes.len())].clone()
    }

    /// A queue of any context.
    pub fn some_lane(&mut self) -> Lane {
        let home = self.rng.usize(..self.world.homes.len());
        self.lane_at(home)
    }

    pub fn some_home(&mut self) -> usize {
        self.rng.usize(..self.world.homes.len())
    }

    /// A part of an array that is not empty, from a place on that kernels can be given.
    pub fn some_range(&mut self, len: usize) -> Range<usize> {
        let start = 64 * self.rng.usize(..len.div_ceil(64));
        start..self.rng.usize(start + 1..=len)
    }

    /// Orders a queue after the uses of an array that the next one there conflicts with.
    pub fn order(&mut self, at: usize, lane: &Lane, access: Access) -> Done {
        Ok(self.arrays[at].order(lane, access, &mut self.rng)?)
    }

    /// Notes the use that was just enqueued.
    pub fn used(&mut self, at: usize, lane: &Lane, access: Access) {
        self.arrays[at].used(lane, access, &mut self.rng);
    }

    pub fn some_words(&mut self, len: usize) -> Vec<u32> {
        (0..len).map(|_| self.rng.u32(..)).collect()
    }

    /// Lets a little time pass, or none.
    pub fn pause(&mut self) {
        match self.rng.u32(..4) {
            0 => std::thread::yield_now(),
            1 => std::thread::sleep(Duration::from_micros(self.rng.u64(..400))),
            _ => {}
        }
    }

    /// The end: every read, download and callback comes, and every array has its words.
    fn finish(&mut self) -> Done {
        self.release();
        self.say(|| "the end".into());
        for coming in std::mem::take(&mut self.comings) {
            self.end(coming, Way::Block)?;
        }
        self.end_downloads()?;
        self.end_callbacks()?;
        for owned in std::mem::take(&mut self.arrays) {
            self.check(owned)?;
        }
        Ok(())
    }

    /// Compares all of an array.
    pub fn check(&mut self, mut owned: Owned) -> Done {
        let lane = self.lane_at(owned.home);
        let coming = self.begin_read(&mut owned, &lane)?;
        self.end(coming, Way::Block)
    }

    /// Enqueues a read of all of an array.
    pub fn begin_read(&mut self, owned: &mut Owned, lane: &Lane) -> Done<Coming> {
        owned.order(lane, Access::Read, &mut self.rng)?;
        let reading = lane.queue.read(&owned.array);
        owned.used(lane, Access::Read, &mut self.rng);
        Ok(Coming { reading, expected: owned.words.clone(), from: self.on(lane) })
    }
}
