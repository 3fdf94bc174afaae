//! Kernels that are compiled for a context.

use crate::runtime::owner::Owner;
use crate::work::compiled_kernel::KernelInner;
use fencepost_kernels::{Interface, KernelArgs, Plan};
use std::marker::PhantomData;
use std::sync::Arc;

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
    /// Returns the number of invocations of a workgroup in each dimension, with the overrides applied.
    pub fn workgroup(&self) -> [u32; 3] {
        self.inner.interface.workgroup
    }
}

/// A kernel whose arguments each launch checks. A cheap handle.
#[derive(Clone)]
pub struct DynKernel {
    pub(crate) inner: Arc<KernelInner>,
    pub(crate) owner: Owner,
}

impl DynKernel {
    /// Returns the interface of the entry point: its arguments, and how it runs.
    pub fn interface(&self) -> &Interface {
        &self.inner.interface
    }
}
