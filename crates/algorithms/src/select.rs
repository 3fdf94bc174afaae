//! Verbs that keep some elements of an array, in order.

use crate::counted::SizedKernel;
use crate::elementwise::{bits, flat, same_shape};
use crate::passes::{checked_count, one_element};
use crate::reducible::Reducible;
use crate::refusals::check;
use crate::shares::Shares;
use crate::stages::{self, Stage, Stages};
use crate::tuning::tuned;
use crate::typed_kernel::nonzero_bits;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Element, Prefix, Result};
use fencepost_derive::KernelArgs;
use fencepost_kernels::PART_COUNT;

/// Enqueues the elements whose mask is not zero, followed by the others if `kept` says so.
#[track_caller]
pub(crate) fn masked<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    kept: Kept,
    x: Prefix<'_, T, D>,
    mask: &DeviceArray<u32, D>,
    out: &DeviceArray<T>,
    count: &DeviceArray<u32>,
) -> Result<()> {
    let array = x.array();
    same_shape(queue, array, "mask", mask)?;
    compacted(queue, kept, x, flat(mask)?, result(queue, array, "out", out)?, count)
}

/// Enqueues the places of the elements that are not zero.
#[track_caller]
pub(crate) fn nonzero<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, D>,
    out: &DeviceArray<u32>,
    count: &DeviceArray<u32>,
) -> Result<()> {
    let array = x.array();
    let kept = Kept::Nonzero { bits: nonzero_bits::<T>() };
    compacted(queue, kept, x, bits(array)?, result(queue, array, "out", out)?, count)
}

/// Enqueues the elements that differ from the element before them.
#[track_caller]
pub(crate) fn unique<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, D>,
    out: &DeviceArray<T>,
    count: &DeviceArray<u32>,
) -> Result<()> {
    let array = x.array();
    compacted(queue, Kept::Heads, x, bits(array)?, result(queue, array, "out", out)?, count)
}

#[track_caller]
fn compacted<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    kept: Kept,
    x: Prefix<'_, T, D>,
    mask: DeviceArray<u32>,
    out: DeviceArray<u32>,
    count: &DeviceArray<u32>,
) -> Result<()> {
    let elements = checked_count(queue, x)?;
    Compact { kept, x: bits(x.array())?, mask, out, elements }.enqueue(queue, count)
}

/// Returns the array of results as bits, or an error if it does not have as many elements as `x`.
pub(crate) fn result<T: Element, U: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    argument: &str,
    out: &DeviceArray<U>,
) -> Result<DeviceArray<u32>> {
    if out.len() == x.len() {
        return bits(out);
    }
    let remedy = "the result has one element for each element of the input, because all of them may be kept";
    Err(queue.wrong_shape(argument, out, [x.len()], remedy))
}

/// The elements that a verb keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// The elements whose mask is not zero.
    Masked,
    /// The elements whose mask is not zero, followed by the others.
    MaskedFirst,
    /// The places of the elements with any of these bits set.
    Nonzero { bits: u32 },
    /// The elements that differ from the element before them.
    Heads,
}

/// A verb with its arrays.
struct Compact {
    kept: Kept,
    x: DeviceArray<u32>,
    mask: DeviceArray<u32>,
    out: DeviceArray<u32>,
    /// Number of first elements, if the others are ignored.
    elements: Option<DeviceArray<u32>>,
}

impl Compact {
    /// Enqueues the launches.
    #[track_caller]
    fn enqueue(&self, queue: &VerbQueue<'_>, count: &DeviceArray<u32>) -> Result<()> {
        let mut count = one_element(queue, "count", count)?;
        if self.x.is_empty() {
            let elements = self.elements.as_ref().map(|elements| (PART_COUNT, elements));
            let reads: Vec<_> = [("x", &self.x), ("mask", &self.mask)].into_iter().chain(elements).collect();
            check(queue, &reads, &[("out", &self.out), ("count", &count)])?;
            return queue.fill(&mut count, 0);
        }
        stages::enqueue(queue, self, self.x.len(), &mut count)
    }
}

#[derive(KernelArgs)]
#[kernel(source = "compact.wgsl", crate = fencepost_kernels)]
pub(crate) struct CompactArgs<'a> {
    n: u32,
    share: u32,
    x: &'a DeviceArray<u32>,
    mask: &'a DeviceArray<u32>,
    partials: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
    counts: &'a mut DeviceArray<u32>,
}

impl Stages for Compact {
    const WORDS: usize = 1;
    type Kernel = SizedKernel<CompactArgs<'static>>;

    fn kernel(&self, queue: &VerbQueue<'_>, stage: Stage) -> Result<Self::Kernel> {
        let number = |is: bool| f64::from(u8::from(is));
        let (bits, places) = match self.kept {
            Kept::Nonzero { bits } => (bits, true),
            Kept::Masked | Kept::MaskedFirst | Kept::Heads => (u32::MAX, false),
        };
        let overrides = [
            ("STAGE", stage.number()),
            ("HEADS", number(self.kept == Kept::Heads)),
            ("BITS", f64::from(bits)),
            ("PLACES", number(places)),
            ("OTHERS", number(self.kept == Kept::MaskedFirst)),
        ];
        SizedKernel::compiled(queue, &tuned(queue, &overrides), self.elements.as_ref())
    }

    #[track_caller]
    fn launch(
        &self,
        queue: &VerbQueue<'_>,
        kernel: &Self::Kernel,
        shares: Shares,
        partials: Option<&DeviceArray<u32>>,
        result: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let n = shares.elements as u32;
        let share = shares.share as u32;
        let mask = &self.mask;
        // A stage without partial results does not read the array that is passed for them.
        let x = &self.x;
        let partials = partials.unwrap_or(mask);
        let mut out = self.out.clone();
        let args = CompactArgs { n, share, x, mask, partials, out: &mut out, counts: result };
        kernel.launch(queue, shares.count, args)
    }
}
