//! Products of matrices.

use crate::elementwise::flat;
use crate::exact_matmul;
use crate::matmul_kernel::{Epilogue, MatmulBlocks, parameters, parameters_of_sums, sums_kernel};
use crate::products::Products;
use crate::reducible::{Operation, Reducible};
use crate::refusals::{Named, check};
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{
    DType, Determinism, DeviceArray, DynArg, DynKernel, Element, ErrorDetail, Grid, Matrices, NamedArg,
    Number, Result, Scalar, covering_words, regrouped,
};
use half::f16;

/// The last steps of a [`matmul`](crate::Algorithms::matmul): `out` = activation(`alpha` a b + `beta` `out` + `bias`).
///
/// By default, `alpha` is 1, `beta` is 0, and there is no bias and no activation: `out` = a b.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let x = ctx.array(&[1.0_f32, 2.0, 3.0, 4.0])?.reshape([2, 2])?;
/// let weights = ctx.array(&[1.0_f32, -1.0, 0.5, -2.0])?.reshape([2, 2])?;
/// let (bias, mut out) = (ctx.array(&[0.5_f32, 4.0])?, ctx.zeros([2, 2])?);
/// let layer = Matmul::default().bias(&bias).activation("max(x, 0.0)");
/// queue.matmul(&x, &weights, &mut out, layer)?;
/// assert_eq!(queue.read(&out).wait()?, [2.5, 0.0, 5.5, 0.0]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Matmul<'a, N: Element, P: Element = N> {
    /// Factor of the products. With 0, the factors are not read.
    pub alpha: N,
    /// Factor of the elements that `out` has before. With 0, they are not read, and may be anything.
    pub beta: N,
    /// Array of the numbers that are added to the columns of the results, one for each column.
    pub bias: Option<&'a DeviceArray<P>>,
    /// WGSL expression of the results. In it, `x` is the result so far, of the type of the sums.
    pub activation: Option<&'a str>,
    /// The runs in which results of `f32` have the same bits.
    pub determinism: Determinism,
}

impl<N: Reducible, P: Element> Default for Matmul<'_, N, P> {
    fn default() -> Self {
        Self {
            alpha: N::ONE,
            beta: N::identity(Operation::Sum),
            bias: None,
            activation: None,
            determinism: Determinism::default(),
        }
    }
}

impl<'a, N: Element, P: Element> Matmul<'a, N, P> {
    /// Sets the factor of the products.
    #[must_use]
    pub fn alpha(mut self, alpha: N) -> Self {
        self.alpha = alpha;
        self
    }

    /// Sets the factor of the elements that `out` has before.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (a, x) = (ctx.array(&[1, 2, 3, 4])?.reshape([2, 2])?, ctx.array(&[10, 100])?);
    /// let mut y = ctx.array(&[5, 6])?;
    /// queue.matmul(&a, &x, &mut y, Matmul::default().alpha(2).beta(-1))?;
    /// assert_eq!(queue.read(&y).wait()?, [415, 854]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[must_use]
    pub fn beta(mut self, beta: N) -> Self {
        self.beta = beta;
        self
    }

    /// Adds a number to each column of the results, before the activation.
    ///
    /// # Shape
    /// `bias` has one element for each column of the results: one for a vector as the right factor.
    #[must_use]
    pub fn bias(mut self, bias: &'a DeviceArray<P>) -> Self {
        self.bias = Some(bias);
        self
    }

    /// Computes a WGSL expression of each result. In it, `x` is the result so far, as `f32` for results of `half::f16`.
    /// The expression can also use the functions and types of WGSL, and no other names. The verb refuses a text that is
    /// not one expression of the type of `x`.
    #[must_use]
    pub fn activation(mut self, activation: &'a str) -> Self {
        self.activation = Some(activation);
        self
    }

    /// Chooses where results of `f32` have the same bits. By default, these are runs on one device.
    ///
    /// With [`Determinism::Everywhere`], each result is the exact sum of the exact products, rounded once. The other
    /// options must then be the default ones. For integers, the choice changes nothing.
    ///
    /// # Errors
    /// The verb returns [`ErrorDetail::Value`](fencepost_core::ErrorDetail::Value) if `alpha` is not 1, if `beta` is
    /// not 0, with a bias or an activation, and for factors of `half::f16`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let a = ctx.array(&[1e30_f32, 3.0, 1e30])?;
    /// let b = ctx.array(&[1e30_f32, 0.5, -1e30])?;
    /// let mut out = ctx.zeros::<f32, 1>([1])?.reshape([])?;
    /// queue.matmul(&a, &b, &mut out, Matmul::default().determinism(Determinism::Everywhere))?;
    /// assert_eq!(queue.read(&out).wait()?, [1.5]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[must_use]
    pub fn determinism(mut self, determinism: Determinism) -> Self {
        self.determinism = determinism;
        self
    }
}

