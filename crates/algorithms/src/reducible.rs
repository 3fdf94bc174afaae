//! The types of elements that the verbs combine, and the kernels for each.

use crate::counted::SizedKernel;
use crate::launches;
use crate::reduce::Nan;
use crate::shares::Shares;
use crate::trusted;
use crate::tuning::tuned_as;
use crate::variants::{Tunable, chosen};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Element, Kernel, Number, Result, SameBits};
use fencepost_derive::KernelArgs;

/// Operation of a [reduction](crate::Algorithms::reduce) or a [scan](crate::Algorithms::scan).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// Sum of the elements.
    Sum,
    /// Product of the elements.
    Product,
    /// The smallest element. A NaN makes the result a NaN.
    Smallest,
    /// The largest element. A NaN makes the result a NaN.
    Largest,
    /// The smallest element, ignoring NaNs. If all elements are NaNs, the result is a NaN. This is `minimumNumber` of
    /// IEEE 754-2019.
    SmallestNumber,
    /// The largest element, ignoring NaNs. If all elements are NaNs, the result is a NaN. This is `maximumNumber` of
    /// IEEE 754-2019.
    LargestNumber,
}

impl Operation {
    /// Returns `true` if there is no result for no elements.
    pub(crate) fn needs_an_element(self) -> bool {
        !matches!(self, Self::Sum | Self::Product)
    }

    /// Returns `true` if the largest element is the result.
    pub(crate) fn is_largest(self) -> bool {
        matches!(self, Self::Largest | Self::LargestNumber)
    }

    /// Returns how NaNs are treated.
    pub(crate) fn nan(self) -> Nan {
        if matches!(self, Self::SmallestNumber | Self::LargestNumber) { Nan::Ignore } else { Nan::Propagate }
    }

    /// Returns the operation with the given treatment of NaNs.
    pub(crate) fn treating(self, nan: Nan) -> Self {
        match (self, nan) {
            (Self::Smallest, Nan::Ignore) => Self::SmallestNumber,
            (Self::Largest, Nan::Ignore) => Self::LargestNumber,
            _ => self,
        }
    }

    /// Returns the value of the override `KEYS` of a kernel that combines keys of numbers.
    pub(crate) fn keys(self) -> f64 {
        if self.nan() == Nan::Ignore { 2.0 } else { 1.0 }
    }

    /// Returns the key that does not change results.
    pub(crate) fn identity_of_keys(self) -> u32 {
        <u32 as sealed::Combine>::identity(self)
    }

    /// Returns the value of the override `OPERATION` in `reduce.wgsl`.
    pub(crate) fn number(self) -> f64 {
        match self {
            Self::Sum => 0.0,
            Self::Product => 1.0,
            Self::Smallest | Self::SmallestNumber => 2.0,
            Self::Largest | Self::LargestNumber => 3.0,
        }
    }
}

/// A type of elements that the verbs of [`Algorithms`](crate::Algorithms) combine: `f32`, `i32` or `u32`.
#[diagnostic::on_unimplemented(
    message = "this call takes elements of `f32`, `i32` or `u32`, and not of `{Self}`",
    label = "not `f32`, `i32` or `u32`",
    note = "for vectors, call `map`, or `reduce` or `scan` with a `Monoid`; for structs, call `map`",
    note = "convert other numbers before the upload or in a kernel; in generic code, add the bound `T: Reducible`"
)]
pub trait Reducible: Number + sealed::Combine {}

impl Reducible for f32 {}
impl Reducible for i32 {}
impl Reducible for u32 {}

/// One element, converted to each of the types.
pub struct Types {
    f32: f32,
    i32: i32,
    u32: u32,
}

/// Returns an element converted as the operator `as` does.
pub(crate) fn cast<T: Reducible, U: Reducible>(x: T) -> U {
    U::of_types(x.as_types())
}

pub(crate) mod sealed {
    use super::*;

    /// Implemented only by the types of this crate.
    pub trait Combine: Element + SameBits<u32> + PartialOrd {
        /// Kernel of an operation, or one of several kernels.
        type Kernel;

        /// Returns the bits.
        fn to_word(self) -> u32;

        /// Returns the element converted to each of the types by the operator `as`.
        fn as_types(self) -> Types;

        /// Returns the element of this type.
        fn of_types(types: Types) -> Self;

        /// Returns the result for no elements, which does not change numbers.
        fn identity(operation: Operation) -> Self;

