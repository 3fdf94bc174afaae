//! Kernels that cases launch.

use fencepost::prelude::*;
use fencepost::{DynKernel, Element, HostBuffer, testing};
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

/// Returns the result of [`Mix`] for one element.
pub fn mixed(y: u32, a: u32, x: u32, b: u32) -> u32 {
    y.wrapping_mul(a).wrapping_add(x).wrapping_add(b)
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
    if testing::device(ctx).is_none() {
        let run = |_: [u32; 3], _: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]| {
            let at = bytemuck::pod_read_unaligned::<u32>(&params[..4]) as usize;
            let [clock, ticks] = buffers else { panic!("bug: tick has two buffers") };
            let now = bytemuck::pod_read_unaligned::<u32>(&clock.bytes()[..4]) + 1;
            clock.bytes_mut()[..4].copy_from_slice(&now.to_ne_bytes());
            ticks.bytes_mut()[4 * at..4 * at + 4].copy_from_slice(&now.to_ne_bytes());
        };
        ctx.host_kernel("tick", Arc::new(run)).expect("a context on the CPU recorder");
    }
    ctx.kernel_from(TICK, "tick").expect("the kernel is right")
}

impl Mix<'_> {
    /// Computes one element as the kernel does.
    pub fn of(a: u32, b: u32, x: u32, y: u32) -> u32 {
        y.wrapping_mul(a).wrapping_add(x).wrapping_add(b)
    }
}