/// A type of elements that [`matmul`](crate::Algorithms::matmul) multiplies, with results of the type `P`.
///
/// | factors | results | sums |
/// |---|---|---|
/// | `f32` | `f32` | `f32` |
/// | `half::f16` | `half::f16` or `f32` | `f32` |
/// | `i32` | `i32` | `i32`, wrapping |
/// | `u32` | `u32` | `u32`, wrapping |
/// | `i8` | `i32` | `i32`, wrapping |
#[diagnostic::on_unimplemented(
    message = "`matmul` does not multiply elements of `{Self}` with results of `{P}`",
    label = "not the types of a product of matrices",
    note = "factors and results are `f32`, `i32` or `u32`, all of one type",
    note = "factors of `half::f16` have results of `half::f16` or `f32`, and factors of `i8` have results of `i32`"
)]
pub trait Factor<P: Element>: Element + sealed::Multiplied {
    /// Type of the sums of products, and of `alpha` and `beta`.
    type Sum: Reducible;
}

pub(crate) mod sealed {
    /// Implemented only by the types of this crate.
    pub trait Multiplied {}
}

macro_rules! factors {
    ($($factor:ty => [$($product:ty),+], $sum:ty;)*) => {$(
        impl sealed::Multiplied for $factor {}
        $(impl Factor<$product> for $factor {
            type Sum = $sum;
        })+
    )*};
}

factors! {
    f32 => [f32], f32;
    i32 => [i32], i32;
    u32 => [u32], u32;
    f16 => [f16, f32], f32;
    i8 => [i32], i32;
}

/// The arrays of a call, with one axis. Padding is a part of them.
struct Operands<'a, T: Element, P: Element> {
    a: &'a DeviceArray<T>,
    b: &'a DeviceArray<T>,
    bias: Option<DeviceArray<P>>,
    out: &'a DeviceArray<P>,
}

impl<T: Element, P: Element> Operands<'_, T, P> {
    /// Returns the error that a launch with all arrays would give, but enqueues nothing. The error names the
    /// arguments of the verb.
    #[track_caller]
    fn check(&self, queue: &VerbQueue<'_>) -> Result<()> {
        let [a, b] = [self.a, self.b].map(covering_words);
        let bias = self.bias.as_ref().map(covering_words);
        let reads: Vec<Named<'_>> =
            [("a", &a), ("b", &b)].into_iter().chain(bias.as_ref().map(|bias| ("bias", bias))).collect();
        check(queue, &reads, &[("out", &covering_words(self.out))])
    }
}

#[track_caller]
pub(crate) fn matmul<T: Factor<P>, P: Element, const E: usize>(
    queue: &VerbQueue<'_>,
    [a, b]: [Matrices<T>; 2],
    out: &DeviceArray<P, E>,
    options: Matmul<'_, T::Sum, P>,
) -> Result<()> {
    let results = Matrices::from(out);
    let mut products = Products::of(queue, &a, &b, &results)?;
    let bias = options.bias.map(|bias| checked_bias(queue, bias, products.columns)).transpose()?;
    let call = Operands { a: a.array(), b: b.array(), bias, out: results.array() };
    let is_exact = options.determinism == Determinism::Everywhere
        && <T::Sum as Element>::DTYPE.scalar() == Some(Scalar::F32);
    if is_exact {
        check_exact::<T, P>(queue, &options)?;
    }
    if out.is_empty() {
        return call.check(queue);
    }
    if is_exact {
        call.check(queue)?;
        let [a, b] = [call.a, call.b].map(covering_words);
        return exact_matmul::enqueue(queue, &products, [&a, &b], &mut covering_words(call.out));
    }
    if options.alpha == zero::<T::Sum>() {
        products.inner = 0; // no factor is read
    }
    let are_bytes = T::DTYPE.scalar() == Some(Scalar::I8);
    let (blocks, turned) = MatmulBlocks::of(queue, &products, T::DTYPE);
    let mut factors = [call.a, call.b];
    if turned {
        products = products.transposed();
        factors.reverse();
    }
    let shares = blocks.shares(queue, products.inner);
    let sum = <T::Sum as Element>::DTYPE;
    let aliases = |product: DType| [("Factor", T::DTYPE), ("Number", sum), ("Product", product)];
    // The kernel for bytes loads words, because WGSL lacks their type.
    let first = usize::from(are_bytes);
    let last_steps = Epilogue { activation: options.activation, is_biased: call.bias.is_some() };
    let scales = [options.alpha, options.beta];
    let bias = match &call.bias {
        Some(bias) => bias.clone(),
        None => unread(queue, factors[0])?,
    };
    let is_single = shares.count == 1 && (options.activation.is_none() || !blocks.leaves_activation());
    if is_single {
        let kernel = blocks.kernel(queue, &aliases(P::DTYPE)[first..], last_steps)?;
        let (grid, groups) = blocks.grid(shares);
        let values = parameters(&products, shares, groups, (products.out, 0), scales);
        return match multiply(queue, (&kernel, grid), values, factors, [&bias, call.out]) {
            Ok(()) => Ok(()),
            Err(error) => {
                // The kernel may have the factors exchanged, so its error may name the wrong one.
                call.check(queue)?;
                Err(error)
            }
        };
    }
    let products_kernel = blocks.kernel(queue, &aliases(sum)[first..], Epilogue::NONE)?;
    let sums_kernel = sums_kernel(queue, &aliases(P::DTYPE)[1..], last_steps)?;
    // All refusals come before the first launch.
    call.check(queue)?;
    let partials = queue.scratch::<T::Sum>(shares.count.saturating_mul(products.results()))?;
    let no_bias = unread(queue, factors[0])?;
    let mut args: Vec<NamedArg<'_>> = parameters_of_sums(&products, shares, scales);
    let arrays: [NamedArg<'_>; 3] = [
        (Some("partials".into()), DynArg::Read(&partials)),
        (Some("bias".into()), DynArg::Read(&bias)),
        (Some("out".into()), DynArg::ReadWrite(call.out)),
    ];
    args.extend(arrays);
    queue.check_launch_dyn(&sums_kernel, &args)?;
    let (grid, groups) = blocks.grid(shares);
    let of_shares = (products.compact(), products.results());
    let values = parameters(&products, shares, groups, of_shares, [T::Sum::ONE, zero()]);
    multiply(queue, (&products_kernel, grid), values, factors, [&no_bias, &partials])?;
    queue.launch_dyn(&sums_kernel, Grid::threads([products.results()]), &args)
}

