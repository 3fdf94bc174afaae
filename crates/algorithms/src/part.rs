//! The first elements of an array, whose number is on the device.

use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Element, Result};
use fencepost_kernels::PART_COUNT;

/// The first elements of an array. Their number is the element of another array, which an earlier verb wrote.
///
/// A number above the length of the array stands for the length. The number is read on the device, when a verb runs: no
/// result goes to the host before. The verbs of [`PartVerbs`](crate::PartVerbs), [`PartOrder`](crate::PartOrder) and
/// [`PartSelect`](crate::PartSelect) launch workgroups for the whole array, and those past the last element end at
/// once.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Part, PartVerbs, Select};
/// # let (ctx, queue) = fencepost::doctest();
/// let x = ctx.array(&[3_u32, 7, 1, 5])?;
/// let (mut large, mut count, mut total) = (ctx.zeros([4])?, ctx.zeros([1])?, ctx.zeros([1])?);
/// queue.select(&x, &ctx.array(&[0, 1, 0, 1])?, &mut large, &mut count)?;
/// queue.sum_part(Part::new(&large, &count), &mut total)?;
/// assert_eq!(queue.read(&total).wait()?, [12]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Debug)]
pub struct Part<'a, T: Element> {
    pub(crate) array: &'a DeviceArray<T>,
    count: &'a DeviceArray<u32>,
}

impl<'a, T: Element> Part<'a, T> {
    /// Takes the array, and the array of one element that has the number.
    pub fn new(array: &'a DeviceArray<T>, count: &'a DeviceArray<u32>) -> Self {
        Self { array, count }
    }

    /// Returns the array with the number, or an error if it does not have exactly one element.
    pub(crate) fn count(&self, queue: &VerbQueue<'_>) -> Result<DeviceArray<u32>> {
        if self.count.len() == 1 {
            return self.count.reshape([1]);
        }
        let remedy = "the number of elements of a part is one element";
        Err(queue.wrong_shape(PART_COUNT, self.count, [1], remedy))
    }
}

impl<T: Element> Clone for Part<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for Part<'_, T> {}
