//! The kernels that programs launch, made when first needed.

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
