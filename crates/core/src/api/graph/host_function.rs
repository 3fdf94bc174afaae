//! Host callbacks in a graph.

use crate::error::panic_text::panic_text;
use fencepost_sync::prim::{Condvar, Mutex, assert_unlocked, lock, sleep};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::ThreadId;

/// A host callback that each replay calls.
pub(crate) type HostCall = Arc<HostFunction>;

/// A host callback with the line that captured it.
pub(crate) struct HostFunction {
    at: &'static Location<'static>,
    function: Mutex<Function>,
    /// Notified when a call has ended.
    ended: Condvar,
}

/// A function that the caller takes out: no lock is held while it runs.
enum Function {
    Idle(Box<dyn FnMut() + Send>),
    RunsOn(ThreadId),
}

impl HostFunction {
    pub(crate) fn new(f: impl FnMut() + Send + 'static, at: &'static Location<'static>) -> HostCall {
        let function = Mutex::new(Function::Idle(Box::new(f)));
        Arc::new(Self { at, function, ended: Condvar::new() })
    }

    /// Calls the function. Later replays call it again, even after a panic. Calls come one after the other.
    ///
    /// # Panics
    /// A panic of the function continues in the caller, with a text that names the graph and the line of the capture.
    /// The call also panics inside of a call on the same thread, which happens in a context without threads if the
    /// function waits for a replay of another graph that calls it too.
    pub(crate) fn call(&self, graph: &str) {
        let text = match self.take() {
            Some(mut function) => {
                assert_unlocked("a function of the host in a graph");
                let panic = catch_unwind(AssertUnwindSafe(&mut *function)).err();
                *lock(&self.function) = Function::Idle(function);
                self.ended.notify_all();
                panic.map(panic_text)
            }
            None => Some("it waits for a replay that calls it again".into()),
        };
        if let Some(text) = text {
            resume_unwind(Box::new(format!(
                "the function of the host in graph `{graph}`, captured at {}: {text}",
                self.at
            )));
        }
    }

    /// Takes the function out, and waits for the end of a call on another thread. Returns `None` inside of a call on
    /// this thread.
    fn take(&self) -> Option<Box<dyn FnMut() + Send>> {
        let here = std::thread::current().id();
        let mut state = lock(&self.function);
        loop {
            match *state {
                Function::Idle(_) => break,
                Function::RunsOn(thread) if thread == here => return None,
                Function::RunsOn(_) => state = sleep(&self.ended, state),
            }
        }
        match std::mem::replace(&mut *state, Function::RunsOn(here)) {
            Function::Idle(function) => Some(function),
            Function::RunsOn(_) => None,
        }
    }
}

impl Drop for HostFunction {
    fn drop(&mut self) {
        assert_unlocked("the drop of a function of the host in a graph");
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_panicked_is_called_again() {
        let mut calls = 0;
        let function = HostFunction::new(
            move || {
                calls += 1;
                assert!(calls > 1, "call {calls}");
            },
            Location::caller(),
        );
        let panic = catch_unwind(AssertUnwindSafe(|| function.call("g"))).expect_err("the first call panics");
        let text = panic_text(panic);
        assert!(text.starts_with("the function of the host in graph `g`, captured at "), "{text}");
        assert!(text.ends_with(": call 1"), "{text}");
        function.call("g");
    }

    #[test]
    fn a_call_inside_of_a_call_is_a_panic_with_a_text_and_no_deadlock() {
        let place = Arc::<std::sync::OnceLock<HostCall>>::default();
        let again = place.clone();
        let function =
            HostFunction::new(move || again.get().expect("it is set").call("inner"), Location::caller());
        assert!(place.set(function.clone()).is_ok());
        let panic = catch_unwind(AssertUnwindSafe(|| function.call("g"))).expect_err("the inner call panics");
        let text = panic_text(panic);
        assert!(text.ends_with("it waits for a replay that calls it again"), "{text}");
    }
}
