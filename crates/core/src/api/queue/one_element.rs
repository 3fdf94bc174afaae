//! Transfers of one element of an array.

use crate::api::queue::CommandQueue;
use crate::api::queue::transfer::READ_IN_CAPTURE;
use crate::arrays::device_array::DeviceArray;
use crate::error::Result;
use crate::memory::region::Region;
use crate::runtime::pending::{Pending, then};
use fencepost_kernels::Element;

impl CommandQueue {
    /// *Flushes*; the result is the element at `index`, read as by [`read`](Self::read).
    ///
    /// # Errors
    /// The result is [`Kind::RegionIndex`](crate::Kind::RegionIndex) if `index` is outside the array, or an error of
    /// [`read`](Self::read).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<f32, 2>([2, 3])?;
    /// queue.set(&mut x, [1, 2], 4.0)?;
    /// assert_eq!(queue.get(&x, [1, 2]).wait()?, 4.0);
    /// assert!(queue.get(&x, [2, 0]).wait().is_err());
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn get<T: Element, const D: usize>(
        &self,
        array: &DeviceArray<T, D>,
        index: [usize; D],
    ) -> Pending<T> {
        if let Err(refused) = self.not_captured("get", READ_IN_CAPTURE) {
            return Pending::ready(Err(refused));
        }
        then(self.read_region(array, Region::index(index)), |elements: Vec<T>| Ok(elements[0]))
    }

    /// *Enqueues* an upload of `value` to the element at `index`.
    ///
    /// # Errors
    /// Returns [`Kind::RegionIndex`](crate::Kind::RegionIndex) if `index` is outside the array, and the errors of
    /// [`upload`](Self::upload).
    ///
    /// # Example
    /// See [`get`](Self::get).
    #[track_caller]
    pub fn set<T: Element, const D: usize>(
        &self,
        array: &mut DeviceArray<T, D>,
        index: [usize; D],
        value: T,
    ) -> Result<()> {
        self.upload_region(&[value], array, Region::index(index))
    }
}
