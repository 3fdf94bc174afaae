//! Kernels that are compiled for a device.

use crate::error::Result;
use crate::error::site::{KernelId, subject};
#[cfg(cpu)]
use crate::work::host_code::HostCode;
use fencepost_kernels::{HostKernel, Interface, Module, ShaderSource, Trust};
use std::any::Any;
use std::sync::Arc;

/// Holds a compiled and checked kernel. All its launches share it.
pub(crate) struct KernelInner {
    pub(crate) id: KernelId,
    /// Names the kernel in messages: its entry point, or the verb that launches it.
    pub(crate) name: Arc<str>,
    /// Names the kernel in profiles, where a verb has a row for each of its kernels.
    pub(crate) label: Arc<str>,
    /// Describes the entry point. Its name is `name`.
    pub(crate) interface: Interface,
    pub(crate) pipeline: Pipeline,
    pub(crate) origin: KernelText,
}

/// Holds the text of a kernel, its entry point and its overrides, for a graph that is saved to a file.
#[derive(Clone)]
pub(crate) struct KernelText {
    pub(crate) source: ShaderSource,
    pub(crate) entry: String,
    /// Names the verb that launches the kernel. It is `None` for a kernel of the program.
    pub(crate) verb: Option<&'static str>,
    pub(crate) overrides: Vec<(String, f64)>,
    /// Says what is proven of the kernel. It is `None` if the kernel was compiled with all runtime checks.
    pub(crate) trust: Option<Trust>,
}

impl KernelInner {
    /// Returns the subject of a launch of the kernel in messages.
    pub(crate) fn subject(&self) -> String {
        subject(&self.label)
    }

    /// Returns the same compiled kernel as one of a verb. `label` is the registered name of the kernel in profiles.
    pub(crate) fn of_verb(&self, verb: &'static str, (id, label): (KernelId, Arc<str>)) -> Self {
        let interface = Interface { entry: verb.into(), ..self.interface.clone() };
        let origin = KernelText { verb: Some(verb), ..self.origin.clone() };
        Self { id, name: verb.into(), label, interface, pipeline: self.pipeline.clone(), origin }
    }
}

/// Is the compiled form of a kernel, for one kind of recorder. The kernels of several verbs share it.
#[derive(Clone)]
pub(crate) enum Pipeline {
    /// Holds the pipeline of the wgpu recorder, or that of the native recorder for its backend.
    Device(Arc<DevicePipeline>),
    /// Holds the code that the CPU runs.
    #[cfg(cpu)]
    Host(HostCode),
}

/// Is the pipeline of a recorder of devices. The place of its value is known at compile time, unlike that of a value behind
/// an `Arc<dyn Any>`, and each launch reads it.
pub(crate) struct DevicePipeline(Box<dyn Any + Send + Sync>);

impl DevicePipeline {
    pub(crate) fn new(pipeline: impl Any + Send + Sync) -> Arc<Self> {
        Arc::new(Self(Box::new(pipeline)))
    }

    /// Returns the pipeline if it has the type `P`.
    #[inline]
    pub(crate) fn downcast_ref<P: 'static>(&self) -> Option<&P> {
        self.0.downcast_ref()
    }
}

/// Holds the input of a compilation of one entry point.
pub(crate) struct Recipe<'a> {
    pub(crate) module: &'a Module,
    /// Describes the entry point, reflected with the same `overrides`.
    pub(crate) interface: &'a Interface,
    pub(crate) overrides: &'a [(&'a str, f64)],
    /// Is the sequential host function of the kernel, if the kernel has one.
    pub(crate) reference: Option<Arc<dyn HostKernel>>,
    /// Says what is proven of all launches of the kernel. A device may leave out the runtime checks for it.
    pub(crate) trust: Option<Trust>,
}

impl Recipe<'_> {
    /// Compiles an own kernel of a recorder from `text`, the contents of the file that has the name of the entry point.
    pub(crate) fn own<T>(
        entry: &str,
        text: &'static str,
        compile: impl FnOnce(&Recipe<'_>) -> Result<T>,
    ) -> Result<T> {
        let module = Module::parse(&ShaderSource::text(format!("{entry}.wgsl"), text))?;
        let interface = module.interface(entry, &[])?;
        let overrides = &[];
        compile(&Recipe { module: &module, interface: &interface, overrides, reference: None, trust: None })
    }
}
