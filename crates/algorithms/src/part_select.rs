//! Selections of the first elements of arrays, whose number is on the device.

use crate::by_key;
use crate::elementwise::{bits, same_shape};
use crate::part::Part;
use crate::reducible::Reducible;
use crate::select::{Compact, Kept, result};
use crate::typed_kernel::nonzero_bits;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Result};

/// Keeps elements of [parts](Part) of arrays, as the [verbs on parts](crate::PartVerbs) do: the results of elements
/// after the part are not written.
///
/// The shapes, the costs and the errors are those of [`PartVerbs`](crate::PartVerbs).
pub trait PartSelect {
    /// *Enqueues* out = the elements whose mask is not zero, as [`select`](crate::Select::select) does. The mask has an
    /// element for each one of the whole array.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartSelect};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mask) = (ctx.array(&[3_u32, 1, 4])?, ctx.array(&[2])?, ctx.array(&[0, 1, 1])?);
    /// let (mut out, mut kept) = (ctx.zeros([3])?, ctx.zeros([1])?);
    /// queue.select_part(Part::new(&x, &count), &mask, &mut out, &mut kept)?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 0, 0]);
    /// assert_eq!(queue.read(&kept).wait()?, [1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn select_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        mask: &DeviceArray<u32>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* out = the elements whose mask is not zero, then the others, as
    /// [`partition`](crate::Select::partition) does. The mask has as many elements as the whole array.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartSelect};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mask) = (ctx.array(&[3_u32, 1, 4])?, ctx.array(&[2])?, ctx.array(&[0, 1, 1])?);
    /// let (mut out, mut kept) = (ctx.zeros([3])?, ctx.zeros([1])?);
    /// queue.partition_part(Part::new(&x, &count), &mask, &mut out, &mut kept)?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 3, 0]);
    /// assert_eq!(queue.read(&kept).wait()?, [1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn partition_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        mask: &DeviceArray<u32>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* out = the places of the elements that are not zero, as [`nonzero`](crate::Select::nonzero) does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartSelect};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count) = (ctx.array(&[0_u32, 7, 0, 5])?, ctx.array(&[3])?);
    /// let (mut places, mut kept) = (ctx.zeros([4])?, ctx.zeros([1])?);
    /// queue.nonzero_part(Part::new(&x, &count), &mut places, &mut kept)?;
    /// assert_eq!(queue.read(&places).wait()?, [1, 0, 0, 0]);
    /// assert_eq!(queue.read(&kept).wait()?, [1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn nonzero_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        out: &mut DeviceArray<u32>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* out = the elements that differ from the element before them, as [`unique`](crate::Select::unique)
    /// does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartSelect};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count) = (ctx.array(&[2_u32, 2, 5, 7])?, ctx.array(&[3])?);
    /// let (mut out, mut kept) = (ctx.zeros([4])?, ctx.zeros([1])?);
    /// queue.unique_part(Part::new(&x, &count), &mut out, &mut kept)?;
    /// assert_eq!(queue.read(&out).wait()?, [2, 5, 0, 0]);
    /// assert_eq!(queue.read(&kept).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn unique_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* the keys and the lengths of the runs, as [`run_lengths`](crate::ByKey::run_lengths) does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartSelect};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count) = (ctx.array(&[2_u32, 2, 5, 5])?, ctx.array(&[3])?);
    /// let (mut kept, mut lengths, mut runs) = (ctx.zeros([4])?, ctx.zeros([4])?, ctx.zeros([1])?);
    /// queue.run_lengths_part(Part::new(&x, &count), &mut kept, &mut lengths, &mut runs)?;
    /// assert_eq!(queue.read(&kept).wait()?, [2, 5, 0, 0]);
    /// assert_eq!(queue.read(&lengths).wait()?, [2, 1, 0, 0]);
    /// assert_eq!(queue.read(&runs).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn run_lengths_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        kept: &mut DeviceArray<T>,
        lengths: &mut DeviceArray<u32>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;
}

impl PartSelect for CommandQueue {
    #[track_caller]
    fn select_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        mask: &DeviceArray<u32>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "select_part");
        same_shape(queue, x.array, "mask", mask)?;
        compacted(queue, Kept::Masked, x, mask.clone(), result(queue, x.array, "out", out)?, count)
    }

    #[track_caller]
    fn partition_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        mask: &DeviceArray<u32>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "partition_part");
        same_shape(queue, x.array, "mask", mask)?;
        compacted(queue, Kept::MaskedFirst, x, mask.clone(), result(queue, x.array, "out", out)?, count)
    }

    #[track_caller]
    fn nonzero_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        out: &mut DeviceArray<u32>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "nonzero_part");
        let kept = Kept::Nonzero { bits: nonzero_bits::<T>() };
        compacted(queue, kept, x, bits(x.array)?, result(queue, x.array, "out", out)?, count)
    }

    #[track_caller]
    fn unique_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "unique_part");
        compacted(queue, Kept::Heads, x, bits(x.array)?, result(queue, x.array, "out", out)?, count)
    }

    #[track_caller]
    fn run_lengths_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        kept: &mut DeviceArray<T>,
        lengths: &mut DeviceArray<u32>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "run_lengths_part");
        by_key::lengths_of_runs(queue, x.array, Some(x.count(queue)?), kept, lengths, count)
    }
}

#[track_caller]
fn compacted<T: Reducible>(
    queue: &VerbQueue<'_>,
    kept: Kept,
    x: Part<'_, T>,
    mask: DeviceArray<u32>,
    out: DeviceArray<u32>,
    count: &DeviceArray<u32>,
) -> Result<()> {
    Compact::new(kept, bits(x.array)?, mask, out).of_part(x.count(queue)?).enqueue(queue, count)
}
