use std::array;
use std::rc::Rc;

use anyhow::Result;
use fencepost::{CommandQueue, Context, DeviceArray};

use super::device::{Array, Enqueue};
use super::values::{Check, Item, Values};

/// Plain Rust that reads the arrays and writes the result.
pub(crate) type Plain = Box<dyn Fn(&[Values], &mut Values)>;

/// A row of the table: a device's work with its data, and the same work in plain Rust.
pub(crate) struct Case {
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
    pub(crate) plain: Plain,
}

/// Work of a device.
pub(crate) enum Program {
    Kernel(Kernel),
    Verb(Enqueue),
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

/// Inputs of a row that reads no arrays.
pub(crate) const NO_INPUTS: [Vec<u32>; 0] = [];

impl Case {
    /// Returns a row of a kernel. The result is exact, the written array has zeros before each sample, and a sample is
    /// one launch.
    pub(crate) fn kernel<T: Item, U: Item, const K: usize>(
        kernel: Kernel,
        inputs: [Vec<T>; K],
        expected: Vec<U>,
        work: Work,
        plain: impl Fn([&[T]; K], &mut [U]) + 'static,
    ) -> Self {
        Self::of(Program::Kernel(kernel), inputs, expected, work, plain)
    }

    /// Returns a row of a verb, as [`kernel`](Self::kernel) does of a kernel.
    pub(crate) fn verb<T: Item, U: Item, const K: usize>(
        inputs: [Vec<T>; K],
        expected: Vec<U>,
        work: Work,
        verb: impl Fn(&CommandQueue, [&DeviceArray<T>; K], &mut DeviceArray<U>) -> fencepost::Result<()> + 'static,
        plain: impl Fn([&[T]; K], &mut [U]) + 'static,
    ) -> Self {
        let enqueue = move |queue: &CommandQueue, inputs: &[Array], out: &mut Array| -> Result<()> {
            Ok(verb(queue, array::from_fn(|at| T::array(&inputs[at])), U::array_mut(out))?)
        };
        Self::of(Program::Verb(Rc::new(enqueue)), inputs, expected, work, plain)
    }

    /// Returns a row of a program, as [`kernel`](Self::kernel) does of a kernel.
    pub(crate) fn of<T: Item, U: Item, const K: usize>(
        program: Program,
        inputs: [Vec<T>; K],
        expected: Vec<U>,
        work: Work,
        plain: impl Fn([&[T]; K], &mut [U]) + 'static,
    ) -> Self {
        let expected = U::values(expected);
        Self {
            program,
            inputs: inputs.into_iter().map(T::values).collect(),
            start: expected.zeros(),
            expected,
            check: Check::Exact,
            launches: 1,
            work: Some(work),
            plain: Box::new(move |inputs: &[Values], out: &mut Values| {
                plain(array::from_fn(|at| T::list(&inputs[at])), U::list_mut(out));
            }),
        }
    }
}

impl Kernel {
    /// Returns a kernel without overrides and parameters, from its WGSL and its OpenCL C.
    pub(crate) fn new(
        (wgsl, opencl): (&'static str, Option<&'static str>),
        entry: &'static str,
        groups: [usize; 3],
    ) -> Self {
        Self { wgsl, opencl, entry, overrides: vec![], groups: groups.map(|count| count as u32), a: None }
    }
}

/// Returns the source of a kernel in WGSL and in OpenCL C: the files with a name in the folder `kernels`.
macro_rules! sources {
    ($file:literal) => {
        (
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/cpu/kernels/", $file, ".wgsl")),
            Some(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/cpu/kernels/", $file, ".cl"))),
        )
    };
}
pub(crate) use sources;

impl Work {
    pub(crate) const fn of(amount: f64, unit: &'static str) -> Self {
        Self { amount, unit }
    }
}
