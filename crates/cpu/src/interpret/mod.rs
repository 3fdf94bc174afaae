//! The interpreter. It needs no executable memory, and is the reference for all other engines.
//!
//! [`Interpreter::new`] decodes each function once into a flat list of instructions, whose operands are slots of a
//! frame. A workgroup runs its invocations one after the other, each until it ends or waits.

mod access;
mod atomic;
mod builtin;
mod compute;
mod decode;
mod invocation;
mod listing;
mod memory;
mod observer;
mod op;
mod operate;
mod shape;
mod step;
mod subgroup;
mod workgroup;

use crate::error::{Fault, Place, Result};
use crate::program::Program;
use crate::run::GridRun;
use decode::Decoded;
use naga::Function;
use std::sync::Arc;

pub(crate) use listing::AtomicAccess;
pub(crate) use observer::{Missing, Observer, Site, Touched};
pub use workgroup::PausedRun;

/// A program as instructions, ready to run.
pub(crate) struct Interpreter {
    program: Arc<Program>,
    decoded: Decoded,
}

impl Interpreter {
    /// Decodes a program, and checks that the interpreter supports all of it.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported), with the line.
    pub(crate) fn new(program: Arc<Program>) -> Result<Self> {
        let decoded = decode::decode(&program)?;
        Ok(Self { program, decoded })
    }

    /// Returns a function by its number in a [`Site`].
    pub(crate) fn function(&self, number: usize) -> &Function {
        let mut functions = self.program.module().functions.iter();
        functions.nth(number).map_or(&self.program.entry().function, |(_, function)| function)
    }

    /// Returns the place of an instruction in the text.
    #[cfg_attr(not(test), expect(dead_code, reason = "only an observer asks"))]
    pub(crate) fn place(&self, site: Site) -> Option<Place> {
        let origin = self.decoded.functions.get(site.function)?.origins.get(site.op)?;
        self.program.place(origin.span)
    }

    /// Executes the workgroups of a run.
    ///
    /// # Errors
    /// Returns the fault that ended the run early.
    pub(crate) fn run(&self, run: &GridRun<'_>) -> std::result::Result<(), Fault> {
        self.run_observed(run, &mut ())
    }

    /// Executes the workgroups of a run, and reports the events to an observer.
    ///
    /// # Errors
    /// Returns the fault that ended the run early.
    pub(crate) fn run_observed<O: Observer>(
        &self,
        run: &GridRun<'_>,
        observer: &mut O,
    ) -> std::result::Result<(), Fault> {
        let mut whole = self.begin(run);
        whole.resume((&self.program, &self.decoded), run, u64::MAX, observer)?;
        Ok(())
    }

    /// Begins a run that [`resume`](Self::resume) executes in slices.
    pub(crate) fn begin(&self, run: &GridRun<'_>) -> PausedRun {
        PausedRun::new(&self.program, &self.decoded, run)
    }

    /// Executes the workgroups of a run for at most `steps` steps. Returns `true` if all have ended.
    ///
    /// # Errors
    /// Returns the fault that ended the run early.
    pub(crate) fn resume(
        &self,
        run: &GridRun<'_>,
        paused: &mut PausedRun,
        steps: u64,
    ) -> std::result::Result<bool, Fault> {
        paused.resume((&self.program, &self.decoded), run, steps, &mut ())
    }
}
