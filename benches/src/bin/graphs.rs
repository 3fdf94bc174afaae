//! Measures the cost of graphs: replays, captures, edits and loops, next to the same work without a graph.
//!
//! Run `cargo run --release -p fencepost-benches --bin graphs`, on the adapter of `FENCEPOST_ADAPTER`. Names of parts
//! (`replays`, `captures`, `edits`, `loops`, `control`) select these parts. Each number is a median. The columns of a
//! row, and the rows of a part that are compared, alternate in one run.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fencepost::graph::Contents;
use fencepost::prelude::*;
use fencepost::testing::{self, DeviceSwitches};
use fencepost::{ContextOptions, Kernel};

const ROUNDS: usize = 31;
const EDIT_ROUNDS: usize = 301;
/// Number of timed calls while the gate is closed.
const CALLS: u32 = 4;
/// Number of counters; one workgroup covers them.
const N: usize = 64;
const NODES: u32 = 1000;
/// Number of elements of a round in which the device has much to do; `LARGE_LAUNCHES` is its number of launches.
const LARGE: usize = 1 << 21;
const LARGE_LAUNCHES: u32 = 20;

#[derive(KernelArgs)]
#[kernel(source = "src/graphs.wgsl")]
struct Count<'a> {
    by: u32,
    left: &'a mut DeviceArray<u32>,
    counters: &'a mut DeviceArray<u32>,
}

/// A context with arrays. `expected` is the number of launches whose results the arrays hold.
struct Side {
    ctx: Context,
    queue: CommandQueue,
    kernel: Kernel<Count<'static>>,
    left: DeviceArray<u32>,
    counters: DeviceArray<u32>,
    expected: u32,
}

/// Measurement of one part of the table.
type Part = fn() -> Result<()>;
type Round<'r> = Box<dyn FnMut() -> Result<Duration> + 'r>;

fn main() -> Result<()> {
    let parts: [(&str, Part); 5] = [
        ("replays", replays),
        ("captures", captures),
        ("edits", edits),
        ("loops", loops),
        ("control", control),
    ];
    let selected: Vec<String> = std::env::args().skip(1).collect();
    for name in &selected {
        ensure!(parts.iter().any(|(part, _)| part == name), "there is no part `{name}`");
    }
    println!("{}: medians of interleaved rounds", Side::open(100, N)?.ctx.info());
    for (name, part) in parts {
        if selected.is_empty() || selected.iter().any(|selected| selected == name) {
            println!();
            part()?;
        }
    }
    Ok(())
}

impl Side {
    /// Opens a context that records runs of at least this many launches once.
    fn open(native_replay_from: usize, elements: usize) -> Result<Self> {
        let switches = DeviceSwitches { native_replay_from, ..DeviceSwitches::default() };
        let ctx = testing::open(ContextOptions::default(), switches).wait()?;
        let queue = ctx.queue("main");
        let kernel = ctx.kernel::<Count>()?;
        let left = ctx.zeros([1])?;
        let counters = ctx.zeros([elements])?;
        Ok(Self { ctx, queue, kernel, left, counters, expected: 0 })
    }

    /// Launches on `queue` as often as `times` says.
    fn launch(&self, queue: &CommandQueue, times: u32, by: u32) -> Result<(), fencepost::Error> {
        for _ in 0..times {
            let left = &mut self.left.clone();
            let counters = &mut self.counters.clone();
            let grid = Grid::threads([counters.len()]);
            queue.launch(&self.kernel, grid, Count { by, left, counters })?;
        }
        Ok(())
    }

    fn capture(&self, times: u32) -> Result<Graph> {
        Ok(self.queue.capture(|captured| self.launch(captured, times, 0))?.0)
    }

    /// Times calls of `work` while a gate is closed, then one more call with the wait for it. The counters of the side
    /// rise by `launches` in each call.
    fn timed(&mut self, launches: u32, work: impl Fn(&Self) -> Result<()>) -> Result<[Duration; 2]> {
        let gate = self.ctx.user_event("gate");
        self.queue.wait_for(&gate.event())?;
        work(self)?; // this call finds the caches of the processor cold
        let start = Instant::now();
        (0..CALLS).try_for_each(|_| work(self))?;
        let call = start.elapsed() / CALLS;
        gate.signal();
        self.queue.finish().wait()?;
        let start = Instant::now();
        work(self)?;
        self.queue.finish().wait()?;
        self.expected += launches * (CALLS + 2);
        Ok([call, start.elapsed()])
    }

    /// Checks that each counted launch has executed once.
    fn check(&self) -> Result<()> {
        let counters = self.queue.read(&self.counters).wait()?;
        let expected = self.expected;
        ensure!(
            counters.iter().all(|&count| count == expected),
            "the counters are not {expected}: {:?}",
            counters[0]
        );
        Ok(())
    }
}

fn replay(side: &Side, graph: &Graph) -> Result<()> {
    side.queue.replay(graph)?;
    Ok(())
}

