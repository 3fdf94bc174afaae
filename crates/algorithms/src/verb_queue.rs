//! A queue with the name of the verb that was called on it.

use crate::variants::{KernelVariant, Tunable};
use fencepost_core::trusted_kernel::{TakenRoom, scratch, take_room};
use fencepost_core::{
    CommandQueue, DeviceArray, DynKernel, Element, Error, ErrorDetail, Grid, Kernel, KernelArgs, NamedArg,
    Result, SameKernel,
};
use fencepost_kernels::PART_COUNT;
use std::ops::Deref;

/// Verbs that compute results for each matrix of a stack.
const OF_STACKS: [&str; 10] = [
    "cholesky",
    "determinant",
    "eigh",
    "eigvalsh",
    "inverse",
    "log_determinant",
    "lu",
    "qr",
    "solve",
    "solve_triangular",
];
/// Name for the argument with the number of first elements.
const PART: &str = "count of the first elements";

/// A queue during the call of a verb. Messages about its kernels name the verb, because that is what the user has
/// called.
pub struct VerbQueue<'a> {
    queue: &'a CommandQueue,
    pub(crate) verb: &'static str,
    /// Variant that a measurement tries, and its kernels.
    pub(crate) tried: Option<(Tunable, KernelVariant)>,
    /// Room for all commands of the verb, so that a full backlog refuses the verb as a whole.
    _room: Option<TakenRoom>,
}

impl<'a> VerbQueue<'a> {
    /// Begins a verb, once there is room in the backlog.
    ///
    /// # Errors
    /// Returns `Backlog` if there is no room and the call must not block.
    #[track_caller]
    pub(crate) fn new(queue: &'a CommandQueue, verb: &'static str) -> Result<Self> {
        Ok(Self { queue, verb, tried: None, _room: take_room(queue)? })
    }

    /// Begins a verb that a measurement calls with a variant of some kernels.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    #[track_caller]
    pub(crate) fn trying(queue: &'a CommandQueue, kernels: Tunable, variant: KernelVariant) -> Result<Self> {
        Ok(Self { tried: Some((kernels, variant)), ..Self::new(queue, "tune")? })
    }

    /// Returns scratch memory of the verb: an array with unspecified elements. In a capture, even in the body of a
    /// condition or a loop, it belongs to the graph.
    #[track_caller]
    pub(crate) fn scratch<T: Element>(&self, len: usize) -> Result<DeviceArray<T>> {
        scratch(self.queue, self.verb, len)
    }

    /// Enqueues a launch. Errors name the verb's arguments.
    #[track_caller]
    pub(crate) fn launch<F: KernelArgs>(
        &self,
        kernel: &Kernel<F>,
        grid: Grid<'_>,
        args: impl KernelArgs<Family: SameKernel<F>>,
    ) -> Result<()> {
        self.queue.launch(kernel, grid, args).map_err(|error| self.named(error))
    }

    /// Enqueues a launch as [`launch`](Self::launch) does, with named arguments.
    #[track_caller]
    pub(crate) fn launch_dyn<'b>(
        &self,
        kernel: &DynKernel,
        grid: Grid<'_>,
        args: impl AsRef<[NamedArg<'b>]>,
    ) -> Result<()> {
        self.queue.launch_dyn(kernel, grid, args).map_err(|error| self.named(error))
    }

    /// Checks a launch. Errors name the verb's arguments.
    #[track_caller]
    pub(crate) fn check_launch<F: KernelArgs>(
        &self,
        kernel: &Kernel<F>,
        args: impl KernelArgs<Family: SameKernel<F>>,
    ) -> Result<()> {
        self.queue.check_launch(kernel, args).map_err(|error| self.named(error))
    }

    /// Checks a launch as [`check_launch`](Self::check_launch) does, with named arguments.
    #[track_caller]
    pub(crate) fn check_launch_dyn<'b>(
        &self,
        kernel: &DynKernel,
        args: impl AsRef<[NamedArg<'b>]>,
    ) -> Result<()> {
        self.queue.check_launch_dyn(kernel, args).map_err(|error| self.named(error))
    }

