//! The inputs of a map.

use fencepost_core::{DeviceArray, Element, NamedArg, Prefix, args};

/// The inputs of [`map`](crate::Algorithms::map): arrays and values, with their names in the expression.
///
/// An argument `impl Into<Inputs>` can be `&x` for an array with the name `x`, [`x.first(&count)`](DeviceArray::first)
/// for its first elements, or a list with names: `args![x = &x, y = &y, a = 2.0_f32]`. In
/// [`map_in_place`](crate::Algorithms::map_in_place), the array that gets the results is passed by `&mut`. For a list,
/// [`first`](Self::first) selects the first results.
///
/// # Example
/// ```
/// use fencepost::interface::{IntoArg as _, NamedArg};
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let (x, mut out) = (ctx.array(&[1_u32, 2])?, ctx.zeros::<u32, 1>([2])?);
/// // The length of this list is known only at run time.
/// let mut list: Vec<NamedArg> = vec![(Some("x".into()), (&x).into_arg())];
/// list.push((Some("by".into()), 10_u32.into_arg()));
/// queue.map(list, "x * by", &mut out)?;
/// assert_eq!(queue.read(&out).wait()?, [10, 20]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    pub(crate) list: Vec<NamedArg<'a>>,
    /// Number of first elements, if not all results are computed.
    pub(crate) count: Option<&'a DeviceArray<u32>>,
    /// `true` if the arrays repeat to the shape of the results, `false` if all of them must have this shape.
    pub(crate) repeats: bool,
}

impl<'a> Inputs<'a> {
    /// Selects the first results of a list of inputs, in C order. Their number is read from `count` on the device, so
    /// an earlier command may compute it.
    ///
    /// A number above that of the results counts as all results. The other results are not written.
    ///
    /// # Shape
    /// `count` has one element. The arrays repeat to the shape of the results, as without it.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (sums, bonus, count) = (ctx.array(&[3_u32, 5, 9])?, ctx.array(&[100_u32])?, ctx.array(&[2_u32])?);
    /// let mut totals = ctx.zeros::<u32, 1>([3])?;
    /// let inputs = Inputs::from(args![sum = &sums, bonus = &bonus, by = 2_u32]);
    /// queue.map(inputs.first(&count), "sum * by + bonus", &mut totals)?;
    /// assert_eq!(queue.read(&totals).wait()?, [106, 110, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn first(self, count: &'a DeviceArray<u32>) -> Self {
        Self { count: Some(count), ..self }
    }

    /// Returns the inputs of [`zip`](crate::Algorithms::zip).
    pub(crate) fn pair<T: Element, V: Element, const D: usize, const E: usize>(
        x: Prefix<'a, T, D>,
        y: &'a DeviceArray<V, E>,
    ) -> Self {
        let count = x.count();
        Self { count, repeats: count.is_none(), ..args![x = x.array(), y = y].into() }
    }
}

impl<'a> From<Vec<NamedArg<'a>>> for Inputs<'a> {
    fn from(list: Vec<NamedArg<'a>>) -> Self {
        Self { list, count: None, repeats: true }
    }
}

impl<'a, const N: usize> From<[NamedArg<'a>; N]> for Inputs<'a> {
    fn from(list: [NamedArg<'a>; N]) -> Self {
        Vec::from(list).into()
    }
}

impl<'a, T: Element, const D: usize> From<&'a DeviceArray<T, D>> for Inputs<'a> {
    fn from(x: &'a DeviceArray<T, D>) -> Self {
        args![x = x].into()
    }
}

impl<'a, T: Element, const D: usize> From<&'a mut DeviceArray<T, D>> for Inputs<'a> {
    fn from(x: &'a mut DeviceArray<T, D>) -> Self {
        args![x = x].into()
    }
}

impl<'a, T: Element, const D: usize> From<Prefix<'a, T, D>> for Inputs<'a> {
    fn from(x: Prefix<'a, T, D>) -> Self {
        let count = x.count();
        Self { count, repeats: count.is_none(), ..x.array().into() }
    }
}
