//! Filters of images.

use fencepost_algorithms::{Boundary, Operation, Reducible};

/// Returns the index, below `n`, of the element in place of index `i` along an axis, or `None` for a constant. Valid
/// results have no such elements.
///
/// # Example
/// ```
/// use fencepost_algorithms::Boundary;
/// use fencepost_oracles as host;
/// assert_eq!(host::beside(&Boundary::<f32>::Reflect, -2, 5), Some(1));
/// assert_eq!(host::beside(&Boundary::<f32>::Mirror, -2, 5), Some(2));
/// assert_eq!(host::beside(&Boundary::<f32>::Nearest, -2, 5), Some(0));
/// assert_eq!(host::beside(&Boundary::<f32>::Wrap, -2, 5), Some(3));
/// assert_eq!(host::beside(&Boundary::Constant(7.0_f32), -2, 5), None);
/// ```
pub fn beside<T>(boundary: &Boundary<T>, mut i: isize, n: usize) -> Option<usize> {
    let n = n as isize;
    while !(0..n).contains(&i) {
        i = match boundary {
            Boundary::Reflect if i < 0 => -1 - i,
            Boundary::Reflect => 2 * n - 1 - i,
            Boundary::Mirror if n == 1 => 0,
            Boundary::Mirror if i < 0 => -i,
            Boundary::Mirror => 2 * (n - 1) - i,
            Boundary::Nearest => i.clamp(0, n - 1),
            Boundary::Wrap if i < 0 => i + n,
            Boundary::Wrap => i - n,
            Boundary::Constant(_) | Boundary::Valid => return None,
        };
    }
    Some(i as usize)
}

/// Returns the convolution of images with weights, or `None` if a list does not have its shape. `shape` has the numbers
/// of images, rows, columns and channels, and `taps` those of the weights along the columns and the rows. Integers wrap.
///
/// # Example
/// ```
/// use fencepost_algorithms::Boundary;
/// use fencepost_oracles as host;
/// let sums = host::convolve_2d(&[1, 2, 3], [1, 1, 3, 1], &[10, 1], [1, 2], Boundary::Constant(5));
/// assert_eq!(sums, Some(vec![21, 32, 53]));
/// ```
pub fn convolve_2d<T: Reducible>(
    x: &[T],
    shape: [usize; 4],
    weights: &[T],
    taps: [usize; 2],
    boundary: Boundary<T>,
) -> Option<Vec<T>> {
    let reversed: Vec<T> = weights.iter().rev().copied().collect();
    filtered(x, shape, &reversed, taps, boundary, taps.map(|count| count.saturating_sub(1) / 2))
}

/// Returns the correlation of images with weights, or `None` if a list does not have its shape, as [`convolve_2d`] does.
///
/// # Example
/// ```
/// use fencepost_algorithms::Boundary;
/// use fencepost_oracles as host;
/// let sums = host::correlate_2d(&[1, 2, 3], [1, 1, 3, 1], &[10, 1], [1, 2], Boundary::Constant(5));
/// assert_eq!(sums, Some(vec![51, 12, 23]));
/// ```
pub fn correlate_2d<T: Reducible>(
    x: &[T],
    shape: [usize; 4],
    weights: &[T],
    taps: [usize; 2],
    boundary: Boundary<T>,
) -> Option<Vec<T>> {
    filtered(x, shape, weights, taps, boundary, taps.map(|count| count / 2))
}

/// Returns the convolution of images along their columns with the weights `down`, and then along the rows with the
/// weights `across`, or `None` if a list does not have its shape.
///
/// # Example
/// ```
/// use fencepost_algorithms::Boundary;
/// use fencepost_oracles as host;
/// let sums = host::convolve_separable(&[1, 2, 3, 4], [1, 2, 2, 1], [&[1, 1], &[10, 1]], Boundary::Valid);
/// assert_eq!(sums, Some(vec![64]));
/// ```
pub fn convolve_separable<T: Reducible>(
    x: &[T],
    shape: [usize; 4],
    [down, across]: [&[T]; 2],
    boundary: Boundary<T>,
) -> Option<Vec<T>> {
    let filtered = convolve_2d(x, shape, down, [down.len(), 1], boundary)?;
    convolve_2d(&filtered, without(shape, down.len(), boundary)?, across, [1, across.len()], boundary)
}

/// Returns the correlation of images along their columns with the weights `down`, and then along the rows with the
/// weights `across`, or `None` if a list does not have its shape.
///
/// # Example
/// ```
/// use fencepost_algorithms::Boundary;
/// use fencepost_oracles as host;
/// let sums = host::correlate_separable(&[1, 2, 3, 4], [1, 2, 2, 1], [&[1, 1], &[10, 1]], Boundary::Valid);
/// assert_eq!(sums, Some(vec![46]));
/// ```
pub fn correlate_separable<T: Reducible>(
    x: &[T],
    shape: [usize; 4],
    [down, across]: [&[T]; 2],
    boundary: Boundary<T>,
) -> Option<Vec<T>> {
    let filtered = correlate_2d(x, shape, down, [down.len(), 1], boundary)?;
    correlate_2d(&filtered, without(shape, down.len(), boundary)?, across, [1, across.len()], boundary)
}

/// Returns the shape of the results of a filter along the columns.
fn without<T>(
    [images, height, width, channels]: [usize; 4],
    taps: usize,
    boundary: Boundary<T>,
) -> Option<[usize; 4]> {
    let rows = if matches!(boundary, Boundary::Valid) { (height + 1).checked_sub(taps)? } else { height };
    Some([images, rows, width, channels])
}

/// Returns the sums of the products of weights and elements, of which the first is `pads` before a result.
fn filtered<T: Reducible>(
    x: &[T],
    shape: [usize; 4],
    weights: &[T],
    taps: [usize; 2],
    boundary: Boundary<T>,
    pads: [usize; 2],
) -> Option<Vec<T>> {
    let [images, height, width, channels] = shape;
    if x.len() != shape.iter().product::<usize>() || weights.len() != taps[0] * taps[1] || weights.is_empty()
    {
        return None;
    }
    let is_valid = matches!(boundary, Boundary::Valid);
    let results = |n: usize, taps: usize| if is_valid { (n + 1).checked_sub(taps) } else { Some(n) };
    let [rows, columns] = [results(height, taps[0])?, results(width, taps[1])?];
    let [pad_y, pad_x] = if is_valid { [0, 0] } else { pads };
    let element = |image: usize, y: isize, column: isize, channel: usize| {
        let inside = beside(&boundary, y, height).zip(beside(&boundary, column, width));
        match (inside, boundary) {
            (Some((y, column)), _) => x[((image * height + y) * width + column) * channels + channel],
            (None, Boundary::Constant(constant)) => constant,
            _ => unreachable!("bug: a valid result needs an element beside an image"),
        }
    };
    let mut out = Vec::new();
    for at in 0..images * rows * columns * channels {
        let channel = at % channels;
        let column = at / channels % columns;
        let row = at / channels / columns % rows;
        let image = at / channels / columns / rows;
        let mut sum = T::identity(Operation::Sum);
        for (tap, &weight) in weights.iter().enumerate() {
            let y = (row + tap / taps[1]) as isize - pad_y as isize;
            let from = (column + tap % taps[1]) as isize - pad_x as isize;
            let product = T::combined(Operation::Product, weight, element(image, y, from, channel));
            sum = T::combined(Operation::Sum, sum, product);
        }
        out.push(sum);
    }
    Some(out)
}
