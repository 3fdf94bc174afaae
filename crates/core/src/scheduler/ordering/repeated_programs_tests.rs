//! Random programs with all calls that may come between two replays of a graph. Each program runs on two contexts. In
//! the first, a replay may repeat the last use of its arrays; in the second, each replay is recorded in each array.

use crate::api::context::Context;
use crate::api::graph::Graph;
use crate::api::graph::bindings::Bindings;
use crate::api::graph::bindings::sealed::Prepare;
use crate::api::queue::CommandQueue;
use crate::arrays::device_array::DeviceArray;
use crate::error::{ErrorDetail, Result};
use crate::memory::uses::Policy;
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use crate::runtime::event::UserEvent;
use crate::scheduler::batch::Op;
use crate::work::graph::plan::GraphPlan;
use fencepost_sync::{Point, Slot, Stamp};
use std::ops::Range;
use std::sync::Arc;

/// Number of elements of an array that the calls use, and numbers of arrays, queues, graphs and calls of a program.
const N: usize = 64;
const ARRAYS: usize = 5;
const QUEUES: usize = 3;
const GRAPHS: usize = 3;
const CALLS: usize = 60;

/// Part of an array: all of it, or one half.
type Part = Range<usize>;

/// A call of a random program. The numbers are indexes of queues, arrays and graphs.
#[derive(Clone, Debug)]
enum Call {
    /// A replay of a graph from one of two source lines.
    Replay {
        queue: usize,
        graph: usize,
        line: bool,
    },
    /// A replay of the graph with an input, with another array bound to the input.
    ReplayBound {
        queue: usize,
    },
    /// Another default array for the graph's input.
    EditInput {
        array: usize,
    },
    EditValue {
        graph: usize,
    },
    Fill {
        queue: usize,
        array: usize,
        part: Part,
    },
    Copy {
        queue: usize,
        from: usize,
        to: usize,
        part: Part,
    },
    Wait {
        queue: usize,
        other: usize,
    },
    /// A wait of a queue for an event, which the next waiting call signals.
    Hold {
        queue: usize,
    },
    /// A read of an array, and a wait for everything.
    Read {
        queue: usize,
        array: usize,
    },
    /// A change of an array in a map, and a wait for everything.
    Map {
        array: usize,
    },
    /// A wait for everything.
    Finish,
    DropQueue {
        queue: usize,
    },
    /// A new array in place of a dropped one, made through a queue or through the context.
    DropArray {
        array: usize,
        queue: Option<usize>,
    },
    /// A new graph in place of a dropped one, captured with the current arrays.
    Recapture {
        graph: usize,
    },
    Fail {
        queue: usize,
    },
    RecordWaits {
        on: bool,
    },
}

/// A use: slot, stamp, start and end of the range, and `true` for a write.
type SeenUse = (Slot, Stamp, u64, u64, bool);

/// A context with its objects.
struct Side<'g> {
    ctx: Context,
    queues: Vec<CommandQueue>,
    arrays: Vec<DeviceArray<u32>>,
    graphs: Vec<Graph>,
    bound: Bindings<'g>,
    gates: Vec<UserEvent>,
    /// `false` if each replay is recorded in each array.
    repeats: bool,
    /// Number of replays that were not compared with earlier uses.
    repeated: u64,
}

fn context(policy: Policy) -> Context {
    Context::simulated(SimulatorOptions { threads: false, ..SimulatorOptions::default() }.policy(policy))
}

/// Returns the length of an array. All lengths are different, so that the pool never has to choose between blocks: its
/// choice would depend on block numbers, which differ between the contexts.
fn length(array: usize) -> usize {
    N * (array + 1)
}

fn array(ctx: &Context, number: usize) -> DeviceArray<u32> {
    ctx.zeros([length(number)]).expect("there is memory")
}

fn part(array: &DeviceArray<u32>, part: &Part) -> DeviceArray<u32> {
    array.slice(part.clone()).expect("the range is inside the array")
}

