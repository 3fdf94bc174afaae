//! Kernels that cases launch.

use fencepost::HostBuffer;
use fencepost::prelude::*;
use std::sync::Arc;

/// `out[i]` = the state after `rounds` steps of a generator that starts at `out[i] + i`.
#[derive(KernelArgs)]
#[kernel(source = "spin.wgsl")]
pub struct Spin<'a> {
    pub rounds: u32,
    pub out: &'a mut DeviceArray<u32>,
}

/// `y[i] = y[i] * a + x[i] + b`, wrapping. The result depends on the order of launches.
#[derive(KernelArgs)]
#[kernel(source = "mix.wgsl")]
pub struct Mix<'a> {
    pub a: u32,
    pub b: u32,
    pub x: &'a DeviceArray<u32>,
    pub y: &'a mut DeviceArray<u32>,
}

/// `y[i] = a * x[i] + y[i]`.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", T = [u32, i32, f32])]
pub struct Saxpy<'a, T: Element> {
    pub a: T,
    pub x: &'a DeviceArray<T>,
    pub y: &'a mut DeviceArray<T>,
}

/// `out[i] = start + i * step`.
#[derive(KernelArgs)]
#[kernel(source = "iota.wgsl")]
pub struct Iota<'a> {
    pub start: u32,
    pub step: u32,
    pub out: &'a mut DeviceArray<u32>,
}

/// Enqueues a launch of [`Mix`] for every element of `y`.
#[track_caller]
pub fn mix(queue: &CommandQueue, a: u32, b: u32, x: &DeviceArray<u32>, y: &mut DeviceArray<u32>) {
    let kernel = queue.context().kernel::<Mix>().expect("a built-in kernel");
    let grid = Grid::threads([y.len()]);
    queue.launch(&kernel, grid, Mix { a, b, x, y }).expect("a launch");
}

/// The same computation as [`Mix`].
const MIXED: &str = "
struct Params { a: u32, b: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64)
fn mixed(@builtin(global_invocation_id) gid: vec3<u32>) {
    let i = gid.x;
    if i >= min(arrayLength(&x), arrayLength(&y)) { return; }
    y[i] = y[i] * params.a + x[i] + params.b;
}
";

/// Computes the same as [`MIXED`], for contexts that run kernels on the host.
fn mix_on_host(groups: [u32; 3], _: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]) {
    let [a, b] = bytemuck::pod_read_unaligned::<[u32; 2]>(&params[..8]);
    let [x, y] = buffers else { panic!("bug: mixed has two buffers") };
    let invocations = 64 * groups.iter().product::<u32>() as usize;
    let elements = x.bytes().chunks_exact(4).zip(y.bytes_mut().chunks_exact_mut(4));
    for (x, y) in elements.take(invocations) {
        let word = |bytes: &[u8]| bytemuck::pod_read_unaligned::<u32>(bytes);
        let after = Mix::of(a, b, word(x), word(y));
        y.copy_from_slice(&after.to_ne_bytes());
    }
}

/// Returns a kernel that computes the same as [`Mix`], with arguments that each launch checks: `a`, `b`, `x` and `y`.
pub fn mix_by_text(ctx: &Context) -> Result<DynKernel> {
    if ctx.wgpu().is_none() {
        ctx.host_kernel("mixed", Arc::new(mix_on_host))?;
    }
    ctx.kernel_from(MIXED, "mixed")
}

/// Shader that increments `clock` and writes its new value to `ticks[at]`. The ticks show the order in which the device
/// ran the launches.
const TICK: &str = "
struct Params { at: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> clock: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> ticks: array<u32>;
@compute @workgroup_size(1)
fn tick() {
    ticks[params.at] = atomicAdd(&clock[0], 1u) + 1u;
}
";

/// Returns the kernel `tick(at, clock, ticks)`, on every subject.
pub fn tick(ctx: &Context) -> DynKernel {
    ctx.kernel_from(TICK, "tick").expect("the kernel is right")
}

impl Mix<'_> {
    /// Computes one element as the kernel does.
    pub fn of(a: u32, b: u32, x: u32, y: u32) -> u32 {
        y.wrapping_mul(a).wrapping_add(x).wrapping_add(b)
    }
}
