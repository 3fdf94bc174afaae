//! A kernel made ready for a context.

pub(crate) mod cache;

use crate::context::Owner;
use crate::error::{Kind, Result};
use crate::lane::{Caps, Opaque};
use crate::recorder::wgpu::WgpuPipeline;
use fencepost_kernels::{HostKernel, Interface, KernelArgs, Module, Plan, Source};
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
        let module = Module::parse(&Source::text(format!("{entry}.wgsl"), text))?;
        let interface = module.interface(entry, &[])?;
        compile(&Recipe { module: &module, interface: &interface, overrides: &[], reference: None })
    }
}

/// A kernel with typed arguments, compiled and checked for one context. A cheap handle.
pub struct Kernel<A: KernelArgs> {
    pub(crate) inner: Arc<KernelInner>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) owner: Owner,
    args: PhantomData<fn(A)>,
}

impl<A: KernelArgs> Clone for Kernel<A> {
    fn clone(&self) -> Self {
        let Self { inner, plan, owner, args } = self;
        Self { inner: inner.clone(), plan: plan.clone(), owner: owner.clone(), args: *args }
    }
}

impl<F: KernelArgs> Kernel<F> {
    /// Compiles and checks the kernel of `A`, whose family `F` is.
    pub(crate) fn compile<A: KernelArgs<Family = F>>(
        owner: &Owner,
        overrides: &[(&str, f64)],
    ) -> Result<Self> {
        let source = A::source()?;
        let inner = compile(owner, &source, A::entry(), overrides)?;
        let plan = Arc::new(fencepost_kernels::check(&inner.interface, &A::fields())?);
        Ok(Self { inner, plan, owner: owner.clone(), args: PhantomData })
    }

    /// Invocations in a workgroup, in each dimension, with the overrides applied.
    pub fn workgroup(&self) -> [u32; 3] {
        self.inner.interface.workgroup
    }
}

impl DynKernel {
    pub(crate) fn compile(owner: &Owner, wgsl: &str, entry: &str, overrides: &[(&str, f64)]) -> Result<Self> {
        Self::compile_source(owner, &Source::text(entry, wgsl.to_owned()), entry, overrides)
    }

    pub(crate) fn compile_source(
        owner: &Owner,
        source: &Source,
        entry: &str,
        overrides: &[(&str, f64)],
    ) -> Result<Self> {
        Ok(Self { inner: compile(owner, source, entry, overrides)?, owner: owner.clone() })
    }

    /// What the entry point takes and how it is run.
    pub fn interface(&self) -> &Interface {
        &self.inner.interface
    }
}

/// The kernel as the context has it, or compiled.
fn compile(
    owner: &Owner,
    source: &Source,
    entry: &str,
    overrides: &[(&str, f64)],
) -> Result<Arc<KernelInner>> {
    let key = cache::Key::new(source, entry, overrides);
    owner.kernels().get(key, || compile_anew(owner, source, entry, overrides))
}

fn compile_anew(
    owner: &Owner,
    source: &Source,
    entry: &str,
    overrides: &[(&str, f64)],
) -> Result<Arc<KernelInner>> {
    let module = Module::parse(source)?;
    let interface = module.interface(entry, overrides)?;
    let caps = owner.device().caps();
    check_limits(caps, &interface)?;
    let reference = source.reference();
    let recipe = Recipe { module: &module, interface: &interface, overrides, reference };
    let pipeline = owner.engine().checked(owner.device().compile(&recipe))?;
    let (id, name) = owner.engine().new_kernel(entry);
    Ok(Arc::new(KernelInner { id, name, interface, pipeline }))
}

fn check_limits(caps: &Caps, interface: &Interface) -> Result<()> {
    let kernel = interface.entry.clone();
    let (found, limit) = (interface.bindings.len(), caps.max_bindings);
    if found > limit as usize {
        return Err(Kind::TooManyBindings { kernel, found, limit }.into());
    }
    let (found, limit) = (interface.workgroup, caps.max_workgroup);
    let total: u64 = found.iter().fold(1, |all: u64, &n| all.saturating_mul(u64::from(n)));
    if found.iter().zip(limit).any(|(&n, limit)| n > limit) || total > u64::from(caps.max_invocations) {
        return Err(Kind::WorkgroupTooLarge { kernel, found, limit, total: caps.max_invocations }.into());
    }
    let (found, limit) = (interface.workgroup_memory, caps.max_workgroup_memory);
    if found > limit {
        return Err(Kind::WorkgroupMemory { kernel, found, limit }.into());
    }
    Ok(())
}

/// A kernel whose arguments are checked when it is launched. A cheap handle.
#[derive(Clone)]
pub struct DynKernel {
    pub(crate) inner: Arc<KernelInner>,
    pub(crate) owner: Owner,
}
