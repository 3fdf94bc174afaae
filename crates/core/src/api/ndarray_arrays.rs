//! Conversion between device arrays and arrays of the crate `ndarray`.

use crate::api::context::Context;
use crate::api::queue::CommandQueue;
use crate::api::queue::transfer::same_shape;
use crate::arrays::device_array::DeviceArray;
use crate::error::{CommandKind, Result};
use crate::runtime::pending::{Pending, then};
use fencepost_kernels::Element;
use ndarray::{Array, ArrayBase, Data, Dim, Dimension, IntoDimension, Ix};

// Repeats the `cfg` of the module, because the documentation of `fencepost` shows only a `cfg` on the item itself.
#[cfg(feature = "ndarray")]
impl<T: Element, const D: usize> DeviceArray<T, D>
where
    Dim<[Ix; D]>: Dimension,
{
    /// Returns an array with the elements and the shape of an array of `ndarray`. The call copies the elements in C
    /// order, even if their layout differs. The upload comes before every later use on any queue.
    ///
    /// # Errors
    /// The errors of [`Context::array`].
    ///
    /// # Example
    /// ```
    /// use fencepost::DeviceArray;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let table = ndarray::array![[1.0_f32, 2.0], [3.0, 4.0]];
    /// let x = DeviceArray::from_ndarray(&ctx, &table.t())?;
    /// assert_eq!(x.read_ndarray(&queue).wait()?, ndarray::array![[1.0, 3.0], [2.0, 4.0]]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn from_ndarray<S: Data<Elem = T>>(
        ctx: &Context,
        array: &ArrayBase<S, Dim<[Ix; D]>>,
    ) -> Result<Self> {
        let made = ctx.empty(shape(array))?;
        ctx.array_ops(CommandKind::Upload).upload(&made.array, bytemuck::cast_slice(&elements(array)))?;
        Ok(made)
    }

    /// *Enqueues* an upload of an array of `ndarray` to this array, as [`CommandQueue::upload`] does. The call copies
    /// the elements in C order.
    ///
    /// # Errors
    /// [`ErrorDetail::Shape`](crate::ErrorDetail::Shape) if the shapes differ; the errors of [`CommandQueue::upload`].
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 2>([2, 3])?;
    /// x.upload_ndarray(&queue, &ndarray::Array2::ones((2, 3)))?;
    /// assert_eq!(queue.read(&x).wait()?, [1; 6]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn upload_ndarray<S: Data<Elem = T>>(
        &mut self,
        queue: &CommandQueue,
        src: &ArrayBase<S, Dim<[Ix; D]>>,
    ) -> Result<()> {
        same_shape("the target of an upload", &self.shape(), &shape(src))?;
        queue.upload(&elements(src)[..], self)
    }

    /// *Flushes* the queue, and reads the array as [`CommandQueue::read`] does; the result is an `ndarray` array.
    ///
    /// # Errors
    /// The errors of [`CommandQueue::read`].
    ///
    /// # Example
    /// See [`from_ndarray`](Self::from_ndarray).
    #[track_caller]
    pub fn read_ndarray(&self, queue: &CommandQueue) -> Pending<Array<T, Dim<[Ix; D]>>>
    where
        [Ix; D]: IntoDimension<Dim = Dim<[Ix; D]>>,
    {
        let shape = self.shape();
        if let Err(refused) = queue.not_captured("read_ndarray", queue.remedy_for_read()) {
            return Pending::ready(Err(refused));
        }
        then(queue.read(self), move |elements| {
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
    use crate::arrays::device_array::DeviceArray;
    use crate::error::ErrorDetail;
    use crate::record::cpu::cpu_recorder::SimulatorOptions;
    use ndarray::{Array0, Array3, s};

    #[test]
    fn arrays_of_every_layout_are_uploaded_and_read_back() {
        let ctx = Context::simulated(SimulatorOptions::default());
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
            let x = DeviceArray::from_ndarray(&ctx, &part).unwrap();
            assert_eq!(x.read_ndarray(&queue).wait().unwrap(), part);
            let mut y = ctx.zeros(&x).unwrap();
            y.upload_ndarray(&queue, &part).unwrap();
            assert_eq!(y.read_ndarray(&queue).wait().unwrap(), part);
        }
        let number = DeviceArray::from_ndarray(&ctx, &Array0::from_elem((), 2.5_f32)).unwrap();
        assert_eq!(number.read_ndarray(&queue).wait().unwrap().into_scalar(), 2.5);
    }

    #[test]
    fn an_upload_of_another_shape_with_equal_length_is_refused() {
        let ctx = Context::simulated(SimulatorOptions::default());
        let mut x = ctx.zeros::<u32, 3>([3, 4, 5]).unwrap();
        let error = x.upload_ndarray(&ctx.queue("q"), &Array3::zeros((5, 4, 3))).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
    }

    #[test]
    fn a_capture_takes_an_upload_and_refuses_a_read() {
        let ctx = Context::simulated(SimulatorOptions::default());
        let queue = ctx.queue("q");
        let mut x = ctx.zeros::<u32, 1>([4]).unwrap();
        let five = ndarray::Array1::from_elem(4, 5_u32);
        let (graph, ()) = queue.capture(|c| x.upload_ndarray(c, &five)).unwrap();
        queue.replay(&graph).unwrap();
        assert_eq!(x.read_ndarray(&queue).wait().unwrap(), five);
        let error = queue.capture(|c| x.read_ndarray(c).wait().map(drop)).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Captured { .. }), "{error}");
    }
}
