//! Convolutions over the channels of images: products of matrices, one of which the kernel reads from the images.

use crate::elementwise::flat;
use crate::grid::folded;
use crate::matmul::{Factor, unread};
use crate::matmul_kernel::{Epilogue, TileSizes, compiled, size_of_results, sums_kernel};
use crate::matrix_stack::{read, size, write};
use crate::products::check_range;
use crate::reducible::{Operation, Reducible};
use crate::refusals::{Named, check};
use crate::shares::{InnerLimits, Shares};
use crate::tuning::{by_adapter, limit};
use crate::typed_kernel::value;
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{
    ArraySize, DType, DeviceArray, DynKernel, Element, Error, ErrorDetail, Grid, Matrices, NamedArg, Result,
    covering_words,
};
use half::f16;

/// Options of [`convolve_channels`](crate::Algorithms::convolve_channels).
///
/// By default, windows begin at each element, their elements are neighbours, there are none beside an image, all kernels
/// have all channels, and there is no bias and no activation. Pairs of numbers are those along the height and the width.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let images = ctx.array(&[1.0_f32, 2.0, 3.0, 4.0])?.reshape([1, 1, 1, 4])?;
/// let weights = ctx.array(&[1.0_f32, 1.0, 1.0])?.reshape([1, 1, 1, 3])?;
/// let (bias, mut out) = (ctx.array(&[-5.0_f32])?, ctx.zeros([1, 1, 1, 4])?);
/// let layer = ConvolveChannels::default().padding([0, 1]).bias(&bias).activation("max(x, 0.0)");
/// queue.convolve_channels(&images, &weights, &mut out, layer)?;
/// assert_eq!(queue.read(&out).wait()?, [0.0, 1.0, 4.0, 2.0]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct ConvolveChannels<'a, P: Element> {
    /// Distances of the windows of neighbouring results.
    pub stride: [usize; 2],
    /// Counts of zeros before the first and after the last elements of an image.
    pub padding: [usize; 2],
    /// Distances of neighbouring elements of a window.
    pub dilation: [usize; 2],
    /// Number of groups of channels. The kernels have as many groups, and each group has the channels of its own.
    pub groups: usize,
    /// Array of the numbers that are added to the results, one for each kernel.
    pub bias: Option<&'a DeviceArray<P>>,
    /// WGSL expression of the results. In it, `x` is the result so far, of the type of the sums.
    pub activation: Option<&'a str>,
}

impl<P: Element> Default for ConvolveChannels<'_, P> {
    fn default() -> Self {
        Self { stride: [1; 2], padding: [0; 2], dilation: [1; 2], groups: 1, bias: None, activation: None }
    }
}

impl<'a, P: Element> ConvolveChannels<'a, P> {
    /// Sets the distances of the windows of neighbouring results.
    #[must_use]
    pub fn stride(mut self, stride: [usize; 2]) -> Self {
        self.stride = stride;
        self
    }

    /// Sets the numbers of zeros before the first and after the last elements of an image.
    #[must_use]
    pub fn padding(mut self, padding: [usize; 2]) -> Self {
        self.padding = padding;
        self
    }

    /// Sets the distances of neighbouring elements of a window.
    #[must_use]
    pub fn dilation(mut self, dilation: [usize; 2]) -> Self {
        self.dilation = dilation;
        self
    }

    /// Divides the channels and the kernels into groups. With a group for each channel, each channel is convolved alone.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let images = ctx.array(&[1, 2, 10, 20])?.reshape([1, 2, 1, 2])?;
    /// let weights = ctx.array(&[1, 1, 1, -1])?.reshape([2, 1, 1, 2])?;
    /// let mut out = ctx.zeros([1, 2, 1, 1])?;
    /// queue.convolve_channels(&images, &weights, &mut out, ConvolveChannels::default().groups(2))?;
    /// assert_eq!(queue.read(&out).wait()?, [3, -10]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[must_use]
    pub fn groups(mut self, groups: usize) -> Self {
        self.groups = groups;
        self
    }

