//! Inner products, norms and means of whole arrays.

use crate::launches::launch_dyn;
use crate::passes::{self, Passes, one_element};
use crate::reduce::{Nan, wide};
use crate::reducible::sealed::Combine;
use crate::reducible::{Finish, FinishedSum, Operation, Reducible};
use crate::refusals::check;
use crate::shares::Shares;
use crate::tuning::tuned_as;
use crate::typed_kernel::{self, value};
use crate::variants::{Tunable, chosen};
use crate::verb_queue::VerbQueue;
use crate::wide::Wide;
use fencepost_core::{DeviceArray, DynKernel, IntoArg, Result};

#[track_caller]
pub(crate) fn dot<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    y: &DeviceArray<T, D>,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    one_shape(queue, x, y)?;
    let mut out = one_element(queue, "out", out)?;
    let x = x.reshape([x.len()])?;
    let y = y.reshape([y.len()])?;
    if x.is_empty() {
        check(queue, &[("x", &x.cast_bits()), ("y", &y.cast_bits())], &[("out", &out.cast_bits())])?;
        return queue.fill(&mut out, T::identity(Operation::Sum));
    }
    let products = kernel::<T>(queue, x.len(), false)?;
    let sum = T::kernel(queue, Operation::Sum, Nan::Propagate, x.len(), None)?;
    passes::enqueue(queue, &Dot { products, sum, x: &x, y: &y }, x.len(), &mut out)
}

/// Returns an error if the arrays of an inner product differ in their shapes.
pub(crate) fn one_shape<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    y: &DeviceArray<T, D>,
) -> Result<()> {
    if x.shape() == y.shape() {
        return Ok(());
    }
    Err(queue.wrong_shape("y", y, x.shape(), "the arrays of an inner product have one shape"))
}

#[track_caller]
pub(crate) fn norm<const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<f32, D>,
    out: &mut DeviceArray<f32, E>,
) -> Result<()> {
    let mut out = one_element(queue, "out", out)?;
    let x = x.reshape([x.len()])?;
    if x.is_empty() {
        check(queue, &[("x", &x.cast_bits())], &[("out", &out.cast_bits())])?;
        return queue.fill(&mut out, 0.0);
    }
    let squares = kernel::<f32>(queue, x.len(), Shares::of(x.len()).count == 1)?;
    let root = FinishedSum::new(queue, Finish::Root, x.len())?;
    passes::enqueue(queue, &Norm { squares, root, x: &x }, x.len(), &mut out)
}

#[track_caller]
pub(crate) fn mean<const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<f32, D>,
    out: &mut DeviceArray<f32, E>,
) -> Result<()> {
    let mut out = one_element(queue, "out", out)?;
    if x.is_empty() {
        return passes::no_element(queue, x, "pass at least one element, because an empty array has no mean");
    }
    let x = x.reshape([x.len()])?;
    let quotient = FinishedSum::new(queue, Finish::Divide, x.len())?;
    let wide = wide(queue, Operation::Sum, Nan::Propagate, Shares::of(x.len()), &x)?;
    let sum = f32::kernel(queue, Operation::Sum, Nan::Propagate, x.len(), None)?;
    passes::enqueue(queue, &Mean { sum, wide, quotient, x: &x }, x.len(), &mut out)
}

fn kernel<T: Reducible>(queue: &VerbQueue<'_>, elements: usize, root: bool) -> Result<DynKernel> {
    let variant = chosen(queue, Tunable::Reduce, elements);
    let overrides = tuned_as(queue, variant, &[("ROOT", f64::from(root))]);
    typed_kernel::compiled::<T>(queue, "inner_product", &overrides)
}

#[track_caller]
fn products<T: Reducible>(
    queue: &VerbQueue<'_>,
    kernel: &DynKernel,
    shares: Shares,
    x: &DeviceArray<T>,
    y: &DeviceArray<T>,
    out: &mut DeviceArray<T>,
) -> Result<()> {
    let [n, share] = [shares.elements, shares.share].map(|n| n as u32);
    let args = [
        value("n", n),
        value("share", share),
        (Some("x".into()), x.into_arg()),
        (Some("y".into()), y.into_arg()),
        (Some("out".into()), out.into_arg()),
    ];
    launch_dyn(queue, kernel, shares.count, args)
}

struct Dot<'a, T: Reducible> {
    products: DynKernel,
    sum: T::Kernel,
    x: &'a DeviceArray<T>,
    y: &'a DeviceArray<T>,
}

impl<T: Reducible> Passes for Dot<'_, T> {
    type Partial = T;

    fn first(&self, queue: &VerbQueue<'_>, shares: Shares, out: &mut DeviceArray<T>) -> Result<()> {
        products(queue, &self.products, shares, self.x, self.y, out)
    }

    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        T::launch(queue, &self.sum, Operation::Sum, shares, partials, out)
    }
}

struct Norm<'a> {
    squares: DynKernel,
    root: FinishedSum,
    x: &'a DeviceArray<f32>,
}

impl Passes for Norm<'_> {
    type Partial = f32;

    fn first(&self, queue: &VerbQueue<'_>, shares: Shares, out: &mut DeviceArray<f32>) -> Result<()> {
        products(queue, &self.squares, shares, self.x, self.x, out)
    }

    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<f32>,
        out: &mut DeviceArray<f32>,
    ) -> Result<()> {
        self.root.launch(queue, shares, partials, out)
    }
}

struct Mean<'a> {
    sum: <f32 as Combine>::Kernel,
    /// Kernel that loads several elements at a time for each share, if the device gains from it.
    wide: Option<Wide>,
    quotient: FinishedSum,
    x: &'a DeviceArray<f32>,
}

impl Passes for Mean<'_> {
    type Partial = f32;

    fn first(&self, queue: &VerbQueue<'_>, shares: Shares, out: &mut DeviceArray<f32>) -> Result<()> {
        if shares.count == 1 {
            return self.quotient.launch(queue, shares, self.x, out);
        }
        if let Some(wide) = &self.wide {
            return wide.launch(queue, 1, shares, out);
        }
        f32::launch(queue, &self.sum, Operation::Sum, shares, self.x, out)
    }

    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<f32>,
        out: &mut DeviceArray<f32>,
    ) -> Result<()> {
        self.quotient.launch(queue, shares, partials, out)
    }
}
