//! Kernels that are compiled for a context.

use crate::runtime::owner::Owner;
use crate::work::kernel_launch::KernelInner;
use fencepost_kernels::{ArgumentSlots, Interface, Warning};
use std::marker::PhantomData;
use std::sync::Arc;

/// A kernel with typed arguments, compiled and checked for one context. A clone is a cheap handle.
pub struct Kernel<A> {
    pub(crate) inner: Arc<KernelInner>,
    pub(crate) plan: Arc<ArgumentSlots>,
    /// Entry points that a launch runs after the first one, if any.
    pub(crate) next: Option<Arc<[EntryPoint]>>,
    pub(crate) owner: Owner,
    pub(crate) args: PhantomData<fn(A)>,
}

/// An entry point of a kernel, and the binding places of the arguments.
pub(crate) struct EntryPoint {
    pub(crate) inner: Arc<KernelInner>,
    pub(crate) plan: ArgumentSlots,
}

impl<A> Clone for Kernel<A> {
    fn clone(&self) -> Self {
        let Self { inner, plan, next, owner, args } = self;
        let inner = inner.clone();
        let plan = plan.clone();
        let next = next.clone();
        Self { inner, plan, next, owner: owner.clone(), args: *args }
    }
}

impl<A> Kernel<A> {
    /// Returns the number of invocations of a workgroup in each dimension, with the overrides applied. For a kernel
    /// with several entry points, this is the workgroup of the first.
    pub fn workgroup(&self) -> [u32; 3] {
        self.inner.interface.workgroup
    }

    /// Returns a warning, with its source line, for each part of the kernel's text that a browser would refuse (rule
    /// K13). The kernel runs anyway, unless [`ContextOptions::portable_wgsl`](crate::ContextOptions::portable_wgsl)
    /// makes the warnings errors.
    pub fn warnings(&self) -> impl Iterator<Item = &Warning> {
        self.entry_points().flat_map(|(inner, _)| &inner.interface.warnings)
    }

    /// Returns the entry points in their order, each with its plan of the arguments.
    pub(crate) fn entry_points(&self) -> impl Iterator<Item = (&Arc<KernelInner>, &ArgumentSlots)> {
        let next = self.next.iter().flat_map(|next| next.iter());
        std::iter::once((&self.inner, &*self.plan)).chain(next.map(|entry| (&entry.inner, &entry.plan)))
    }
}

/// A kernel whose arguments each launch checks. A clone is a cheap handle.
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

    /// Returns a warning, with its source line, for each part of the kernel's text that a browser would refuse (rule
    /// K13). The kernel runs anyway, unless [`ContextOptions::portable_wgsl`](crate::ContextOptions::portable_wgsl)
    /// makes the warnings errors.
    ///
    /// # Example
    /// ```
    /// # let (ctx, _) = fencepost::doctest();
    /// # ctx.host_kernel("k", std::sync::Arc::new(|_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [fencepost::HostBuffer<'_>]| ()))?;
    /// let text = "@compute @workgroup_size(64) fn k(@builtin(local_invocation_index) i: u32) {
    ///     if i < 32u { workgroupBarrier(); }
    /// }";
    /// let kernel = ctx.kernel_from(text, "k")?;
    /// assert!(kernel.warnings()[0].message.starts_with("`workgroupBarrier` must be reached by all"));
    /// assert_eq!((kernel.warnings()[0].line, kernel.warnings()[0].column), (2, 18));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn warnings(&self) -> &[Warning] {
        &self.inner.interface.warnings
    }
}
