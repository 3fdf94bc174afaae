//! A minute of work in a page: a pipeline of two queues, in which arrays, results and waits are dropped at random. Each
//! block of the work must be right, and memory must stay flat.

use super::common::case::computed;
use super::common::kernels::Mix;
use super::common::{Case, Subject, block_on, page};
use fastrand::Rng;
use fencepost::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;
use web_time::Instant;

/// Length of the run.
const LENGTH: Duration = Duration::from_secs(60);
/// Time, and number of blocks, after which memory must stay flat.
const WARM_UP: (Duration, u32) = (Duration::from_secs(12), 300);
/// Number of blocks between two measurements.
const LOOK: u32 = 64;
/// Number of elements of the largest block.
const MOST: usize = 1 << 12;
/// Number of different lengths of blocks. The context keeps a bind group for each, so that random lengths would fill that
/// cache for longer than the warm-up.
const LENGTHS: usize = 16;
/// Maximum number of pending results.
const RESULTS: usize = 6;

const MIB: u64 = 1 << 20;
/// Maximum growth of the memory of the WebAssembly after the warm-up, in bytes.
const WASM: u64 = MIB;
/// Maximum growth of the pool and the staging memory, in bytes: a size or two that did not occur before, and a chunk.
const POOL: u64 = 2 * MIB;
/// Maximum growth of each table of the context, in entries.
const ENTRIES: u64 = 80;

pub fn case() -> Case {
    computed("m08_memory_stays_flat_while_a_page_works_for_a_minute", run).within(4 * LENGTH)
}

fn run(s: &Subject) {
    let (ctx, [copy, compute]) = s.with_queues_under(Policy::Checked, ["copy", "compute"]);
    let mut pipeline = Pipeline::new(&ctx, copy, compute).expect("memory and a built-in kernel");
    let mut memory = Memory::default();
    let begun = Instant::now();
    while begun.elapsed() < LENGTH || pipeline.blocks < 2 * WARM_UP.1 {
        for _ in 0..LOOK {
            pipeline.turn().expect("no call fails");
        }
        let is_warm = begun.elapsed() >= WARM_UP.0 && pipeline.blocks >= WARM_UP.1;
        memory.look(&ctx, is_warm);
    }
    while pipeline.take().expect("no result fails") {}
    memory.check(pipeline.blocks);
}

/// One of the two buffers, with the events of its last upload and of its last use.
struct Buffer {
    x: DeviceArray<u32>,
    uploaded: Event,
    used: Event,
}

/// A pending result, with the numbers from which its elements follow.
struct Coming {
    block: u32,
    seed: u32,
    len: usize,
    reading: Pending<Vec<u32>>,
}

struct Pipeline {
    rng: Rng,
    mix: Kernel<Mix<'static>>,
    copy: CommandQueue,
    compute: CommandQueue,
    buffers: [Buffer; 2],
    coming: VecDeque<Coming>,
    /// Number of blocks so far.
    blocks: u32,
}

impl Pipeline {
    fn new(ctx: &Context, copy: CommandQueue, compute: CommandQueue) -> Result<Self> {
        let buffer = || -> Result<Buffer> {
            Ok(Buffer { x: ctx.zeros([MOST])?, uploaded: ctx.event(), used: ctx.event() })
        };
        let buffers = [buffer()?, buffer()?];
        let mix = ctx.kernel::<Mix>()?;
        let rng = Rng::with_seed(1);
        Ok(Self { rng, mix, copy, compute, buffers, coming: VecDeque::new(), blocks: 0 })
    }

    /// Enqueues one block, and takes a random number of results.
    fn turn(&mut self) -> Result<()> {
        let coming = self.enqueue()?;
        self.coming.push_back(coming);
        self.blocks += 1;
        if self.rng.u32(..5) == 0 {
            self.give_up_a_wait()?;
        }
        while self.coming.len() > self.rng.usize(..=RESULTS) {
            self.take()?;
        }
        Ok(())
    }

