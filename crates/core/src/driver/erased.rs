//! A wall around wgpu's types.

use std::ops::Deref;

/// A value behind a trait object.
///
/// wgpu's types nest so deeply that rustc, asked in a user's program whether a context may cross threads, would reach
/// its default recursion limit. Here the question is settled once.
pub(crate) struct Opaque<T: 'static>(Box<dyn Hold<T>>);

trait Hold<T>: Send + Sync {
    fn held(&self) -> &T;
}

impl<T: Send + Sync> Hold<T> for T {
    fn held(&self) -> &T {
        self
    }
}

impl<T: Send + Sync> Opaque<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Box::new(value))
    }
}

impl<T> Deref for Opaque<T> {
    type Target = T;

    fn deref(&self) -> &T {
        Hold::<T>::held(&*self.0)
    }
}
