//! The number of elements that are not zero, and tests if any or all are not zero.

use crate::counted::SizedKernel;
use crate::passes::{self, Passes, one_element};
use crate::reduce::Nan;
use crate::reducible::sealed::Combine;
use crate::reducible::{Operation, Reducible};
use crate::refusals::check;
use crate::shares::Shares;
use crate::tuning::tuned_as;
use crate::typed_kernel::nonzero_bits;
use crate::variants::{KernelVariant, Tunable, chosen};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Result};
use fencepost_derive::KernelArgs;
use fencepost_kernels::PART_COUNT;

/// Result of a comparison of all elements with zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Count,
    Any,
    All,
}

impl Comparison {
    /// Returns the value of the override `OPERATION` in `nonzero.wgsl`.
    fn number(self) -> f64 {
        match self {
            Self::Count => 0.0,
            Self::Any => 1.0,
            Self::All => 2.0,
        }
    }
}

/// Enqueues the comparison of an array, or of its first elements if there is a count.
#[track_caller]
pub(crate) fn compare<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    comparison: Comparison,
    x: &DeviceArray<T, D>,
    count: Option<&DeviceArray<u32>>,
    out: &mut DeviceArray<u32, E>,
) -> Result<()> {
    let mut out = one_element(queue, "out", out)?;
    let x = x.reshape([x.len()])?.cast_bits::<u32>();
    if x.is_empty() {
        let reads: Vec<_> = [("x", &x)].into_iter().chain(count.map(|count| (PART_COUNT, count))).collect();
        check(queue, &reads, &[("out", &out)])?;
        return queue.fill(&mut out, u32::from(comparison == Comparison::All));
    }
    let variant = chosen(queue, Tunable::Reduce, x.len());
    let elements = kernel(queue, variant, comparison, nonzero_bits::<T>(), count)?;
    // The results of the shares are 0 or 1, or counts that the last launch adds.
    let partials = match comparison {
        Comparison::Count => {
            Partials::Sum(u32::kernel(queue, Operation::Sum, Nan::Propagate, x.len(), None)?)
        }
        Comparison::Any | Comparison::All => {
            Partials::Compare(kernel(queue, variant, comparison, u32::MAX, None)?)
        }
    };
    passes::enqueue(queue, &Nonzero { elements, partials, x: &x }, x.len(), &mut out)
}

type NonzeroKernel = SizedKernel<NonzeroArgs<'static>>;

fn kernel(
    queue: &VerbQueue<'_>,
    variant: KernelVariant,
    comparison: Comparison,
    bits: u32,
    count: Option<&DeviceArray<u32>>,
) -> Result<NonzeroKernel> {
    let overrides = [("OPERATION", comparison.number()), ("BITS", f64::from(bits))];
    SizedKernel::compiled(queue, &tuned_as(queue, variant, &overrides), count)
}

#[derive(KernelArgs)]
#[kernel(source = "nonzero.wgsl", crate = fencepost_kernels)]
struct NonzeroArgs<'a> {
    n: u32,
    share: u32,
    x: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

struct Nonzero<'a> {
    elements: NonzeroKernel,
    partials: Partials,
    x: &'a DeviceArray<u32>,
}

/// Kernel that combines the results of the shares.
enum Partials {
    Sum(<u32 as Combine>::Kernel),
    Compare(NonzeroKernel),
}

#[track_caller]
fn launch(
    queue: &VerbQueue<'_>,
    kernel: &NonzeroKernel,
    shares: Shares,
    x: &DeviceArray<u32>,
    out: &mut DeviceArray<u32>,
) -> Result<()> {
    let n = shares.elements as u32;
    let share = shares.share as u32;
    kernel.launch(queue, shares.count, NonzeroArgs { n, share, x, out })
}

impl Passes for Nonzero<'_> {
    type Partial = u32;

    fn first(&self, queue: &VerbQueue<'_>, shares: Shares, out: &mut DeviceArray<u32>) -> Result<()> {
        launch(queue, &self.elements, shares, self.x, out)
    }

    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        match &self.partials {
            Partials::Sum(kernel) => u32::launch(queue, kernel, Operation::Sum, shares, partials, out),
            Partials::Compare(kernel) => launch(queue, kernel, shares, partials, out),
        }
    }
}
