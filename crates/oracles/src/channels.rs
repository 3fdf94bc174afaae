//! Convolutions over the channels of images.

use fencepost_algorithms::{ConvolveChannels, Operation, Reducible};

/// Returns the shape of the results of a convolution over channels, or `None` if the shapes do not fit each other. `images`
/// has the numbers of images, channels, rows and columns, and `weights` those of kernels, channels, rows and columns.
///
/// # Example
/// ```
/// use fencepost_algorithms::ConvolveChannels;
/// use fencepost_oracles as host;
/// let options = ConvolveChannels::<u32>::default().padding([1, 0]).stride([1, 2]);
/// assert_eq!(host::channel_results([5, 2, 4, 9], [7, 2, 3, 3], &options), Some([5, 7, 4, 4]));
/// assert_eq!(host::channel_results([5, 3, 4, 9], [7, 2, 3, 3], &options), None);
/// ```
pub fn channel_results<T: Reducible>(
    images: [usize; 4],
    weights: [usize; 4],
    options: &ConvolveChannels<'_, T>,
) -> Option<[usize; 4]> {
    let [count, channels, height, width] = images;
    let [kernels, of_group, down, across] = weights;
    if of_group * options.groups != channels || kernels % options.groups != 0 || down * across == 0 {
        return None;
    }
    let results = |axis: usize, len: usize, taps: usize| {
        let firsts = (0..len + 2 * options.padding[axis]).step_by(options.stride[axis]);
        firsts
            .filter(|first| first + (taps - 1) * options.dilation[axis] < len + 2 * options.padding[axis])
            .count()
    };
    Some([count, kernels, results(0, height, down), results(1, width, across)])
}

/// Returns the factors of the products of each result of a convolution over channels: the place of an element in the images,
/// and that of its weight. Elements outside of an image are left out. There are none if the shapes do not fit each other.
///
/// # Example
/// ```
/// use fencepost_algorithms::ConvolveChannels;
/// use fencepost_oracles as host;
/// let options = ConvolveChannels::<u32>::default().padding([0, 1]);
/// let products = host::channel_products([1, 1, 1, 2], [1, 1, 1, 3], &options);
/// assert_eq!(products.collect::<Vec<_>>(), [[[0, 1], [1, 2]], [[0, 0], [1, 1]]]);
/// ```
pub fn channel_products<T: Reducible>(
    images: [usize; 4],
    weights: [usize; 4],
    options: &ConvolveChannels<'_, T>,
) -> impl Iterator<Item = Vec<[usize; 2]>> {
    let [_, channels, height, width] = images;
    let [kernels, of_group, down, across] = weights;
    let ConvolveChannels { stride, padding, dilation, groups, .. } = *options;
    let [count, _, rows, columns] = channel_results(images, weights, options).unwrap_or_default();
    (0..count * kernels * rows * columns).map(move |at| {
        let [row, column] = [at / columns % rows, at % columns];
        let kernel = at / (rows * columns) % kernels;
        let image = at / (rows * columns * kernels);
        let group = kernel / (kernels / groups);
        let mut products = Vec::new();
        for channel in 0..of_group {
            for (a, b) in (0..down).flat_map(|a| (0..across).map(move |b| (a, b))) {
                let y = (row * stride[0] + a * dilation[0]).checked_sub(padding[0]);
                let x = (column * stride[1] + b * dilation[1]).checked_sub(padding[1]);
                if let (Some(y), Some(x)) = (y.filter(|&y| y < height), x.filter(|&x| x < width)) {
                    let plane = image * channels + group * of_group + channel;
                    let weight = ((kernel * of_group + channel) * down + a) * across + b;
                    products.push([(plane * height + y) * width + x, weight]);
                }
            }
        }
        products
    })
}

/// Returns the convolutions of images with kernels over all channels, or `None` if a list does not have its shape. The
/// bias and the activation are left out. Integers wrap, and a sum of no products is 0. Floats are added in another order
/// than on a device, and so may be rounded differently.
///
/// # Example
/// ```
/// use fencepost_algorithms::ConvolveChannels;
/// use fencepost_oracles as host;
/// let options = ConvolveChannels::default();
/// let sums = host::convolve_channels((&[1, 2, 3, 4], [1, 2, 1, 2]), (&[1, 10], [1, 2, 1, 1]), &options);
/// assert_eq!(sums, Some(vec![31, 42]));
/// ```
pub fn convolve_channels<T: Reducible>(
    (x, images): (&[T], [usize; 4]),
    (factors, weights): (&[T], [usize; 4]),
    options: &ConvolveChannels<'_, T>,
) -> Option<Vec<T>> {
    channel_results(images, weights, options)?;
    let count = |shape: [usize; 4]| shape.iter().product::<usize>();
    if x.len() != count(images) || factors.len() != count(weights) {
        return None;
    }
    let sum = |products: Vec<[usize; 2]>| {
        let terms = products.into_iter().map(|[at, of]| T::combined(Operation::Product, x[at], factors[of]));
        terms.fold(T::identity(Operation::Sum), |sum, term| T::combined(Operation::Sum, sum, term))
    };
    Some(channel_products(images, weights, options).map(sum).collect())
}
