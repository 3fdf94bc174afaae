//! Associative operations: built-in ones, and WGSL expressions from user code.

use crate::axis::{Steps, View, along};
use crate::operator::Operator;
use crate::ordered::{self, Ordered};
use crate::reduce::Nan;
use crate::reducible::{Operation, Reducible};
use crate::shares::Shares;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Element, Result, Scalar};

/// An operation from user code: a WGSL expression that combines two elements, and the identity element.
///
/// In the expression, `a` and `b` are elements, or combinations of several; `a` comes before `b`. The value has the
/// type of the elements. The expression can also use the functions and types of WGSL, and no other names. A
/// [reversed](crate::Scan::reversed) scan goes from the last element to the first, so there `a` has the larger indices.
/// The result at `i` combines the initial value, the last element, and so on down to the element at `i`, in this order.
///
/// The operation must be associative: `(a b) c` must equal `a (b c)`, because a device groups the elements in any way.
/// It need not be commutative, because the order is kept. The identity must not change an element on either side,
/// because the device may combine it with elements any number of times. Neither is checked.
///
/// The elements are `f32`, `i32`, `u32`, or vectors of two or four of them, such as `[f32; 2]`. In verbs by key, in
/// segments, and in scans along an axis, they must be single numbers.
///
/// # Example
/// The states of a linear recurrence `y = m y + c` are a scan of pairs `(m, c)`:
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let steps = ctx.array(&[[0.5_f32, 1.0], [2.0, 3.0], [1.0, -4.0]])?;
/// let mut states = ctx.zeros::<[f32; 2], 1>([3])?;
/// let step = Monoid::new("vec2(b.x * a.x, b.x * a.y + b.y)", [1.0, 0.0]);
/// queue.scan(&steps, &mut states, Scan::inclusive(step))?;
/// let from_ten = |[m, c]: [f32; 2]| m * 10.0 + c;
/// assert_eq!(queue.read(&states).wait()?.iter().map(|&state| from_ten(state)).collect::<Vec<_>>(), [6.0, 15.0, 11.0]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Monoid<'a, T> {
    expression: &'a str,
    identity: T,
}

impl<'a, T: Combinable> Monoid<'a, T> {
    /// Takes an expression of `a` and `b`, and the identity: the element that does not change others.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut parity = ctx.zeros([1])?;
    /// queue.reduce(&ctx.array(&[0b1100_u32, 0b0110])?, Monoid::new("a ^ b", 0), &mut parity)?;
    /// assert_eq!(queue.read(&parity).wait()?, [0b1010]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn new(expression: &'a str, identity: T) -> Self {
        Self { expression, identity }
    }
}

/// A type of elements that a [`Monoid`] can combine: `f32`, `i32` and `u32`, and `[T; 2]` and `[T; 4]` of them.
pub trait Combinable: Element {}

macro_rules! combinable {
    ($($number:ty)*) => {$(
        impl Combinable for $number {}
        impl Combinable for [$number; 2] {}
        impl Combinable for [$number; 4] {}
    )*};
}

combinable! { f32 i32 u32 }

/// An associative operation on elements: a built-in [`Operation`], or a [`Monoid`] from user code.
pub trait Associative<T: Element>: sealed::Combines<T> {}

impl<T: Reducible> Associative<T> for Operation {}
impl<T: Combinable> Associative<T> for Monoid<'_, T> {}

pub(crate) mod sealed {
    use super::*;

    /// Implemented only by the operations of this crate.
    pub trait Combines<T: Element>: Copy {
        /// Kernel that combines shares.
        type Kernel;

        /// Returns the identity: the element that does not change others.
        fn identity(self) -> T;

        /// Returns an element that changes no other one, not even a NaN.
        fn neutral(self) -> T;

        /// Calls a verb with the operator for the type that a kernel computes with.
        #[track_caller]
        fn with_operator(self, initial: T, verb: impl OfOperator<T>) -> Result<()>;

        /// Compiles the kernel that combines the elements of shares, from the last one on if `reversed` is `true`. The
        /// array has this length.
        fn shares_kernel(
            self,
            queue: &VerbQueue<'_>,
            elements: usize,
            count: Option<&DeviceArray<u32>>,
            reversed: bool,
        ) -> Result<Self::Kernel>;

