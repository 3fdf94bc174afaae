//! A kernel, compiled for a device.

use crate::error::Result;
use crate::error::site::KernelId;
use fencepost_kernels::{HostKernel, Interface, Module, ShaderSource};
use std::any::Any;
use std::sync::Arc;

/// A kernel, compiled and checked, shared by all its launches.
pub(crate) struct KernelInner {
    pub(crate) id: KernelId,
    pub(crate) name: Arc<str>,
    pub(crate) interface: Interface,
    pub(crate) pipeline: Pipeline,
}

/// What runs it.
pub(crate) enum Pipeline {
    /// Holds the pipeline of the wgpu recorder, or that of the native recorder for its backend.
    Device(Box<dyn Any + Send + Sync>),
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