        /// Returns an element that does not change results, not even a NaN.
        fn neutral(operation: Operation) -> Self {
            Self::identity(operation)
        }

        /// Returns the result for a count of 0 first elements.
        fn of_none(operation: Operation, _: Nan) -> Self {
            Self::identity(operation)
        }

        /// Combines two elements on the host.
        fn combined(operation: Operation, a: Self, b: Self) -> Self;

        /// Returns the kernel of an operation for an array of this length, or for its first elements if there is a
        /// count.
        fn kernel(
            queue: &VerbQueue<'_>,
            operation: Operation,
            nan: Nan,
            elements: usize,
            count: Option<&DeviceArray<u32>>,
        ) -> Result<Self::Kernel>;

        /// Enqueues the launch that combines each share of `x` into one element of `out`.
        #[track_caller]
        fn launch(
            queue: &VerbQueue<'_>,
            kernel: &Self::Kernel,
            operation: Operation,
            shares: Shares,
            x: &DeviceArray<Self>,
            out: &mut DeviceArray<Self>,
        ) -> Result<()>;
    }
}

#[derive(KernelArgs)]
#[kernel(source = "reduce.wgsl", T = [f32, i32, u32], crate = fencepost_kernels)]
pub struct ReduceArgs<'a, T: Element> {
    n: u32,
    share: u32,
    identity: T,
    divisor: T,
    x: &'a DeviceArray<T>,
    out: &'a mut DeviceArray<T>,
}

/// Last step on a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Finish {
    /// The result stays as it is.
    #[default]
    Nothing,
    /// Division by the number of elements.
    Divide,
    /// Square root.
    Root,
}

impl Finish {
    /// Returns the value of the override `FINISH` in the kernels.
    pub(crate) fn number(self) -> f64 {
        match self {
            Self::Nothing => 0.0,
            Self::Divide => 1.0,
            Self::Root => 2.0,
        }
    }
}

/// A sum, followed by one more operation on the result.
pub(crate) struct FinishedSum {
    kernel: Kernel<ReduceArgs<'static, f32>>,
    divisor: f32,
}

impl FinishedSum {
    pub(crate) fn new(queue: &VerbQueue<'_>, finish: Finish, elements: usize) -> Result<Self> {
        let overrides = [("OPERATION", Operation::Sum.number()), ("FINISH", finish.number())];
        let overrides = tuned_as(queue, chosen(queue, Tunable::Reduce, elements), &overrides);
        Ok(Self {
            kernel: trusted::kernel_with::<ReduceArgs<f32>>(queue, &overrides)?,
            divisor: elements as f32,
        })
    }

    #[track_caller]
    pub(crate) fn launch(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        x: &DeviceArray<f32>,
        out: &mut DeviceArray<f32>,
    ) -> Result<()> {
        let n = shares.elements as u32;
        let share = shares.share as u32;
        let divisor = self.divisor;
        let args = ReduceArgs { n, share, identity: 0.0, divisor, x, out };
        launches::launch(queue, &self.kernel, shares.count, args)
    }
}

#[derive(KernelArgs)]
#[kernel(source = "extreme.wgsl", crate = fencepost_kernels)]
pub struct ExtremeArgs<'a> {
    n: u32,
    share: u32,
    x: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

macro_rules! integers {
    ($($host:ident),*) => {$(
        impl sealed::Combine for $host {
            type Kernel = SizedKernel<ReduceArgs<'static, Self>>;

            fn to_word(self) -> u32 {
                self as u32
            }

            fn as_types(self) -> Types {
                Types { f32: self as f32, i32: self as i32, u32: self as u32 }
            }

            fn of_types(types: Types) -> Self {
                types.$host
            }

            fn identity(operation: Operation) -> Self {
                match operation {
                    Operation::Sum => 0,
                    Operation::Product => 1,
                    Operation::Smallest | Operation::SmallestNumber => Self::MAX,
                    Operation::Largest | Operation::LargestNumber => Self::MIN,
                }
            }

            fn combined(operation: Operation, a: Self, b: Self) -> Self {
                match operation {
                    Operation::Sum => a.wrapping_add(b),
                    Operation::Product => a.wrapping_mul(b),
                    Operation::Smallest | Operation::SmallestNumber => a.min(b),
                    Operation::Largest | Operation::LargestNumber => a.max(b),
                }
            }

            fn kernel(
                queue: &VerbQueue<'_>,
                operation: Operation,
                _: Nan,
                elements: usize,
                count: Option<&DeviceArray<u32>>,
            ) -> Result<Self::Kernel> {
                let variant = chosen(queue, Tunable::Reduce, elements);
                let overrides = tuned_as(queue, variant, &[("OPERATION", operation.number())]);
                SizedKernel::compiled(queue, &overrides, count)
            }

            #[track_caller]
            fn launch(
                queue: &VerbQueue<'_>,
                kernel: &Self::Kernel,
                operation: Operation,
                shares: Shares,
                x: &DeviceArray<Self>,
                out: &mut DeviceArray<Self>,
            ) -> Result<()> {
                let n = shares.elements as u32;
                let share = shares.share as u32;
                let identity = Self::identity(operation);
                kernel.launch(queue, shares.count, ReduceArgs { n, share, identity, divisor: Self::ONE, x, out })
            }
        }
    )*};
}

