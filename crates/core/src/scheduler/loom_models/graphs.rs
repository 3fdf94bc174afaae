//! Checks that replays complete, and that the memory of a graph returns to the pool exactly once.

use crate::error::site::CommandKind;
use crate::memory::block::Block;
use crate::memory::heap::Heap;
use crate::scheduler::command::Op;
use crate::scheduler::engine::Engine;
use crate::scheduler::free_blocks::BlockLease;
use crate::scheduler::loom_models::ContextThread::{Completer, Lane};
use crate::scheduler::loom_models::{BY_HAND, Model, QUICK};
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::replay_turn::ReplayTurn;
use crate::scheduler::test_engine::{block, fill, finish, here};
use crate::work::graph_data::graph_node::{GraphNode, NodeCommand};
use crate::work::graph_data::graph_order::MissingOrder;
use crate::work::graph_data::graph_plan::{GraphPlan, PlanParts};
use crate::work::graph_data::graph_run::{GraphRun, GraphStep};
use crate::work::step::Work;
use fencepost_sync::{Point, Slot};
use smallvec::SmallVec;
use std::sync::Arc;

#[test]
fn a_dropped_array_and_the_end_of_a_lease_return_the_block_once() {
    QUICK.explore(|model, _| {
        let block = pooled(&model.engine);
        let lease = model.engine.lease(&block);
        let array = block.clone();
        model.thread(move |engine| engine.free(array));
        drop(lease);
        model.join();
        assert_returned(&model.engine, &block);
    });
}

#[test]
fn two_ends_of_leases_return_the_block_of_a_dropped_array_once() {
    QUICK.explore(|model, _| {
        let block = pooled(&model.engine);
        let leases = [model.engine.lease(&block), model.engine.lease(&block)];
        model.engine.free(block.clone());
        let [first, second] = leases;
        model.thread(move |_| drop(first));
        drop(second);
        model.join();
        assert_returned(&model.engine, &block);
    });
}

#[test]
fn a_reused_block_is_not_returned_while_its_new_array_lives() {
    QUICK.explore(|model, _| {
        let block = pooled(&model.engine);
        let lease = model.engine.lease(&block);
        let array = block.clone();
        model.thread(move |engine| engine.free(array));
        // The capture takes the block of the dropped array, or finds that the array still lives.
        let is_taken = model.engine.take_orphan(&block, &"again".into());
        drop(lease);
        model.join();
        if is_taken {
            assert_eq!(model.engine.lock().pool.stats().free, 0);
            model.engine.free(block.clone());
        }
        assert_returned(&model.engine, &block);
    });
}

#[test]
fn a_graph_dropped_in_flight_returns_its_block_once_behind_the_replay() {
    QUICK.with(&[Lane(0)]).explore(|model, queue| {
        let block = pooled(&model.engine);
        let plan = plan(&model.engine, &block);
        model.engine.free(block.clone());
        let replayed = plan.clone();
        model.thread(move |engine| {
            let turn = ReplayTurn::default();
            finish(engine, replay(engine, queue, replayed, &turn));
        });
        drop(plan);
        model.join();
        model.end();
        assert_returned(&model.engine, &block);
    });
}

#[test]
fn a_completed_replay_and_the_drop_of_its_graph_return_the_block_once() {
    BY_HAND.with(&[Completer(0)]).explore(|model, queue| {
        let block = pooled(&model.engine);
        let plan = plan(&model.engine, &block);
        model.engine.free(block.clone());
        let turn = ReplayTurn::default();
        let point = replay(&model.engine, queue, plan.clone(), &turn);
        model.thread(move |_| drop(plan));
        let world = model.world.clone();
        model.thread(move |_| world.work_through(1));
        model.finish(point);
        model.join();
        model.end();
        assert_returned(&model.engine, &block);
    });
}

#[test]
fn two_replays_of_a_graph_on_two_queues_complete() {
    QUICK.lanes(2).explore(|model, first| {
        let second = model.queue();
        let block = pooled(&model.engine);
        let (plan, turn) = (plan(&model.engine, &block), Arc::new(ReplayTurn::default()));
        let (other, shared) = (plan.clone(), turn.clone());
        model.thread(move |engine| finish(engine, replay(engine, second, other, &shared)));
        model.finish(replay(&model.engine, first, plan, &turn));
        model.join();
        assert_eq!(model.world.steps(), 2);
    });
}

impl Model {
    /// Ends the threads of the context, which drop the last commands.
    fn end(&self) {
        self.engine.lock().closing = true;
        self.engine.notify_due_threads();
        self.join_ended();
    }
}

/// Returns a block that the pool counts as that of an array.
fn pooled(engine: &Engine) -> Arc<Block> {
    let block = block();
    assert!(engine.lock().pool.reserve(Heap::Device, block.size).is_ok());
    block
}

/// Checks that the pool has the block, and that it has the block once.
fn assert_returned(engine: &Engine, block: &Arc<Block>) {
    let stats = engine.lock().pool.stats();
    assert_eq!((stats.free, stats.arrays), (block.size, 0));
}

/// Returns the plan of a graph with one command, which keeps a lease of the block.
fn plan(engine: &Engine, block: &Arc<Block>) -> Arc<GraphPlan> {
    let lease: Arc<BlockLease> = Arc::new(engine.lease(block));
    let command =
        NodeCommand { work: fill(block), what: CommandKind::Fill, at: here(), label: None, output: None };
    let node = GraphNode { queue: 0, after: SmallVec::new(), command: Arc::new(command) };
    let parts = PlanParts {
        label: "graph".into(),
        nodes: [node].into(),
        queues: ["q".into()].into(),
        cuts: Vec::new(),
        keep: lease,
        owns_memory: true,
    };
    Arc::new(GraphPlan::new(parts, MissingOrder::Add).expect("one node conflicts with no other"))
}

/// Enqueues a replay and returns its point.
fn replay(engine: &Engine, slot: Slot, plan: Arc<GraphPlan>, turn: &ReplayTurn) -> Point {
    let run = Arc::new(GraphRun { plan, outputs: Vec::new(), at: here() });
    let step = GraphStep { run: run.clone(), segment: Some(0) };
    let by = Admission { slot, what: CommandKind::Fill, at: here() };
    let ops = Vec::from([Op::Work(Work::Graph(Box::new(step)))]);
    engine.enqueue_replay(by, &run, ops, turn).expect("nothing has failed").0
}
