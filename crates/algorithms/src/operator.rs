//! An operation and its values, for the type that a kernel computes with.

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
    /// A part of the kernel, selected by an override. With `keys`, the elements are bits of numbers, which the kernel
    /// maps to ordered words.
    Builtin { operation: Operation, keys: bool },
    /// An expression from user code. If `swapped`, it combines the elements in the opposite order.
    Program { expression: &'a str, swapped: bool },
}

/// An operation, and its values as elements of the kernel's type.
#[derive(Clone, Copy, Debug)]
pub struct Operator<'a, U> {
    text: Text<'a>,
    /// Element that does not change others. It takes the place of elements beyond the last one.
    pub(crate) identity: U,
    /// A number that does not change other numbers.
    least: U,
    /// Initial value, which comes before the first element.
    pub(crate) initial: U,
}

impl<T: Reducible> Operator<'static, T> {
    /// Returns an operator that combines the elements themselves.
    pub(crate) fn of_elements(operation: Operation, initial: T) -> Self {
        let identity = T::identity(operation);
        Self { text: Text::Builtin { operation, keys: false }, identity, least: identity, initial }
    }
}

impl Operator<'static, u32> {
    /// Returns an operator that combines keys of numbers, so that the device never compares a NaN. Returns `None` if
    /// the elements themselves are to be combined.
    pub(crate) fn of_keys<T: Reducible>(operation: Operation, initial: T) -> Option<Self> {
        if !operation.needs_an_element() || T::DTYPE.scalar() != Some(Scalar::F32) {
            return None;
        }
        // The key of a NaN wins every comparison, or loses every one if NaNs are ignored.
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

/// Size of workgroup memory in bytes, with one 4-byte element per invocation.
const BYTES: usize = 1024;

impl<'a, U: Element> Operator<'a, U> {
    /// Returns an operator that combines the elements by an expression from user code.
    pub(crate) fn of_program(expression: &'a str, identity: U, initial: U) -> Self {
        Self { text: Text::Program { expression, swapped: false }, identity, least: identity, initial }
    }

    /// Makes the operator combine the elements in the opposite order. Built-in operations do not depend on the order.
    pub(crate) fn swapped(self) -> Self {
        match self.text {
            Text::Program { expression, swapped } => {
                Self { text: Text::Program { expression, swapped: !swapped }, ..self }
            }
            Text::Builtin { .. } => self,
        }
    }

    /// Returns `true` for an operation of the library.
    pub(crate) fn is_builtin(&self) -> bool {
        matches!(self.text, Text::Builtin { .. })
    }

    /// Removes the initial value.
    pub(crate) fn without_initial(self) -> Self {
        Self { initial: self.least, ..self }
    }

    /// Compiles the built-in shader `stem`.wgsl with the operation; for first elements if there is a count.
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
                // If elements are larger, fewer fit into workgroup memory.
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
