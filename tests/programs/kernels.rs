//! Kernels that programs launch. They are compiled when first needed.

use super::common::kernels::{Mix, Saxpy, mix_by_text};
use super::held::Held;
use super::op;
use fencepost::prelude::*;
use std::cell::OnceCell;

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

/// A context of the program. It compiles a kernel at the first launch and keeps it, so later launches reach the queue even
/// after the loss of the device.
pub struct Home {
    pub ctx: Context,
    mix: OnceCell<Kernel<Mix<'static>>>,
    histogram: OnceCell<Kernel<Histogram<'static>>>,
    add: OnceCell<Kernel<Add<'static, u32>>>,
    saxpy: OnceCell<Kernel<Saxpy<'static, u32>>>,
    iota: OnceCell<Kernel<Iota<'static, u32>>>,
    /// Kernel of the launches whose arguments are checked at the call, once there was one.
    mixed: OnceCell<DynKernel>,
}

impl Home {
    pub fn new(ctx: Context) -> Self {
        Self {
            ctx,
            mix: OnceCell::new(),
            histogram: OnceCell::new(),
            add: OnceCell::new(),
            saxpy: OnceCell::new(),
            iota: OnceCell::new(),
            mixed: OnceCell::new(),
        }
    }

    fn mixed(&self) -> Result<DynKernel> {
        made(&self.mixed, || mix_by_text(&self.ctx))
    }

    /// Enqueues a launch whose arguments are checked at the call.
    pub fn launch_dyn(&self, to: &CommandQueue, kernel: &op::Kernel, x: &Held, y: &mut Held) -> Result<()> {
        let op::Kernel::Mix { a, b, .. } = *kernel else { unreachable!("bug: a launch of another kernel") };
        let kernel = self.mixed()?;
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
        to: &CommandQueue,
        kernel: &op::Kernel,
        reads: &[Held],
        out: &mut Held,
        grid: Option<Grid>,
    ) -> Result<()> {
        let ctx = &self.ctx;
        let longest = reads.iter().map(Held::memory).max().unwrap_or(0).max(out.memory());
        let grid = grid.unwrap_or_else(|| Grid::threads([longest]));
        match (*kernel, reads, out) {
            (op::Kernel::Mix { a, b, .. }, [Held::U32(x)], Held::U32(y)) => {
                to.launch(&made(&self.mix, || ctx.kernel::<Mix>())?, grid, Mix { a, b, x, y })
            }
            (op::Kernel::Histogram { .. }, [Held::U32(values)], Held::U32(bins)) => to.launch(
                &made(&self.histogram, || ctx.kernel::<Histogram>())?,
                grid,
                Histogram { values, bins },
            ),
            (op::Kernel::Add { .. }, [Held::U32(x), Held::U32(y)], Held::U32(z)) => {
                to.launch(&made(&self.add, || ctx.kernel::<Add<u32>>())?, grid, Add { x, y, z })
            }
            (op::Kernel::Add { .. }, [Held::I32(x), Held::I32(y)], Held::I32(z)) => {
                to.launch(&ctx.kernel::<Add<i32>>()?, grid, Add { x, y, z })
            }
            (op::Kernel::Add { .. }, [Held::F32(x), Held::F32(y)], Held::F32(z)) => {
                to.launch(&ctx.kernel::<Add<f32>>()?, grid, Add { x, y, z })
            }
            (op::Kernel::Saxpy { a, .. }, [Held::U32(x)], Held::U32(y)) => {
                to.launch(&made(&self.saxpy, || ctx.kernel::<Saxpy<u32>>())?, grid, Saxpy { a, x, y })
            }
            (op::Kernel::Saxpy { a, .. }, [Held::I32(x)], Held::I32(y)) => {
                to.launch(&ctx.kernel::<Saxpy<i32>>()?, grid, Saxpy { a: a as i32, x, y })
            }
            (op::Kernel::Saxpy { a, .. }, [Held::F32(x)], Held::F32(y)) => {
                to.launch(&ctx.kernel::<Saxpy<f32>>()?, grid, Saxpy { a: f32::from_bits(a), x, y })
            }
            (op::Kernel::Iota { start, step, .. }, [], Held::U32(out)) => {
                to.launch(&made(&self.iota, || ctx.kernel::<Iota<u32>>())?, grid, Iota { start, step, out })
            }
            (op::Kernel::Iota { start, step, .. }, [], Held::I32(out)) => {
                let [start, step] = [start, step].map(|bits| bits as i32);
                to.launch(&ctx.kernel::<Iota<i32>>()?, grid, Iota { start, step, out })
            }
            (op::Kernel::Iota { start, step, .. }, [], Held::F32(out)) => {
                let [start, step] = [start, step].map(f32::from_bits);
                to.launch(&ctx.kernel::<Iota<f32>>()?, grid, Iota { start, step, out })
            }
            _ => unreachable!("bug: a launch with elements of mixed types"),
        }
    }
}

/// Returns a clone of the kept kernel, which `make` makes the first time.
fn made<K: Clone>(kept: &OnceCell<K>, make: impl FnOnce() -> Result<K>) -> Result<K> {
    if let Some(kernel) = kept.get() {
        return Ok(kernel.clone());
    }
    let kernel = make()?;
    Ok(kept.get_or_init(|| kernel).clone())
}
