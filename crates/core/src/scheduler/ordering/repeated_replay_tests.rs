//! Compares replays that repeat the last use of their blocks with replays that are recorded in each block.

use crate::error::CommandKind;
use crate::memory::block::Block;
use crate::memory::uses::Policy;
use crate::scheduler::batch::Op;
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::Admission;
use crate::scheduler::test_engine::{
    block, engine_with, enqueue_wait, enqueue_work, fill, graph_plan, graph_run, here, node, queues, span,
    whole_graph,
};
use crate::work::graph::plan::{GraphPlan, PlanParts};
use crate::work::step::Work;
use fencepost_sync::{Point, Slot, Stamp};
use std::ops::Range;
use std::sync::Arc;

/// Number of blocks; `COMMANDS` is the number of commands in a program.
const BLOCKS: usize = 5;
const COMMANDS: usize = 40;

/// An engine with queues, blocks, and graphs that overlap.
struct Side {
    engine: Arc<Engine>,
    queues: [Slot; 3],
    blocks: [Arc<Block>; BLOCKS],
    plans: [Arc<GraphPlan>; 3],
}

/// A command of a random program. The numbers are indexes of queues, blocks and graphs.
#[derive(Clone, Copy, Debug)]
enum Call {
    Replay(usize, usize),
    Fill(usize, usize),
    Copy(usize, usize, usize),
    Wait(usize, usize),
}

fn copy(blocks: &[Arc<Block>], [from, to]: [usize; 2]) -> Work {
    Work::Copy { src: span(&blocks[from]), dst: span(&blocks[to]) }
}

fn plan(works: Vec<Work>) -> Arc<GraphPlan> {
    let nodes = works.into_iter().map(|work| node(work, CommandKind::Fill));
    graph_plan(PlanParts::of_one_queue(nodes.collect()))
}

impl Side {
    fn new() -> Self {
        let engine = engine_with(Policy::Ordered, false);
        let blocks = [(); BLOCKS].map(|()| block());
        let plans = [
            plan(vec![fill(&blocks[0]), copy(&blocks, [0, 1]), copy(&blocks, [2, 1])]),
            plan(vec![copy(&blocks, [2, 3]), copy(&blocks, [0, 3])]),
            plan(vec![copy(&blocks, [2, 4])]),
        ];
        Self { queues: queues(&engine), engine, blocks, plans }
    }

    /// Enqueues a command. If `repeats` is `false`, a replay is recorded in each block.
    fn call(&self, call: Call, repeats: bool) {
        match call {
            Call::Replay(queue, graph) => {
                let plan = self.plans[graph].clone();
                if !repeats {
                    plan.uses.last.forget();
                }
                enqueue_work(&self.engine, self.queues[queue], whole_graph(graph_run(plan)));
            }
            Call::Fill(queue, block) => {
                enqueue_work(&self.engine, self.queues[queue], fill(&self.blocks[block]));
            }
            Call::Copy(queue, from, to) => {
                let slot = self.queues[queue];
                let by = Admission { slot, what: CommandKind::Copy, at: here() };
                self.engine.enqueue(by, copy(&self.blocks, [from, to])).expect("nothing has failed");
            }
            Call::Wait(queue, other) => {
                let end = self.engine.marker(self.queues[other]).0;
                enqueue_wait(&self.engine, self.queues[queue], end);
            }
        }
    }

    /// Lists the waits of each queue.
    fn waits(&self) -> Vec<Vec<(Stamp, Point)>> {
        let state = self.engine.lock();
        let waits = |slot| {
            let commands = state.queue(slot).pending.iter();
            let wait = commands.filter_map(|command| match command.op {
                Op::Wait(point) => Some((command.stamp, point)),
                _ => None,
            });
            wait.collect()
        };
        self.queues.map(waits).to_vec()
    }

    /// Lists the uses of each block.
    fn uses(&self) -> Vec<Vec<(Point, Range<u64>, bool)>> {
        let of_block = |block: &Arc<Block>| {
            let order = block.order();
            let mut uses: Vec<_> = order.uses.all().map(|u| (u.point(), u.range.clone(), u.write)).collect();
            uses.sort_by_key(|(point, range, write)| (point.slot.0, point.stamp, range.start, *write));
            uses
        };
        self.blocks.iter().map(of_block).collect()
    }
}

fn random_call(rng: &mut fastrand::Rng) -> Call {
    let queue = rng.usize(..3);
    let [one, other] = [0, 1].map(|_| rng.usize(..BLOCKS));
    match rng.u32(..10) {
        0 => Call::Fill(queue, one),
        1 if one != other => Call::Copy(queue, one, other),
        2 => Call::Wait(queue, rng.usize(..3)),
        _ => Call::Replay(if rng.u32(..3) > 0 { 0 } else { queue }, rng.usize(..3)),
    }
}

#[test]
fn random_programs_have_the_waits_and_uses_of_replays_that_repeat_nothing() {
    let mut repeated = 0;
    for seed in 0..300 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let [repeating, anew] = [(); 2].map(|()| Side::new());
        let mut calls = Vec::new();
        for _ in 0..COMMANDS {
            let call = random_call(&mut rng);
            calls.push(call);
            if let Call::Replay(queue, graph) = call {
                let plan = &repeating.plans[graph];
                repeated += u32::from(plan.uses.last.is_of(repeating.queues[queue]));
            }
            repeating.call(call, true);
            anew.call(call, false);
            assert_eq!(repeating.waits(), anew.waits(), "waits, seed {seed}: {calls:?}");
            assert_eq!(repeating.uses(), anew.uses(), "uses, seed {seed}: {calls:?}");
        }
    }
    assert!(repeated > 1000, "{repeated} replays repeat the last one");
}

#[test]
fn a_replay_that_repeats_the_last_one_compares_nothing() {
    let side = Side::new();
    let compared = || side.engine.lock().notes.compared.get();
    side.call(Call::Replay(0, 0), true);
    let first = compared();
    (0..5).for_each(|_| side.call(Call::Replay(0, 0), true));
    assert_eq!(compared(), first);
    side.call(Call::Replay(1, 0), true);
    assert_eq!(compared(), first + 1, "another queue compares");
}
