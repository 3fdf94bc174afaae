//! An operation with its values, for the type with which a kernel computes.

use crate::order::order_key;
use crate::reducible::sealed::Combine;
use crate::reducible::{Operation, Reducible};
use fencepost_core::Scalar;

/// Holds an operation, and its values as elements of the kernel's type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operator<U> {
    pub(crate) operation: Operation,
    /// Is `true` if the elements are bits of numbers, which the kernel turns into keys.
    keys: bool,
    /// Changes nothing, and stands for elements behind the last one.
    pub(crate) identity: U,
    /// Changes no number, and is one itself.
    least: U,
    /// Is the value before the first element.
    pub(crate) initial: U,
}

impl<T: Reducible> Operator<T> {
    /// Combines the elements themselves.
    pub(crate) fn of_elements(operation: Operation, initial: T) -> Self {
        let identity = T::identity(operation);
        Self { operation, keys: false, identity, least: identity, initial }
    }
}

impl Operator<u32> {
    /// Combines keys of numbers, so that a device compares no NaN. Returns `None` if the elements themselves are combined.
    pub(crate) fn of_keys<T: Reducible>(operation: Operation, initial: T) -> Option<Self> {
        if !operation.needs_an_element() || T::DTYPE.scalar() != Some(Scalar::F32) {
            return None;
        }
        let key = |number: T| number_key(number.to_word(), operation == Operation::Largest);
        let identity = u32::identity(operation);
        Some(Self {
            operation,
            keys: true,
            identity,
            least: key(T::identity(operation)),
            initial: key(initial),
        })
    }
}

impl<U: Copy> Operator<U> {
    /// Begins without an initial value.
    pub(crate) fn without_initial(self) -> Self {
        Self { initial: self.least, ..self }
    }

    /// Returns the overrides of the kernel.
    pub(crate) fn overrides(&self) -> [(&'static str, f64); 2] {
        [("OPERATION", self.operation.number()), ("KEYS", f64::from(u8::from(self.keys)))]
    }
}

/// Returns the key of a number, as the snippet `number_keys` does.
fn number_key(bits: u32, largest: bool) -> u32 {
    if f32::from_bits(bits).is_nan() {
        return if largest { u32::MAX } else { 0 };
    }
    order_key(f32::from_bits(bits))
}
