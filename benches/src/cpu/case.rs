use anyhow::Result;
use fencepost::Context;

use super::device::Enqueue;
use super::values::{Check, Values};

/// A row of the table: a device's work with its data, and the same work in plain Rust.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) program: Program,
    /// Arrays that the program reads, in the order of the kernel's bindings.
    pub(crate) inputs: Vec<Values>,
    /// Elements of the written array, a kernel's last binding, before each sample.
    pub(crate) start: Values,
    /// Elements of the written array after each sample.
    pub(crate) expected: Values,
    pub(crate) check: Check,
    /// Number of launches of a sample, each with a wait.
    pub(crate) launches: usize,
    /// Work of a launch, or `None` in a row about the launch itself.
    pub(crate) work: Option<Work>,
    /// The same work in plain Rust, with vectors and on all processors.
    pub(crate) plain: fn(inputs: &[Values], out: &mut Values),
}

/// Work of a device.
pub(crate) enum Program {
    Kernel(Kernel),
    /// Preparation of several launches in a context.
    Launches(fn(&Context) -> Result<Enqueue>),
}

/// A kernel with its grid.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) wgsl: &'static str,
    /// The same kernel in OpenCL C, if the row has one.
    pub(crate) opencl: Option<&'static str>,
    pub(crate) entry: &'static str,
    pub(crate) overrides: Vec<(&'static str, f64)>,
    pub(crate) groups: [u32; 3],
    /// Field `a` of the kernel's parameters.
    pub(crate) a: Option<f32>,
}

/// Work of a launch, in a unit of which the table shows billions a second.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) amount: f64,
    pub(crate) unit: &'static str,
}

impl Work {
    pub(crate) const fn of(amount: f64, unit: &'static str) -> Self {
        Self { amount, unit }
    }
}
