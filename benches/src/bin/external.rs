//! Measures launches on arrays that lie on the program's wgpu buffers, with each recorder that the adapter has, next to
//! the same launches on arrays of the context.

use anyhow::Result;
use fencepost::prelude::*;
use fencepost::{AdapterChoice, ContextOptions, RecorderChoice, adapters};
use std::time::{Duration, Instant};

/// Samples of each case. The cases alternate.
const ROUNDS: usize = 201;
/// The counts of launches between two waits.
const LAUNCHES: [usize; 2] = [1, 32];
/// Elements of each array.
const N: usize = 256;

#[derive(KernelArgs)]
#[kernel(wgsl = "
    @group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> y: array<u32>;
    @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&y) { y[id.x] += x[id.x]; }
    }")]
struct Add<'a> {
    x: &'a DeviceArray<u32>,
    y: &'a mut DeviceArray<u32>,
}

fn main() -> Result<()> {
    println!("{N} elements, launches and one wait: medians of {ROUNDS} in microseconds, in turns");
    println!("{:42} {:>8} {:16} {:>10} {:>10}", "adapter", "launches", "recorder", "external", "own");
    for (place, info) in adapters().iter().enumerate() {
        let mut cases = Vec::new();
        for recorder in [RecorderChoice::Direct, RecorderChoice::Hal, RecorderChoice::Wgpu] {
            let options = ContextOptions::default().adapter(AdapterChoice::Index(place)).recorder(recorder);
            let Ok(ctx) = Context::with_options(options).wait() else { continue };
            if ctx.wgpu().is_some() {
                cases.push(Case::new(ctx)?);
            }
        }
        for launches in LAUNCHES {
            let mut samples = vec![[Vec::new(), Vec::new()]; cases.len()];
            for _ in 0..=ROUNDS {
                for (case, samples) in cases.iter_mut().zip(&mut samples) {
                    for (pair, samples) in samples.iter_mut().enumerate() {
                        samples.push(case.sample(pair, launches)?);
                    }
                }
            }
            for (case, samples) in cases.iter().zip(samples) {
                let [external, own] = samples.map(|samples| median_us(&samples[1..]));
                let name = format!("{} ({})", info.name, info.backend);
                let recorder = case.ctx.recorder();
                println!("{name:42.42} {launches:8} {recorder:16} {external:10.1} {own:10.1}");
            }
        }
    }
    Ok(())
}

fn median_us(samples: &[Duration]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort();
    sorted[sorted.len() / 2].as_secs_f64() * 1e6
}

/// A context with a pair of arrays on external buffers, and a pair of its own.
struct Case {
    ctx: Context,
    queue: CommandQueue,
    add: Kernel<Add<'static>>,
    pairs: [[DeviceArray<u32>; 2]; 2],
}

impl Case {
    fn new(ctx: Context) -> Result<Self> {
        let queue = ctx.queue("launches");
        let add = ctx.kernel::<Add>()?;
        let external = || ctx.shared_array([N], wgpu::BufferUsages::empty());
        let pairs = [[external()?, external()?], [ctx.zeros([N])?, ctx.zeros([N])?]];
        Ok(Self { queue, add, pairs, ctx })
    }

    /// Returns the time of some launches on a pair of arrays, and of a wait for the last one.
    fn sample(&mut self, pair: usize, launches: usize) -> Result<Duration> {
        let [x, y] = &mut self.pairs[pair];
        let start = Instant::now();
        for _ in 0..launches {
            self.queue.launch(&self.add, Grid::threads([N]), Add { x, y })?;
        }
        self.queue.finish().wait()?;
        Ok(start.elapsed())
    }
}
