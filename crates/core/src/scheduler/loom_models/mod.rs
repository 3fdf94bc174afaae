//! Loom models, which check the scheduler under every interleaving of threads.
//!
//! Each model is the smallest program that could break one promise. Time does not pass in a model, so no sleep ends by
//! its time limit. A lost wake-up is therefore a deadlock, which loom reports. Models must not rely on polling.

mod completing;
mod holding;
mod losing;
pub(crate) mod model_device;
mod relaying;
mod submitting;

use crate::device::Device;
use crate::error::Result;
use crate::memory::uses::Policy;
use crate::record::cpu::cpu_recorder as cpu;
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use crate::scheduler::engine::Engine;
use crate::scheduler::loom_models::model_device::World;
use crate::scheduler::relay::Signaller;
use crate::scheduler::test_engine;
use crate::scheduler::wakers::Deadline;
use crate::work::step::Work;
use fencepost_sync::{Point, Slot};
use loom::thread::{self, JoinHandle};
use std::cell::RefCell;
use std::sync::Arc;

/// Runs `program` under every interleaving with at most two preemptions, or with the number in the environment variable
/// `LOOM_MAX_PREEMPTIONS`.
pub(crate) fn explore(program: impl Fn() + Send + Sync + 'static) {
    let mut explorer = loom::model::Builder::new();
    explorer.preemption_bound = explorer.preemption_bound.or(Some(2));
    explorer.max_branches = 10_000;
    explorer.check(program);
}

/// Context of a model.
#[derive(Clone, Copy)]
struct Setup {
    /// `true` if the device completes submissions at once. Otherwise the model completes them.
    quick: bool,
    lanes: usize,
    threads: &'static [ContextThread],
}

/// A thread of a context.
#[derive(Clone, Copy)]
enum ContextThread {
    Lane(usize),
    Completer(usize),
    Callbacks,
}

/// Context with one lane and without threads, on a device that completes a submission at once.
const QUICK: Setup = Setup { quick: true, lanes: 1, threads: &[] };

/// Context with one lane and without threads, on a device that the model drives.
const BY_HAND: Setup = Setup { quick: false, ..QUICK };

impl Setup {
    const fn lanes(self, lanes: usize) -> Self {
        Self { lanes, ..self }
    }

    const fn with(self, threads: &'static [ContextThread]) -> Self {
        Self { threads, ..self }
    }

    /// Explores `program` on this context. The context has one queue, which is made before the threads start.
    fn explore(self, program: fn(&Model, Slot)) {
        explore(move || {
            let model = self.with(&[]).model();
            let queue = model.queue(); // before the threads, so that loom has fewer orders to explore
            self.threads.iter().for_each(|&thread| model.start(thread));
            program(&model, queue);
        });
    }

    /// Makes the context and starts its threads.
    fn model(self) -> Model {
        self.model_on(cpu::open(&SimulatorOptions::default()).0)
    }

    fn model_on(self, device: Arc<dyn Device>) -> Model {
        let world = World::new(self.lanes, self.quick);
        let engine = Engine::new(device, world.lanes(), Policy::Ordered, true);
        let programs = RefCell::default();
        let threads = RefCell::default();
        let model = Model { engine, world, programs, threads };
        self.threads.iter().for_each(|&thread| model.start(thread));
        model
    }
}

/// A context on a model device. Its drop joins the threads of the program, and then ends the threads of the context.
struct Model {
    engine: Arc<Engine>,
    world: Arc<World>,
    /// Threads that act as the program.
    programs: RefCell<Vec<JoinHandle<()>>>,
    /// Threads of the context.
    threads: RefCell<Vec<JoinHandle<()>>>,
}

impl Model {
    fn queue(&self) -> Slot {
        test_engine::queue(&self.engine)
    }

    fn enqueue(&self, queue: Slot) -> Point {
        enqueue(&self.engine, queue)
    }

    /// Enqueues a wait for `point` and one command after it.
    fn enqueue_after(&self, queue: Slot, point: Point) -> Point {
        test_engine::enqueue_wait(&self.engine, queue, point);
        self.enqueue(queue)
    }

    /// Holds a queue with a user event, and returns the signaller of that event.
    fn hold(&self, queue: Slot) -> Signaller {
        test_engine::hold(&self.engine, queue)
    }

    fn wait(&self, point: Point) -> Result<()> {
        wait(&self.engine, point)
    }

    /// Waits for a point whose work must succeed.
    fn finish(&self, point: Point) {
        test_engine::finish(&self.engine, point);
    }

    /// Starts a thread of the context.
    fn start(&self, thread: ContextThread) {
        let engine = self.engine.clone();
        self.threads.borrow_mut().push(thread::spawn(move || match thread {
            ContextThread::Lane(lane) => engine.lane_thread(lane),
            ContextThread::Completer(lane) => engine.completer(lane),
            ContextThread::Callbacks => engine.callback_thread(),
        }));
    }

    /// Starts a thread of the program.
    fn thread(&self, run: impl FnOnce(&Engine) + 'static) {
        let engine = self.engine.clone();
        self.programs.borrow_mut().push(thread::spawn(move || run(&engine)));
    }

    /// Starts a thread that marks the device as lost.
    fn lose(&self) {
        let world = self.world.clone();
        self.thread(move |_| world.lose());
    }

    /// Joins the threads of the program.
    fn join(&self) {
        join(&self.programs);
    }

    /// Joins the threads of the context. They end once the context is closed or lost.
    fn join_ended(&self) {
        join(&self.threads);
    }
}

impl Drop for Model {
    /// Ends the threads of the context, even if work is left.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return; // loom has stopped the threads
        }
        self.join();
        self.engine.lock().closing = true;
        self.engine.notify_due_threads();
        self.join_ended();
    }
}

fn join(threads: &RefCell<Vec<JoinHandle<()>>>) {
    for thread in threads.take() {
        thread.join().expect("the thread of the model ends");
    }
}

/// Enqueues a command that uses no bytes, and returns its point.
fn enqueue(engine: &Engine, slot: Slot) -> Point {
    test_engine::enqueue_work(engine, slot, Work::QueueFence)
}

fn wait(engine: &Engine, point: Point) -> Result<()> {
    engine.wait(point, Deadline::after(None)).map(|done| assert!(done, "a wait without limit ended early"))
}