/// Prints the time of a replay's call and the time until its end, for graphs of several sizes.
fn replays() -> Result<()> {
    println!("{:24}{:>40}{:>40}", "us a graph", "the call alone", "until done");
    let heads = ["eager", "encoded", "native"].map(|head| format!("{head:>12}")).concat();
    println!("{:28}{heads}    {heads}", "nodes");
    for nodes in [1, 10, 100, 1000, 10_000] {
        let rounds = if nodes < 10_000 { ROUNDS } else { ROUNDS / 4 };
        let mut sides = [Side::open(100, N)?, Side::open(usize::MAX, N)?, Side::open(1, N)?];
        let graphs = [sides[1].capture(nodes)?, sides[2].capture(nodes)?];
        let mut times = vec![[Vec::new(), Vec::new()]; sides.len()];
        for round in 0..rounds + 3 {
            for turn in 0..sides.len() {
                let at = (turn + round) % sides.len();
                let work = |side: &Side| match at {
                    0 => Ok(side.launch(&side.queue, nodes, 0)?),
                    _ => replay(side, &graphs[at - 1]),
                };
                let took = sides[at].timed(nodes, work)?;
                if round >= 3 {
                    times[at].iter_mut().zip(took).for_each(|(times, took)| times.push(took));
                }
            }
        }
        sides.iter().try_for_each(Side::check)?;
        let cells = |part: usize| -> String {
            times.iter().map(|times| format!("{:12.2}", micros(&times[part]))).collect()
        };
        println!("{nodes:<28}{}    {}", cells(0), cells(1));
    }
    Ok(())
}

/// Prints the time to capture and to load a graph, next to the time of launches.
fn captures() -> Result<()> {
    let side = &Side::open(100, N)?;
    let bytes = side.capture(NODES)?.to_bytes_with(Contents::Included)?;
    let rounds: Vec<(&str, Round<'_>)> = vec![
        (
            "a launch",
            Box::new(|| {
                let start = Instant::now();
                side.launch(&side.queue, NODES, 0)?;
                let took = start.elapsed();
                side.queue.finish().wait()?;
                Ok(took)
            }),
        ),
        ("a node of a capture", Box::new(|| timed(|| side.capture(NODES)))),
        ("a node of a loaded file", Box::new(|| timed(|| Ok(Graph::from_bytes(&side.ctx, &bytes)?)))),
    ];
    print_beside("us a launch or node, 1,000 of them", rounds, ROUNDS, f64::from(NODES))
}

/// Prints the time of edits of a graph of 1,000 nodes.
fn edits() -> Result<()> {
    let side = &Side::open(100, N)?;
    let others = [side.ctx.zeros::<u32, 1>([N])?, side.ctx.zeros::<u32, 1>([N])?];
    let fresh = |has_two_queues: bool| -> Result<Graph> {
        let (graph, ()) = side.queue.capture(|captured| {
            let by = captured.value("by", 0_u32)?;
            let mut x = captured.input("x", &others[0])?;
            if has_two_queues {
                let fork = captured.fork("second");
                side.launch(&fork, 1, 0)?;
                captured.wait_for(&fork.marker())?;
            }
            side.launch(captured, NODES - 2, 0)?;
            captured.parameter("by", &by)?;
            let left = &mut side.left.clone();
            captured.launch(&side.kernel, Grid::threads([N]), Count { by: 0, left, counters: &mut x })?;
            side.launch(captured, 1, 0)?;
            captured.label_node("last")
        })?;
        Ok(graph)
    };
    let mut by_value = fresh(false)?;
    let mut by_input = fresh(false)?;
    let mut by_parameter = fresh(false)?;
    let mut by_grid = fresh(false)?;
    let mut by_argument = fresh(false)?;
    let mut overlapping = fresh(true)?;
    let numbers: Vec<Cell<u32>> = (0..6).map(|_| Cell::new(0)).collect();
    let count = |at: usize| {
        numbers[at].set(numbers[at].get() + 1);
        numbers[at].get()
    };
    let other = |count: u32| &others[count as usize % 2];
    let rounds: Vec<(&str, Round<'_>)> = vec![
        ("a value", Box::new(|| timed(|| Ok(by_value.edit()?.value("by", count(0))?.apply()?)))),
        ("an input", Box::new(|| timed(|| Ok(by_input.edit()?.input("x", other(count(1)))?.apply()?)))),
        (
            "a parameter of a node",
            Box::new(|| {
                timed(|| Ok(by_parameter.edit()?.node("last")?.parameter("by", count(2))?.apply()?))
            }),
        ),
        (
            "the grid of a node",
            Box::new(|| {
                timed(|| {
                    Ok(by_grid
                        .edit()?
                        .node("last")?
                        .grid(Grid::threads([1 + count(3) as usize % N]))?
                        .apply()?)
                })
            }),
        ),
        (
            "an array of a node",
            Box::new(|| {
                timed(|| {
                    Ok(by_argument.edit()?.node("last")?.argument("counters", other(count(4)))?.apply()?)
                })
            }),
        ),
        (
            "an input that overlaps, and back",
            Box::new(|| {
                timed(|| {
                    overlapping.edit()?.input("x", &side.counters)?.apply()?;
                    Ok(overlapping.edit()?.input("x", other(count(5)))?.apply()?)
                })
            }),
        ),
        ("a capture in place of an edit", Box::new(|| timed(|| fresh(false)))),
    ];
    print_beside("us an edit of a graph of 1,000 nodes", rounds, EDIT_ROUNDS, 1.0)
}

