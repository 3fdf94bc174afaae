use anyhow::Result;
use fencepost::Context;

use super::device::Enqueue;
use super::values::{Check, Values};

/// Holds a row of the table: work of a device with its data, and the same work in plain Rust.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) program: Program,
    /// Holds the arrays that the program reads; a kernel has them in the order of its bindings.
    pub(crate) inputs: Vec<Values>,
    /// Holds the elements of the written array, which is a kernel's last binding, before each sample.
    pub(crate) start: Values,
    /// Holds the elements of the written array after each sample.
    pub(crate) expected: Values,
    pub(crate) check: Check,
    /// Counts the launches of a sample, each with a wait.
    pub(crate) launches: usize,
    /// Is the work of a launch, or `None` in a row about the launch itself.
    pub(crate) work: Option<Work>,
    /// Does the work in plain Rust, with vectors and on all processors.
    pub(crate) plain: fn(inputs: &[Values], out: &mut Values),
}

/// Is the work of a device.
pub(crate) enum Program {
    Kernel(Kernel),
    /// Prepares work of several launches in a context.
    Launches(fn(&Context) -> Result<Enqueue>),
}

/// Is a kernel with its grid.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) wgsl: &'static str,
    /// Is the same kernel in OpenCL C, or `None` if the row has none.
    pub(crate) opencl: Option<&'static str>,
    pub(crate) entry: &'static str,
    pub(crate) overrides: Vec<(&'static str, f64)>,
    pub(crate) groups: [u32; 3],
    /// Is the field `a` of the kernel's parameters.
    pub(crate) a: Option<f32>,
}

/// Counts the work of a launch in a unit of which the table shows billions a second.
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
