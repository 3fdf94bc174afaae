//! Plans of Fourier transforms: their lengths, axes and tables.

use crate::fft_table::{FftPass, FftTable, is_length, most_in_one};
use crate::tuning::has_twins;
use crate::verb_queue::VerbQueue;
use fencepost_core::{Context, DeviceArray, Element, Error, ErrorDetail, Result};
use std::sync::Arc;

/// Factor of the results of Fourier transforms, by the names that NumPy gives to `norm`. n is the number of elements of
/// a transform, of all its axes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum FftNorm {
    /// 1 forward, and 1/n for an inverse transform.
    #[default]
    Backward,
    /// 1/sqrt(n) for both.
    Ortho,
    /// 1/n forward, and 1 for an inverse transform.
    Forward,
}

impl FftNorm {
    /// Returns the factor of transforms of `n` elements.
    fn factor(self, inverse: bool, n: f64) -> f64 {
        match (self, inverse) {
            (Self::Backward, true) | (Self::Forward, false) => 1.0 / n,
            (Self::Ortho, _) => 1.0 / n.sqrt(),
            _ => 1.0,
        }
    }
}

/// Plan of [`fft`](crate::Algorithms::fft) and [`ifft`](crate::Algorithms::ifft): lengths, and tables for them on the
/// device. A clone is a cheap handle, and shares the tables.
///
/// A transform of several lengths is one over several axes. Arrays may have more axes than the plan has lengths: each
/// index of the other axes has a transform of its own. By default, the last axes are transformed.
///
/// The plan has no scratch memory: a call takes it from its queue, or from the graph that captures it. So several
/// queues may use one plan at once.
///
/// # Cost
/// For a length n with the prime factors 2, 3, 5 and 7, the tables have less than n complex numbers up to 1,024, and at
/// most 2,600 + n / 1,024 above. Another length needs up to 3.5 n more, and a Fourier transform of up to 2.5 n numbers
/// on the host. On the CPU device, a length from 1,025 to 131,072 needs up to n more, or up to 3 n for another length.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// // Spectra of the columns of a table, and the two-dimensional transform of a picture.
/// let plan = FftPlan::new(&ctx, [4])?.axes([0])?;
/// let table = ctx.array(&[[1.0_f32, 0.0]; 8])?.reshape([4, 2])?;
/// let mut spectra = ctx.zeros([4, 2])?;
/// queue.fft(&plan, &table, &mut spectra)?;
/// assert_eq!(queue.read(&spectra).wait()?[..4], [[4.0, 0.0], [4.0, 0.0], [0.0, 0.0], [0.0, 0.0]]);
///
/// let picture = ctx.full([3, 5], [2.0_f32, 0.0])?;
/// let mut waves = ctx.zeros([3, 5])?;
/// queue.fft(&FftPlan::new(&ctx, [3, 5])?, &picture, &mut waves)?;
/// assert_eq!(queue.get(&waves, [0, 0]).wait()?, [30.0, 0.0]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FftPlan {
    pub(crate) inner: SharedPlan,
}

impl FftPlan {
    /// Makes a plan for arrays of complex numbers with these lengths along the transformed axes.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Value`] without a length, and for a length that is 0 or above 2^24, or above 2^22 with a
    /// prime factor other than 2, 3, 5 and 7. Returns the errors of [`Context::array`].
    #[track_caller]
    pub fn new(ctx: &Context, lengths: impl AsRef<[usize]>) -> Result<Self> {
        Ok(Self { inner: SharedPlan::new(ctx, lengths.as_ref(), false)? })
    }

    /// Sets the axes that are transformed, one for each length.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Value`] if there are fewer or more axes than lengths, or if an axis is repeated.
    pub fn axes(self, axes: impl AsRef<[usize]>) -> Result<Self> {
        Ok(Self { inner: self.inner.with_axes(axes.as_ref())? })
    }

    /// Sets the factor of the results.
    #[must_use]
    pub fn norm(self, norm: FftNorm) -> Self {
        Self { inner: SharedPlan { norm, ..self.inner } }
    }
}