integers!(i32, u32);

/// Kernel of an operation on floats.
pub enum FloatKernel {
    Combine(SizedKernel<ReduceArgs<'static, f32>>),
    Extreme(SizedKernel<ExtremeArgs<'static>>),
}

impl sealed::Combine for f32 {
    type Kernel = FloatKernel;

    fn to_word(self) -> u32 {
        self.to_bits()
    }

    fn as_types(self) -> Types {
        Types { f32: self, i32: self as i32, u32: self as u32 }
    }

    fn of_types(types: Types) -> Self {
        types.f32
    }

    fn identity(operation: Operation) -> Self {
        match operation {
            Operation::Sum => 0.0,
            Operation::Product => 1.0,
            Operation::Smallest | Operation::SmallestNumber => Self::INFINITY,
            Operation::Largest | Operation::LargestNumber => Self::NEG_INFINITY,
        }
    }

    fn neutral(operation: Operation) -> Self {
        if operation.nan() == Nan::Ignore { Self::NAN } else { Self::identity(operation) }
    }

    fn of_none(operation: Operation, nan: Nan) -> Self {
        let is_nan = nan == Nan::Ignore && operation.needs_an_element();
        if is_nan { Self::NAN } else { Self::identity(operation) }
    }

    fn combined(operation: Operation, a: Self, b: Self) -> Self {
        match operation {
            Operation::Sum => a + b,
            Operation::Product => a * b,
            Operation::Smallest | Operation::SmallestNumber if a.total_cmp(&b).is_le() => a,
            Operation::Largest | Operation::LargestNumber if a.total_cmp(&b).is_ge() => a,
            _ => b,
        }
    }

    fn kernel(
        queue: &VerbQueue<'_>,
        operation: Operation,
        nan: Nan,
        elements: usize,
        count: Option<&DeviceArray<u32>>,
    ) -> Result<Self::Kernel> {
        let variant = chosen(queue, Tunable::Reduce, elements);
        if !operation.needs_an_element() {
            let overrides = tuned_as(queue, variant, &[("OPERATION", operation.number())]);
            return SizedKernel::compiled(queue, &overrides, count).map(FloatKernel::Combine);
        }
        let number = |is: bool| f64::from(u8::from(is));
        let keeps_nan = nan == Nan::Propagate && operation.nan() == Nan::Propagate;
        let overrides = [("LARGEST", number(operation.is_largest())), ("KEEP_NAN", number(keeps_nan))];
        SizedKernel::compiled(queue, &tuned_as(queue, variant, &overrides), count).map(FloatKernel::Extreme)
    }

    #[track_caller]
    fn launch(
        queue: &VerbQueue<'_>,
        kernel: &Self::Kernel,
        operation: Operation,
        shares: Shares,
        x: &DeviceArray<Self>,
        out: &mut DeviceArray<Self>,
    ) -> Result<()> {
        let n = shares.elements as u32;
        let share = shares.share as u32;
        let groups = shares.count;
        match kernel {
            FloatKernel::Combine(kernel) => {
                let identity = Self::identity(operation);
                kernel.launch(queue, groups, ReduceArgs { n, share, identity, divisor: Self::ONE, x, out })
            }
            FloatKernel::Extreme(kernel) => {
                let x = &x.cast_bits();
                let out = &mut out.cast_bits();
                kernel.launch(queue, groups, ExtremeArgs { n, share, x, out })
            }
        }
    }
}
