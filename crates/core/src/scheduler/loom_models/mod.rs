//! Checks the scheduler in every order of threads, under loom.
//!
//! Each model is the smallest program that could break one promise. Time does not pass in a model, so no slice of a
//! wait ends by itself. A lost wake-up is therefore a deadlock, which loom reports. A model must not rely on polling.

mod completing;
mod holding;
mod losing;
pub(crate) mod model_device;
mod relaying;
mod submitting;

use crate::device::Device;
use crate::error::Result;
use crate::error::site::CommandKind;
use crate::memory::block::{Block, Memory};
use crate::memory::cpu_memory::CpuMemory;
use crate::memory::heap::{BlockId, Heap};
use crate::record::cpu::cpu_recorder as cpu;
use crate::record::cpu::cpu_recorder::CpuOptions;
use crate::scheduler::deadline::Deadline;
use crate::scheduler::engine::Engine;
use crate::scheduler::loom_models::model_device::World;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::ordering::policy::Policy;
use crate::scheduler::priority::Priority;
use crate::work::step::Work;
use fencepost_sync::{Clock, Point, Slot};
use loom::thread::{self, JoinHandle};
use std::panic::Location;
use std::sync::Arc;

/// Runs `program` in every order of its threads that takes at most two preemptions, or as many as the variable
/// `LOOM_MAX_PREEMPTIONS` gives.
fn explore(program: impl Fn() + Send + Sync + 'static) {
    let mut explorer = loom::model::Builder::new();
    explorer.preemption_bound = explorer.preemption_bound.or(Some(2));
    explorer.max_branches = 10_000;
    explorer.check(program);
}

/// Holds an engine on a model device.
struct Model {
    engine: Arc<Engine>,
    world: Arc<World>,
}

impl Model {
    /// Returns a model on a device whose lanes complete a submission at once.
    fn quick(lanes: usize) -> Self {
        Self::on(World::new(lanes, true))
    }

    /// Returns a model on a device that completes a submission only when the model requests it.
    fn by_hand(lanes: usize) -> Self {
        Self::on(World::new(lanes, false))
    }

    fn on(world: Arc<World>) -> Self {
        let (device, _) = cpu::open(&CpuOptions::default());
        Self::with(device, world)
    }

    /// Returns another context on the device of this one, with lanes that complete a submission at once.
    fn sharing_device(&self) -> Self {
        Self::with(self.engine.device.clone(), World::new(1, true))
    }

    fn with(device: Arc<dyn Device>, world: Arc<World>) -> Self {
        let engine = Engine::new(device, world.lanes(), Policy::Ordered, true);
        Self { engine, world }
    }

    /// Makes a queue on the lane with the fewest queues.
    fn queue(&self) -> Slot {
        self.engine.new_queue("model", Priority::Normal, false).expect("the device is there")
    }

    /// Starts a thread of the context.
    fn thread(&self, run: impl FnOnce(&Engine) + 'static) -> JoinHandle<()> {
        let engine = self.engine.clone();
        thread::spawn(move || run(&engine))
    }

    fn lane_thread(&self, lane: usize) -> JoinHandle<()> {
        self.thread(move |engine| engine.lane_thread(lane))
    }

    fn completer(&self, lane: usize) -> JoinHandle<()> {
        self.thread(move |engine| engine.completer(lane))
    }

    /// Ends the threads, even if work is left.
    fn stop(&self, threads: impl IntoIterator<Item = JoinHandle<()>>) {
        self.engine.lock().closing = true;
        self.engine.notify_due_threads();
        join(threads);
    }
}

fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().expect("the thread of the model ends"));
}

/// Enqueues one command and returns its point.
fn enqueue(engine: &Engine, slot: Slot) -> Point {
    enqueue_work(engine, slot, Work::Publish(block()))
}

fn enqueue_work(engine: &Engine, slot: Slot, work: Work) -> Point {
    let by = Admission { slot, what: CommandKind::Fill, at: here() };
    let stamp = engine.enqueue(by, work).expect("nothing has failed");
    Point { slot, stamp }
}

fn enqueue_wait(engine: &Engine, slot: Slot, point: Point) {
    let waited = engine.enqueue_wait(slot, point, &Clock::default(), here());
    waited.expect("nothing has failed");
}

fn block() -> Arc<Block> {
    Arc::new(Block::new(BlockId(1), Heap::Device, 16, Memory::Host(CpuMemory::zeroed(16))))
}

fn wait(engine: &Engine, point: Point) -> Result<()> {
    engine.wait(point, Deadline::after(None)).map(|done| assert!(done, "a wait without limit ended early"))
}

/// Returns the location of all calls of the models.
fn here() -> &'static Location<'static> {
    Location::caller()
}
