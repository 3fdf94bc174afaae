//! Kernels that programs launch. They are compiled when first needed.

use super::common::kernels::{Mix, Saxpy};
use super::held::Held;
use super::op;
use fencepost::prelude::*;
use fencepost::{DynKernel, Element, HostBuffer, Kernel, Result};
use std::cell::OnceCell;
use std::sync::Arc;

#[derive(KernelArgs)]
#[kernel(source = "histogram.wgsl")]
pub struct Histogram<'a> {
    pub values: &'a DeviceArray<u32>,
    pub bins: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "add.wgsl", T = [u32, i32, f32])]
pub struct Add<'a, T: Element> {
    pub x: &'a DeviceArray<T>,
    pub y: &'a DeviceArray<T>,
    pub z: &'a mut DeviceArray<T>,
}

#[derive(KernelArgs)]
#[kernel(source = "iota.wgsl", T = [u32, i32, f32])]
pub struct Iota<'a, T: Element> {
    pub start: T,
    pub step: T,
    pub out: &'a mut DeviceArray<T>,
}

#[derive(Default)]
pub struct Kernels {
    mix: OnceCell<Kernel<Mix<'static>>>,
    histogram: OnceCell<Kernel<Histogram<'static>>>,
    mixed: OnceCell<DynKernel>,
    pub u32: Words,
    pub i32: Integers,
    pub f32: Floats,
}

fn made<K: Clone>(cell: &OnceCell<K>, make: impl FnOnce() -> Result<K>) -> Result<K> {
    if let Some(kernel) = cell.get() {
        return Ok(kernel.clone());
    }
    let kernel = make()?;
    Ok(cell.get_or_init(|| kernel).clone())
}

impl Kernels {
    pub fn mix(&self, ctx: &Context) -> Result<Kernel<Mix<'static>>> {
        made(&self.mix, || ctx.kernel::<Mix>())
    }

    pub fn histogram(&self, ctx: &Context) -> Result<Kernel<Histogram<'static>>> {
        made(&self.histogram, || ctx.kernel::<Histogram>())
    }
}

/// The same computation as the built-in `mix`, with arguments that are checked at each launch.
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
fn mixed(groups: [u32; 3], _: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]) {
    let [a, b] = bytemuck::pod_read_unaligned::<[u32; 2]>(&params[..8]);
    let [x, y] = buffers else { panic!("bug: mixed has two buffers") };
    let words =
        |bytes: &[u8]| -> Vec<u32> { bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect() };
    let invocations = 64 * groups.iter().product::<u32>() as usize;
    let inputs = words(x.bytes()).into_iter().zip(words(y.bytes()));
    for (i, (x, y_before)) in inputs.enumerate().take(invocations) {
        let after = y_before.wrapping_mul(a).wrapping_add(x).wrapping_add(b);
        y.bytes_mut()[4 * i..4 * i + 4].copy_from_slice(&after.to_ne_bytes());
    }
}

impl Kernels {
    fn mixed(&self, ctx: &Context) -> Result<DynKernel> {
        made(&self.mixed, || {
            if ctx.wgpu().is_none() {
                ctx.host_kernel("mixed", Arc::new(mixed))?;
            }
            ctx.kernel_from(MIXED, "mixed")
        })
    }

    /// Enqueues a launch whose arguments are checked at the call.
    pub fn launch_dyn(
        &self,
        ctx: &Context,
        to: &CommandQueue,
        kernel: &op::Kernel,
        x: &Held,
        y: &mut Held,
    ) -> Result<()> {
        let op::Kernel::Mix { a, b, .. } = *kernel else { unreachable!("bug: a launch of another kernel") };
        let kernel = self.mixed(ctx)?;
        let grid = Grid::threads([x.memory().max(y.memory())]);
        match (x, y) {
            (Held::U32(x), Held::U32(y)) => to.launch_dyn(&kernel, grid, args![a = a, b = b, x = x, y = y]),
            (Held::Table(x), Held::U32(y)) => to.launch_dyn(&kernel, grid, args![y = y, x = x, b = b, a = a]),
            (Held::U32(x), Held::Table(y)) => to.launch_dyn(&kernel, grid, args![a = a, b = b, x = x, y = y]),
            (Held::Table(x), Held::Table(y)) => to.launch_dyn(&kernel, grid, args![a, b, x, y]),
            _ => unreachable!("bug: a launch with elements of other types"),
        }
    }

