//! Places of elements in an array, given by strides.

/// Places in an array: the place of the first element, and the distance of neighbours along each axis. A place is an
/// index into the elements of the array, in C order.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let (x, mut out) = (ctx.array(&[0, 1, 2, 3, 4, 5, 6, 7, 8])?.reshape([3, 3])?, ctx.zeros([3])?);
/// // The second column of the matrix, from the last row on.
/// let column = Strides { first: 7, strides: [-3] };
/// queue.copy_strided([3], &x, column, &mut out, Strides { first: 0, strides: [1] })?;
/// assert_eq!(queue.read(&out).wait()?, [7, 4, 1]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Strides<const R: usize> {
    /// Place of the first element.
    pub first: usize,
    /// Distance from an element to its neighbour along each axis; may be 0 or negative.
    pub strides: [isize; R],
}
