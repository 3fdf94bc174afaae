//! Selects where a verb goes: to a named queue, or to the current queue.

use fencepost::prelude::*;
use fencepost::{Element, Kernel, Result, Source};

/// A target is a queue, or a context with its current queue.
pub enum Target {
    Queue(CommandQueue),
    Current(Context),
}

/// Calls a verb of the queue or of the context.
macro_rules! on {
    ($target:expr, $to:ident => $body:expr) => {
        match $target {
            $crate::target::Target::Queue($to) => $body,
            $crate::target::Target::Current($to) => $body,
        }
    };
}

pub(super) use on;

impl Target {
    pub fn fill<T: Element, const D: usize>(&self, dst: &mut DeviceArray<T, D>, value: T) -> Result<()> {
        on!(self, to => to.fill(dst, value))
    }

    pub fn upload<T: Element, const D: usize>(
        &self,
        src: &(impl Source<T> + ?Sized),
        dst: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        on!(self, to => to.upload(src, dst))
    }

    pub fn copy<T: Element, const D: usize>(
        &self,
        src: &DeviceArray<T, D>,
        dst: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        on!(self, to => to.copy(src, dst))
    }

    pub fn read<T: Element, const D: usize>(&self, src: &DeviceArray<T, D>) -> Pending<Vec<T>> {
        on!(self, to => to.read(src))
    }

    pub fn launch<A: KernelArgs>(&self, kernel: &Kernel<A::Family>, grid: Grid, args: A) -> Result<()> {
        on!(self, to => to.launch(kernel, grid, args))
    }
}
