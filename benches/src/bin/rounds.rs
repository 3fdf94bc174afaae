//! Checks that repeated rounds of a program take as long at the end as at the start.
//!
//! Run `cargo run --release -p fencepost-benches --bin rounds -- [rounds]`. Every number is a ratio of two medians of
//! one run: the rounds of its last tenth divided by the rounds of its second tenth.

use std::sync::Arc;
use std::task::{Context as Task, Wake, Waker};
use std::time::{Duration, Instant};

use anyhow::Result;
use fencepost::prelude::*;
use fencepost::{ContextOptions, Kernel, SimulatorOptions};
use fencepost_launches::saxpy::Saxpy;

/// Rounds of each kind.
const ROUNDS: usize = 100_000;
/// Parts of a run. The medians of two parts are compared.
const PARTS: usize = 10;
const N: usize = 64;

/// Objects that the rounds use.
struct Side {
    ctx: Context,
    queue: CommandQueue,
    kernel: Kernel<Saxpy<'static>>,
    x: DeviceArray<f32>,
    y: DeviceArray<f32>,
    /// Queue of another context, whose last command waits for the host.
    held: CommandQueue,
}

type Round = fn(&mut Side) -> fencepost::Result<()>;

const KINDS: [(&str, Round); 14] = [
    ("fill", |side| side.queue.fill(&mut side.y, 1.0)),
    ("copy", |side| side.queue.copy(&side.x, &mut side.y)),
    ("launch", |side| {
        let args = Saxpy { a: 2.0, x: &side.x, y: &mut side.y };
        side.queue.launch(&side.kernel, Grid::threads([N]), args)
    }),
    ("upload", |side| side.queue.upload(&[1.0; N], &mut side.y)),
    ("read and wait", |side| side.queue.read(&side.y).wait().map(drop)),
    ("map and wait", |side| side.y.map_read().wait().map(drop)),
    ("callback", |side| side.queue.callback(|| ())),
    ("marker", |side| {
        drop(side.queue.marker());
        Ok(())
    }),
    ("finish and wait", |side| side.queue.finish().wait()),
    ("a poll with a new waker", |side| {
        poll(&mut side.held.finish());
        Ok(())
    }),
    ("a wait of no time", |side| side.held.finish().wait_timeout(Duration::ZERO).map(|_| ())),
    ("is_complete", |side| side.held.marker().is_complete().map(|_| ())),
    ("a failure", |side| {
        let queue = side.ctx.queue("fails");
        queue.wait_for(&side.ctx.user_event("abandoned").event())?;
        let failed = queue.finish().wait();
        queue.take_error();
        failed.map_or(Ok(()), |()| panic!("a wait for an abandoned event must fail"))
    }),
    ("a queue that is dropped", |side| {
        let queue = side.ctx.queue("short");
        queue.fill(&mut side.y, 1.0)?;
        queue.finish().wait()
    }),
];

fn main() -> Result<()> {
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |text| text.parse())?;
    let device = || Context::with_options(ContextOptions::default()).wait();
    let cpu = || Context::simulated(SimulatorOptions::default());
    for contexts in [[cpu(), cpu()], [device()?, device()?]] {
        println!("{}: {rounds} rounds of each kind, the last tenth beside the second", contexts[0].info());
        for (name, round) in KINDS {
            let (second, last) = measured(&contexts, rounds, round)?;
            let ratio = last.as_secs_f64() / second.as_secs_f64();
            println!("{name:24} x {ratio:5.2} {:9.2} us a round", last.as_secs_f64() * 1e6);
        }
        println!();
    }
    Ok(())
}

/// Returns the median round of the second part, and of the last.
fn measured([ctx, other]: &[Context; 2], rounds: usize, round: Round) -> Result<(Duration, Duration)> {
    let queue = ctx.queue("main");
    let held = other.queue("held");
    let gate = other.user_event("gate");
    held.wait_for(&gate.event())?;
    held.callback(|| ())?;
    let x = ctx.zeros([N])?;
    let y = ctx.zeros([N])?;
    let mut side = Side { ctx: ctx.clone(), queue, kernel: ctx.kernel::<Saxpy>()?, x, y, held };
    let mut parts = Vec::with_capacity(PARTS);
    for _ in 0..PARTS {
        parts.push(part(&mut side, rounds / PARTS, round)?);
    }
    gate.signal();
    other.synchronize().wait()?;
    Ok((parts[1], parts[PARTS - 1]))
}

/// Returns the median round of a part. It waits for the enqueued work after every 100 rounds.
fn part(side: &mut Side, rounds: usize, round: Round) -> Result<Duration> {
    let mut times = Vec::with_capacity(rounds);
    for at in 0..rounds {
        let start = Instant::now();
        round(side)?;
        times.push(start.elapsed());
        if at % 100 == 0 {
            side.queue.finish().wait()?;
        }
    }
    times.sort();
    Ok(times[rounds / 2])
}

/// A waker that does nothing, for a task that is dropped after one poll.
struct Nothing;

impl Wake for Nothing {
    fn wake(self: Arc<Self>) {}
}

fn poll(future: &mut (impl Future + Unpin)) {
    let waker = Waker::from(Arc::new(Nothing));
    _ = std::pin::Pin::new(future).poll(&mut Task::from_waker(&waker));
}