        /// Enqueues a launch of that kernel: `out` has one element for each share.
        #[track_caller]
        fn combine_shares(
            self,
            queue: &VerbQueue<'_>,
            kernel: &Self::Kernel,
            shares: Shares,
            x: &DeviceArray<T>,
            out: &mut DeviceArray<T>,
        ) -> Result<()>;

        /// Returns `true` if there is no result for no elements.
        fn needs_an_element(self) -> bool;

        /// Enqueues the combination of the elements of each row or column. There must be at least one row or column.
        #[track_caller]
        fn combine_along(
            self,
            queue: &VerbQueue<'_>,
            view: View,
            x: &DeviceArray<T>,
            out: &mut DeviceArray<T>,
        ) -> Result<()>;
    }

    /// A verb that takes an operator of any type with the bits of `T`.
    pub trait OfOperator<T: Element> {
        /// Enqueues the verb. `of_kernel` converts an array of the caller to the kernel's type.
        #[track_caller]
        fn enqueue<U: Element>(
            self,
            operator: Operator<'_, U>,
            of_kernel: fn(&DeviceArray<T>) -> DeviceArray<U>,
        ) -> Result<()>;
    }
}

use sealed::{Combines, OfOperator};

impl<T: Reducible> Combines<T> for Operation {
    type Kernel = T::Kernel;

    fn identity(self) -> T {
        T::identity(self)
    }

    fn neutral(self) -> T {
        T::neutral(self)
    }

    #[track_caller]
    fn with_operator(self, initial: T, verb: impl OfOperator<T>) -> Result<()> {
        match Operator::of_keys(self, initial) {
            Some(operator) => verb.enqueue::<u32>(operator, |x| x.cast_bits()),
            None => verb.enqueue::<T>(Operator::of_elements(self, initial), DeviceArray::clone),
        }
    }

    fn shares_kernel(
        self,
        queue: &VerbQueue<'_>,
        elements: usize,
        count: Option<&DeviceArray<u32>>,
        _: bool,
    ) -> Result<T::Kernel> {
        T::kernel(queue, self, Nan::Propagate, elements, count)
    }

    #[track_caller]
    fn combine_shares(
        self,
        queue: &VerbQueue<'_>,
        kernel: &T::Kernel,
        shares: Shares,
        x: &DeviceArray<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        T::launch(queue, kernel, self, shares, x, out)
    }

    fn needs_an_element(self) -> bool {
        self.needs_an_element()
    }

    #[track_caller]
    fn combine_along(
        self,
        queue: &VerbQueue<'_>,
        view: View,
        x: &DeviceArray<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        if self.needs_an_element() && T::DTYPE.scalar() == Some(Scalar::F32) {
            let steps = Steps { keys: true, ..Steps::of(self) };
            return along::<u32>(queue, steps, view, [&x.cast_bits(); 2], &mut out.cast_bits());
        }
        along(queue, Steps::of(self), view, [x; 2], out)
    }
}

impl<'a, T: Combinable> Monoid<'a, T> {
    fn operator(self, initial: T) -> Operator<'a, T> {
        Operator::of_program(self.expression, self.identity, initial)
    }
}

impl<T: Combinable> Combines<T> for Monoid<'_, T> {
    type Kernel = Ordered<T>;

    fn identity(self) -> T {
        self.identity
    }

    fn neutral(self) -> T {
        self.identity
    }

    #[track_caller]
    fn with_operator(self, initial: T, verb: impl OfOperator<T>) -> Result<()> {
        verb.enqueue::<T>(self.operator(initial), DeviceArray::clone)
    }

    fn shares_kernel(
        self,
        queue: &VerbQueue<'_>,
        _: usize,
        count: Option<&DeviceArray<u32>>,
        reversed: bool,
    ) -> Result<Ordered<T>> {
        let operator = self.operator(self.identity);
        Ordered::compiled(queue, &if reversed { operator.swapped() } else { operator }, count)
    }

    #[track_caller]
    fn combine_shares(
        self,
        queue: &VerbQueue<'_>,
        kernel: &Ordered<T>,
        shares: Shares,
        x: &DeviceArray<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        kernel.launch(queue, View { outer: 1, n: shares.elements, inner: 1 }, shares, x, out)
    }

    fn needs_an_element(self) -> bool {
        false
    }

    #[track_caller]
    fn combine_along(
        self,
        queue: &VerbQueue<'_>,
        view: View,
        x: &DeviceArray<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        ordered::along(queue, &self.operator(self.identity), view, x, out)
    }
}
