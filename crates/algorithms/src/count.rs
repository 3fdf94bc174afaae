//! The number of elements of an array that are not zero.

use crate::counted::SizedKernel;
use crate::passes::{self, Passes, one_element, value_of};
use crate::reduce::Nan;
use crate::reducible::sealed::Combine;
use crate::reducible::{Operation, Reducible};
use crate::refusals::check;
use crate::shares::Shares;
use crate::tuning::tuned;
use crate::typed_kernel::nonzero_bits;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Pending, Result};
use fencepost_derive::KernelArgs;
use fencepost_kernels::PART_COUNT;

/// Compares all elements of an array with zero.
///
/// An array of any shape is compared as a whole. -0 is zero; a NaN and each number below the smallest normal one are not. The
/// result is exact. It is written to `out`, an array of one element.
///
/// # Cost
/// Up to 16,384 elements take one launch, more elements take two. The second one combines up to 1,024 partial results, in
/// as many words of scratch memory. Each element is read once.
pub trait Count {
    /// *Enqueues* out = the number of elements of `x` that are not zero. The number of no elements is 0.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if `out` does not have exactly one element;
    /// [`Kind::Padding`](fencepost_core::Kind::Padding) if an array is padded; the errors of a launch, and the queue's own
    /// error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Count;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut count = ctx.zeros([1])?;
    /// queue.count_nonzero(&ctx.array(&[0.0_f32, 2.0, -0.0, f32::NAN])?, &mut count)?;
    /// assert_eq!(queue.read(&count).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn count_nonzero<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* the count as [`count_nonzero`](Self::count_nonzero) does, and returns it to the host.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`count_nonzero`](Self::count_nonzero).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Count;
    /// # let (ctx, queue) = fencepost::doctest();
    /// assert_eq!(queue.count_nonzero_of(&ctx.array(&[0_u32, 5, 0])?).wait()?, 1);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn count_nonzero_of<T: Reducible, const D: usize>(&self, x: &DeviceArray<T, D>) -> Pending<u32>;

    /// *Enqueues* out = 1 if any element of `x` is not zero, else 0. The result of no elements is 0.
    ///
    /// # Errors
    /// Returns the errors of [`count_nonzero`](Self::count_nonzero).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Count;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut any = ctx.zeros([1])?;
    /// queue.any(&ctx.array(&[0_i32, -3, 0])?, &mut any)?;
    /// assert_eq!(queue.read(&any).wait()?, [1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn any<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* the comparison as [`any`](Self::any) does, and returns its result to the host.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`count_nonzero`](Self::count_nonzero).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Count;
    /// # let (ctx, queue) = fencepost::doctest();
    /// assert_eq!(queue.any_of(&ctx.array(&[0.0_f32, -0.0])?).wait()?, 0);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn any_of<T: Reducible, const D: usize>(&self, x: &DeviceArray<T, D>) -> Pending<u32>;

    /// *Enqueues* out = 1 if no element of `x` is zero, else 0. The result of no elements is 1.
    ///
    /// # Errors
    /// Returns the errors of [`count_nonzero`](Self::count_nonzero).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Count;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut all = ctx.zeros([1])?;
    /// queue.all(&ctx.array(&[1_u32, 2, 3])?, &mut all)?;
    /// assert_eq!(queue.read(&all).wait()?, [1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn all<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* the comparison as [`all`](Self::all) does, and returns its result to the host.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`count_nonzero`](Self::count_nonzero).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Count;
    /// # let (ctx, queue) = fencepost::doctest();
    /// assert_eq!(queue.all_of(&ctx.array(&[4_i32, 0])?).wait()?, 0);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn all_of<T: Reducible, const D: usize>(&self, x: &DeviceArray<T, D>) -> Pending<u32>;
}

impl Count for CommandQueue {
    #[track_caller]
    fn count_nonzero<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "count_nonzero");
        compare(queue, Comparison::Count, x, None, out)
    }

    #[track_caller]
    fn count_nonzero_of<T: Reducible, const D: usize>(&self, x: &DeviceArray<T, D>) -> Pending<u32> {
        let queue = &VerbQueue::new(self, "count_nonzero_of");
        value_of!(queue, "count_nonzero(&x, &mut out)", out => compare(queue, Comparison::Count, x, None, &mut out))
    }

    #[track_caller]
    fn any<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "any");
        compare(queue, Comparison::Any, x, None, out)
    }

    #[track_caller]
    fn any_of<T: Reducible, const D: usize>(&self, x: &DeviceArray<T, D>) -> Pending<u32> {
        let queue = &VerbQueue::new(self, "any_of");
        value_of!(queue, "any(&x, &mut out)", out => compare(queue, Comparison::Any, x, None, &mut out))
    }

    #[track_caller]
    fn all<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "all");
        compare(queue, Comparison::All, x, None, out)
    }

    #[track_caller]
    fn all_of<T: Reducible, const D: usize>(&self, x: &DeviceArray<T, D>) -> Pending<u32> {
        let queue = &VerbQueue::new(self, "all_of");
        value_of!(queue, "all(&x, &mut out)", out => compare(queue, Comparison::All, x, None, &mut out))
    }
}

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

/// Enqueues the comparison of an array, or of a part with a count.
#[track_caller]
pub(crate) fn compare<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    comparison: Comparison,
    x: &DeviceArray<T, D>,
    count: Option<&DeviceArray<u32>>,
    out: &mut DeviceArray<u32>,
) -> Result<()> {
    let mut out = one_element(queue, "out", out)?;
    let x = x.reshape([x.len()])?.cast_bits::<u32>();
    if x.is_empty() {
        let reads: Vec<_> = [("x", &x)].into_iter().chain(count.map(|count| (PART_COUNT, count))).collect();
        check(queue, &reads, &[("out", &out)])?;
        return queue.fill(&mut out, u32::from(comparison == Comparison::All));
    }
    let elements = kernel(queue, comparison, nonzero_bits::<T>(), count)?;
    // The results of the shares are 0 or 1, or counts, of which the last launch is the sum.
    let partials = match comparison {
        Comparison::Count => Partials::Sum(u32::kernel(queue, Operation::Sum, Nan::Propagate, None)?),
        Comparison::Any | Comparison::All => Partials::Compare(kernel(queue, comparison, u32::MAX, None)?),
    };
    passes::enqueue(queue, &Nonzero { elements, partials, x: &x }, x.len(), &mut out)
}

type NonzeroKernel = SizedKernel<NonzeroArgs<'static>>;

fn kernel(
    queue: &VerbQueue<'_>,
    comparison: Comparison,
    bits: u32,
    count: Option<&DeviceArray<u32>>,
) -> Result<NonzeroKernel> {
    let overrides = [("OPERATION", comparison.number()), ("BITS", f64::from(bits))];
    SizedKernel::compiled(queue, &tuned(queue, &overrides), count)
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