/// Captures one of the graphs: whole arrays, parts of arrays with memory of the graph, or an input with a value.
fn captured(ctx: &Context, number: usize, arrays: &[DeviceArray<u32>]) -> Graph {
    let [a, b, c] = [0, 1, 2].map(|at| &arrays[(number + at) % arrays.len()]);
    let graph = ctx.queue("capture").capture(|q| match number {
        0 => {
            q.fill(&mut a.clone(), 1)?;
            q.copy(&part(a, &(0..N)), &mut part(b, &(0..N)))?;
            q.copy(&part(c, &(0..N)), &mut part(b, &(0..N)))
        }
        1 => {
            let own = q.zeros::<u32, 1>([length(ARRAYS)])?;
            q.copy(&part(a, &(0..N / 2)), &mut part(&own, &(0..N / 2)))?;
            q.copy(&part(&own, &(0..N / 2)), &mut part(b, &(N / 2..N)))?;
            q.copy(&part(b, &(0..N / 2)), &mut part(c, &(0..N / 2)))
        }
        _ => {
            q.value("value", 1_u32)?;
            let x = q.input("x", &part(a, &(0..N)))?;
            q.copy(&x, &mut part(b, &(0..N)))?;
            q.copy(&part(c, &(0..N)), &mut part(b, &(0..N)))
        }
    });
    graph.expect("each call can be captured").0
}

fn replay_here(queue: &CommandQueue, graph: &Graph) -> Result<()> {
    queue.replay(graph).map(drop)
}

/// Replays from another source line than [`replay_here`].
fn replay_there(queue: &CommandQueue, graph: &Graph) -> Result<()> {
    queue.replay(graph).map(drop)
}

impl<'g> Side<'g> {
    fn new(ctx: &Context, graph: &'g Graph, other: &DeviceArray<u32>, repeats: bool) -> Self {
        let arrays: Vec<DeviceArray<u32>> = (0..ARRAYS).map(|number| array(ctx, number)).collect();
        let graphs = (0..GRAPHS).map(|number| captured(ctx, number, &arrays)).collect();
        let queues = (0..QUEUES).map(|at| ctx.queue(&format!("queue {at}"))).collect();
        let bound = graph.with().input("x", &part(other, &(0..N))).expect("the array fits");
        let ctx = ctx.clone();
        Self { ctx, queues, arrays, graphs, bound, gates: Vec::new(), repeats, repeated: 0 }
    }

    /// Prepares for the replay of a plan.
    fn begin(&mut self, queue: usize, plan: &Arc<GraphPlan>) {
        if !self.repeats {
            plan.uses.last.forget();
        }
        let slot = self.queues[queue].slot().expect("the queue is ordinary");
        self.repeated += u64::from(plan.uses.last.is_of(slot));
    }

    /// Makes a call, and returns the text of its error, if any.
    fn call(&mut self, call: &Call) -> std::result::Result<(), String> {
        self.enqueue(call).map_err(|error| error.to_string())
    }

    fn enqueue(&mut self, call: &Call) -> Result<()> {
        match call {
            &Call::Replay { queue, graph, line } => {
                self.begin(queue, &self.graphs[graph].plan.clone());
                let queue = &self.queues[queue];
                let graph = &self.graphs[graph];
                if line { replay_here(queue, graph) } else { replay_there(queue, graph) }
            }
            &Call::ReplayBound { queue } => {
                let plan = self.bound.prepared()?.plan;
                self.begin(queue, &plan);
                self.queues[queue].replay(&self.bound).map(drop)
            }
            &Call::EditInput { array } => self.graphs[2]
                .edit()?
                .input("x", &part(&self.arrays[array], &(0..N)))
                .and_then(|edit| edit.apply()),
            &Call::EditValue { graph } => match graph {
                2 => self.graphs[graph].edit()?.value("value", 7_u32)?.apply(),
                _ => self.graphs[graph].edit()?.apply(),
            },
            Call::Fill { queue, array, part: of } => {
                self.queues[*queue].fill(&mut part(&self.arrays[*array], of), 3)
            }
            Call::Copy { queue, from, to, part: of } => {
                let from = part(&self.arrays[*from], of);
                let mut to = part(&self.arrays[*to], of);
                self.queues[*queue].copy(&from, &mut to)
            }
            &Call::Wait { queue, other } => self.queues[queue].wait_for(&self.queues[other]),
            &Call::Hold { queue } => {
                let gate = self.ctx.user_event("gate");
                let held = self.queues[queue].wait_for(&gate.event());
                self.gates.push(gate);
                held
            }
            &Call::RecordWaits { on } => {
                self.ctx.diagnostics().record_waits(on);
                Ok(())
            }
            other => self.change(other),
        }
    }

