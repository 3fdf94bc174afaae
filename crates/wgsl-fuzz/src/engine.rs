//! The interface of engines, which run a program and return its results.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::program::Program;

/// Words of each written buffer of a program, in the order of the buffers.
pub type Outputs = Vec<Vec<u32>>;

/// A runner of programs. New engines are added to [`direct_engines`](crate::direct_engines()) or to `engines`.
pub trait Engine: Send + Sync {
    /// Returns the name for messages.
    fn name(&self) -> &str;

    /// Returns `true` if the engine computes the same bits as every other exact engine, even where WGSL allows several
    /// results. Inexact engines run only portable programs.
    fn is_exact(&self) -> bool {
        false
    }

    /// Runs a program once, on the contents of its buffers.
    fn run(&self, program: &Program) -> Answer;
}

/// The answer of an engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The program ran.
    Results(Outputs),
    /// The engine lacks what the program needs, as named here. This is not a difference.
    Refused(String),
    /// The engine failed or panicked. This is a difference.
    Failed(String),
}

/// Answer of one engine of a campaign.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) engine: String,
    /// Value of [`Engine::is_exact`].
    pub(crate) is_exact: bool,
    pub(crate) answer: Answer,
    pub(crate) took: Duration,
}

/// Runs a program. A panic of the engine is a failure.
pub(crate) fn run_caught(engine: &dyn Engine, program: &Program) -> Given {
    let begun = Instant::now();
    let caught = catch_unwind(AssertUnwindSafe(|| engine.run(program)));
    let answer = caught.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Answer::Failed(format!("panic: {text}"))
    });
    Given { engine: engine.name().to_owned(), is_exact: engine.is_exact(), answer, took: begun.elapsed() }
}
