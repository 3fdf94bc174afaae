//! Verbs that keep some elements of an array, in their order.

use crate::counted::SizedKernel;
use crate::elementwise::{bits, flat, same_shape};
use crate::passes::one_element;
use crate::reducible::Reducible;
use crate::refusals::check;
use crate::shares::Shares;
use crate::stages::{self, Stage, Stages};
use crate::tuning::tuned;
use crate::typed_kernel::nonzero_bits;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Element, Result};
use fencepost_derive::KernelArgs;
use fencepost_kernels::PART_COUNT;

/// Keeps some elements of an array.
///
/// The kept elements are written to the beginning of `out`, in their order, and their number to `count`, an array of one
/// element. Only the device knows the number: a program that needs it on the host reads `count`. An array of any shape is
/// selected from as a whole, in C order.
///
/// # Shape
/// `out` has one dimension and as many elements as `x`. The elements after the kept ones stay as they are.
///
/// # Cost
/// Up to 16,384 elements take one launch. More elements take two, with up to 1,024 words of scratch memory. The first one
/// reads the mask, and the second one reads the mask twice and the elements. One launch reads the mask twice. For `nonzero` and `unique` the elements are the mask.
///
/// # Error bound
/// The results are exact. Bits are copied, so a NaN keeps its payload and a zero its sign.
///
/// # Determinism
/// The result is a function of the elements and the mask alone, on each device.
///
/// # Source
/// The place of a kept element is the number of kept elements before it, which is a scan: Guy E. Blelloch, *Prefix Sums and
/// Their Applications*, 1990. The scan counts the kept elements of shares of the array first, as
/// [`PrefixScan`](crate::PrefixScan) does, and then each workgroup adds the counts of the shares before its own.
pub trait Select {
    /// *Enqueues* out = the elements of `x` whose `mask` is not zero.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shape of `mask` is not that of `x`, `out` does not have as
    /// many elements as `x`, or `count` does not have exactly one; [`Kind::Padding`](fencepost_core::Kind::Padding) if
    /// an array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Select;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mask) = (ctx.array(&[3.0_f32, -1.0, 4.0])?, ctx.array(&[1_u32, 0, 7])?);
    /// let (mut out, mut count) = (ctx.zeros([3])?, ctx.zeros([1])?);
    /// queue.select(&x, &mask, &mut out, &mut count)?;
    /// assert_eq!(queue.read(&out).wait()?, [3.0, 4.0, 0.0]);
    /// assert_eq!(queue.read(&count).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn select<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        mask: &DeviceArray<u32, D>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* out = the elements of `x` whose `mask` is not zero, followed by the other elements, both in their
    /// order. `count` is the number of elements with a mask that is not zero. Up to 16,384 elements read their mask
    /// three times.
    ///
    /// # Errors
    /// Returns the errors of [`select`](Self::select).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Select;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mask) = (ctx.array(&[3, -1, 4])?, ctx.array(&[1_u32, 0, 1])?);
    /// let (mut out, mut count) = (ctx.zeros([3])?, ctx.zeros([1])?);
    /// queue.partition(&x, &mask, &mut out, &mut count)?;
    /// assert_eq!(queue.read(&out).wait()?, [3, 4, -1]);
    /// assert_eq!(queue.read(&count).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn partition<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        mask: &DeviceArray<u32, D>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* out = the places of the elements of `x` that are not zero. -0 is zero; a NaN and each number below the
    /// smallest normal one are not.
    ///
    /// # Errors
    /// Returns the errors of [`select`](Self::select).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Select;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut places, mut count) = (ctx.zeros([4])?, ctx.zeros([1])?);
    /// queue.nonzero(&ctx.array(&[-0.0_f32, 2.0, 0.0, f32::NAN])?, &mut places, &mut count)?;
    /// assert_eq!(queue.read(&places).wait()?, [1, 3, 0, 0]);
    /// assert_eq!(queue.read(&count).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn nonzero<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* out = the elements of `x` that differ from the element before them, and the first element. Elements are equal
    /// if their bits are: -0 differs from +0, and NaNs with the same bits are equal. In a sorted array, each element is kept
    /// once.
    ///
    /// # Errors
    /// Returns the errors of [`select`](Self::select).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Select;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut out, mut count) = (ctx.zeros([5])?, ctx.zeros([1])?);
    /// queue.unique(&ctx.array(&[2, 2, 5, 5, 2])?, &mut out, &mut count)?;
    /// assert_eq!(queue.read(&out).wait()?, [2, 5, 2, 0, 0]);
    /// assert_eq!(queue.read(&count).wait()?, [3]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn unique<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;
}

impl Select for CommandQueue {
    #[track_caller]
    fn select<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        mask: &DeviceArray<u32, D>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "select");
        same_shape(queue, x, "mask", mask)?;
        let compact = Compact::new(Kept::Masked, bits(x)?, flat(mask)?, result(queue, x, "out", out)?);
        compact.enqueue(queue, count)
    }

    #[track_caller]
    fn partition<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        mask: &DeviceArray<u32, D>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "partition");
        same_shape(queue, x, "mask", mask)?;
        let compact = Compact::new(Kept::MaskedFirst, bits(x)?, flat(mask)?, result(queue, x, "out", out)?);
        compact.enqueue(queue, count)
    }

    #[track_caller]
    fn nonzero<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "nonzero");
        let kept = Kept::Nonzero { bits: nonzero_bits::<T>() };
        let mask = bits(x)?;
        Compact::new(kept, mask.clone(), mask, result(queue, x, "out", out)?).enqueue(queue, count)
    }

    #[track_caller]
    fn unique<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "unique");
        let elements = bits(x)?;
        Compact::new(Kept::Heads, elements.clone(), elements, result(queue, x, "out", out)?)
            .enqueue(queue, count)
    }
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

/// Elements that a verb keeps.
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
pub(crate) struct Compact {
    kept: Kept,
    x: DeviceArray<u32>,
    mask: DeviceArray<u32>,
    out: DeviceArray<u32>,
    /// Number of elements of the part, if there is one.
    elements: Option<DeviceArray<u32>>,
}

impl Compact {
    pub(crate) fn new(
        kept: Kept,
        x: DeviceArray<u32>,
        mask: DeviceArray<u32>,
        out: DeviceArray<u32>,
    ) -> Self {
        Self { kept, x, mask, out, elements: None }
    }

    /// Reads the first elements alone, whose number `elements` has.
    pub(crate) fn of_part(self, elements: DeviceArray<u32>) -> Self {
        Self { elements: Some(elements), ..self }
    }

    /// Enqueues the launches.
    #[track_caller]
    pub(crate) fn enqueue(&self, queue: &VerbQueue<'_>, count: &DeviceArray<u32>) -> Result<()> {
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
        // A stage without partial results does not read the array that stands for them.
        let x = &self.x;
        let partials = partials.unwrap_or(mask);
        let mut out = self.out.clone();
        let args = CompactArgs { n, share, x, mask, partials, out: &mut out, counts: result };
        kernel.launch(queue, shares.count, args)
    }
}