/// Plan of [`rfft`](crate::Algorithms::rfft) and [`irfft`](crate::Algorithms::irfft): lengths of arrays of real
/// numbers, and tables for them on the device. A clone is a cheap handle, and shares the tables.
///
/// The spectrum of n real numbers is symmetric, so an array of spectra has only the first n / 2 + 1 elements along the
/// last of the transformed axes.
///
/// # Cost
/// As [`FftPlan`]. An even length above 1,024 is transformed as half as many complex numbers.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let plan = RealFftPlan::new(&ctx, [4])?;
/// let (x, mut again) = (ctx.array(&[1.0, 2.0, 0.0, 0.0])?, ctx.zeros([4])?);
/// let mut spectrum = ctx.zeros::<[f32; 2], 1>([3])?;
/// queue.rfft(&plan, &x, &mut spectrum)?;
/// queue.irfft(&plan, &spectrum, &mut again)?;
/// assert_eq!(queue.read(&spectrum).wait()?, [[3.0, 0.0], [1.0, -2.0], [-1.0, 0.0]]);
/// assert_eq!(queue.read(&again).wait()?, [1.0, 2.0, 0.0, 0.0]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RealFftPlan {
    pub(crate) inner: SharedPlan,
}

impl RealFftPlan {
    /// Makes a plan for arrays of real numbers with these lengths along the transformed axes.
    ///
    /// # Errors
    /// Returns the errors of [`FftPlan::new`].
    #[track_caller]
    pub fn new(ctx: &Context, lengths: impl AsRef<[usize]>) -> Result<Self> {
        Ok(Self { inner: SharedPlan::new(ctx, lengths.as_ref(), true)? })
    }

    /// Sets the axes that are transformed, one for each length. The last of them has real numbers on one side.
    ///
    /// # Errors
    /// Returns the errors of [`FftPlan::axes`].
    pub fn axes(self, axes: impl AsRef<[usize]>) -> Result<Self> {
        Ok(Self { inner: self.inner.with_axes(axes.as_ref())? })
    }

    /// Sets the factor of the results.
    #[must_use]
    pub fn norm(self, norm: FftNorm) -> Self {
        Self { inner: SharedPlan { norm, ..self.inner } }
    }
}

/// Passes of the transforms of one length.
#[derive(Clone, Debug)]
pub(crate) struct Transform {
    pub(crate) passes: Vec<FftPass>,
    /// Passes in place of `passes` whose lines have all elements, for a device with native code.
    pub(crate) long: Option<Vec<FftPass>>,
    /// Place of the roots of the length, if two real numbers are one element of the passes.
    pub(crate) halves: Option<usize>,
}

impl Transform {
    /// Returns the transform of complex numbers, and adds its numbers to the table.
    fn of_complex(table: &mut FftTable, n: usize) -> Self {
        Self { passes: table.transform(n), long: None, halves: None }
    }

    /// Returns the transform of real numbers, and adds its numbers to the table. In one pass, a transform of twice as
    /// many elements costs less than a launch that divides the spectrum.
    pub(crate) fn of_real(table: &mut FftTable, n: usize) -> Self {
        if !n.is_multiple_of(2) || n <= most_in_one() {
            return Self::of_complex(table, n);
        }
        Self { passes: table.transform(n / 2), long: None, halves: Some(table.roots(n)) }
    }

    /// Adds passes for long lines, if the device has native code for them.
    pub(crate) fn with_long(self, ctx: &Context, table: &mut FftTable) -> Self {
        let long = if has_twins(ctx) { table.long(&self.passes) } else { None };
        Self { long, ..self }
    }
}

/// The parts that plans for complex and for real numbers share.
#[derive(Clone, Debug)]
pub(crate) struct SharedPlan {
    pub(crate) lengths: Arc<[usize]>,
    /// Transformed axes, one for each length, or `None` for the last ones.
    axes: Option<Arc<[usize]>>,
    norm: FftNorm,
    /// Transform of each length.
    pub(crate) transforms: Arc<[Transform]>,
    pub(crate) table: DeviceArray<[f32; 2]>,
}

