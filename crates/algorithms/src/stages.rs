//! The launches of a verb that needs the state before each share of an array: one for a short array, two for a long one.

use crate::shares::Shares;
use fencepost_core::{CommandQueue, DeviceArray, Result};

/// Names the part of a verb that a launch computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Writes the results of each share, from the states of the shares before it.
    Write,
    /// Writes the state of each share.
    Fold,
    /// Writes the results of an array that is one share.
    Whole,
}

impl Stage {
    /// Returns the value of the override `STAGE` in the kernels.
    pub(crate) fn number(self) -> f64 {
        match self {
            Self::Write => 0.0,
            Self::Fold => 1.0,
            Self::Whole => 2.0,
        }
    }
}

/// Is a verb whose kernel has the override `STAGE`.
pub(crate) trait Stages {
    /// Counts the words of a state.
    const WORDS: usize;

    /// Is the compiled kernel.
    type Kernel;

    /// Compiles the kernel of a stage.
    fn kernel(&self, queue: &CommandQueue, stage: Stage) -> Result<Self::Kernel>;

    /// Enqueues the launch of a stage. `partials` has the states of the shares, in the stage `Write` alone. `result` is the
    /// array of these states in the stage `Fold`, else the array that receives the last state.
    #[track_caller]
    fn launch(
        &self,
        queue: &CommandQueue,
        kernel: &Self::Kernel,
        shares: Shares,
        partials: Option<&DeviceArray<u32>>,
        result: &mut DeviceArray<u32>,
    ) -> Result<()>;
}

/// Enqueues the launches for at least one element.
#[track_caller]
pub(crate) fn enqueue<V: Stages>(
    queue: &CommandQueue,
    verb: &V,
    elements: usize,
    result: &mut DeviceArray<u32>,
) -> Result<()> {
    let shares = Shares::of(elements);
    if shares.count == 1 {
        return verb.launch(queue, &verb.kernel(queue, Stage::Whole)?, shares, None, result);
    }
    let (fold, write) = (verb.kernel(queue, Stage::Fold)?, verb.kernel(queue, Stage::Write)?);
    // A launch without workgroups enqueues nothing: it refuses what the last launch would refuse.
    verb.launch(queue, &write, Shares { count: 0, ..shares }, None, result)?;
    let mut states = queue.empty([V::WORDS * shares.count])?;
    verb.launch(queue, &fold, shares, None, &mut states)?;
    verb.launch(queue, &write, shares, Some(&states), result)
}
