//! The measurements. Each round checks its result.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, bail};
use fencepost::prelude::*;

/// Amount of work of the measurements.
pub(super) struct Sizes {
    /// Samples of each measurement.
    pub(super) rounds: usize,
    launches: usize,
    /// Number of 4-byte elements in the large arrays.
    numbers: usize,
}

impl Sizes {
    pub(super) const QUICK: Self = Self { rounds: 9, launches: 200, numbers: 2 << 20 };
    pub(super) const WHOLE: Self = Self { rounds: 51, launches: 1000, numbers: 16 << 20 };
}

/// Function that takes one sample.
type Sample = Box<dyn FnMut() -> Result<f64>>;

pub(super) struct Measurement {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// Function that prepares the objects that the samples use.
    pub(super) prepare: fn(&Context, &Sizes) -> Result<Sample>,
}

pub(super) const MEASUREMENTS: [Measurement; 6] = [
    Measurement { name: "launch, host", unit: "us", prepare: launch_on_the_host },
    Measurement { name: "launch, done", unit: "us", prepare: launch_until_done },
    Measurement { name: "round trip", unit: "us", prepare: round_trip },
    Measurement { name: "upload", unit: "GB/s", prepare: upload },
    Measurement { name: "download", unit: "GB/s", prepare: download },
    Measurement { name: "saxpy", unit: "GB/s", prepare: saxpy },
];

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

/// A kernel with its arrays; each launch adds 1 to every element of `y`.
struct Counting {
    queue: CommandQueue,
    kernel: Kernel<Saxpy<'static>>,
    x: DeviceArray<f32>,
    y: DeviceArray<f32>,
    launched: usize,
}

impl Counting {
    fn new(ctx: &Context, numbers: usize) -> Result<Self> {
        let queue = ctx.queue("bench");
        let x = queue.full([numbers], 1.0)?;
        let y = queue.zeros([numbers])?;
        let kernel = ctx.kernel::<Saxpy>()?;
        queue.finish().wait()?;
        Ok(Self { queue, kernel, x, y, launched: 0 })
    }

    fn launch(&mut self) -> Result<()> {
        let args = Saxpy { a: 1.0, x: &self.x, y: &mut self.y };
        self.queue.launch(&self.kernel, Grid::threads([self.x.len()]), args)?;
        self.launched += 1;
        Ok(())
    }

    /// Fails unless every launch was executed, and resets the elements to 0, because `f32` counts only to 2^24.
    fn check(&mut self) -> Result<()> {
        let last = self.x.len() - 1;
        for at in [0, last / 2, last] {
            let found = self.queue.read(&self.y.slice(at..at + 1)?).wait()?;
            if found != [self.launched as f32] {
                bail!("number {at} is {} after {} launches that add 1", found[0], self.launched);
            }
        }
        self.queue.fill(&mut self.y, 0.0)?;
        self.queue.finish().wait()?;
        self.launched = 0;
        Ok(())
    }
}

fn launch_on_the_host(ctx: &Context, sizes: &Sizes) -> Result<Sample> {
    let mut job = Counting::new(ctx, 64)?;
    let launches = sizes.launches;
    Ok(Box::new(move || {
        let start = Instant::now();
        (0..launches).try_for_each(|_| job.launch())?;
        let seconds = start.elapsed().as_secs_f64();
        job.check()?;
        Ok(1e6 * seconds / launches as f64)
    }))
}

fn launch_until_done(ctx: &Context, sizes: &Sizes) -> Result<Sample> {
    let mut job = Counting::new(ctx, 64)?;
    let launches = sizes.launches;
    Ok(Box::new(move || {
        let start = Instant::now();
        (0..launches).try_for_each(|_| job.launch())?;
        job.queue.finish().wait()?;
        let seconds = start.elapsed().as_secs_f64();
        job.check()?;
        Ok(1e6 * seconds / launches as f64)
    }))
}

fn round_trip(ctx: &Context, _: &Sizes) -> Result<Sample> {
    let mut job = Counting::new(ctx, 64)?;
    Ok(Box::new(move || {
        let start = Instant::now();
        job.launch()?;
        let found = job.queue.read(&job.y).wait()?;
        let seconds = start.elapsed().as_secs_f64();
        if found.iter().any(|&y| y != 1.0) {
            bail!("a launch that adds 1 to 0 gave {found:?}");
        }
        job.check()?;
        Ok(1e6 * seconds)
    }))
}

fn upload(ctx: &Context, sizes: &Sizes) -> Result<Sample> {
    let queue = ctx.queue("bench");
    let mut x = queue.zeros::<u32, 1>([sizes.numbers])?;
    let mut numbers = counted(sizes.numbers);
    Ok(Box::new(move || {
        numbers.rotate_left(1);
        let start = Instant::now();
        queue.upload(&numbers, &mut x)?;
        queue.finish().wait()?;
        let seconds = start.elapsed().as_secs_f64();
        same(&queue.read(&x).wait()?, &numbers)?;
        Ok(gigabytes(4 * numbers.len(), seconds))
    }))
}

fn download(ctx: &Context, sizes: &Sizes) -> Result<Sample> {
    let queue = ctx.queue("bench");
    let numbers = counted(sizes.numbers);
    let x = queue.array(&numbers)?;
    let mut found = vec![0; numbers.len()];
    queue.finish().wait()?;
    Ok(Box::new(move || {
        found.fill(0);
        let start = Instant::now();
        queue.read_into(&x, black_box(&mut found))?;
        let seconds = start.elapsed().as_secs_f64();
        same(&found, &numbers)?;
        Ok(gigabytes(4 * numbers.len(), seconds))
    }))
}

/// Launches of one round of saxpy.
const SAXPYS: usize = 4;

fn saxpy(ctx: &Context, sizes: &Sizes) -> Result<Sample> {
    let numbers = sizes.numbers;
    let mut job = Counting::new(ctx, numbers)?;
    Ok(Box::new(move || {
        let start = Instant::now();
        (0..SAXPYS).try_for_each(|_| job.launch())?;
        job.queue.finish().wait()?;
        let seconds = start.elapsed().as_secs_f64();
        job.check()?;
        Ok(gigabytes(12 * numbers * SAXPYS, seconds)) // a launch reads x and y, and writes y
    }))
}

fn counted(count: usize) -> Vec<u32> {
    (0..count as u32).collect()
}

fn same(found: &[u32], expected: &[u32]) -> Result<()> {
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        Some(at) => bail!("number {at} came back as {} in place of {}", found[at], expected[at]),
        None => Ok(()),
    }
}

fn gigabytes(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / seconds / 1e9
}