    /// Adds a number to each result of a kernel, before the activation.
    ///
    /// # Shape
    /// `bias` has one element for each kernel.
    #[must_use]
    pub fn bias(mut self, bias: &'a DeviceArray<P>) -> Self {
        self.bias = Some(bias);
        self
    }

    /// Computes a WGSL expression of each result, by the rules of [`Matmul::activation`](crate::Matmul::activation()).
    #[must_use]
    pub fn activation(mut self, activation: &'a str) -> Self {
        self.activation = Some(activation);
        self
    }
}

/// A type of elements that [`convolve_channels`](crate::Algorithms::convolve_channels) takes, with results of the type
/// `P`.
///
/// | images and weights | results | sums |
/// |---|---|---|
/// | `f32` | `f32` | `f32` |
/// | `half::f16` | `half::f16` or `f32` | `f32` |
/// | `i32` | `i32` | `i32`, wrapping |
/// | `u32` | `u32` | `u32`, wrapping |
#[diagnostic::on_unimplemented(
    message = "`convolve_channels` does not take elements of `{Self}` with results of `{P}`",
    label = "not the types of a convolution over channels",
    note = "images, weights and results are `f32`, `i32` or `u32`, all of one type",
    note = "images and weights of `half::f16` have results of `half::f16` or `f32`"
)]
pub trait ChannelElement<P: Element>: Factor<P> {}

impl ChannelElement<f32> for f32 {}
impl ChannelElement<i32> for i32 {}
impl ChannelElement<u32> for u32 {}
impl ChannelElement<f16> for f16 {}
impl ChannelElement<f32> for f16 {}

/// Name of the kernel.
const STEM: &str = "convolve_channels";
/// Lengths of padded axes, and numbers of products in a sum, are below this number.
const END: usize = 1 << 31;
/// Maximum number of inner indices of a share: an invocation has fewer than 2^16 iterations of all loops together.
const MOST_IN_SHARE: usize = 1 << 15;
/// The same with the small tiles of tests.
const FEW_IN_SHARE: usize = 1 << 14;
/// Number of kernels of a group up to which a tile has one row of invocations.
const FEW_KERNELS: usize = 4;
/// Number of kernels of a group from which on a tile may be large.
const MANY_KERNELS: usize = 64;

const FOUR_AXES: &str =
    "the axes are those of images, channels, rows and columns, and for weights, kernels in place of images";
const WEIGHTS: &str =
    "each kernel has weights for the channels of its group, and at least one row and one column of them";
const RESULTS: &str = "the results have the axes of images, kernels, rows and columns, with an element for each window inside of a padded \
     image";

/// The shape of an argument with four axes, and the places of its elements.
#[derive(Clone, Copy, Debug)]
struct FourAxes {
    shape: [usize; 4],
    first: usize,
    strides: [isize; 4],
}

impl FourAxes {
    /// Returns the axes, or an error if there are more or fewer.
    fn of<T: Element>(queue: &VerbQueue<'_>, argument: &str, array: &Matrices<T>) -> Result<Self> {
        let found = array.shape();
        let strides = <[isize; 4]>::try_from(array.strides());
        if let (Ok(shape), Ok(strides)) = (<[usize; 4]>::try_from(found), strides) {
            return Ok(Self { shape, first: array.first(), strides });
        }
        let mut expected = vec![1; 4];
        expected.iter_mut().rev().zip(found.iter().rev()).for_each(|(to, &len)| *to = len);
        Err(queue.wrong_shape_of(argument, array.array().label(), found.into(), expected, FOUR_AXES))
    }
}

/// An axis of images, along which windows have some elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct WindowAxis {
    len: usize,
    taps: usize,
    stride: usize,
    pad: usize,
    dilation: usize,
    results: usize,
}

