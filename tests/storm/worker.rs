//! One thread of a storm: the objects that it holds, and its random choices.

use super::array::{Access, Owned};
use super::callbacks::Callbacks;
use super::events::Kept;
use super::helper_threads::Order;
use super::pinned::{Download, Upload};
use super::shared::{Lane, PART, Shared};
use super::waits::{Coming, Done, Way};
use fastrand::Rng;
use fencepost::UserEvent;
use std::ops::Range;
use std::sync::mpsc::Sender;
use std::time::Duration;

pub struct Worker<'w> {
    pub shared: &'w Shared,
    pub me: usize,
    /// Number of the step.
    pub at: usize,
    /// Random numbers of the step. The next step's numbers do not depend on how many were drawn.
    pub rng: Rng,
    pub arrays: Vec<Owned>,
    pub comings: Vec<Coming>,
    pub events: Vec<Kept>,
    /// Queues that no other thread uses.
    pub own: Vec<Lane>,
    /// User events that this thread signals before it waits.
    pub held: Vec<UserEvent>,
    pub callbacks: Callbacks,
    pub uploads: Vec<Upload>,
    pub downloads: Vec<Download>,
    pub keeper: Sender<Order>,
}

impl<'w> Worker<'w> {
    pub fn new(shared: &'w Shared, me: usize, keeper: Sender<Order>) -> Done<Self> {
        let mut worker = Self {
            shared,
            me,
            at: 0,
            rng: shared.drawn.step(me, 0),
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
        for home in 0..shared.homes.len() {
            worker.take_part(home)?;
        }
        Ok(worker)
    }

    /// Takes this thread's part of the divided array.
    fn take_part(&mut self, home: usize) -> Done {
        let at = &self.shared.homes[home];
        let array = at.parts.slice(self.me * PART..(self.me + 1) * PART)?;
        let words = vec![home as u32; PART];
        self.arrays.push(Owned { part: true, ..Owned::of_context(array, home, at.policy, words) });
        Ok(())
    }

    /// Runs the whole program.
    pub fn run(mut self) -> Done {
        for at in 1..=self.shared.drawn.steps {
            self.at = at;
            self.rng = self.shared.drawn.step(self.me, at);
            self.step()?;
        }
        self.at += 1;
        self.finish()?;
        self.say(|| "has ended".into());
        Ok(())
    }

    /// Records the action of the thread, for the message of a hang.
    pub fn say(&self, what: impl Fn() -> String) {
        self.shared.progress.note(self.me, format!("step {}: {}", self.at, what()));
    }

    /// Returns the name of this step for messages.
    pub fn here(&self) -> String {
        format!("thread {}, step {}", self.me, self.at)
    }

    /// Returns the name of enqueued work for messages.
    pub fn on(&self, lane: &Lane) -> String {
        format!("{} on {}", self.here(), lane.queue.options().label)
    }

    /// Signals the user events that the thread holds, because it is about to wait.
    pub fn release(&mut self) {
        self.held.drain(..).for_each(|event| event.signal());
    }

    /// Draws an array that fits, and returns its index.
    pub fn some_array(&mut self, fits: impl Fn(&Owned) -> bool) -> Option<usize> {
        let fitting: Vec<usize> = (0..self.arrays.len()).filter(|&at| fits(&self.arrays[at])).collect();
        (!fitting.is_empty()).then(|| fitting[self.rng.usize(..fitting.len())])
    }

    /// Draws a queue of a context, either a shared queue or one of this thread.
    pub fn lane_at(&mut self, home: usize) -> Lane {
        let all = self.shared.queues.iter().chain(&self.own).filter(|lane| lane.home == home);
        let lanes: Vec<&Lane> = all.collect();
        lanes[self.rng.usize(..lanes.len())].clone()
    }

    /// Draws a queue of any context.
    pub fn some_lane(&mut self) -> Lane {
        let home = self.rng.usize(..self.shared.homes.len());
        self.lane_at(home)
    }

    pub fn some_home(&mut self) -> usize {
        self.rng.usize(..self.shared.homes.len())
    }

    /// Draws a part of an array that is not empty. It starts at a multiple of 64, where kernels can bind it.
    pub fn some_range(&mut self, len: usize) -> Range<usize> {
        let start = 64 * self.rng.usize(..len.div_ceil(64));
        start..self.rng.usize(start + 1..=len)
    }

    /// Makes a queue wait for those uses of an array with which its next use conflicts.
    pub fn order(&mut self, at: usize, lane: &Lane, access: Access) -> Done {
        Ok(self.arrays[at].order(lane, access, &mut self.rng)?)
    }

    /// Records the use that was just enqueued.
    pub fn used(&mut self, at: usize, lane: &Lane, access: Access) {
        self.arrays[at].used(lane, access, &mut self.rng);
    }

    pub fn some_words(&mut self, len: usize) -> Vec<u32> {
        (0..len).map(|_| self.rng.u32(..)).collect()
    }

    /// Sleeps, yields, or does neither.
    pub fn pause(&mut self) {
        match self.rng.u32(..4) {
            0 => std::thread::yield_now(),
            1 => std::thread::sleep(Duration::from_micros(self.rng.u64(..400))),
            _ => {}
        }
    }

    /// Ends the program: it waits for every read, download and callback, and checks the words of every array.
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

    /// Compares all elements of an array.
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
