//! Conversion between arrays and arrays of the crate `ndarray`.

use crate::api::context::Context;
use crate::api::queue::CommandQueue;
use crate::api::queue::transfer::{READ_IN_CAPTURE, same_shape};
use crate::arrays::device_array::DeviceArray;
use crate::error::{CommandKind, Result};
use crate::runtime::pending::{Pending, then};
use fencepost_kernels::Element;
use ndarray::{Array, ArrayBase, Data, Dim, Dimension, IntoDimension, Ix};

// This repeats the `cfg` of the module: the documentation of `fencepost` shows only a `cfg` on the item itself.
#[cfg(feature = "ndarray")]
impl Context {
    /// Returns an array with the elements and the shape of an array of `ndarray`. The call copies the elements in C
    /// order, whatever their layout is. The upload comes before every later use on any queue.
    ///
    /// # Errors
    /// The errors of [`array`](Self::array).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let table = ndarray::array![[1.0_f32, 2.0], [3.0, 4.0]];
    /// let x = ctx.array_from_ndarray(&table.t())?;
    /// assert_eq!(queue.read_ndarray(&x).wait()?, ndarray::array![[1.0, 3.0], [2.0, 4.0]]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn array_from_ndarray<T: Element, S: Data<Elem = T>, const D: usize>(
        &self,
        array: &ArrayBase<S, Dim<[Ix; D]>>,
    ) -> Result<DeviceArray<T, D>>
    where
        Dim<[Ix; D]>: Dimension,
    {
        let made = self.empty(shape(array))?;
        self.own(CommandKind::Upload).upload(&made.array, bytemuck::cast_slice(&elements(array)))?;
        Ok(made)
    }
}

#[cfg(feature = "ndarray")]
impl CommandQueue {
    /// *Enqueues* an upload of an array of `ndarray`, as [`upload`](Self::upload) does. The call copies the elements in
    /// C order.
    ///
    /// # Errors
    /// [`Kind::Shape`](crate::Kind::Shape) if the shapes differ; the errors of [`upload`](Self::upload).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 2>([2, 3])?;
    /// queue.upload_ndarray(&ndarray::Array2::ones((2, 3)), &mut x)?;
    /// assert_eq!(queue.read(&x).wait()?, [1; 6]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn upload_ndarray<T: Element, S: Data<Elem = T>, const D: usize>(
        &self,
        src: &ArrayBase<S, Dim<[Ix; D]>>,
        dst: &mut DeviceArray<T, D>,
    ) -> Result<()>
    where
        Dim<[Ix; D]>: Dimension,
    {
        same_shape("the target of an upload", &dst.shape(), &shape(src))?;
        self.upload(&elements(src)[..], dst)
    }

    /// *Flushes*, and reads the array as [`read`](Self::read) does; the result is an array of `ndarray`.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    ///
    /// # Example
    /// See [`Context::array_from_ndarray`].
    #[track_caller]
    pub fn read_ndarray<T: Element, const D: usize>(
        &self,
        array: &DeviceArray<T, D>,
    ) -> Pending<Array<T, Dim<[Ix; D]>>>
    where
        Dim<[Ix; D]>: Dimension,
        [Ix; D]: IntoDimension<Dim = Dim<[Ix; D]>>,
    {
        let shape = array.shape();
        if let Err(refused) = self.not_captured("read_ndarray", READ_IN_CAPTURE) {
            return Pending::ready(Err(refused));
        }
        then(self.read(array), move |elements| {
            Ok(Array::from_shape_vec(shape, elements)
                .expect("bug: a read returns another number of elements than its array has"))
        })
    }
}

fn shape<T, S: Data<Elem = T>, const D: usize>(array: &ArrayBase<S, Dim<[Ix; D]>>) -> [usize; D]
where
    Dim<[Ix; D]>: Dimension,
{
    array.shape().try_into().expect("bug: an array of `ndarray` has another number of axes than its type")
}

fn elements<T: Element, S: Data<Elem = T>, const D: usize>(array: &ArrayBase<S, Dim<[Ix; D]>>) -> Vec<T>
where
    Dim<[Ix; D]>: Dimension,
{
    array.iter().copied().collect()
}

#[cfg(test)]
mod tests {
    use crate::api::context::Context;
    use crate::error::Kind;
    use crate::record::cpu::cpu_recorder::CpuOptions;
    use ndarray::{Array0, Array3, s};

    #[test]
    fn arrays_of_every_layout_are_uploaded_and_read_back() {
        let ctx = Context::on_cpu(CpuOptions::default());
        let queue = ctx.queue("q");
        let cube = Array3::from_shape_fn((3, 4, 5), |(i, j, k)| (100 * i + 10 * j + k) as u32);
        let parts = [
            cube.view(),
            cube.slice(s![.., 1..3, ..;2]),
            cube.slice(s![..;-1, .., ..]),
            cube.view().reversed_axes(),
            cube.slice(s![.., 2..2, ..]),
        ];
        for part in parts {
            let x = ctx.array_from_ndarray(&part).unwrap();
            assert_eq!(queue.read_ndarray(&x).wait().unwrap(), part);
            let mut y = ctx.zeros(&x).unwrap();
            queue.upload_ndarray(&part, &mut y).unwrap();
            assert_eq!(queue.read_ndarray(&y).wait().unwrap(), part);
        }
        let number = ctx.array_from_ndarray(&Array0::from_elem((), 2.5_f32)).unwrap();
        assert_eq!(queue.read_ndarray(&number).wait().unwrap().into_scalar(), 2.5);
    }

    #[test]
    fn an_upload_of_another_shape_with_equal_length_is_refused() {
        let ctx = Context::on_cpu(CpuOptions::default());
        let mut x = ctx.zeros::<u32, 3>([3, 4, 5]).unwrap();
        let error = ctx.queue("q").upload_ndarray(&Array3::zeros((5, 4, 3)), &mut x).unwrap_err();
        assert!(matches!(error.kind(), Kind::Shape { .. }), "{error}");
    }
}
