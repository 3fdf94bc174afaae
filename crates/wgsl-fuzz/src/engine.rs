//! Engines, which run a program and return its results.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::program::Program;

/// Holds the words of each written buffer of a program, in the order of the buffers.
pub type Outputs = Vec<Vec<u32>>;

/// Runs programs. A new engine is added to the list of [`engines`](crate::engines()).
pub trait Engine: Send {
    /// Returns the name for messages.
    fn name(&self) -> &str;

    /// Runs a program once, with the contents that its buffers have.
    fn run(&mut self, program: &Program) -> Answer;
}

/// The answer of an engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The program ran.
    Results(Outputs),
    /// The engine does not have what the program needs, which it names. This is no difference.
    Refused(String),
    /// The engine failed or panicked. This is a difference.
    Failed(String),
}

/// Runs a program. A panic of the engine is a failure.
pub(crate) fn run_caught(engine: &mut dyn Engine, program: &Program) -> Answer {
    let caught = catch_unwind(AssertUnwindSafe(|| engine.run(program)));
    caught.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Answer::Failed(format!("panic: {text}"))
    })
}