impl SharedPlan {
    #[track_caller]
    fn new(ctx: &Context, lengths: &[usize], of_real: bool) -> Result<Self> {
        check_lengths(lengths)?;
        let mut table = FftTable::default();
        let mut transforms: Vec<Transform> = Vec::new();
        for (at, &n) in lengths.iter().enumerate() {
            let is_real = of_real && at + 1 == lengths.len();
            // Equal lengths have the same passes.
            let known = lengths[..at].iter().position(|&known| known == n).filter(|_| !is_real);
            transforms.push(match known {
                Some(known) => transforms[known].clone(),
                None if is_real => Transform::of_real(&mut table, n).with_long(ctx, &mut table),
                None => Transform::of_complex(&mut table, n).with_long(ctx, &mut table),
            });
        }
        let table = uploaded(ctx, table)?;
        Ok(Self {
            lengths: lengths.into(),
            axes: None,
            norm: FftNorm::default(),
            transforms: transforms.into(),
            table,
        })
    }

    fn with_axes(self, axes: &[usize]) -> Result<Self> {
        let distinct = axes.iter().enumerate().all(|(at, axis)| !axes[..at].contains(axis));
        if axes.len() == self.lengths.len() && distinct {
            return Ok(Self { axes: Some(axes.into()), ..self });
        }
        let object = format!("the list of axes for a plan with {} lengths", self.lengths.len());
        let needed = "a different axis for each length";
        Err(ErrorDetail::Value { object, found: format!("{axes:?}"), needed }.into())
    }

    /// Returns the transformed axes of an array, or an error if it has other lengths. `lengths` are those along the
    /// axes.
    pub(crate) fn axes_of<T: Element, const D: usize>(
        &self,
        queue: &VerbQueue<'_>,
        argument: &str,
        array: &DeviceArray<T, D>,
        lengths: &[usize],
    ) -> Result<Vec<usize>> {
        let axes = match &self.axes {
            Some(axes) => axes.to_vec(),
            None => (0..lengths.len()).map(|at| (D + at).wrapping_sub(lengths.len())).collect(),
        };
        if let Some(&axis) = axes.iter().find(|&&axis| axis >= D) {
            // Of too many last axes, the message names the number that the plan needs.
            let axis = if self.axes.is_some() { axis } else { lengths.len() - 1 };
            let array = array.label().into();
            return Err(ErrorDetail::Axis { verb: queue.verb, array, axis, rank: D }.into());
        }
        let mut expected = array.shape();
        for (&axis, &n) in axes.iter().zip(lengths) {
            expected[axis] = n;
        }
        if array.shape() == expected {
            return Ok(axes);
        }
        let remedy = "the lengths along the transformed axes are those of the plan";
        Err(queue.wrong_shape(argument, array, expected, remedy))
    }

    /// Returns the lengths of spectra of real numbers along the transformed axes.
    pub(crate) fn lengths_of_spectra(&self) -> Vec<usize> {
        let mut lengths = self.lengths.to_vec();
        let last = lengths.last_mut().expect("bug: a plan has a length");
        *last = *last / 2 + 1;
        lengths
    }

    /// Returns the factor of the results.
    pub(crate) fn factor(&self, inverse: bool) -> f64 {
        self.norm.factor(inverse, self.lengths.iter().map(|&n| n as f64).product())
    }
}

/// Uploads a table, in the order of the context.
#[track_caller]
pub(crate) fn uploaded(ctx: &Context, table: FftTable) -> Result<DeviceArray<[f32; 2]>> {
    let FftTable { mut values } = table;
    // A transform of one element has no roots.
    if values.is_empty() {
        values.push([1.0, 0.0]);
    }
    Ok(ctx.array(&values)?.named("table of Fourier transforms"))
}

/// Returns an error if a plan cannot have these lengths.
fn check_lengths(lengths: &[usize]) -> Result<()> {
    if lengths.is_empty() {
        let object = "the number of lengths of a plan".into();
        return Err(ErrorDetail::Value { object, found: "0".into(), needed: "at least one length" }.into());
    }
    lengths.iter().try_for_each(|&n| check_length(n))
}

/// Returns an error if there is no Fourier transform of this length.
pub(crate) fn check_length(n: usize) -> Result<()> {
    if is_length(n) {
        return Ok(());
    }
    let object = "the length of a Fourier transform".into();
    let needed = "a number from 1 to 16777216, and up to 4194304 if it has a prime factor above 7,";
    Err(Error::from(ErrorDetail::Value { object, found: n.to_string(), needed }))
}
