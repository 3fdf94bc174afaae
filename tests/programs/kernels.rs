//! The kernels that programs launch, made when first needed.

use super::held::Held;
use super::op;
use fencepost::prelude::*;
use fencepost::{Element, Kernel, Result};
use std::cell::OnceCell;

#[derive(KernelArgs)]
#[kernel(source = "mix.wgsl")]
pub struct Mix<'a> {
    pub a: u32,
    pub b: u32,
    pub x: &'a DeviceArray<u32>,
    pub y: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "histogram.wgsl")]
pub struct Histogram<'a> {
    pub values: &'a DeviceArray<u32>,
    pub bins: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "add.wgsl", T = [u32, i32])]
pub struct Add<'a, T: Element> {
    pub x: &'a DeviceArray<T>,
    pub y: &'a DeviceArray<T>,
    pub z: &'a mut DeviceArray<T>,
}

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", T = [u32, i32])]
pub struct Saxpy<'a, T: Element> {
    pub a: T,
    pub x: &'a DeviceArray<T>,
    pub y: &'a mut DeviceArray<T>,
}

#[derive(KernelArgs)]
#[kernel(source = "iota.wgsl", T = [u32, i32])]
pub struct Iota<'a, T: Element> {
    pub start: T,
    pub step: T,
    pub out: &'a mut DeviceArray<T>,
}

#[derive(Default)]
pub struct Kernels {
    mix: OnceCell<Kernel<Mix<'static>>>,
    histogram: OnceCell<Kernel<Histogram<'static>>>,
    pub u32: Words,
    pub i32: Integers,
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

impl Kernels {
    /// Enqueues a launch, of as many invocations as the longest argument has elements.
    pub fn launch(
        &self,
        ctx: &Context,
        queue: &CommandQueue,
        kernel: &op::Kernel,
        reads: &[Held],
        out: &mut Held,
    ) -> Result<()> {
        let grid = Grid::threads([reads.iter().map(Held::len).max().unwrap_or(0).max(out.len())]);
        match (*kernel, reads, out) {
            (op::Kernel::Mix { a, b, .. }, [Held::U32(x)], Held::U32(y)) => {
                queue.launch(&self.mix(ctx)?, grid, Mix { a, b, x, y })
            }
            (op::Kernel::Histogram { .. }, [Held::U32(values)], Held::U32(bins)) => {
                queue.launch(&self.histogram(ctx)?, grid, Histogram { values, bins })
            }
            (op::Kernel::Add { .. }, [Held::U32(x), Held::U32(y)], Held::U32(z)) => {
                queue.launch(&self.u32.add(ctx)?, grid, Add { x, y, z })
            }
            (op::Kernel::Add { .. }, [Held::I32(x), Held::I32(y)], Held::I32(z)) => {
                queue.launch(&self.i32.add(ctx)?, grid, Add { x, y, z })
            }
            (op::Kernel::Saxpy { a, .. }, [Held::U32(x)], Held::U32(y)) => {
                queue.launch(&self.u32.saxpy(ctx)?, grid, Saxpy { a, x, y })
            }
            (op::Kernel::Saxpy { a, .. }, [Held::I32(x)], Held::I32(y)) => {
                queue.launch(&self.i32.saxpy(ctx)?, grid, Saxpy { a: a as i32, x, y })
            }
            (op::Kernel::Iota { start, step, .. }, [], Held::U32(out)) => {
                queue.launch(&self.u32.iota(ctx)?, grid, Iota { start, step, out })
            }
            (op::Kernel::Iota { start, step, .. }, [], Held::I32(out)) => {
                let (start, step) = (start as i32, step as i32);
                queue.launch(&self.i32.iota(ctx)?, grid, Iota { start, step, out })
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

typed!(Words of u32, Integers of i32);
