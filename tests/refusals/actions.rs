//! Actions with an exact result. An action uses its own queues, and keeps nothing.

use super::common::kernels::{Iota, Mix};
use fencepost::prelude::*;
use fencepost::{Context, Download, HostArray, QueueOptions, Result, Upload, region};
use half::f16;

/// An action. Its name is part of a test's name.
pub struct Action {
    pub name: &'static str,
    pub run: fn(&Context) -> Result<()>,
    /// `true` if wgpu records a part of the action with every recorder.
    pub by_wgpu: bool,
}

const fn action(name: &'static str, run: fn(&Context) -> Result<()>) -> Action {
    Action { name, run, by_wgpu: false }
}

pub const ALL: [Action; 11] = [
    action("launches", launches),
    action("arrays", arrays),
    action("uploads", uploads),
    action("reads", reads),
    Action { name: "shared_arrays", run: shared, by_wgpu: true },
    action("pinned_arrays", pinned),
    action("regions", regions),
    action("maps", maps),
    action("times", times),
    action("copies_between_contexts", across),
    action("graphs", graphs),
];

const N: usize = 1000;

fn counted() -> Vec<u32> {
    (0..N as u32).collect()
}

fn arrays(ctx: &Context) -> Result<()> {
    let queue = ctx.queue("arrays");
    let zeros = ctx.zeros::<u32, 1>([N])?;
    let full = ctx.full([N], 7_u32)?;
    let mut copy = queue.zeros([N])?;
    queue.copy(&full, &mut copy)?;
    let elements = queue.array(&counted())?;
    let other = ctx.array(&counted())?;
    assert!(queue.read(&zeros).wait()? == [0; N]);
    assert!(queue.read(&copy).wait()? == [7; N]);
    assert_eq!(queue.read(&elements).wait()?, counted());
    assert_eq!(queue.read(&other).wait()?, counted());
    Ok(())
}

/// Uploads a few bytes, then so many that the driver must allocate memory.
fn uploads(ctx: &Context) -> Result<()> {
    let queue = ctx.queue("uploads");
    let many: Vec<u32> = (0..1_100_000).collect();
    let x = queue.full([N], 1_u32)?;
    let mut y = queue.zeros([many.len()])?;
    queue.upload(&counted()[..10], &mut x.slice(5..15)?)?;
    queue.upload(&many, &mut y)?;
    let found = queue.read(&x).wait()?;
    assert_eq!((&found[..5], &found[5..15], found[15]), (&[1; 5][..], &counted()[..10], 1));
    assert!(queue.read(&y).wait()? == many);
    Ok(())
}

/// Reads before later writes, for which the bytes are copied first, and reads after writes.
fn reads(ctx: &Context) -> Result<()> {
    let queue = ctx.queue("reads");
    let mut x = queue.array(&counted())?;
    let before = queue.read(&x);
    queue.fill(&mut x, 9)?;
    let between = queue.read(&x);
    queue.fill(&mut x, 0)?;
    queue.finish().wait()?;
    assert_eq!(queue.read(&x).wait()?, [0; N]);
    assert_eq!(before.wait()?, counted());
    assert_eq!(between.wait()?, [9; N]);
    Ok(())
}

fn pinned(ctx: &Context) -> Result<()> {
    let queue = ctx.queue("pinned");
    let mut up: HostArray<u32, Upload> = ctx.pinned([N])?;
    let mut down: HostArray<u32, Download> = ctx.pinned([N])?;
    up.host_mut()?.copy_from_slice(&counted());
    let mut x = ctx.zeros([N])?;
    queue.upload(&up, &mut x)?;
    queue.download(&x, &mut down)?;
    queue.finish().wait()?;
    assert_eq!(*down.host()?, counted());
    Ok(())
}

/// Launches kernels on two queues, and one kernel whose grid is on the device.
fn launches(ctx: &Context) -> Result<()> {
    let queue = ctx.queue("launches");
    let other = ctx.queue("beside");
    let mix = ctx.kernel::<Mix>()?;
    let iota = ctx.kernel::<Iota>()?;
    let x = ctx.full([N], 5_u32)?;
    let mut y = ctx.full([N], 2_u32)?;
    let mut z = ctx.zeros([N])?;
    queue.launch(&mix, Grid::threads([N]), Mix { a: 3, b: 1, x: &x, y: &mut y })?;
    other.launch(&iota, Grid::threads([N]), Iota { start: 0, step: 1, out: &mut z })?;
    let mut few = queue.zeros([256])?;
    let groups = queue.array(&[1_u32, 1, 1])?;
    queue.launch(&iota, Grid::indirect(&groups, 0), Iota { start: 1, step: 2, out: &mut few })?;
    assert_eq!(queue.read(&y).wait()?, [Mix::of(3, 1, 5, 2); N]);
    assert_eq!(other.read(&z).wait()?, counted());
    let found = queue.read(&few).wait()?;
    let done = iota.workgroup()[0] as usize;
    assert!(found.iter().enumerate().all(|(at, &n)| n == if at < done { 1 + 2 * at as u32 } else { 0 }));
    Ok(())
}