impl WindowAxis {
    /// Returns an axis whose windows have at least one element, or the length with the padding if it is too large.
    fn of([len, taps]: [usize; 2], [stride, pad, dilation]: [usize; 3]) -> std::result::Result<Self, usize> {
        let padded = len.saturating_add(pad.saturating_mul(2));
        if padded >= END {
            return Err(padded);
        }
        let span = (taps - 1).saturating_mul(dilation).saturating_add(1);
        let results = padded.checked_sub(span).map_or(0, |rest| rest / stride + 1);
        Ok(Self { len, taps, stride, pad, dilation, results })
    }
}

/// Sizes of a convolution over channels.
#[derive(Clone, Copy, Debug)]
struct ChannelSizes {
    images: usize,
    groups: usize,
    /// Number of channels of a group.
    channels: usize,
    /// Number of kernels of a group.
    kernels: usize,
    y: WindowAxis,
    x: WindowAxis,
}

impl ChannelSizes {
    /// Returns the sizes, or an error if an argument does not fit.
    fn of<P: Element>(
        queue: &VerbQueue<'_>,
        images: &FourAxes,
        (weights, label): (&FourAxes, &str),
        options: &ConvolveChannels<'_, P>,
    ) -> Result<Self> {
        let [count, channels, height, width] = images.shape;
        let [kernels, _, taps_y, taps_x] = weights.shape;
        let ConvolveChannels { stride, padding, dilation, groups, .. } = *options;
        for (option, numbers) in [(": the option `stride`", stride), (": the option `dilation`", dilation)] {
            if numbers.contains(&0) {
                return Err(refused(queue, option, format!("{numbers:?}"), "at least 1 along each axis"));
            }
        }
        if groups == 0 || [channels, kernels].into_iter().any(|count| !count.is_multiple_of(groups)) {
            let needed = "a number that divides those of the channels and of the kernels";
            return Err(refused(queue, ": the option `groups`", groups.to_string(), needed));
        }
        let expected = [kernels, channels / groups, taps_y.max(1), taps_x.max(1)];
        if weights.shape != expected {
            return Err(queue.wrong_shape_of("weights", label, weights.shape.into(), expected, WEIGHTS));
        }
        let axis = |at: usize, name: &str, sizes: [usize; 2]| {
            WindowAxis::of(sizes, [stride[at], padding[at], dilation[at]]).map_err(|padded| {
                let what = format!(", argument `images`: the {name} with the padding");
                refused(queue, &what, padded.to_string(), "a number below 2^31")
            })
        };
        let y = axis(0, "height", [height, taps_y])?;
        let x = axis(1, "width", [width, taps_x])?;
        Ok(Self { images: count, groups, channels: channels / groups, kernels: kernels / groups, y, x })
    }

    /// Returns the shape of the results.
    fn shape(&self) -> [usize; 4] {
        [self.images, self.all_kernels(), self.y.results, self.x.results]
    }

    fn all_kernels(&self) -> usize {
        self.groups * self.kernels
    }

    /// Returns the number of results of a kernel in an image.
    fn columns(&self) -> usize {
        self.y.results * self.x.results
    }

    /// Returns the number of products in a sum.
    fn inner(&self) -> usize {
        self.channels.saturating_mul(self.y.taps).saturating_mul(self.x.taps)
    }

    /// Returns the sizes of the tiles of results.
    fn tile(&self, queue: &VerbQueue<'_>) -> TileSizes {
        // A tile has the kernels of one group, so a tall one would be without results in most rows.
        if self.kernels <= FEW_KERNELS {
            return TileSizes { across: limit(by_adapter(queue, 16, 32), 4), down: 1, depth: limit(16, 4) };
        }
        let size = if self.kernels < MANY_KERNELS {
            ArraySize::Few
        } else {
            size_of_results(self.images * self.all_kernels() * self.columns())
        };
        TileSizes::of(queue, size, false)
    }

    /// Returns the number of tiles.
    fn tiles(&self, tile: TileSizes) -> usize {
        let across = (self.images * self.columns()).div_ceil(4 * tile.across);
        self.groups * self.kernels.div_ceil(4 * tile.down) * across
    }