/// Prints the time of an iteration of a loop on the device, next to a loop on the host.
fn loops() -> Result<()> {
    let side = &Side::open(100, N)?;
    let started = side.ctx.array(&[NODES])?;
    let body_alone = side.capture(NODES)?;
    let looped = |starts: bool, bound: Bound| -> Result<Graph> {
        let (graph, _) = side.queue.capture(|captured| {
            if starts {
                captured.copy(&started, &mut side.left.clone())?;
            }
            captured.while_(&side.left, bound, |body| side.launch(body, 1, 1))
        })?;
        Ok(graph)
    };
    let executed = looped(true, Bound::AtMost(NODES))?;
    let skipped = looped(false, Bound::AtMost(NODES))?;
    let chunked = looped(true, Bound::Chunked(u32::MAX))?;
    let launched = &Cell::new(0);
    let until_done = |launches: u32, work: &dyn Fn() -> Result<()>| {
        let took = timed(|| {
            work()?;
            Ok(side.queue.finish().wait()?)
        });
        launched.set(launched.get() + launches);
        took
    };
    let host_loop = || -> Result<()> {
        side.queue.copy(&started, &mut side.left.clone())?;
        while side.queue.read(&side.left).wait()?[0] != 0 {
            side.launch(&side.queue, 1, 1)?;
        }
        Ok(())
    };
    let rounds: Vec<(&str, Round<'_>)> = vec![
        ("the body alone, replayed", Box::new(|| until_done(NODES, &|| replay(side, &body_alone)))),
        ("a skipped iteration", Box::new(|| until_done(0, &|| replay(side, &skipped)))),
        ("AtMost, replayed", Box::new(|| until_done(NODES, &|| replay(side, &executed)))),
        ("Chunked, replayed", Box::new(|| until_done(NODES, &|| replay(side, &chunked)))),
        ("a loop of the host", Box::new(|| until_done(NODES, &host_loop))),
    ];
    print_beside("us an iteration, 1,000 of them, until done", rounds, ROUNDS / 2, f64::from(NODES))?;
    let counters = side.queue.read(&side.counters).wait()?;
    ensure!(counters.iter().all(|&count| count == launched.get()), "the counters are not {}", launched.get());
    Ok(())
}

/// Prints the time of launches with much work, which a graph cannot change.
fn control() -> Result<()> {
    let sides = [Side::open(100, LARGE)?, Side::open(usize::MAX, LARGE)?, Side::open(1, LARGE)?];
    let graphs = [sides[1].capture(LARGE_LAUNCHES)?, sides[2].capture(LARGE_LAUNCHES)?];
    let wait = |side: &Side| -> Result<()> { Ok(side.queue.finish().wait()?) };
    let replay = |at: usize| -> Result<()> {
        sides[at].queue.replay(&graphs[at - 1])?;
        wait(&sides[at])
    };
    let rounds: Vec<(&str, Round<'_>)> = vec![
        (
            "launches",
            Box::new(|| {
                timed(|| {
                    sides[0].launch(&sides[0].queue, LARGE_LAUNCHES, 0)?;
                    wait(&sides[0])
                })
            }),
        ),
        ("a replay, encoded", Box::new(|| timed(|| replay(1)))),
        ("a replay, native", Box::new(|| timed(|| replay(2)))),
    ];
    print_beside("us a launch of 2,097,152 threads, until done", rounds, ROUNDS, f64::from(LARGE_LAUNCHES))
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<Duration> {
    let start = Instant::now();
    let made = work()?;
    let took = start.elapsed();
    drop(made);
    Ok(took)
}

/// Measures alternating rounds, and prints the median of each and its ratio to the first one's.
fn print_beside(title: &str, mut rounds: Vec<(&str, Round<'_>)>, times: usize, parts: f64) -> Result<()> {
    println!("{title:44}{:>10}{:>9}", "us", "x");
    let mut samples = vec![Vec::new(); rounds.len()];
    for number in 0..times + 3 {
        for turn in 0..rounds.len() {
            let at = (turn + number) % rounds.len();
            let took = (rounds[at].1)()?;
            if number >= 3 {
                samples[at].push(took);
            }
        }
    }
    let medians: Vec<f64> = samples.iter().map(|samples| micros(samples) / parts).collect();
    for ((name, _), median) in rounds.iter().zip(&medians) {
        println!("{name:44}{median:10.3}{:9.3}", median / medians[0]);
    }
    Ok(())
}

/// Returns the median in microseconds.
fn micros(samples: &[Duration]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort();
    sorted.get(sorted.len() / 2).map_or(0.0, |median| median.as_secs_f64() * 1e6)
}