    /// Returns the error for an array of the verb whose shape does not fit.
    pub(crate) fn wrong_shape<T: Element, const D: usize>(
        &self,
        argument: &str,
        array: &DeviceArray<T, D>,
        expected: impl Into<Vec<usize>>,
        remedy: &'static str,
    ) -> Error {
        self.wrong_shape_of(argument, array.label(), array.shape().into(), expected, remedy)
    }

    /// Returns the error of [`wrong_shape`](Self::wrong_shape) for an array with this label and shape.
    pub(crate) fn wrong_shape_of(
        &self,
        argument: &str,
        label: &str,
        found: Vec<usize>,
        expected: impl Into<Vec<usize>>,
        remedy: &'static str,
    ) -> Error {
        let argument = argument_of(self.verb, argument);
        let object = format!("{}, argument `{argument}`: array `{label}`", subject(self.verb));
        ErrorDetail::Shape { object, found, expected: expected.into(), remedy }.into()
    }

    /// Returns a launch error with the names of the verb's arguments.
    fn named(&self, error: Error) -> Error {
        let name = |argument: &str| argument_of(self.verb, argument).to_owned();
        match error.detail() {
            ErrorDetail::Aliased { subject, node, first, second, array } => {
                let subject = subject.clone();
                let node = node.clone();
                let array = array.clone();
                ErrorDetail::Aliased { subject, node, first: name(first), second: name(second), array }.into()
            }
            ErrorDetail::ForeignContext { subject, arg, object } => {
                let subject = subject.clone();
                let object = object.clone();
                ErrorDetail::ForeignContext { subject, arg: name(arg), object }.into()
            }
            &ErrorDetail::BindingTooLarge { ref subject, ref arg, found, limit, .. } => {
                let subject = subject.clone();
                let arg = name(arg);
                let remedy = parts_of(self.verb);
                ErrorDetail::BindingTooLarge { subject, arg, found, limit, remedy }.into()
            }
            _ => error,
        }
    }
}

/// Returns how messages refer to the verb.
pub(crate) fn subject(verb: &str) -> String {
    format!("verb `{verb}`")
}

/// Returns the remedy for an array that is too large for a verb.
fn parts_of(verb: &str) -> &'static str {
    if verb.starts_with("scan") && verb != "scan_by_key" {
        return "scan parts of the array, which `slice` returns, one after the other, each from the total of the one before it \
                (`scan_and_total` writes it, `Scan::from` takes it)";
    }
    if verb == "matmul" {
        return "call it for parts of the rows of `a`, which `slice` returns, each with its part of `out`";
    }
    if verb == "convolve_channels" {
        return "call it for parts of the images, which `slice` returns, each with its part of `out`";
    }
    if OF_STACKS.contains(&verb) {
        return "call it for parts of the stack of matrices, which `slice` returns, each with its part of the results";
    }
    if verb == "all_reduce" {
        return "call it for parts of the arrays, which `slice` returns, one after the other";
    }
    "call it for parts of the array, which `slice` returns, and combine their results"
}

/// Returns the name of the verb's argument that its kernel calls `argument`.
pub(crate) fn argument_of<'a>(verb: &str, argument: &'a str) -> &'a str {
    match (verb, argument) {
        (_, PART_COUNT) => PART,
        ("select" | "partition" | "nonzero" | "unique", "counts") => "count",
        ("reduce_by_key" | "run_lengths", "states") => "count",
        ("run_lengths", "keys") => "x",
        ("run_lengths", "out") => "lengths",
        ("searchsorted", "out") => "places",
        // The kernel gets the matrices in place of right sides.
        ("inverse", "b") => "a",
        _ => argument,
    }
}

impl Deref for VerbQueue<'_> {
    type Target = CommandQueue;

    fn deref(&self) -> &CommandQueue {
        self.queue
    }
}
