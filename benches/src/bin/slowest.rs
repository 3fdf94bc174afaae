//! Measures the slowest call of each verb while another thread enqueues a million launches and the context executes
//! them. It shows if a section that holds the lock grows with the pending work.
//!
//! Run `cargo run --release -p fencepost-benches --bin slowest -- [launches]`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use fencepost::prelude::*;
use fencepost::{ContextOptions, Kernel};
use fencepost_launches::saxpy::Saxpy;

/// Number of launches of the other thread.
const LAUNCHES: usize = 1_000_000;
/// Number of rounds. The table shows the smallest maximum of the rounds: another process makes a call slow in some
/// rounds, a long section in every round.
const ROUNDS: usize = 5;
const N: usize = 16;

const VERBS: [&str; 7] = ["fill", "launch", "marker", "is_complete", "flush", "read", "new queue"];

fn main() -> Result<()> {
    let launches = std::env::args().nth(1).map_or(Ok(LAUNCHES), |text| text.parse())?;
    let ctx = Context::with_options(ContextOptions::default()).wait()?;
    let kernel = ctx.kernel::<Saxpy>()?;
    println!("{}: the slowest calls beside {launches} launches of another thread,", ctx.info());
    println!("milliseconds, smallest of {ROUNDS} rounds, and how often each was called");
    let mut best = VERBS.map(|_| (Duration::MAX, 0));
    for _ in 0..ROUNDS {
        let round = round(&ctx, &kernel, launches)?;
        for (best, (slowest, calls)) in best.iter_mut().zip(round) {
            *best = (best.0.min(slowest), best.1 + calls);
        }
    }
    for (verb, (slowest, calls)) in VERBS.iter().zip(best) {
        println!("{verb:12} {:8.3} {calls:10}", slowest.as_secs_f64() * 1e3);
    }
    Ok(())
}

/// Returns the slowest call of each verb, and the number of calls.
fn round(ctx: &Context, kernel: &Kernel<Saxpy<'static>>, launches: usize) -> Result<[(Duration, usize); 7]> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let done = enqueue(ctx, kernel, launches);
            over.store(true, Ordering::Relaxed);
            done
        });
        let mut slowest = [(Duration::ZERO, 0); 7];
        let queue = ctx.queue("verbs");
        let x = ctx.zeros::<f32, 1>([N])?;
        let mut y = ctx.zeros::<f32, 1>([N])?;
        let mut marker = queue.marker();
        let mut turn = 0;
        while !over.load(Ordering::Relaxed) {
            let verb = turn % VERBS.len();
            let start = Instant::now();
            match verb {
                0 => queue.fill(&mut y, 1.0)?,
                1 => queue.launch(kernel, Grid::threads([N]), Saxpy { a: 2.0, x: &x, y: &mut y })?,
                2 => marker = queue.marker(),
                3 => drop(marker.is_complete()?),
                4 => queue.flush()?,
                5 => drop(queue.read(&y)),
                _ => drop(ctx.queue("new")),
            }
            let (most, calls) = &mut slowest[verb];
            (*most, *calls) = ((*most).max(start.elapsed()), *calls + 1);
            turn += 1;
            if turn % 512 == 0 {
                queue.finish().wait()?; // only the other thread's work is pending after this wait
            }
        }
        other.join().expect("it returns its error")?;
        Ok(slowest)
    })
}

/// Enqueues the launches, then waits for them.
fn enqueue(ctx: &Context, kernel: &Kernel<Saxpy<'static>>, launches: usize) -> Result<()> {
    let queue = ctx.queue("launches");
    let x = ctx.zeros::<f32, 1>([N])?;
    let mut y = ctx.zeros::<f32, 1>([N])?;
    for _ in 0..launches {
        queue.launch(kernel, Grid::threads([N]), Saxpy { a: 2.0, x: &x, y: &mut y })?;
    }
    Ok(queue.finish().wait()?)
}
