//! Windows of arrays on the host.

/// Returns the result of the window around each element, for a list of elements in C order. A window has `widths`
/// elements along each axis, of which those outside of the array and those that are not kept are left out.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// let sums = host::rolling(&[1, 2, 4, 8], [2, 2], [1, 3], |place| place != 3, |window| window.iter().sum());
/// assert_eq!(sums, [3, 3, 4, 4]);
/// ```
pub fn rolling<T: Copy, const D: usize>(
    x: &[T],
    shape: [usize; D],
    widths: [usize; D],
    is_kept: impl Fn(usize) -> bool,
    result: impl Fn(&[T]) -> T,
) -> Vec<T> {
    let of_window = |at: usize| {
        let center = indices(at, shape);
        let places = (0..widths.iter().product()).filter_map(|k| {
            let offset = indices(k, widths);
            let mut place = 0;
            for axis in 0..D {
                let index = (center[axis] + offset[axis]).checked_sub(widths[axis] / 2)?;
                if index >= shape[axis] {
                    return None;
                }
                place = place * shape[axis] + index;
            }
            Some(place)
        });
        let window: Vec<T> = places.filter(|&place| is_kept(place)).map(|place| x[place]).collect();
        result(&window)
    };
    (0..x.len()).map(of_window).collect()
}

/// Returns the index along each axis of an element in C order.
fn indices<const D: usize>(at: usize, shape: [usize; D]) -> [usize; D] {
    let mut rest = at;
    let mut indices = [0; D];
    for axis in (0..D).rev() {
        indices[axis] = rest % shape[axis];
        rest /= shape[axis];
    }
    indices
}

/// Returns 1 for each element in a window with a sum above its threshold, else 0. `thresholds` has the threshold of an
/// element for windows of the lengths 1, 2, 4 and so on. In a window, an element that a shorter window flagged counts as
/// the threshold.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::sum_threshold(&[0.0, 9.0, 0.0, 3.5, 3.5], &[4.0, 3.25]), [0, 1, 0, 1, 1]);
/// ```
pub fn sum_threshold(x: &[f32], thresholds: &[f32]) -> Vec<u32> {
    let mut flags = vec![0; x.len()];
    for (step, &threshold) in thresholds.iter().enumerate() {
        let length = 1 << step;
        let element = |(&x, &flag): (&f32, &u32)| if flag == 1 { threshold } else { x };
        let elements: Vec<f32> = x.iter().zip(&flags).map(element).collect();
        for (first, window) in elements.windows(length).enumerate() {
            if window.iter().sum::<f32>() > threshold * length as f32 {
                flags[first..first + length].fill(1);
            }
        }
    }
    flags
}
