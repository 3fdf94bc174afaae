//! Scans that begin anew with each segment of an array.

use crate::by_key::{Results, RunsVerb};
use crate::elementwise::{bits, flat, same_shape};
use crate::monoid::Associative;
use crate::reducible::Reducible;
use crate::refusals::check;
use crate::scan::Scan;
use crate::segment_heads::Heads;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Result};

/// Combines each element of a segment with all elements of the segment before it, or after it if the scan is
/// [reversed](Scan::reversed).
///
/// Segment s has the elements from `offsets[s]` up to, but not including, `offsets[s + 1]`. The offsets ascend.
pub trait ScanSegments {
    /// *Enqueues* a scan that begins anew at each offset. The initial value is combined with the elements of each segment. The
    /// elements before the first offset and the elements from the last offset on are segments too.
    ///
    /// # Shape
    /// `x` and `out` have one shape, of any rank, and are lists in C order. There is any number of offsets. One past
    /// the last element begins no segment. If the offsets do not ascend, the results are not defined.
    ///
    /// # Cost
    /// Up to 16,384 elements take two launches, and more elements three. The scratch memory is one bit for each element, and up to
    /// 2,050 words. Each launch but the first one reads the elements and the bits.
    ///
    /// The error bound, the determinism and the source are those of [`scan_by_key`](crate::ByKey::scan_by_key).
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shapes differ; [`Kind::Padding`](fencepost_core::Kind::Padding) if an
    /// array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Operation, Scan, ScanSegments};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[1_u32, 2, 3, 4, 5])?, ctx.array(&[0, 2, 2, 5])?);
    /// let mut out = ctx.zeros([5])?;
    /// queue.scan_segments(&x, &offsets, &mut out, Scan::inclusive(Operation::Sum))?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 3, 3, 7, 12]);
    /// queue.scan_segments(&x, &offsets, &mut out, Scan::exclusive(Operation::Sum).reversed())?;
    /// assert_eq!(queue.read(&out).wait()?, [2, 0, 9, 5, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scan_segments<T: Reducible, O: Associative<T>, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<T, D>,
        scan: Scan<T, O>,
    ) -> Result<()>;
}

impl ScanSegments for CommandQueue {
    #[track_caller]
    fn scan_segments<T: Reducible, O: Associative<T>, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<T, D>,
        scan: Scan<T, O>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "scan_segments");
        same_shape(queue, x, "out", out)?;
        let x = flat(x)?;
        let offsets = flat(offsets)?;
        let out = flat(out)?;
        check(queue, &[("x", &bits(&x)?), ("offsets", &offsets)], &[("out", &bits(&out)?)])?;
        if x.is_empty() {
            return Ok(());
        }
        let heads = Heads::new(queue, &offsets, x.len())?;
        let keys = heads.bits.clone();
        let mut state = queue.empty([1])?;
        let results =
            Results::Scan { exclusive: scan.exclusive, reversed: scan.reversed, heads: Some(heads) };
        let verb = RunsVerb { queue, keys, x, out, results, result: &mut state };
        scan.operation.with_operator(scan.initial(), verb)
    }
}
