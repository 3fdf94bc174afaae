//! G02: the kernels of the library on forked queues of a capture, against the same calls outside of a capture.

use crate::common::kernels::{Iota, Mix, Saxpy, Spin};
use crate::common::{Calls, Case, Subject, case};
use bytemuck::{Pod, Zeroable};
use fencepost::prelude::*;
use fencepost::{Kernel, Result, SimulatorOptions};

pub fn cases() -> Vec<Case> {
    vec![case("g02_built_in_kernels_on_two_forks_equal_eager_launches", on_two_forks)]
}

const N: usize = 128;
/// Chunks of the message, of 1024 bytes each.
const CHUNKS: usize = 4;

#[derive(KernelArgs)]
#[kernel(source = "add.wgsl", T = [f32, i32, u32])]
struct Add<'a, T: Element> {
    x: &'a DeviceArray<T>,
    y: &'a DeviceArray<T>,
    z: &'a mut DeviceArray<T>,
}

#[derive(KernelArgs)]
#[kernel(source = "fill.wgsl", T = [f32, i32, u32])]
struct Fill<'a, T: Element> {
    value: T,
    out: &'a mut DeviceArray<T>,
}

#[derive(KernelArgs)]
#[kernel(source = "histogram.wgsl")]
struct Histogram<'a> {
    values: &'a DeviceArray<u32>,
    bins: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "blake3_chunks.wgsl")]
struct Blake3Chunks<'a> {
    bytes: u32,
    counter_low: u32,
    counter_high: u32,
    root: u32,
    input: &'a DeviceArray<Block>,
    values: &'a mut DeviceArray<Halves>,
}

#[derive(KernelArgs)]
#[kernel(source = "blake3_parents.wgsl")]
struct Blake3Parents<'a> {
    count: u32,
    root: u32,
    children: &'a DeviceArray<Halves>,
    parents: &'a mut DeviceArray<Halves>,
}

/// 64 bytes of a message in the layout of the shader's `Blake3Block`.
#[derive(Clone, Copy, Pod, Zeroable, Element)]
#[repr(C)]
struct Block {
    p: [u32; 4],
    q: [u32; 4],
    r: [u32; 4],
    s: [u32; 4],
}

/// A value of the tree in the layout of the shader's `Blake3Value`.
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable, Element)]
#[repr(C)]
struct Halves {
    low: [u32; 4],
    high: [u32; 4],
}

struct Kernels {
    add: Kernel<Add<'static, u32>>,
    fill: Kernel<Fill<'static, u32>>,
    histogram: Kernel<Histogram<'static>>,
    chunks: Kernel<Blake3Chunks<'static>>,
    parents: Kernel<Blake3Parents<'static>>,
    iota: Kernel<Iota<'static>>,
    mix: Kernel<Mix<'static>>,
    saxpy: Kernel<Saxpy<'static, u32>>,
    spin: Kernel<Spin<'static>>,
}

/// Arrays of both queues.
struct Arrays {
    x: DeviceArray<u32>,
    y: DeviceArray<u32>,
    bins: DeviceArray<u32>,
    message: DeviceArray<Block>,
    leaves: DeviceArray<Halves>,
    root: DeviceArray<Halves>,
}

impl Kernels {
    fn new(ctx: &Context) -> Result<Self> {
        Ok(Self {
            add: ctx.kernel::<Add<u32>>()?,
            fill: ctx.kernel::<Fill<u32>>()?,
            histogram: ctx.kernel::<Histogram>()?,
            chunks: ctx.kernel::<Blake3Chunks>()?,
            parents: ctx.kernel::<Blake3Parents>()?,
            iota: ctx.kernel::<Iota>()?,
            mix: ctx.kernel::<Mix>()?,
            saxpy: ctx.kernel::<Saxpy<u32>>()?,
            spin: ctx.kernel::<Spin>()?,
        })
    }
}

/// Elements that the work writes: `x`, `y`, `bins` and `root`.
type Written = (Vec<u32>, Vec<u32>, Vec<u32>, Vec<Halves>);