/// Copies regions of elements that are half a word.
fn regions(ctx: &Context) -> Result<()> {
    let queue = ctx.queue("regions");
    let number = |n: usize| f16::from_f32(n as f32);
    let elements: Vec<f16> = (0..256).map(number).collect();
    let mut x = queue.zeros([16, 16])?;
    let mut y = queue.zeros::<f16, 2>([16, 16])?;
    queue.upload(&elements, &mut x)?;
    queue.copy_region(&x, region![1..9, 1..8; 2], &mut y, region![3..11, 5..9])?;
    let found = queue.read_region(&y, region![3..11, 5..9]).wait()?;
    let right = (1..9).flat_map(|row| (1..8).step_by(2).map(move |column| number(16 * row + column)));
    assert!(found.into_iter().eq(right));
    Ok(())
}

fn times(ctx: &Context) -> Result<()> {
    let queue = ctx.queue_with(QueueOptions::default().label("times").timing(true));
    let mut x = queue.zeros::<u32, 1>([N])?;
    let start = queue.marker();
    queue.fill(&mut x, 3)?;
    queue.fill(&mut x, 4)?;
    let seconds = queue.marker().seconds_since(&start).wait()?;
    assert!(seconds.is_finite());
    assert_eq!(queue.read(&x).wait()?, [4; N]);
    Ok(())
}

fn maps(ctx: &Context) -> Result<()> {
    let queue = ctx.queue("maps");
    let x = queue.full([N], 3_u32)?;
    x.map_write().wait()?.copy_from_slice(&counted());
    assert_eq!(*x.map_read().wait()?, counted());
    assert_eq!(queue.read(&x).wait()?, counted());
    Ok(())
}

/// Uses memory that wgpu tracks too, with encoded commands.
fn shared(ctx: &Context) -> Result<()> {
    let queue = ctx.queue("shared");
    let mut x = ctx.shared_array::<u32, 1>([N], wgpu::BufferUsages::empty())?;
    let mut y = queue.zeros::<u32, 1>([N])?;
    queue.fill(&mut x, 8)?;
    queue.encode(|encoder, access| {
        let words = access.write(&mut x)?;
        encoder.clear_buffer(words.buffer(), words.offset(), Some(8));
        Ok(())
    })?;
    queue.copy(&x, &mut y)?;
    let found = queue.read(&y).wait()?;
    assert_eq!((&found[..2], &found[2..]), (&[0, 0][..], &[8; N - 2][..]));
    Ok(())
}

/// Copies an array to another context and back.
fn across(ctx: &Context) -> Result<()> {
    let other = Context::simulated(fencepost::SimulatorOptions::default());
    let queue = ctx.queue("across");
    let x = queue.array(&counted())?;
    let mut there = other.zeros([N])?;
    let mut back = queue.zeros([N])?;
    queue.copy(&x, &mut there)?;
    queue.copy(&there, &mut back)?;
    assert_eq!(queue.read(&back).wait()?, counted());
    Ok(())
}

/// Captures a graph with its own memory, and replays it on two queues.
fn graphs(ctx: &Context) -> Result<()> {
    let queue = ctx.queue("graphs");
    let other = ctx.queue("beside");
    let mix = ctx.kernel::<Mix>()?;
    let x = queue.array(&counted())?;
    let (graph, shown) = queue.capture(|c| {
        let side = c.fork("side");
        let mut own = side.full([N], 2_u32)?;
        c.wait_for(&side)?;
        c.launch(&mix, Grid::threads([N]), Mix { a: 3, b: 1, x: &x, y: &mut own })?;
        c.read_as("own", &own)
    })?;
    let runs = [queue.replay(&graph)?, other.replay(&graph)?];
    for run in runs {
        let found = run.read(&shown)?.wait()?;
        assert!(found.iter().zip(0..).all(|(&found, x)| found == Mix::of(3, 1, x, 2)));
    }
    Ok(())
}
