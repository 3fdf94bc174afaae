//! Threads of the tests. A case that starts one cannot run in a web page.

#[cfg(not(target_arch = "wasm32"))]
pub use std::thread::*;

#[cfg(target_arch = "wasm32")]
pub use page::*;

#[cfg(target_arch = "wasm32")]
mod page {
    use std::marker::PhantomData;
    pub use std::thread::{JoinHandle, ScopedJoinHandle, Thread, ThreadId, current, panicking};

    /// Ends the case.
    fn not_possible() -> ! {
        panic!("not possible: a page has one thread")
    }

    /// Lets the page run.
    pub fn yield_now() {
        super::super::page::go_on();
    }

    pub fn spawn<F: FnOnce() -> T, T>(_: F) -> JoinHandle<T> {
        not_possible()
    }

    #[derive(Default)]
    pub struct Builder;

    impl Builder {
        pub fn new() -> Self {
            Self
        }

        #[must_use]
        pub fn stack_size(self, _: usize) -> Self {
            self
        }

        pub fn spawn<F: FnOnce() -> T, T>(self, _: F) -> std::io::Result<JoinHandle<T>> {
            not_possible()
        }
    }

    pub struct Scope<'scope, 'env>(PhantomData<(&'scope (), &'env ())>);

    impl<'scope> Scope<'scope, '_> {
        pub fn spawn<F: FnOnce() -> T + 'scope, T>(&'scope self, _: F) -> ScopedJoinHandle<'scope, T> {
            not_possible()
        }
    }

    pub fn scope<'env, F, T>(_: F) -> T
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    {
        not_possible()
    }
}
