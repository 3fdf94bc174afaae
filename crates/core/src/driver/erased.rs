//! A wall around wgpu's types.

use std::ops::Deref;

/// A value behind a trait object.
///
/// wgpu's types nest so deeply that rustc, asked in a user's program whether a context may cross threads, would reach
/// its default recursion limit. Here the question is settled once.
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
