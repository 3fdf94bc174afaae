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
    /// Holds the entry points that the same launch runs after the first one, if there are any.
    pub(crate) next: Option<Arc<[EntryPoint]>>,
    pub(crate) owner: Owner,
    pub(crate) args: PhantomData<fn(A)>,
}

/// Is an entry point of a kernel, with the places of the kernel's arguments.
pub(crate) struct EntryPoint {
    pub(crate) inner: Arc<KernelInner>,
    pub(crate) plan: Plan,
}

impl<A: KernelArgs> Clone for Kernel<A> {
    fn clone(&self) -> Self {
        let Self { inner, plan, next, owner, args } = self;
        let (inner, plan, next) = (inner.clone(), plan.clone(), next.clone());
        Self { inner, plan, next, owner: owner.clone(), args: *args }
    }
}

impl<A: KernelArgs> Kernel<A> {
    /// Returns the number of invocations of a workgroup in each dimension, with the overrides applied. Of several entry
    /// points, it is that of the first.
    pub fn workgroup(&self) -> [u32; 3] {
        self.inner.interface.workgroup
    }

    /// Returns the entry points in their order, each with the places of the arguments.
    pub(crate) fn entry_points(&self) -> impl Iterator<Item = (&Arc<KernelInner>, &Plan)> {
        let next = self.next.iter().flat_map(|next| next.iter());
        std::iter::once((&self.inner, &*self.plan)).chain(next.map(|entry| (&entry.inner, &entry.plan)))
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
