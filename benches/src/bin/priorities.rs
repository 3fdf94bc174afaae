//! Measures when two queues with the same copies, released at once, are done: with equal priorities, and with high
//! priority for one of them, either the first-filled queue or the other. It also measures the cost of two queues
//! together, next to one queue with the same copies.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fencepost::prelude::*;
use fencepost::{AdapterChoice, ContextOptions, Priority, QueueOptions, adapters};

/// Samples of each case. The cases alternate.
const ROUNDS: usize = 21;
/// Copies in each queue.
const COPIES: usize = 64;
/// Elements of each copy.
const N: usize = 1 << 18;

/// The cases: priority of the queue that is filled first, and of the other.
const CASES: [(&str, Priority, Priority); 3] = [
    ("equal", Priority::Normal, Priority::Normal),
    ("first high, second low", Priority::High, Priority::Low),
    ("first low, second high", Priority::Low, Priority::High),
];

fn main() -> Result<()> {
    println!(
        "two queues of {COPIES} copies of {} KiB, released at once: medians of {ROUNDS}, in turns",
        N >> 8
    );
    let heads =
        ["first ms", "second ms", "both ms", "x equal", "x one queue"].map(|head| format!("{head:>13}"));
    println!("{:42} {:24}{}", "adapter", "priorities", heads.concat());
    for (place, info) in adapters().iter().enumerate() {
        let options = ContextOptions::default().adapter(AdapterChoice::Index(place));
        let ctx = Context::with_options(options).wait()?;
        let rounds = measured(&Bench::new(&ctx)?)?;
        for (case, (name, ..)) in CASES.iter().enumerate() {
            println!(
                "{:42.42} {name:24}{}",
                format!("{} ({})", info.name, info.backend),
                cells(&rounds, case)
            );
        }
    }
    Ok(())
}

/// One sample of every case.
struct Round {
    /// Time of both halves in one queue.
    one: Duration,
    cases: [Done; CASES.len()],
}

/// Times at which the first-filled queue and the other queue were done.
#[derive(Clone, Copy, Default)]
struct Done {
    first: Duration,
    second: Duration,
}

impl Done {
    fn both(&self) -> Duration {
        self.first.max(self.second)
    }
}

/// Runs an uncounted round, then the counted rounds.
fn measured(bench: &Bench<'_>) -> Result<Vec<Round>> {
    bench.round(0)?;
    (0..ROUNDS).map(|at| bench.round(at)).collect()
}

fn cells(rounds: &[Round], case: usize) -> String {
    let done = |round: &Round| round.cases[case];
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let over = |time: Duration, other: Duration| time.as_secs_f64() / other.as_secs_f64();
    let columns = [
        median(rounds, |round| ms(done(round).first)),
        median(rounds, |round| ms(done(round).second)),
        median(rounds, |round| ms(done(round).both())),
        median(rounds, |round| over(done(round).both(), round.cases[0].both())),
        median(rounds, |round| over(done(round).both(), round.one)),
    ];
    columns.map(|column| format!("{column:13.2}")).concat()
}

fn median(rounds: &[Round], of: impl Fn(&Round) -> f64) -> f64 {
    let mut values: Vec<_> = rounds.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

struct Bench<'a> {
    ctx: &'a Context,
    /// Source and target of each queue's copies.
    arrays: [(DeviceArray<u32>, DeviceArray<u32>); 2],
}

impl<'a> Bench<'a> {
    fn new(ctx: &'a Context) -> Result<Self> {
        let pair = |value| -> Result<_> { Ok((ctx.full([N], value)?, ctx.zeros([N])?)) };
        Self { ctx, arrays: [pair(1)?, pair(2)?] }.checked()
    }

    /// Runs every case once. Each round starts with another case.
    fn round(&self, at: usize) -> Result<Round> {
        let mut round = Round { one: Duration::ZERO, cases: [Done::default(); CASES.len()] };
        for turn in 0..=CASES.len() {
            match (at + turn) % (CASES.len() + 1) {
                0 => round.one = self.one_queue()?,
                case => round.cases[case - 1] = self.two_queues(CASES[case - 1].1, CASES[case - 1].2)?,
            }
        }
        Ok(round)
    }

    fn one_queue(&self) -> Result<Duration> {
        let queue = self.ctx.queue("one");
        let gate = self.ctx.user_event("gate");
        queue.wait_for(&gate.event())?;
        (0..2).try_for_each(|half| self.fill(&queue, half))?;
        queue.flush()?;
        let start = Instant::now();
        gate.signal();
        queue.finish().wait()?;
        Ok(start.elapsed())
    }

    fn two_queues(&self, first: Priority, second: Priority) -> Result<Done> {
        let gate = self.ctx.user_event("gate");
        let queues =
            [first, second].map(|priority| self.ctx.queue_with(QueueOptions::default().priority(priority)));
        for (half, queue) in queues.iter().enumerate() {
            queue.wait_for(&gate.event())?;
            self.fill(queue, half)?;
        }
        // A wait for a queue would make the queue urgent, so callbacks report its completion instead.
        let (sender, receiver) = mpsc::channel();
        for (half, queue) in queues.iter().enumerate() {
            let sender = sender.clone();
            queue
                .callback(move || sender.send((half, Instant::now())).expect("bug: the receiver is gone"))?;
            queue.flush()?;
        }
        let start = Instant::now();
        gate.signal();
        let mut done = [Duration::ZERO; 2];
        for (half, end) in receiver.iter().take(done.len()) {
            done[half] = end - start;
        }
        Ok(Done { first: done[0], second: done[1] })
    }

    fn fill(&self, queue: &CommandQueue, half: usize) -> Result<()> {
        let (src, dst) = &self.arrays[half];
        (0..COPIES).try_for_each(|_| Ok(queue.copy(src, &mut dst.clone())?))
    }

    /// Returns itself after a check that the copies copy the right bytes.
    fn checked(self) -> Result<Self> {
        self.two_queues(Priority::Normal, Priority::Normal)?;
        for (half, (_, dst)) in self.arrays.iter().enumerate() {
            let found = self.ctx.queue("check").read(dst).wait()?;
            ensure!(
                found.iter().all(|&value| value == half as u32 + 1),
                "queue {half} has copied wrong bytes"
            );
        }
        Ok(self)
    }
}
