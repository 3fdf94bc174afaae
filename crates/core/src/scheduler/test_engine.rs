//! Engines, queues, blocks and commands for tests and models. Without threads, all work happens inside the test's
//! calls.

use crate::error::CommandKind;
use crate::memory::block::{Block, BlockId, Heap, Memory};
use crate::memory::cpu_memory::CpuMemory;
use crate::memory::uses::Policy;
use crate::record::cpu::cpu_recorder as cpu;
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use crate::scheduler::batch::Callback;
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::Admission;
use crate::scheduler::queue::PointProgress;
use crate::scheduler::queues::Priority;
use crate::scheduler::relay::{SignalledBy, Signaller};
use crate::scheduler::state::State;
use crate::scheduler::wakers::Deadline;
use crate::work::graph::nodes::{GraphNode, NodeCommand};
use crate::work::graph::order::MissingOrder;
use crate::work::graph::plan::{GraphPlan, PlanParts};
use crate::work::graph::run::{GraphRun, GraphStep};
use crate::work::step::{Pattern, Span, Work};
use fencepost_sync::{Clock, Point, Seq, Slot};
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// Size of a [`block`] in bytes.
const BLOCK_BYTES: u64 = 64;

/// Returns an engine. With `threads`, it relies on threads, which the test must start; otherwise it works without.
pub(crate) fn engine(threads: bool) -> Arc<Engine> {
    engine_with(Policy::Unchecked, threads)
}

/// Returns an engine with this policy.
pub(crate) fn engine_with(policy: Policy, threads: bool) -> Arc<Engine> {
    let (device, lanes) = cpu::open(&SimulatorOptions::default());
    Engine::new(device, lanes, policy, threads)
}

/// Makes a queue of normal priority.
pub(crate) fn queue(engine: &Engine) -> Slot {
    queue_of(engine, Priority::Normal)
}

/// Makes queues of normal priority.
pub(crate) fn queues<const N: usize>(engine: &Engine) -> [Slot; N] {
    [(); N].map(|()| queue(engine))
}

/// Makes a queue on the lane with the fewest queues.
pub(crate) fn queue_of(engine: &Engine, priority: Priority) -> Slot {
    engine.new_queue("q", priority, false).expect("the device is there")
}

pub(crate) fn block() -> Arc<Block> {
    block_in(Heap::Device)
}

pub(crate) fn block_in(heap: Heap) -> Arc<Block> {
    let memory = Memory::Host(CpuMemory::zeroed(BLOCK_BYTES));
    Arc::new(Block::new(BlockId::next(), heap, BLOCK_BYTES, memory))
}

/// Returns all bytes of a block.
pub(crate) fn span(block: &Arc<Block>) -> Span {
    Span { block: block.clone(), offset: 0, size: block.size }
}

pub(crate) fn fill(block: &Arc<Block>) -> Work {
    Work::Fill { dst: span(block), pattern: Pattern::ZERO }
}

/// Returns a node of a graph that was captured on one queue.
pub(crate) fn node(work: Work, what: CommandKind) -> GraphNode {
    let command = Arc::new(NodeCommand::new(work, what, here()));
    GraphNode { queue: 0, after: SmallVec::new(), command, gate: None }
}

/// Returns the plan of a graph without conflicts.
pub(crate) fn graph_plan(parts: PlanParts) -> Arc<GraphPlan> {
    Arc::new(GraphPlan::new(parts, MissingOrder::Add).expect("the nodes do not conflict"))
}

/// Returns a replay of a graph without outputs and uploads.
pub(crate) fn graph_run(plan: Arc<GraphPlan>) -> Arc<GraphRun> {
    GraphRun::new(plan, Vec::new(), Vec::new(), here())
}

/// Returns a replay as a whole.
pub(crate) fn whole_graph(run: Arc<GraphRun>) -> Work {
    Work::Graph(Box::new(GraphStep { run, segment: None }))
}

/// Enqueues a command on a separate block, and returns its point.
pub(crate) fn enqueue(engine: &Engine, slot: Slot) -> Point {
    enqueue_work(engine, slot, fill(&block()))
}

pub(crate) fn enqueue_work(engine: &Engine, slot: Slot, work: Work) -> Point {
    let by = Admission { slot, what: CommandKind::Fill, at: here() };
    Point { slot, stamp: engine.enqueue(by, work).expect("nothing has failed") }
}

/// Orders the next commands of a queue after a point.
pub(crate) fn enqueue_wait(engine: &Engine, slot: Slot, point: Point) {
    engine.enqueue_wait(slot, point, &Clock::default(), here()).expect("nothing has failed");
}

pub(crate) fn enqueue_callback(engine: &Engine, slot: Slot, run: impl FnOnce() + Send + 'static) {
    engine.enqueue_callback(slot, Callback::new(run), here()).expect("nothing has failed");
}

/// Makes the next commands of a queue wait for a user event, and returns its signaller.
pub(crate) fn hold(engine: &Arc<Engine>, slot: Slot) -> Signaller {
    let gate = Signaller::new(engine, "gate", SignalledBy::Program);
    engine.enqueue_user_wait(slot, gate.state().clone(), here()).expect("nothing has failed");
    gate
}

/// Returns the batch of a planned point.
pub(crate) fn batch_of(state: &State, point: Point) -> Seq {
    match state.reached(point) {
        PointProgress::Planned(seq) => seq,
        reached => panic!("the point is {reached:?}"),
    }
}

/// Waits for a point without a limit.
pub(crate) fn finish(engine: &Engine, point: Point) {
    assert!(engine.wait(point, Deadline::after(None)).expect("nothing has failed"), "a wait ended early");
}

/// Lets the device complete the batch that the first lane submits next.
pub(crate) fn complete_one(engine: &Engine) {
    engine.submit_one(0);
    while engine.lock().lanes[0].timeline.in_flight() > 0 {
        engine.poll_lane(0);
    }
}

/// Makes two queues and completes the first. The second only waits for the first, so its point completes as soon as it
/// is planned. Returns the second queue and that point.
pub(crate) fn reached_by_planning(engine: &Engine) -> (Slot, Point) {
    let [first, second] = queues(engine);
    let point = enqueue(engine, first);
    enqueue_wait(engine, second, point);
    let there = engine.lock().queue(second).end(second);
    engine.lock().plan([point], Priority::Normal);
    while engine.lock().reached(point) != PointProgress::Done {
        engine.submit_one(0);
        engine.poll_lane(0);
    }
    (second, there)
}

/// Returns the source location that all calls of the tests pass.
pub(crate) fn here() -> &'static Location<'static> {
    Location::caller()
}

/// A task that counts how often it is woken.
#[derive(Default)]
pub(crate) struct TestTask(AtomicUsize);

impl TestTask {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let task = Arc::new(Self::default());
        (task.clone(), Waker::from(task))
    }

    /// Returns the number of wakes since the last call.
    pub(crate) fn woken(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Wake for TestTask {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
