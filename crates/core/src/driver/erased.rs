//! Type erasure for wgpu's types.

use std::ops::Deref;

/// A value as a trait object.
///
/// wgpu's types nest so deeply that rustc would reach its default recursion limit when it checks in a user's program
/// that a context is `Send` and `Sync`. A trait object has these bounds itself, so rustc does not look inside.
pub(crate) struct Erased<T: 'static>(Box<dyn ErasedValue<T>>);

trait ErasedValue<T>: Send + Sync {
    fn held(&self) -> &T;
}

impl<T: Send + Sync> ErasedValue<T> for T {
    fn held(&self) -> &T {
        self
    }
}

impl<T: Send + Sync> Erased<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Box::new(value))
    }
}

impl<T> Deref for Erased<T> {
    type Target = T;

    fn deref(&self) -> &T {
        ErasedValue::<T>::held(&*self.0)
    }
}
