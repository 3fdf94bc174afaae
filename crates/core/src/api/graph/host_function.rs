//! Functions of the host in a graph.

use crate::error::panic_text::panic_text;
use fencepost_sync::prim::{Mutex, lock};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;

/// Is a function of the host that each replay calls.
pub(crate) type HostCall = Arc<HostFunction>;

/// Holds a function of the host with the line that captured it.
pub(crate) struct HostFunction {
    at: &'static Location<'static>,
    function: Mutex<Box<dyn FnMut() + Send>>,
}

impl HostFunction {
    pub(crate) fn new(f: impl FnMut() + Send + 'static, at: &'static Location<'static>) -> HostCall {
        Arc::new(Self { at, function: Mutex::new(Box::new(f)) })
    }

    /// Calls the function. Later replays call it again, also after a panic.
    ///
    /// # Panics
    /// A panic of the function continues in the caller, with a text that names the graph and the line of the capture.
    pub(crate) fn call(&self, graph: &str) {
        let panic = {
            let mut function = lock(&self.function);
            catch_unwind(AssertUnwindSafe(&mut **function)).err()
        };
        if let Some(panic) = panic {
            let text = panic_text(&*panic);
            resume_unwind(Box::new(format!(
                "the function of the host in graph `{graph}`, captured at {}: {text}",
                self.at
            )));
        }
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
        let text = panic_text(&*panic);
        assert!(text.starts_with("the function of the host in graph `g`, captured at "), "{text}");
        assert!(text.ends_with(": call 1"), "{text}");
        function.call("g");
    }
}