    /// Returns the parameters of the launch that computes results, or shares of them.
    fn parameters(
        &self,
        [images, weights]: [&FourAxes; 2],
        shares: Shares,
        groups: usize,
    ) -> Vec<NamedArg<'static>> {
        let Self { y, x, .. } = self;
        // Products of strides and indices wrap, so the lowest bits of a negative stride suffice.
        let step = |name, distance: isize| value(name, distance as u32);
        let [next, channel, row, column] = images.strides;
        let [kernel, weights_channel, weights_row, weights_column] = weights.strides;
        let of_image = self.all_kernels() * self.columns();
        vec![
            size("groups", groups),
            size("shares", shares.count),
            size("share", shares.share),
            size("inner", self.inner()),
            size("columns", self.columns()),
            size("all_columns", self.images * self.columns()),
            size("kernels", self.kernels),
            size("height", y.len),
            size("width", x.len),
            size("out_width", x.results),
            size("taps_y", y.taps),
            size("taps_x", x.taps),
            size("stride_y", y.stride),
            size("stride_x", x.stride),
            size("pad_y", y.pad),
            size("pad_x", x.pad),
            size("dilation_y", y.dilation),
            size("dilation_x", x.dilation),
            size("images_first", images.first),
            step("images_next", next),
            step("images_group", channel.wrapping_mul(self.channels as isize)),
            step("images_channel", channel),
            step("images_row", row),
            step("images_column", column),
            size("weights_first", weights.first),
            step("weights_kernel", kernel),
            step("weights_channel", weights_channel),
            step("weights_row", weights_row),
            step("weights_column", weights_column),
            size("out_image", of_image),
            size("out_share", self.images * of_image),
        ]
    }

    /// Returns the parameters of the launch that adds the shares of results.
    fn parameters_of_sums<N: Reducible>(&self, shares: Shares) -> Vec<NamedArg<'static>> {
        let columns = self.columns();
        let of_image = self.all_kernels() * columns;
        vec![
            size("count", self.images * of_image),
            size("shares", shares.count),
            size("rows", self.all_kernels()),
            size("columns", columns),
            size("count_1", 1),
            size("count_2", self.images),
            size("out_row", columns),
            size("out_column", 1),
            size("out_0", 0),
            size("out_1", 0),
            size("out_2", of_image),
            size("bias_row", 1),
            size("bias_column", 0),
            value("alpha", N::ONE),
            value("beta", N::identity(Operation::Sum)),
        ]
    }
}

/// Divides the inner index. As in [`matmul`](crate::matmul), the division depends only on the shape and the kind of the
/// device.
fn shares_of(queue: &VerbQueue<'_>, inner: usize, tiles: usize) -> Shares {
    let limits = InnerLimits {
        wanted: limit(by_adapter(queue, 16, 256), 7),
        undivided: limit(1024, 9),
        least: limit(256, 4),
        most: limit(MOST_IN_SHARE, FEW_IN_SHARE),
        multiple: 4,
    };
    Shares::of_inner(inner, tiles, &limits)
}

/// Returns the error for a number of the call that does not fit.
fn refused(queue: &VerbQueue<'_>, what: &str, found: String, needed: &'static str) -> Error {
    let object = format!("{}{what}", subject(queue.verb));
    ErrorDetail::Value { object, found, needed }.into()
}

