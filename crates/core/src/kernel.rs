//! A kernel made ready for a context.

use crate::recorder::wgpu::WgpuPipeline;
use fencepost_kernels::{HostKernel, Interface, KernelArgs, Module, Plan};
use std::marker::PhantomData;
use std::sync::Arc;

/// Names a kernel in its context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct KernelId(pub(crate) u32);

/// A kernel, compiled and checked, shared by all its launches.
pub(crate) struct KernelInner {
    pub(crate) id: KernelId,
    pub(crate) name: Arc<str>,
    pub(crate) interface: Interface,
    pub(crate) pipeline: Pipeline,
}

/// What runs it.
pub(crate) enum Pipeline {
    Wgpu(WgpuPipeline),
    /// The CPU recorder's.
    Host(Arc<dyn HostKernel>),
}

/// What a device needs to compile an entry point.
pub(crate) struct Recipe<'a> {
    pub(crate) module: &'a Module,
    /// Reflected with the same `overrides`.
    pub(crate) interface: &'a Interface,
    pub(crate) overrides: &'a [(&'a str, f64)],
    /// The plain sequential function of the kernel, if there is one.
    pub(crate) reference: Option<Arc<dyn HostKernel>>,
}

/// A kernel with typed arguments, compiled and checked for one context. A cheap handle.
pub struct Kernel<A: KernelArgs> {
    pub(crate) inner: Arc<KernelInner>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) owner: crate::context::Owner,
    pub(crate) args: PhantomData<fn(A)>,
}

/// A kernel whose arguments are checked when it is launched. A cheap handle.
#[derive(Clone)]
pub struct DynKernel {
    pub(crate) inner: Arc<KernelInner>,
    pub(crate) owner: crate::context::Owner,
}
