//! Matrices in the memory of an array.

use fencepost_kernels::Element;

use crate::arrays::device_array::DeviceArray;
use crate::arrays::strides::Strides;

/// A vector, a matrix, or a stack of matrices of one shape, as a factor of a product.
///
/// An argument `impl Into<Matrices<T>>` can be `&x`, [`x.transposed()`](DeviceArray::transposed), or
/// [`x.matrices(shape, strides)`](DeviceArray::matrices). The last two axes are the rows and the columns of each
/// matrix; the axes before them count the matrices. An array with one axis is a vector. The array may be padded. No
/// elements are copied.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let x = ctx.array(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?.reshape([2, 3])?;
/// let mut squares = ctx.zeros([2, 2])?;
/// queue.matmul(&x, x.transposed(), &mut squares, Matmul::default())?;
/// assert_eq!(queue.read(&squares).wait()?, [14.0, 32.0, 32.0, 77.0]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Matrices<T: Element> {
    /// Memory of the array, including the padding.
    array: DeviceArray<T>,
    shape: Vec<usize>,
    first: usize,
    strides: Vec<isize>,
}

impl<T: Element> Matrices<T> {
    /// Exchanges the rows and the columns of each matrix. A vector stays the same.
    #[must_use]
    pub fn transposed(mut self) -> Self {
        if let [.., rows, columns] = &mut self.shape[..] {
            std::mem::swap(rows, columns);
        }
        if let [.., rows, columns] = &mut self.strides[..] {
            std::mem::swap(rows, columns);
        }
        self
    }

    /// Returns the number of elements along each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the array that all elements are in, with one axis. Padding is a part of it.
    pub fn array(&self) -> &DeviceArray<T> {
        &self.array
    }

    /// Returns the place of the first element in the array.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Returns the distance of neighbours along each axis.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }
}

impl<T: Element, const D: usize> DeviceArray<T, D> {
    /// Returns the matrices of the array with rows and columns exchanged, as a factor of a product. No elements are
    /// copied. A vector stays the same.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let weights = ctx.array(&[1.0_f32, 0.0, 2.0, 0.0, 1.0, 3.0])?.reshape([2, 3])?;
    /// let (inputs, mut outputs) = (ctx.array(&[5.0_f32, 6.0, 7.0])?.reshape([1, 3])?, ctx.zeros([1, 2])?);
    /// queue.matmul(&inputs, weights.transposed(), &mut outputs, Matmul::default())?;
    /// assert_eq!(queue.read(&outputs).wait()?, [19.0, 27.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn transposed(&self) -> Matrices<T> {
        Matrices::from(self).transposed()
    }

    /// Returns matrices whose elements are at places given by [`Strides`], as a factor of a product. A stride of 0
    /// repeats elements. In a padded array, places count the padding too.
    ///
    /// # Errors
    /// The verb returns [`ErrorDetail::Value`](crate::ErrorDetail::Value) for places outside of the array.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1_u32, 2, 3, 4, 5, 6, 7, 8])?;
    /// // All pairs of neighbours, as the rows of a matrix.
    /// let pairs = x.matrices([7, 2], Strides { first: 0, strides: [1, 1] });
    /// let (weights, mut sums) = (ctx.array(&[10_u32, 1])?, ctx.zeros([7])?);
    /// queue.matmul(pairs, &weights, &mut sums, Matmul::default())?;
    /// assert_eq!(queue.read(&sums).wait()?, [12, 23, 34, 45, 56, 67, 78]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn matrices<const R: usize>(&self, shape: [usize; R], strides: Strides<R>) -> Matrices<T> {
        let Strides { first, strides } = strides;
        Matrices { array: memory(self), shape: shape.into(), first, strides: strides.into() }
    }
}

impl<T: Element, const D: usize> From<&DeviceArray<T, D>> for Matrices<T> {
    fn from(array: &DeviceArray<T, D>) -> Self {
        let mut strides = vec![1_isize; D];
        let padded = array.padded_shape();
        for axis in (1..D).rev() {
            // An array without elements may have any other lengths.
            strides[axis - 1] = strides[axis].saturating_mul(padded[axis] as isize);
        }
        Self { array: memory(array), shape: array.shape().into(), first: 0, strides }
    }
}

// A variable of type `&mut DeviceArray` needs no `&*`.
impl<T: Element, const D: usize> From<&mut DeviceArray<T, D>> for Matrices<T> {
    fn from(array: &mut DeviceArray<T, D>) -> Self {
        (&*array).into()
    }
}

/// Returns the memory of an array, with the padding, as an array with one axis.
fn memory<T: Element, const D: usize>(array: &DeviceArray<T, D>) -> DeviceArray<T> {
    DeviceArray::new(array.array.clone(), [array.array.len])
}

#[cfg(all(test, cpu))]
mod tests {
    use super::*;
    use crate::memory::region::Shape;

    #[test]
    fn the_strides_of_a_padded_array_are_those_of_its_memory() {
        let (_ctx, queue) = crate::doctest();
        let x = queue.zeros::<f32, 3>(Shape::padded([2, 3, 5], [4, 7, 8])).unwrap();
        let found = Matrices::from(&x.slice(1..2).unwrap());
        assert_eq!((found.shape(), found.first(), found.strides()), (&[1, 3, 5][..], 0, &[56, 8, 1][..]));
        assert_eq!(found.array().len(), 56);
        let turned = x.transposed();
        assert_eq!((turned.shape(), turned.strides()), (&[2, 5, 3][..], &[56, 1, 8][..]));
    }

    #[test]
    fn a_vector_and_an_array_without_axes_stay_the_same() {
        let (_ctx, queue) = crate::doctest();
        let x = queue.zeros::<u32, 1>([4]).unwrap();
        let vector = x.transposed();
        assert_eq!((vector.shape(), vector.strides()), (&[4][..], &[1][..]));
        let one = x.slice(0..1).unwrap().reshape([]).unwrap().transposed();
        assert!(one.shape().is_empty() && one.strides().is_empty());
        let none = queue.zeros::<u32, 2>([0, 3]).unwrap().transposed();
        assert_eq!((none.shape(), none.array().len()), (&[3, 0][..], 0));
    }
}