#[track_caller]
pub(crate) fn convolve_channels<T: ChannelElement<P>, P: Element>(
    queue: &VerbQueue<'_>,
    [images, weights]: [Matrices<T>; 2],
    out: &DeviceArray<P, 4>,
    options: ConvolveChannels<'_, P>,
) -> Result<()> {
    let axes = [FourAxes::of(queue, "images", &images)?, FourAxes::of(queue, "weights", &weights)?];
    let sizes = ChannelSizes::of(queue, &axes[0], (&axes[1], weights.array().label()), &options)?;
    if out.shape() != sizes.shape() {
        return Err(queue.wrong_shape("out", out, sizes.shape(), RESULTS));
    }
    let bias = options.bias.map(|bias| checked_bias(queue, bias, sizes.all_kernels())).transpose()?;
    check_range(queue, "images", &images)?;
    check_range(queue, "weights", &weights)?;
    let call = ChannelArrays { images: images.array(), weights: weights.array(), bias, out: flat(out)? };
    if out.is_empty() {
        return call.check(queue);
    }
    let inner = sizes.inner();
    if inner >= END {
        let what = ", argument `weights`: the number of weights of a kernel";
        return Err(refused(queue, what, inner.to_string(), "a number below 2^31"));
    }
    let tile = sizes.tile(queue);
    let tiles = sizes.tiles(tile);
    let shares = shares_of(queue, inner, tiles);
    let last_steps = Epilogue { activation: options.activation, is_biased: call.bias.is_some() };
    let kernel = |product: DType, last_steps: Epilogue<'_>| {
        let aliases = [("Factor", T::DTYPE), ("Number", <T::Sum as Element>::DTYPE), ("Product", product)];
        let overrides =
            [("ACROSS", tile.across as f64), ("DOWN", tile.down as f64), ("DEPTH", tile.depth as f64)];
        compiled(queue, STEM, &aliases, &overrides, last_steps)
    };
    let launch = ChannelLaunch { sizes: &sizes, axes: [&axes[0], &axes[1]], tiles, shares };
    if shares.count == 1 {
        let kernel = kernel(P::DTYPE, last_steps)?;
        // Scratch memory can wait for its last use in another queue, and the wait is a command.
        call.check(queue)?;
        return launch.enqueue(queue, &kernel, &call, &call.bias_to_bind(queue)?, &call.out);
    }
    let products_kernel = kernel(<T::Sum as Element>::DTYPE, Epilogue::NONE)?;
    let of_sums = [("Number", <T::Sum as Element>::DTYPE), ("Product", P::DTYPE)];
    let sums_kernel = sums_kernel(queue, &of_sums, last_steps)?;
    // All refusals come before the first launch, and before the scratch memory.
    call.check(queue)?;
    let partials = queue.scratch::<T::Sum>(shares.count.saturating_mul(call.out.len()))?;
    let no_bias = unread(queue, call.images)?;
    let bias = call.bias_to_bind(queue)?;
    let mut args: Vec<NamedArg<'_>> = sizes.parameters_of_sums::<T::Sum>(shares);
    args.extend([read("partials", &partials), read("bias", &bias), write("out", &call.out)]);
    queue.check_launch_dyn(&sums_kernel, &args)?;
    launch.enqueue(queue, &products_kernel, &call, &no_bias, &partials)?;
    queue.launch_dyn(&sums_kernel, Grid::threads([call.out.len()]), &args)
}

/// The arrays of a call, with one axis. The padding of images and weights is a part of them.
struct ChannelArrays<'a, T: Element, P: Element> {
    images: &'a DeviceArray<T>,
    weights: &'a DeviceArray<T>,
    bias: Option<DeviceArray<P>>,
    out: DeviceArray<P>,
}

impl<T: Element, P: Element> ChannelArrays<'_, T, P> {
    /// Returns the error that a launch with all arrays would give, but enqueues nothing.
    #[track_caller]
    fn check(&self, queue: &VerbQueue<'_>) -> Result<()> {
        let [images, weights] = [self.images, self.weights].map(covering_words);
        let bias = self.bias.as_ref().map(covering_words);
        let mut reads: Vec<Named<'_>> = vec![("images", &images), ("weights", &weights)];
        reads.extend(bias.as_ref().map(|bias| ("bias", bias)));
        check(queue, &reads, &[("out", &covering_words(&self.out))])
    }

    /// Returns the bias, or an array in its place, which is not read.
    fn bias_to_bind(&self, queue: &VerbQueue<'_>) -> Result<DeviceArray<P>> {
        match &self.bias {
            Some(bias) => Ok(bias.clone()),
            None => unread(queue, self.images),
        }
    }
}