    fn enqueue(&mut self) -> Result<Coming> {
        let block = self.blocks;
        let seed = self.rng.u32(..);
        let len = self.rng.usize(1..=LENGTHS) * (MOST / LENGTHS);
        let buffer = &mut self.buffers[block as usize % 2];
        if self.rng.u32(..8) == 0 {
            buffer.x = self.copy.zeros([MOST])?; // the old array is dropped while work uses it
        }
        self.copy.wait_for(&buffer.used)?;
        let elements: Vec<u32> = (0..len).map(|i| element(seed, i)).collect();
        let mut x = buffer.x.slice(0..len)?;
        self.copy.upload(&elements, &mut x)?;
        buffer.uploaded.record(&self.copy)?;
        self.compute.wait_for(&buffer.uploaded)?;
        let mut y = self.compute.full([len], seed)?;
        let args = Mix { a: 3, b: block, x: &x, y: &mut y };
        self.compute.launch(&self.mix, Grid::threads([len]), args)?;
        buffer.used.record(&self.compute)?;
        let reading = self.compute.read(&y);
        if self.rng.u32(..6) == 0 {
            drop(self.compute.read(&y)); // a read whose result is dropped
        }
        Ok(Coming { block, seed, len, reading })
    }

    /// Waits for a queue or a result for no time, and gives the wait up.
    fn give_up_a_wait(&mut self) -> Result<()> {
        let queue = if self.rng.bool() { &self.copy } else { &self.compute };
        queue.finish().wait_timeout(Duration::ZERO)?;
        drop(queue.marker().done()); // a future that is never polled
        if let Some(Coming { block, seed, len, reading }) = self.coming.front_mut()
            && let Some(found) = reading.wait_timeout(Duration::ZERO)?
        {
            check(&found, *block, *seed, *len);
            self.coming.pop_front();
        }
        Ok(())
    }

    /// Takes the oldest result. Returns `false` if there is none.
    fn take(&mut self) -> Result<bool> {
        let Some(Coming { block, seed, len, reading }) = self.coming.pop_front() else { return Ok(false) };
        check(&block_on(reading)?, block, seed, len);
        Ok(true)
    }
}

/// Returns element `i` of a block.
fn element(seed: u32, i: usize) -> u32 {
    seed.rotate_left(7) ^ (i as u32).wrapping_mul(2_654_435_761)
}

fn check(found: &[u32], block: u32, seed: u32, len: usize) {
    assert_eq!(found.len(), len, "block {block}");
    let wrong = (0..len).find(|&i| found[i] != Mix::of(3, block, element(seed, i), seed));
    assert_eq!(wrong, None, "block {block}: the first wrong element");
}

/// A size at the end of the warm-up, and its maximum.
#[derive(Clone, Copy, Debug, Default)]
struct Flat {
    warm: u64,
    most: u64,
}

impl Flat {
    fn see(&mut self, size: u64, is_warm: bool) {
        self.most = self.most.max(size);
        if !is_warm {
            self.warm = self.most;
        }
    }

    #[track_caller]
    fn check(self, what: &str, bound: u64, blocks: u32) {
        let Self { warm, most } = self;
        assert!(
            most - warm <= bound,
            "{what} grew from {warm} to {most} in {blocks} blocks, at most {bound} more are allowed"
        );
    }
}

#[derive(Default)]
struct Memory {
    wasm: Flat,
    pool: Flat,
    tables: Vec<Flat>,
}

impl Memory {
    /// Measures the memory. Until it is warm, the measurements set the bound.
    fn look(&mut self, ctx: &Context, is_warm: bool) {
        self.wasm.see(page::memory_bytes() as u64, is_warm);
        self.pool.see(ctx.pool().stats().total(), is_warm);
        let lengths = tables(&ctx.diagnostics().state_dump());
        self.tables.resize(lengths.len(), Flat::default());
        self.tables.iter_mut().zip(lengths).for_each(|(flat, length)| flat.see(length, is_warm));
    }

    fn check(&self, blocks: u32) {
        self.wasm.check("the memory of the WebAssembly", WASM, blocks);
        self.pool.check("the pool with the staging memory", POOL, blocks);
        let tables = self.tables.iter().enumerate();
        tables.for_each(|(at, table)| table.check(&format!("table {at} of the context"), ENTRIES, blocks));
    }
}

/// Returns the lengths of a context's tables, from the state dump.
fn tables(dump: &str) -> Vec<u64> {
    let line =
        dump.lines().find_map(|line| line.strip_prefix("kept: ")).expect("the dump has a line of them");
    let number = |part: &str| part.split(' ').next().and_then(|number| number.parse().ok());
    line.split(", ").map(|part| number(part).expect("a number")).collect()
}
