//! The place of the smallest or the largest element of an array.

use crate::launches::launch;
use crate::passes::{self, NO_EXTREME, Passes, no_element, one_element, value_of};
use crate::reduce::Nan;
use crate::reducible::Reducible;
use crate::shares::Shares;
use crate::trusted;
use crate::tuning::tuned;
use crate::typed_kernel::type_number;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Kernel, Pending, Result};
use fencepost_derive::KernelArgs;

/// Finds the place of an element in an array.
///
/// An array of any shape is searched as a whole, in C order: the place is the number of elements before the element. Of equal
/// elements, the first one is the result. A NaN comes before all numbers, so the first NaN is the result if there is one; the verbs
/// with a [`Nan`] may leave NaNs out. -0 and +0 are equal. The result is exact. It is written to `out`, an array of one element.
///
/// # Cost
/// Up to 16,384 elements take one launch, more elements take two. The second one compares up to 1,024 elements, whose
/// places are as many words of scratch memory. Each element is read once, and up to 1,024 of them twice.
pub trait Search {
    /// *Enqueues* out = the place of the smallest element of `x`.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if `out` does not have exactly one element, or `x` has none;
    /// [`Kind::Padding`](fencepost_core::Kind::Padding) if an array is padded; the errors of a launch, and the queue's own
    /// error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Search;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut place = ctx.zeros([1])?;
    /// queue.argmin(&ctx.array(&[3_i32, -7, 5, -7])?, &mut place)?;
    /// assert_eq!(queue.read(&place).wait()?, [1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argmin<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* out = the place of the smallest element of `x`, as [`argmin`](Self::argmin) does. A NaN is treated as `nan` says. If
    /// all numbers are NaNs, the place is 0.
    ///
    /// # Errors
    /// Returns the errors of [`argmin`](Self::argmin).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Nan, Search};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut place = ctx.zeros([1])?;
    /// queue.argmin_with(&ctx.array(&[f32::NAN, 3.0, -7.0])?, &mut place, Nan::Ignore)?;
    /// assert_eq!(queue.read(&place).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argmin_with<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
        nan: Nan,
    ) -> Result<()>;

    /// *Enqueues* the search as [`argmin`](Self::argmin) does, and returns the place to the host.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`argmin`](Self::argmin).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Search;
    /// # let (ctx, queue) = fencepost::doctest();
    /// assert_eq!(queue.argmin_of(&ctx.array(&[2.0_f32, -0.0, 0.0])?).wait()?, 1);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argmin_of<T: Reducible, const D: usize>(&self, x: &DeviceArray<T, D>) -> Pending<u32>;

    /// *Enqueues* out = the place of the largest element of `x`.
    ///
    /// # Errors
    /// Returns the errors of [`argmin`](Self::argmin).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Search;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut place = ctx.zeros([1])?;
    /// queue.argmax(&ctx.array(&[3.0, 7.0, f32::NAN])?, &mut place)?;
    /// assert_eq!(queue.read(&place).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argmax<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* out = the place of the largest element of `x`, as [`argmax`](Self::argmax) does. A NaN is treated as `nan` says. If
    /// all numbers are NaNs, the place is 0.
    ///
    /// # Errors
    /// Returns the errors of [`argmin`](Self::argmin).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Nan, Search};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut place = ctx.zeros([1])?;
    /// queue.argmax_with(&ctx.array(&[f32::NAN, 7.0, 5.0])?, &mut place, Nan::Ignore)?;
    /// assert_eq!(queue.read(&place).wait()?, [1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argmax_with<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
        nan: Nan,
    ) -> Result<()>;

    /// *Enqueues* the search as [`argmax`](Self::argmax) does, and returns the place to the host.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`argmin`](Self::argmin).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Search;
    /// # let (ctx, queue) = fencepost::doctest();
    /// assert_eq!(queue.argmax_of(&ctx.array(&[3_u32, 7, 5])?).wait()?, 1);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argmax_of<T: Reducible, const D: usize>(&self, x: &DeviceArray<T, D>) -> Pending<u32>;
}

impl Search for CommandQueue {
    #[track_caller]
    fn argmin<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "argmin");
        search(queue, false, Nan::Propagate, x, out)
    }

    #[track_caller]
    fn argmin_with<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
        nan: Nan,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "argmin_with");
        search(queue, false, nan, x, out)
    }

    #[track_caller]
    fn argmin_of<T: Reducible, const D: usize>(&self, x: &DeviceArray<T, D>) -> Pending<u32> {
        let queue = &VerbQueue::new(self, "argmin_of");
        value_of!(queue, "argmin(&x, &mut out)", out => search(queue, false, Nan::Propagate, x, &mut out))
    }

    #[track_caller]
    fn argmax<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "argmax");
        search(queue, true, Nan::Propagate, x, out)
    }

    #[track_caller]
    fn argmax_with<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<u32>,
        nan: Nan,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "argmax_with");
        search(queue, true, nan, x, out)
    }

    #[track_caller]
    fn argmax_of<T: Reducible, const D: usize>(&self, x: &DeviceArray<T, D>) -> Pending<u32> {
        let queue = &VerbQueue::new(self, "argmax_of");
        value_of!(queue, "argmax(&x, &mut out)", out => search(queue, true, Nan::Propagate, x, &mut out))
    }
}

#[track_caller]
fn search<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    largest: bool,
    nan: Nan,
    x: &DeviceArray<T, D>,
    out: &mut DeviceArray<u32>,
) -> Result<()> {
    let mut out = one_element(queue, "out", out)?;
    if x.is_empty() {
        return no_element(queue, x, NO_EXTREME);
    }
    let x = x.reshape([x.len()])?.cast_bits::<u32>();
    let kernel = |gather: bool| {
        let overrides = [
            ("TYPE", type_number::<T>()),
            ("LARGEST", f64::from(largest)),
            ("KEEP_NAN", f64::from(nan == Nan::Propagate)),
            ("GATHER", f64::from(gather)),
        ];
        trusted::kernel_with::<ArgExtremeArgs>(queue, &tuned(queue, &overrides))
    };
    let search = Places { elements: kernel(false)?, places: kernel(true)?, x: &x };
    passes::enqueue(queue, &search, x.len(), &mut out)
}

#[derive(KernelArgs)]
#[kernel(source = "arg_extreme.wgsl", crate = fencepost_kernels)]
struct ArgExtremeArgs<'a> {
    n: u32,
    share: u32,
    x: &'a DeviceArray<u32>,
    places: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

struct Places<'a> {
    /// Kernel that searches all elements.
    elements: Kernel<ArgExtremeArgs<'static>>,
    /// Kernel that searches the elements at some places.
    places: Kernel<ArgExtremeArgs<'static>>,
    x: &'a DeviceArray<u32>,
}

impl Passes for Places<'_> {
    type Partial = u32;

    fn first(&self, queue: &VerbQueue<'_>, shares: Shares, out: &mut DeviceArray<u32>) -> Result<()> {
        let n = shares.elements as u32;
        let share = shares.share as u32;
        let x = self.x;
        let args = ArgExtremeArgs { n, share, x, places: x, out };
        launch(queue, &self.elements, shares.count, args)
    }

    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let n = shares.elements as u32;
        let share = shares.share as u32;
        let args = ArgExtremeArgs { n, share, x: self.x, places: partials, out };
        launch(queue, &self.places, shares.count, args)
    }
}