/// Returns an error if the results of a call cannot be the same everywhere.
fn check_exact<T: Factor<P>, P: Element>(
    queue: &VerbQueue<'_>,
    options: &Matmul<'_, T::Sum, P>,
) -> Result<()> {
    let refused = |what: &str, found: String, needed| {
        let object = format!("{}: {what} with `Determinism::Everywhere`", subject(queue.verb));
        Err(ErrorDetail::Value { object, found, needed }.into())
    };
    if T::DTYPE.scalar() != Some(Scalar::F32) {
        return refused("the type of the factors", format!("`{}`", T::DTYPE), "`f32`, `i32`, `u32` or `i8`");
    }
    if options.alpha != T::Sum::ONE {
        return refused("the option `alpha`", number_of(options.alpha), "1");
    }
    if options.beta != zero::<T::Sum>() {
        return refused("the option `beta`", number_of(options.beta), "0");
    }
    if options.bias.is_some() {
        return refused(
            "the option `bias`",
            "an array".into(),
            "no bias, and an addition after the product,",
        );
    }
    match options.activation {
        Some(text) => refused(
            "the option `activation`",
            format!("`{text}`"),
            "no activation, and `map` after the product,",
        ),
        None => Ok(()),
    }
}

/// Enqueues the launch that computes products, or their shares.
#[track_caller]
fn multiply<'a, T: Element, R: Element>(
    queue: &VerbQueue<'_>,
    (kernel, grid): (&DynKernel, Grid<'_>),
    values: Vec<NamedArg<'static>>,
    [a, b]: [&'a DeviceArray<T>; 2],
    [bias, out]: [&'a DeviceArray<R>; 2],
) -> Result<()> {
    let mut args: Vec<NamedArg<'a>> = values;
    let arrays: [NamedArg<'a>; 4] = [
        (Some("a".into()), DynArg::Read(a)),
        (Some("b".into()), DynArg::Read(b)),
        (Some("bias".into()), DynArg::Read(bias)),
        (Some("out".into()), DynArg::ReadWrite(out)),
    ];
    args.extend(arrays);
    queue.launch_dyn(kernel, grid, args)
}

/// Returns the bias, or an error if it does not have one element for each column.
fn checked_bias<P: Element>(
    queue: &VerbQueue<'_>,
    bias: &DeviceArray<P>,
    columns: usize,
) -> Result<DeviceArray<P>> {
    if bias.len() == columns {
        return flat(bias);
    }
    Err(queue.wrong_shape("bias", bias, [columns], "the bias has one element for each column of the results"))
}

/// Returns an array to bind in place of a bias that a kernel does not read: the memory of another argument, or
/// scratch memory if that does not consist of whole elements.
pub(crate) fn unread<T: Element, R: Element>(
    queue: &VerbQueue<'_>,
    other: &DeviceArray<T>,
) -> Result<DeviceArray<R>> {
    match regrouped(other) {
        Some(same) => Ok(same),
        None => queue.scratch(1),
    }
}

/// Returns the text of a number of `f32`.
fn number_of<N: Reducible>(x: N) -> String {
    format!("{:?}", f32::from_bits(x.to_word()))
}

fn zero<N: Reducible>() -> N {
    N::identity(Operation::Sum)
}
