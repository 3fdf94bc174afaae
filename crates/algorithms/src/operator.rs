//! An operation with its values, for the type with which a kernel computes.

use crate::order::order_key;
use crate::program;
use crate::reduce::Nan;
use crate::reducible::sealed::Combine as _;
use crate::reducible::{Operation, Reducible};
use crate::tuning::SIZE;
use crate::typed_kernel::sized;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, DynKernel, Element, Result, Scalar};

/// Source of an operation's text.
#[derive(Clone, Copy, Debug)]
enum Text<'a> {
    /// Part of the kernel, selected by an override. Keys are the bits of numbers, which the kernel maps to ordered
    /// words.
    Builtin { operation: Operation, keys: bool },
    /// An expression from user code. If it is swapped, it combines the elements in the opposite order.
    Program { expression: &'a str, swapped: bool },
}

/// An operation, and its values as elements of the kernel's type.
#[derive(Clone, Copy, Debug)]
pub struct Operator<'a, U> {
    text: Text<'a>,
    /// Element that changes nothing; replaces elements past the last one.
    pub(crate) identity: U,
    /// A number that changes no other number.
    least: U,
    /// Initial value, before the first element.
    pub(crate) initial: U,
}

impl<T: Reducible> Operator<'static, T> {
    /// Combines the elements themselves.
    pub(crate) fn of_elements(operation: Operation, initial: T) -> Self {
        let identity = T::identity(operation);
        Self { text: Text::Builtin { operation, keys: false }, identity, least: identity, initial }
    }
}

impl Operator<'static, u32> {
    /// Combines keys of numbers, so that a device compares no NaN. Returns `None` if the elements themselves are
    /// combined.
    pub(crate) fn of_keys<T: Reducible>(operation: Operation, initial: T) -> Option<Self> {
        if !operation.needs_an_element() || T::DTYPE.scalar() != Some(Scalar::F32) {
            return None;
        }
        // The key of a NaN wins each comparison, or loses each one if NaNs are left out.
        let nan_last = operation.is_largest() == (operation.nan() == Nan::Propagate);
        let key = |number: T| number_key(number.to_word(), nan_last);
        let identity = u32::identity(operation);
        Some(Self {
            text: Text::Builtin { operation, keys: true },
            identity,
            least: key(T::neutral(operation)),
            initial: key(initial),
        })
    }
}

/// Bytes of workgroup memory for one 4-byte element per invocation.
const BYTES: usize = 1024;

impl<'a, U: Element> Operator<'a, U> {
    /// Combines the elements by an expression from user code.
    pub(crate) fn of_program(expression: &'a str, identity: U, initial: U) -> Self {
        Self { text: Text::Program { expression, swapped: false }, identity, least: identity, initial }
    }

    /// Combines the elements in the opposite order. A built-in operation does not depend on it.
    pub(crate) fn swapped(self) -> Self {
        match self.text {
            Text::Program { expression, swapped } => {
                Self { text: Text::Program { expression, swapped: !swapped }, ..self }
            }
            Text::Builtin { .. } => self,
        }
    }

    /// Begins without an initial value.
    pub(crate) fn without_initial(self) -> Self {
        Self { initial: self.least, ..self }
    }

    /// Compiles the built-in shader `stem`.wgsl with the operation, for first elements if there is a count.
    pub(crate) fn kernel(
        &self,
        queue: &VerbQueue<'_>,
        stem: &'static str,
        overrides: &[(&str, f64)],
        count: Option<&DeviceArray<u32>>,
    ) -> Result<DynKernel> {
        match self.text {
            Text::Builtin { operation, keys } => {
                let own =
                    [("OPERATION", operation.number()), ("KEYS", if keys { operation.keys() } else { 0.0 })];
                sized::<U>(queue, stem, &[&own, overrides].concat(), count)
            }
            Text::Program { expression, swapped } => {
                let is_sized = overrides.iter().any(|(name, _)| *name == SIZE);
                // The memory of a workgroup holds fewer large elements.
                let fewer = (!is_sized && size_of::<U>() > size_of::<u32>())
                    .then_some((SIZE, (BYTES / size_of::<U>()) as f64));
                let overrides: Vec<_> = overrides.iter().copied().chain(fewer).collect();
                program::compiled::<U>(queue, stem, (expression, swapped), &overrides, count)
            }
        }
    }
}

/// Returns the key of a number, as the snippet `number_keys` does.
fn number_key(bits: u32, nan_last: bool) -> u32 {
    if f32::from_bits(bits).is_nan() {
        return if nan_last { u32::MAX } else { 0 };
    }
    order_key(f32::from_bits(bits))
}
