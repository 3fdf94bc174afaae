//! The inputs of a map.

use fencepost_core::{DeviceArray, Element, NamedArg, Prefix, args};

/// The inputs of [`map`](crate::Algorithms::map): arrays and values, with their names in the expression.
///
/// An argument `impl Into<Inputs>` can be `&x` for an array with the name `x`, [`x.first(&count)`](DeviceArray::first)
/// for its first elements, or a list with names: `args![x = &x, y = &y, a = 2.0_f32]`. In
/// [`map_in_place`](crate::Algorithms::map_in_place), the array that gets the results is passed by `&mut`.
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
}

impl<'a> Inputs<'a> {
    /// Returns the inputs of [`zip`](crate::Algorithms::zip).
    pub(crate) fn pair<T: Element, V: Element, const D: usize, const E: usize>(
        x: Prefix<'a, T, D>,
        y: &'a DeviceArray<V, E>,
    ) -> Self {
        Self { count: x.count(), ..args![x = x.array(), y = y].into() }
    }
}

impl<'a> From<Vec<NamedArg<'a>>> for Inputs<'a> {
    fn from(list: Vec<NamedArg<'a>>) -> Self {
        Self { list, count: None }
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
        Self { count: x.count(), ..x.array().into() }
    }
}