/// A launch that computes results, or shares of them.
struct ChannelLaunch<'a> {
    sizes: &'a ChannelSizes,
    axes: [&'a FourAxes; 2],
    tiles: usize,
    shares: Shares,
}

impl ChannelLaunch<'_> {
    #[track_caller]
    fn enqueue<T: Element, P: Element, R: Element>(
        &self,
        queue: &VerbQueue<'_>,
        kernel: &DynKernel,
        arrays: &ChannelArrays<'_, T, P>,
        bias: &DeviceArray<R>,
        out: &DeviceArray<R>,
    ) -> Result<()> {
        let groups = self.tiles * self.shares.count;
        let mut args: Vec<NamedArg<'_>> = self.sizes.parameters(self.axes, self.shares, groups);
        args.extend([
            read("images", arrays.images),
            read("weights", arrays.weights),
            read("bias", bias),
            write("out", out),
        ]);
        queue.launch_dyn(kernel, Grid::groups(folded(groups)), args)
    }
}

/// Returns the bias, or an error if it does not have one element for each kernel.
fn checked_bias<P: Element>(
    queue: &VerbQueue<'_>,
    bias: &DeviceArray<P>,
    kernels: usize,
) -> Result<DeviceArray<P>> {
    if bias.len() == kernels {
        return flat(bias);
    }
    Err(queue.wrong_shape("bias", bias, [kernels], "the bias has one element for each kernel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(len: usize, taps: usize, options: [usize; 3]) -> Option<usize> {
        WindowAxis::of([len, taps], options).ok().map(|axis| axis.results)
    }

    #[test]
    fn there_is_a_result_for_each_window_inside_of_a_padded_axis() {
        assert_eq!(results(5, 3, [1, 0, 1]), Some(3));
        assert_eq!(results(5, 3, [1, 1, 1]), Some(5));
        assert_eq!(results(6, 3, [2, 0, 1]), Some(2));
        assert_eq!(results(7, 3, [2, 0, 1]), Some(3));
        assert_eq!(results(7, 3, [1, 0, 3]), Some(1));
        assert_eq!(results(6, 3, [1, 0, 3]), Some(0));
        assert_eq!(results(0, 1, [1, 0, 1]), Some(0));
        assert_eq!(results(0, 1, [3, 2, 1]), Some(2));
    }

    #[test]
    fn lengths_that_indices_of_32_bits_cannot_wrap_around_are_refused() {
        assert_eq!(results(END - 1, 1, [END, 0, END]), Some(1));
        assert_eq!(results(END, 1, [1, 0, 1]), None);
        assert_eq!(results(END - 3, 1, [1, 1, 1]), Some(END - 1));
        assert_eq!(results(END - 2, 1, [1, 1, 1]), None);
        assert_eq!(results(5, 1, [1, usize::MAX, 1]), None);
        assert_eq!(results(5, usize::MAX, [1, 0, usize::MAX]), Some(0));
    }

    #[test]
    fn no_invocation_exceeds_the_iterations_of_a_device() {
        const MOST: usize = 65_535;
        // The tiles of `matmul` and those for few kernels, also with the small sizes of the tests.
        let tiles = [[8, 8, 16], [8, 4, 32], [16, 16, 16], [16, 1, 16], [32, 1, 16]];
        let usual = tiles.map(|tile| (tile, MOST_IN_SHARE));
        let small = [[4, 2, 4], [4, 1, 4]].map(|tile| (tile, FEW_IN_SHARE));
        for ([across, down, depth], most) in usual.into_iter().chain(small) {
            let invocations = across * down;
            let taps = usize::div_ceil(depth, invocations);
            let of_step = 1 + usize::div_ceil(depth * down, invocations) + depth / down + depth / 4 + taps;
            let last = 4 * (1 + 4);
            assert!(taps + most / depth * of_step + last < MOST, "{across} x {down} x {depth}");
        }
        assert!(END.div_ceil(MOST_IN_SHARE) - 1 <= MOST, "the launch that adds the shares");
    }
}