    /// Enqueues a launch. Without a grid it has as many invocations as the longest argument has elements.
    pub fn launch(
        &self,
        ctx: &Context,
        to: &CommandQueue,
        kernel: &op::Kernel,
        reads: &[Held],
        out: &mut Held,
        grid: Option<Grid>,
    ) -> Result<()> {
        let longest = reads.iter().map(Held::memory).max().unwrap_or(0).max(out.memory());
        let grid = grid.unwrap_or_else(|| Grid::threads([longest]));
        match (*kernel, reads, out) {
            (op::Kernel::Mix { a, b, .. }, [Held::U32(x)], Held::U32(y)) => {
                to.launch(&self.mix(ctx)?, grid, Mix { a, b, x, y })
            }
            (op::Kernel::Histogram { .. }, [Held::U32(values)], Held::U32(bins)) => {
                to.launch(&self.histogram(ctx)?, grid, Histogram { values, bins })
            }
            (op::Kernel::Add { .. }, [Held::U32(x), Held::U32(y)], Held::U32(z)) => {
                to.launch(&self.u32.add(ctx)?, grid, Add { x, y, z })
            }
            (op::Kernel::Add { .. }, [Held::I32(x), Held::I32(y)], Held::I32(z)) => {
                to.launch(&self.i32.add(ctx)?, grid, Add { x, y, z })
            }
            (op::Kernel::Add { .. }, [Held::F32(x), Held::F32(y)], Held::F32(z)) => {
                to.launch(&self.f32.add(ctx)?, grid, Add { x, y, z })
            }
            (op::Kernel::Saxpy { a, .. }, [Held::U32(x)], Held::U32(y)) => {
                to.launch(&self.u32.saxpy(ctx)?, grid, Saxpy { a, x, y })
            }
            (op::Kernel::Saxpy { a, .. }, [Held::I32(x)], Held::I32(y)) => {
                to.launch(&self.i32.saxpy(ctx)?, grid, Saxpy { a: a as i32, x, y })
            }
            (op::Kernel::Saxpy { a, .. }, [Held::F32(x)], Held::F32(y)) => {
                to.launch(&self.f32.saxpy(ctx)?, grid, Saxpy { a: f32::from_bits(a), x, y })
            }
            (op::Kernel::Iota { start, step, .. }, [], Held::U32(out)) => {
                to.launch(&self.u32.iota(ctx)?, grid, Iota { start, step, out })
            }
            (op::Kernel::Iota { start, step, .. }, [], Held::I32(out)) => {
                let start = start as i32;
                let step = step as i32;
                to.launch(&self.i32.iota(ctx)?, grid, Iota { start, step, out })
            }
            (op::Kernel::Iota { start, step, .. }, [], Held::F32(out)) => {
                let start = f32::from_bits(start);
                let step = f32::from_bits(step);
                to.launch(&self.f32.iota(ctx)?, grid, Iota { start, step, out })
            }
            _ => unreachable!("bug: a launch with elements of mixed types"),
        }
    }
}

macro_rules! typed {
    ($($name:ident of $host:ty),*) => {$(
        /// Kernels with elements of this type.
        #[derive(Default)]
        pub struct $name {
            add: OnceCell<Kernel<Add<'static, $host>>>,
            saxpy: OnceCell<Kernel<Saxpy<'static, $host>>>,
            iota: OnceCell<Kernel<Iota<'static, $host>>>,
        }

        impl $name {
            pub fn add(&self, ctx: &Context) -> Result<Kernel<Add<'static, $host>>> {
                made(&self.add, || ctx.kernel::<Add<$host>>())
            }

            pub fn saxpy(&self, ctx: &Context) -> Result<Kernel<Saxpy<'static, $host>>> {
                made(&self.saxpy, || ctx.kernel::<Saxpy<$host>>())
            }

            pub fn iota(&self, ctx: &Context) -> Result<Kernel<Iota<'static, $host>>> {
                made(&self.iota, || ctx.kernel::<Iota<$host>>())
            }
        }
    )*};
}

typed!(Words of u32, Integers of i32, Floats of f32);
