//! Launches of verbs whose results in a share depend on all earlier shares: one launch for a short array, two for a
//! long one.

use crate::shares::Shares;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Result};

/// The part of a verb that a launch computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// The results in each share, given the states of the shares before it.
    Write,
    /// The state of each share.
    Fold,
    /// The results of an array that is a single share.
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

/// A verb whose kernel has the override `STAGE`.
pub(crate) trait Stages {
    /// Number of words of a state.
    const WORDS: usize;

    /// Compiled kernel.
    type Kernel;

    /// Compiles the kernel of a stage.
    fn kernel(&self, queue: &VerbQueue<'_>, stage: Stage) -> Result<Self::Kernel>;

    /// Enqueues the launch of a stage. `partials` has the states of the shares; only the stage `Write` reads them.
    /// `result` receives these states in the stage `Fold`, and otherwise the last state.
    #[track_caller]
    fn launch(
        &self,
        queue: &VerbQueue<'_>,
        kernel: &Self::Kernel,
        shares: Shares,
        partials: Option<&DeviceArray<u32>>,
        result: &mut DeviceArray<u32>,
    ) -> Result<()>;
}

/// Enqueues the launches. There must be at least one element.
#[track_caller]
pub(crate) fn enqueue<V: Stages>(
    queue: &VerbQueue<'_>,
    verb: &V,
    elements: usize,
    result: &mut DeviceArray<u32>,
) -> Result<()> {
    Launches::prepared(queue, verb, elements, result)?.enqueue(queue, verb, result)
}

/// Kernels and scratch memory of the launches.
pub(crate) enum Launches<K> {
    Whole { kernel: K, shares: Shares },
    Shared { fold: K, write: K, states: DeviceArray<u32>, shares: Shares },
}

impl<K> Launches<K> {
    /// Compiles the kernels and takes scratch memory, but enqueues nothing. Refuses what the launches would refuse,
    /// because a launch without shares is only checked.
    #[track_caller]
    pub(crate) fn prepared<V: Stages<Kernel = K>>(
        queue: &VerbQueue<'_>,
        verb: &V,
        elements: usize,
        result: &mut DeviceArray<u32>,
    ) -> Result<Self> {
        let shares = Shares::of(elements);
        let none = Shares { count: 0, ..shares };
        if shares.count == 1 {
            let kernel = verb.kernel(queue, Stage::Whole)?;
            verb.launch(queue, &kernel, none, None, result)?;
            return Ok(Self::Whole { kernel, shares });
        }
        let fold = verb.kernel(queue, Stage::Fold)?;
        let write = verb.kernel(queue, Stage::Write)?;
        verb.launch(queue, &write, none, None, result)?;
        let states = queue.scratch(V::WORDS * shares.count)?;
        Ok(Self::Shared { fold, write, states, shares })
    }

    /// Enqueues the launches.
    #[track_caller]
    pub(crate) fn enqueue<V: Stages<Kernel = K>>(
        self,
        queue: &VerbQueue<'_>,
        verb: &V,
        result: &mut DeviceArray<u32>,
    ) -> Result<()> {
        match self {
            Self::Whole { kernel, shares } => verb.launch(queue, &kernel, shares, None, result),
            Self::Shared { fold, write, mut states, shares } => {
                verb.launch(queue, &fold, shares, None, &mut states)?;
                verb.launch(queue, &write, shares, Some(&states), result)
            }
        }
    }
}
