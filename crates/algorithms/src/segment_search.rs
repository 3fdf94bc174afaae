//! The places of the smallest or the largest elements of segments of an array.

use crate::launches::launch_dyn;
use crate::reduce::Nan;
use crate::reducible::Reducible;
use crate::segments::Lists;
use crate::shares::Shares;
use crate::stages::{Stage, Stages};
use crate::tuning::tuned;
use crate::typed_kernel::{compiled, type_number, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, DynKernel, IntoArg, Result};

/// Finds the places of elements in segments of an array.
///
/// A place is the number of elements before the element in its segment. An empty segment has no place, so its result is `u32::MAX`.
/// Of equal elements, the first one is the result. A NaN comes before all numbers, so the first NaN of a segment is the result if
/// there is one, unless [`Nan::Ignore`] leaves NaNs out. -0 and +0 are equal. The results are exact.
///
/// # Shape
/// Segment s is the elements from `offsets[s]` up to `offsets[s + 1]`, so `offsets` has one element more than `out`. The offsets are
/// those of [`reduce_segments`](crate::ReduceSegments::reduce_segments): an offset past the last element counts as the
/// end, and the results of decreasing offsets are not specified.
///
/// # Cost
/// The launches and the scratch memory are those of `reduce_segments`: a fill, one launch for up to 16,384 elements, and two with up
/// to 2,049 words of scratch memory for more.
pub trait SearchSegments {
    /// *Enqueues* `out[s]` = the place of the smallest element in segment s.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if `out` does not have one element less than `offsets`;
    /// [`Kind::Padding`](fencepost_core::Kind::Padding) if an array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::SearchSegments;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[3, 1, 4, 1, 1])?, ctx.array(&[0_u32, 2, 2, 5])?);
    /// let mut out = ctx.zeros([3])?;
    /// queue.argmin_segments(&x, &offsets, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [1, u32::MAX, 1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argmin_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* `out[s]` = the place of the largest element in segment s.
    ///
    /// # Errors
    /// Returns the errors of [`argmin_segments`](Self::argmin_segments).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::SearchSegments;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[3.0, 1.0, 4.0, f32::NAN, 9.0])?, ctx.array(&[0_u32, 2, 2, 5])?);
    /// let mut out = ctx.zeros([3])?;
    /// queue.argmax_segments(&x, &offsets, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [0, u32::MAX, 1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argmax_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* `out[s]` = the place of the smallest element in segment s. A NaN is treated as `nan` says. If NaNs are left out
    /// and all numbers of a segment are NaNs, the place is 0.
    ///
    /// # Errors
    /// Returns the errors of [`argmin_segments`](Self::argmin_segments).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Nan, SearchSegments};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[f32::NAN, 3.0, 1.0, f32::NAN])?, ctx.array(&[0_u32, 3, 4])?);
    /// let mut out = ctx.zeros([2])?;
    /// queue.argmin_segments_with(&x, &offsets, &mut out, Nan::Ignore)?;
    /// assert_eq!(queue.read(&out).wait()?, [2, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argmin_segments_with<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
        nan: Nan,
    ) -> Result<()>;

    /// *Enqueues* `out[s]` = the place of the largest element in segment s, as
    /// [`argmin_segments_with`](Self::argmin_segments_with) does for the smallest one.
    ///
    /// # Errors
    /// Returns the errors of [`argmin_segments`](Self::argmin_segments).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Nan, SearchSegments};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[f32::NAN, 3.0, 1.0, f32::NAN])?, ctx.array(&[0_u32, 3, 4])?);
    /// let mut out = ctx.zeros([2])?;
    /// queue.argmax_segments_with(&x, &offsets, &mut out, Nan::Ignore)?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argmax_segments_with<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
        nan: Nan,
    ) -> Result<()>;
}

impl SearchSegments for CommandQueue {
    #[track_caller]
    fn argmin_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "argmin_segments");
        search(queue, false, Nan::Propagate, x, offsets, out)
    }

    #[track_caller]
    fn argmax_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "argmax_segments");
        search(queue, true, Nan::Propagate, x, offsets, out)
    }

    #[track_caller]
    fn argmin_segments_with<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
        nan: Nan,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "argmin_segments_with");
        search(queue, false, nan, x, offsets, out)
    }

    #[track_caller]
    fn argmax_segments_with<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
        nan: Nan,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "argmax_segments_with");
        search(queue, true, nan, x, offsets, out)
    }
}

/// Result of a segment without a place.
const NONE: u32 = u32::MAX;

#[track_caller]
fn search<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    largest: bool,
    nan: Nan,
    x: &DeviceArray<T, D>,
    offsets: &DeviceArray<u32>,
    out: &DeviceArray<u32>,
) -> Result<()> {
    let lists = Lists::of(queue, x, offsets, out)?;
    let x = lists.x.cast_bits();
    let offsets = lists.offsets.clone();
    let out = lists.out.clone();
    let overrides = [
        ("TYPE", type_number::<T>()),
        ("LARGEST", f64::from(largest)),
        ("KEEP_NAN", f64::from(nan == Nan::Propagate)),
    ];
    lists.enqueue(queue, &[], &Places { offsets, x, out, overrides }, NONE)
}

/// A search in each segment.
struct Places {
    offsets: DeviceArray<u32>,
    x: DeviceArray<u32>,
    out: DeviceArray<u32>,
    overrides: [(&'static str, f64); 3],
}

impl Stages for Places {
    const WORDS: usize = 2;
    type Kernel = DynKernel;

    fn kernel(&self, queue: &VerbQueue<'_>, stage: Stage) -> Result<DynKernel> {
        let overrides = [&[("STAGE", stage.number())], &self.overrides[..]].concat();
        compiled::<u32>(queue, "arg_segments", &tuned(queue, &overrides))
    }

    #[track_caller]
    fn launch(
        &self,
        queue: &VerbQueue<'_>,
        kernel: &DynKernel,
        shares: Shares,
        partials: Option<&DeviceArray<u32>>,
        result: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let [n, share, segments] = [shares.elements, shares.share, self.out.len()].map(|n| n as u32);
        // A stage without partial results does not read the array that stands for them.
        let partials = partials.unwrap_or(&self.offsets);
        let mut out = self.out.clone();
        let args = vec![
            value("n", n),
            value("share", share),
            value("identity", NONE),
            value("segments", segments),
            (Some("offsets".into()), (&self.offsets).into_arg()),
            (Some("x".into()), (&self.x).into_arg()),
            (Some("partials".into()), partials.into_arg()),
            (Some("out".into()), (&mut out).into_arg()),
            (Some("states".into()), result.into_arg()),
        ];
        launch_dyn(queue, kernel, shares.count, args)
    }
}
