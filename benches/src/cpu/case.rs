use super::values::{Check, Values};

/// Holds a row of the table: a kernel with its data, and the same work in plain Rust.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) wgsl: &'static str,
    pub(crate) entry: &'static str,
    pub(crate) overrides: Vec<(&'static str, f64)>,
    pub(crate) groups: [u32; 3],
    /// Is the field `a` of the kernel's parameters.
    pub(crate) a: Option<f32>,
    /// Holds the arrays that the kernel reads, in the order of its bindings.
    pub(crate) inputs: Vec<Values>,
    /// Holds the elements of the written array, the last binding, before each sample.
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