    /// Makes a call during which the device executes commands. The two contexts may do so at different speeds, so both
    /// wait for everything.
    fn change(&mut self, call: &Call) -> Result<()> {
        self.gates.drain(..).for_each(|gate| gate.signal());
        let done = match call {
            Call::Read { queue, array } => self.queues[*queue].read(&self.arrays[*array]).wait().map(drop),
            Call::Map { array } => match self.arrays[*array].map_write().wait() {
                Ok(mut map) => {
                    map[0] = 5;
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Call::DropQueue { queue } => {
                self.queues[*queue] = self.ctx.queue(&format!("queue {queue}"));
                Ok(())
            }
            Call::DropArray { array: at, queue } => {
                let made = match queue {
                    Some(queue) => self.queues[*queue].zeros([length(*at)]),
                    None => self.ctx.zeros([length(*at)]),
                };
                made.map(|made| self.arrays[*at] = made)
            }
            Call::Recapture { graph } => {
                self.graphs[*graph] = captured(&self.ctx, *graph, &self.arrays);
                Ok(())
            }
            Call::Fail { queue } => {
                let slot = self.queues[*queue].slot()?;
                let mut state = self.ctx.owner.engine().lock();
                let end = state.queue(slot).end(slot);
                state.fail_queue(slot, end.stamp, ErrorDetail::Busy { array: "x".into() }.into());
                drop(state);
                self.queues[*queue].take_error();
                Ok(())
            }
            _ => Ok(()),
        };
        for queue in &self.queues {
            drop(queue.finish().wait());
        }
        self.ctx.synchronize().wait()?;
        done
    }

    /// Lists the waits of each queue.
    fn waits(&self) -> Vec<Vec<(Stamp, Point)>> {
        let state = self.ctx.owner.engine().lock();
        let of_slot = |slot| {
            let commands = state.queue(slot).pending.iter();
            let wait = commands.filter_map(|command| match command.op {
                Op::Wait(point) => Some((command.stamp, point)),
                _ => None,
            });
            wait.collect()
        };
        state.queues.slots().map(of_slot).collect()
    }

    /// Lists the uses of each array and of each block of a graph.
    fn uses(&self) -> Vec<Vec<SeenUse>> {
        let _state = self.ctx.owner.engine().lock();
        let of_arrays = self.arrays.iter().map(|array| array.array.storage.block());
        let of_graphs =
            self.graphs.iter().flat_map(|graph| graph.plan.uses.bound.iter().map(|used| &used.block));
        let of_block = |block: &Arc<crate::memory::block::Block>| {
            let order = block.order();
            let seen = order.uses.all().map(|u| (u.slot, u.stamp(), u.range.start, u.range.end, u.write));
            let mut seen: Vec<SeenUse> = seen.collect();
            seen.sort_by_key(|&(slot, stamp, start, end, write)| (slot.0, stamp, start, end, write));
            seen
        };
        of_arrays.chain(of_graphs).map(of_block).collect()
    }

    /// Returns the bytes of all arrays.
    fn contents(&mut self) -> Vec<Vec<u32>> {
        self.enqueue(&Call::Finish).expect("nothing has failed");
        self.arrays.iter().map(|array| self.ctx.to_vec(array).expect("nothing has failed")).collect()
    }
}

/// Returns a random call, mostly a replay on the first queue.
fn random_call(rng: &mut fastrand::Rng) -> Call {
    let queue = rng.usize(..QUEUES);
    let array = rng.usize(..ARRAYS);
    let graph = rng.usize(..GRAPHS);
    let part = [0..N, 0..N / 2, N / 2..N][rng.usize(..3)].clone();
    match rng.u32(..40) {
        0..=2 => Call::Fill { queue, array, part },
        3..=4 => Call::Copy { queue, from: array, to: (array + 1 + rng.usize(..ARRAYS - 1)) % ARRAYS, part },
        5..=6 => Call::Wait { queue, other: rng.usize(..QUEUES) },
        7 => Call::Hold { queue },
        8 => Call::Read { queue, array },
        9 => Call::Map { array },
        10 => Call::Finish,
        11 => Call::DropQueue { queue },
        12..=13 => Call::DropArray { array, queue: rng.bool().then_some(queue) },
        14 => Call::Recapture { graph },
        15 => Call::Fail { queue },
        16 => Call::RecordWaits { on: rng.u32(..3) == 0 },
        // This graph also uses the arrays 3 and 4.
        17 => Call::EditInput { array: array % 3 },
        18 => Call::EditValue { graph },
        19..=23 => Call::ReplayBound { queue: if rng.bool() { 0 } else { queue } },
        _ => Call::Replay { queue: if rng.u32(..4) > 0 { 0 } else { queue }, graph, line: rng.u32(..6) > 0 },
    }
}

/// Runs a random program on both sides. Returns the number of replays that were not compared with earlier uses.
fn run(policy: Policy, seed: u64) -> u64 {
    let contexts = [(); 2].map(|()| context(policy));
    let inputs = contexts.each_ref().map(|ctx| [0, 1, 2, 3].map(|number| array(ctx, number)));
    let graphs = [0, 1].map(|at| captured(&contexts[at], 2, &inputs[at][..3]));
    let mut sides = [0, 1].map(|at| Side::new(&contexts[at], &graphs[at], &inputs[at][3], at == 0));
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut calls = Vec::new();
    for _ in 0..CALLS {
        let call = random_call(&mut rng);
        calls.push(call.clone());
        let [repeating, anew] = sides.each_mut().map(|side| side.call(&call));
        assert_eq!(repeating, anew, "error, {policy:?}, seed {seed}: {calls:?}");
        let [repeating, anew] = sides.each_ref().map(Side::waits);
        assert_eq!(repeating, anew, "waits, {policy:?}, seed {seed}: {calls:?}");
        let [repeating, anew] = sides.each_ref().map(Side::uses);
        assert_eq!(repeating, anew, "uses, {policy:?}, seed {seed}: {calls:?}");
    }
    let [repeating, anew] = sides.each_mut().map(Side::contents);
    if policy == Policy::Ordered {
        assert_eq!(repeating, anew, "bytes, seed {seed}: {calls:?}");
    }
    assert_eq!(sides[1].repeated, 0, "the second context repeats nothing");
    sides[0].repeated
}

/// Returns the seeds of `FENCEPOST_SEEDS=<from>..<to>`, or the first ones.
fn seeds() -> Range<u64> {
    let text = std::env::var("FENCEPOST_SEEDS").unwrap_or_else(|_| "0..40".into());
    let number = |text: &str| text.parse().expect("FENCEPOST_SEEDS is <from>..<to>");
    let (from, to) = text.split_once("..").expect("FENCEPOST_SEEDS is <from>..<to>");
    number(from)..number(to)
}

#[test]
fn random_programs_of_all_calls_have_the_waits_and_uses_of_replays_that_repeat_nothing() {
    let both = |seed| run(Policy::Ordered, seed) + run(Policy::Unchecked, seed);
    let repeated: u64 = seeds().map(both).sum();
    assert!(repeated > seeds().count() as u64, "{repeated} replays repeat the last one");
    seeds().for_each(|seed| {
        assert_eq!(run(Policy::Checked, seed), 0, "under `Checked`, no replay repeats the last one")
    });
}