impl Arrays {
    fn new(ctx: &Context) -> Result<Self> {
        let word = |at: usize| [at as u32, 3, 5, 7];
        let blocks: Vec<Block> = (0..16 * CHUNKS)
            .map(|at| Block { p: word(at), q: word(at + 1), r: word(at + 2), s: word(at + 3) })
            .collect();
        Ok(Self {
            x: ctx.zeros([N])?,
            y: ctx.zeros([N])?,
            bins: ctx.zeros([7])?,
            message: ctx.array(&blocks)?,
            leaves: ctx.zeros([CHUNKS])?,
            root: ctx.zeros([CHUNKS / 2])?,
        })
    }

    /// Returns everything that the work writes.
    fn read(&self, queue: &CommandQueue) -> Result<Written> {
        Ok((
            queue.read(&self.x).wait()?,
            queue.read(&self.y).wait()?,
            queue.read(&self.bins).wait()?,
            queue.read(&self.root).wait()?,
        ))
    }
}

/// Launches each kernel of the library. The two queues meet twice.
fn work(kernels: &Kernels, arrays: &Arrays, one: &CommandQueue, two: &CommandQueue) -> Result<()> {
    let Arrays { x, y, bins, message, leaves, root } = arrays;
    let all = Grid::threads([N]);
    one.launch(&kernels.iota, all, Iota { start: 1, step: 3, out: &mut x.clone() })?;
    one.launch(&kernels.spin, all, Spin { rounds: 5, out: &mut x.clone() })?;
    two.launch(&kernels.fill, all, Fill { value: 4, out: &mut y.clone() })?;
    let hashed = Blake3Chunks {
        bytes: 1024 * CHUNKS as u32,
        counter_low: 0,
        counter_high: 0,
        root: 0,
        input: message,
        values: &mut leaves.clone(),
    };
    two.launch(&kernels.chunks, Grid::threads([CHUNKS]), hashed)?;
    two.wait_for(one)?;
    two.launch(&kernels.mix, all, Mix { a: 3, b: 1, x, y: &mut y.clone() })?;
    two.launch(&kernels.saxpy, all, Saxpy { a: 7, x, y: &mut y.clone() })?;
    one.launch(&kernels.histogram, all, Histogram { values: x, bins: &mut bins.clone() })?;
    one.wait_for(two)?;
    let parents =
        Blake3Parents { count: CHUNKS as u32, root: 0, children: leaves, parents: &mut root.clone() };
    one.launch(&kernels.parents, Grid::threads([CHUNKS / 2]), parents)?;
    let mut sum = one.zeros::<u32, 1>([N])?;
    one.launch(&kernels.add, all, Add { x, y, z: &mut sum })?;
    one.copy(&sum, &mut x.clone())
}

/// Runs the work eagerly and as a graph, three times each, and compares the arrays.
fn compare(ctx: &Context) {
    let kernels = Kernels::new(ctx).unwrap();
    let queue = ctx.queue("main");
    let other = ctx.queue("other");
    let eager = Arrays::new(ctx).unwrap();
    let replayed = Arrays::new(ctx).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        let one = c.fork("one");
        let two = c.fork("two");
        work(&kernels, &replayed, &one, &two)?;
        c.wait_for(&one)
    });
    for round in 1..=3 {
        work(&kernels, &eager, &queue, &other).unwrap();
        other.replay(&graph).unwrap();
        let right = eager.read(&queue).unwrap();
        let found = replayed.read(&other).unwrap();
        assert_eq!(found, right);
        assert_eq!(right.2.iter().sum::<u32>(), round * N as u32);
        assert_ne!(right.3[0], right.3[1]);
    }
}

fn on_two_forks(subject: &Subject) {
    if !subject.is_cpu() {
        return compare(&subject.ctx());
    }
    for seed in 0..8 {
        for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
            let options = SimulatorOptions::default().seed(seed).lanes(1 + seed as usize % 3);
            compare(&subject.simulated(options.policy(policy)));
        }
    }
}
