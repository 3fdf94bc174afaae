//! A kernel made ready for a context.

use crate::api::context::Owner;
use crate::device::wgpu_pipeline::WgpuPipeline;
use crate::driver::erased::Opaque;
use crate::error::Result;
use fencepost_kernels::{HostKernel, Interface, KernelArgs, Module, Plan, ShaderSource};
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
    Wgpu(Opaque<WgpuPipeline>),
    /// The native recorder's, of its backend.
    #[cfg(native)]
    Hal(Box<dyn std::any::Any + Send + Sync>),
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

impl Recipe<'_> {
    /// Compiles a kernel of our own, in a file of its name.
    pub(crate) fn own<T>(
        entry: &str,
        text: &'static str,
        compile: impl FnOnce(&Recipe<'_>) -> Result<T>,
    ) -> Result<T> {
        let module = Module::parse(&ShaderSource::text(format!("{entry}.wgsl"), text))?;
        let interface = module.interface(entry, &[])?;
        compile(&Recipe { module: &module, interface: &interface, overrides: &[], reference: None })
    }
}

/// A kernel with typed arguments, compiled and checked for one context. A cheap handle.
pub struct Kernel<A: KernelArgs> {
    pub(crate) inner: Arc<KernelInner>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) owner: Owner,
    pub(crate) args: PhantomData<fn(A)>,
}

impl<A: KernelArgs> Clone for Kernel<A> {
    fn clone(&self) -> Self {
        let Self { inner, plan, owner, args } = self;
        Self { inner: inner.clone(), plan: plan.clone(), owner: owner.clone(), args: *args }
    }
}

impl<A: KernelArgs> Kernel<A> {
    /// Invocations in a workgroup, in each dimension, with the overrides applied.
    pub fn workgroup(&self) -> [u32; 3] {
        self.inner.interface.workgroup
    }
}

/// A kernel whose arguments are checked when it is launched. A cheap handle.
#[derive(Clone)]
pub struct DynKernel {
    pub(crate) inner: Arc<KernelInner>,
    pub(crate) owner: Owner,
}

impl DynKernel {
    /// What the entry point takes and how it is run.
    pub fn interface(&self) -> &Interface {
        &self.inner.interface
    }
}
