//! R02: on the CPU recorder, each forgotten wait shows with some seed.

use crate::common::kernels::Mix;
use crate::common::{Case, Subject, case, queues};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    const OPTIONS: &str = "only the CPU recorder runs unordered commands in an order that a seed chooses";
    vec![case("r02_some_seed_shows_a_missing_wait_for_every_transfer", transfers).cpu_only(OPTIONS)]
}

const N: usize = 8;
/// Number of seeds. Each shows a missing wait with a probability above 1/10.
const SEEDS: u64 = 200;

/// A context with a queue that writes, and a queue that reads without waiting.
struct Bench {
    ctx: Context,
    writes: CommandQueue,
    reads: CommandQueue,
    flushes: bool,
}

type Kind = fn(&Bench) -> Result<bool>;

/// Kinds of transfer. Each function returns `true` if the read returned the transferred bytes.
const KINDS: &[(&str, Kind)] = &[
    ("fill", |b| b.write_zeros(|q, x| q.fill(x, 1))),
    ("fill of a part", |b| b.write_zeros(|q, x| q.fill(&mut x.slice(0..N)?, 1))),
    ("fill with an element of 12 bytes", |b| {
        let mut x = b.ctx.zeros([N])?;
        b.writes.fill(&mut x, [1_f32; 3])?;
        b.reader_sees(&x, [1.0; 3])
    }),
    ("upload of a slice", |b| b.write_zeros(|q, x| q.upload(&[1; N], x))),
    ("upload of a slice after a fill", |b| {
        b.write_zeros(|q, x| q.fill(x, 7).and_then(|()| q.upload(&[1; N], x)))
    }),
    ("upload of a slice to a region", |b| b.write_zeros(|q, x| q.upload_region(&[1; N], x, region![..]))),
    ("upload of a slice to every second element", |b| {
        let mut x = b.ctx.full([N], 1)?;
        b.writes.upload_region(&[3; N / 2], &mut x, region![..; 2])?;
        b.reader_sees_all(&x, [3, 1, 3, 1, 3, 1, 3, 1])
    }),
    ("upload of pinned memory", |b| {
        let mut host: HostArray<u32, Upload> = b.ctx.pinned([N])?;
        host.host_mut()?.fill(1);
        b.write_zeros(|q, x| q.upload(&host, x))
    }),
    ("array", |b| b.reader_sees(&b.writes.array(&[1; N])?, 1)),
    ("full", |b| b.reader_sees(&b.writes.full([N], 1)?, 1)),
    ("zeros", |b| b.reader_sees(&b.writes.zeros([N])?, 0)),
    ("copy", |b| {
        let ones = b.ctx.full([N], 1)?;
        b.write_zeros(|q, x| q.copy(&ones, x))
    }),
    ("copy to every second element", |b| {
        let threes = b.ctx.full([N / 2], 3)?;
        let mut x = b.ctx.full([N], 1)?;
        b.writes.copy_region(&threes, region![..], &mut x, region![..; 2])?;
        b.reader_sees_all(&x, [3, 1, 3, 1, 3, 1, 3, 1])
    }),
    ("launch", |b| {
        let mix = b.ctx.kernel::<Mix>()?;
        let ones = b.ctx.full([N], 1)?;
        b.write_zeros(|q, x| q.launch(&mix, Grid::threads([N]), Mix { a: 1, b: 0, x: &ones, y: x }))
    }),
];

impl Bench {
    fn new(seed: u64, threads: bool, flushes: bool) -> Self {
        let options = SimulatorOptions::default().seed(seed).threads(threads);
        let ctx = Context::simulated(options.policy(Policy::Unchecked));
        let [writes, reads] = queues(&ctx, ["writes", "reads"]);
        Self { ctx, writes, reads, flushes }
    }

    /// Makes an array of zeros, calls `write` to make its elements 1, and reads it.
    fn write_zeros(
        &self,
        write: impl FnOnce(&CommandQueue, &mut DeviceArray<u32>) -> Result<()>,
    ) -> Result<bool> {
        let mut x = self.ctx.zeros([N])?;
        write(&self.writes, &mut x)?;
        self.reader_sees(&x, 1)
    }

    fn reader_sees<T: Element + PartialEq>(&self, x: &DeviceArray<T>, value: T) -> Result<bool> {
        self.reader_sees_all(x, [value; N])
    }

    fn reader_sees_all<T: Element + PartialEq>(&self, x: &DeviceArray<T>, values: [T; N]) -> Result<bool> {
        if self.flushes {
            self.writes.flush()?;
        }
        let mut y = self.ctx.empty([N])?;
        self.reads.copy(x, &mut y)?; // the wait for the write is missing
        // A new queue comes after everything that was enqueued before it.
        Ok(self.ctx.queue("end").read(&y).wait()? == values)
    }
}

fn transfers(_: &Subject) {
    let mut unseen = Vec::new();
    for (name, kind) in KINDS {
        for (threads, flushes) in [(false, false), (false, true), (true, false), (true, true)] {
            let is_seen = |seed| !kind(&Bench::new(seed, threads, flushes)).unwrap();
            if !(0..SEEDS).any(is_seen) {
                unseen.push(format!("{name}, threads: {threads}, flush between: {flushes}"));
            }
        }
    }
    assert!(unseen.is_empty(), "no seed of {SEEDS} shows a missing wait for:\n{}", unseen.join("\n"));
}
