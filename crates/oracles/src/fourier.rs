//! Host functions for Fourier transforms, convolutions and spectra of frames, of `f64`.

use fencepost_algorithms::ConvolveMode;
use std::f64::consts::TAU;

/// A complex number: its real and its imaginary part.
pub type Complex = [f64; 2];

/// Returns the discrete Fourier transform of a list, without a factor.
///
/// # Example
/// ```
/// let spectrum = fencepost_oracles::fft(&[[1.0, 0.0], [3.0, 0.0]]);
/// assert_eq!(spectrum.iter().map(|number| number[0]).collect::<Vec<_>>(), [4.0, -2.0]);
/// ```
pub fn fft(x: &[Complex]) -> Vec<Complex> {
    let root = |k: usize| {
        let (sin, cos) = (TAU * k as f64 / x.len() as f64).sin_cos();
        [cos, -sin]
    };
    transformed(x, &(0..x.len()).map(root).collect::<Vec<_>>())
}

/// Returns the inverse of [`fft`].
///
/// # Example
/// ```
/// let signal = fencepost_oracles::ifft(&[[4.0, 0.0], [-2.0, 0.0]]);
/// assert_eq!(signal.iter().map(|number| number[0]).collect::<Vec<_>>(), [1.0, 3.0]);
/// ```
pub fn ifft(x: &[Complex]) -> Vec<Complex> {
    let conjugates: Vec<Complex> = x.iter().map(|&[re, im]| [re, -im]).collect();
    let n = x.len() as f64;
    fft(&conjugates).into_iter().map(|[re, im]| [re / n, -im / n]).collect()
}

/// Returns the first half of the discrete Fourier transform of real numbers.
///
/// # Example
/// ```
/// let spectrum = fencepost_oracles::rfft(&[1.0, 3.0]);
/// assert_eq!(spectrum.iter().map(|number| number[0]).collect::<Vec<_>>(), [4.0, -2.0]);
/// ```
pub fn rfft(x: &[f64]) -> Vec<Complex> {
    let complex: Vec<Complex> = x.iter().map(|&x| [x, 0.0]).collect();
    let mut spectrum = fft(&complex);
    spectrum.truncate(x.len() / 2 + 1);
    spectrum
}

/// Returns the `n` real numbers whose transform begins with a list, or `None` if it has another length. The imaginary
/// parts of the first element, and of the last one of an even length, are ignored.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::irfft(&[[4.0, 0.0], [-2.0, 5.0]], 2), Some(vec![1.0, 3.0]));
/// ```
pub fn irfft(x: &[Complex], n: usize) -> Option<Vec<f64>> {
    if n == 0 || x.len() != n / 2 + 1 {
        return None;
    }
    let element = |k: usize| match (k, n - k) {
        (0, _) => [x[0][0], 0.0],
        (k, opposite) if k == opposite => [x[k][0], 0.0],
        (k, opposite) if k < opposite => x[k],
        (_, opposite) => [x[opposite][0], -x[opposite][1]],
    };
    let all: Vec<Complex> = (0..n).map(element).collect();
    Some(ifft(&all).into_iter().map(|[re, _]| re).collect())
}

/// Returns a list with its first half, which has the middle element, after its second half.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::fftshift(&[0, 1, 2, -2, -1]), [-2, -1, 0, 1, 2]);
/// ```
pub fn fftshift<T: Copy>(x: &[T]) -> Vec<T> {
    let (first, second) = x.split_at(x.len().div_ceil(2));
    [second, first].concat()
}

/// Returns the inverse of [`fftshift`].
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::ifftshift(&[-2, -1, 0, 1, 2]), [0, 1, 2, -2, -1]);
/// ```
pub fn ifftshift<T: Copy>(x: &[T]) -> Vec<T> {
    let (first, second) = x.split_at(x.len() / 2);
    [second, first].concat()
}

/// Returns the convolution of a row with weights. Returns `None` without weights, or if no result is valid.
///
/// # Example
/// ```
/// use fencepost_algorithms::ConvolveMode;
/// let sums = fencepost_oracles::convolve(&[1.0, 2.0, 4.0], &[1.0, 1.0], ConvolveMode::Full);
/// assert_eq!(sums, Some(vec![1.0, 3.0, 6.0, 4.0]));
/// ```
pub fn convolve(x: &[f64], weights: &[f64], mode: ConvolveMode) -> Option<Vec<f64>> {
    let n = x.len();
    let m = weights.len();
    if m == 0 || mode == ConvolveMode::Valid && m > n {
        return None;
    }
    let results = match mode {
        ConvolveMode::Full => 0..n + m - 1,
        ConvolveMode::Same => (m - 1) / 2..n + (m - 1) / 2,
        // The valid ones.
        _ => m - 1..n,
    };
    let result = |k: usize| {
        // The others are those of elements outside of the row.
        let products = (k + 1).saturating_sub(n)..m.min(k + 1);
        products.map(|j| weights[j] * x[k - j]).sum()
    };
    Some(results.map(result).collect())
}

/// Returns the correlation of a row with weights, as [`convolve`] does with the weights in reverse order.
///
/// # Example
/// ```
/// use fencepost_algorithms::ConvolveMode;
/// let steps = fencepost_oracles::correlate(&[1.0, 2.0, 4.0], &[-1.0, 1.0], ConvolveMode::Valid);
/// assert_eq!(steps, Some(vec![1.0, 2.0]));
/// ```
pub fn correlate(x: &[f64], weights: &[f64], mode: ConvolveMode) -> Option<Vec<f64>> {
    let reversed: Vec<f64> = weights.iter().rev().copied().collect();
    convolve(x, &reversed, mode)
}

/// Frames of a short-time Fourier transform.
#[derive(Clone, Copy, Debug)]
pub struct FramesOf<'a> {
    /// Factors of the samples of a frame.
    pub window: &'a [f64],
    /// Distance of the first samples of two frames.
    pub hop: usize,
    /// Length of the transforms.
    pub n: usize,
    /// `true` if the middle of the first frame is the first sample.
    pub centered: bool,
    /// `true` if a last frame has the samples that the others leave over.
    pub pads_end: bool,
}

impl FramesOf<'_> {
    /// Returns the first sample of each frame of a signal; it may be before the signal.
    fn starts(self, samples: usize) -> Vec<i64> {
        let width = self.window.len();
        let [first, last] = if self.centered {
            [-(width as i64 / 2), samples as i64 - width as i64 / 2]
        } else {
            [0, samples as i64 - width as i64]
        };
        let mut starts: Vec<i64> = (first..=last).step_by(self.hop).collect();
        if self.pads_end && starts.last() != Some(&last) {
            starts.push(starts.last().map_or(first, |start| start + self.hop as i64));
        }
        if samples == 0 { Vec::new() } else { starts }
    }
}

/// Returns the spectra of the frames of a signal, one after the other.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, FramesOf};
/// let frames = FramesOf { window: &[1.0, 1.0], hop: 1, n: 2, centered: false, pads_end: false };
/// let spectra = host::stft(&[1.0, 3.0, 3.0], frames);
/// assert_eq!(spectra.iter().map(|number| number[0]).collect::<Vec<_>>(), [4.0, -2.0, 6.0, 0.0]);
/// ```
pub fn stft(x: &[f64], frames: FramesOf<'_>) -> Vec<Complex> {
    let spectrum = |start: i64| {
        let sample = |at: i64| usize::try_from(at).ok().and_then(|at| x.get(at)).copied().unwrap_or(0.0);
        let samples = frames.window.iter().zip(start..).map(|(factor, at)| factor * sample(at));
        let mut samples: Vec<f64> = samples.collect();
        samples.resize(frames.n, 0.0);
        rfft(&samples)
    };
    frames.starts(x.len()).into_iter().flat_map(spectrum).collect()
}

/// Returns the `samples` samples whose spectra [`stft`] returns, or `None` if there are more or fewer spectra. Samples
/// that no window reaches, or only with factors that are much smaller than the largest one, are 0.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, FramesOf};
/// let frames = FramesOf { window: &[1.0, 1.0], hop: 1, n: 2, centered: false, pads_end: false };
/// let spectra = host::stft(&[1.0, 3.0, 3.0], frames);
/// assert_eq!(host::istft(&spectra, frames, 4), None);
/// assert_eq!(host::istft(&spectra, frames, 3), Some(vec![1.0, 3.0, 3.0]));
/// ```
pub fn istft(x: &[Complex], frames: FramesOf<'_>, samples: usize) -> Option<Vec<f64>> {
    let starts = frames.starts(samples);
    let bins = frames.n / 2 + 1;
    if x.len() != starts.len() * bins {
        return None;
    }
    let mut sums = vec![[0.0; 2]; samples];
    for (start, spectrum) in starts.into_iter().zip(x.chunks(bins)) {
        let frame = irfft(spectrum, frames.n)?;
        for ((factor, sample), at) in frames.window.iter().zip(frame).zip(start..) {
            if let Some(sum) = usize::try_from(at).ok().and_then(|at| sums.get_mut(at)) {
                *sum = [sum[0] + factor * sample, sum[1] + factor * factor];
            }
        }
    }
    let largest = frames.window.iter().fold(0.0, |most: f64, factor| most.max(factor.abs()));
    let least = 1e-10 * largest * largest;
    Some(sums.into_iter().map(|[sum, squares]| if squares > least { sum / squares } else { 0.0 }).collect())
}

/// Returns the mean power spectrum of the frames of a signal, for each unit of frequency if there is a rate. Returns
/// `None` without a frame.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, FramesOf};
/// let frames = FramesOf { window: &[1.0; 4], hop: 4, n: 4, centered: false, pads_end: false };
/// let power = host::welch(&[7.0, 5.0, 3.0, 5.0], frames, None, true);
/// assert_eq!(power, Some(vec![0.0, 2.0, 0.0]));
/// ```
pub fn welch(x: &[f64], frames: FramesOf<'_>, rate: Option<f64>, subtract_mean: bool) -> Option<Vec<f64>> {
    let window = frames.window;
    let scale = match rate {
        Some(rate) => rate * window.iter().map(|factor| factor * factor).sum::<f64>(),
        None => window.iter().sum::<f64>().powi(2),
    };
    let starts = frames.starts(x.len());
    let count = starts.len() as f64;
    let mut power: Option<Vec<f64>> = None;
    for start in starts {
        let mut samples = x[start as usize..][..window.len()].to_vec();
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        samples.iter_mut().for_each(|sample| *sample -= if subtract_mean { mean } else { 0.0 });
        let sums = power.get_or_insert_with(|| vec![0.0; frames.n / 2 + 1]);
        for (k, [re, im]) in stft(&samples, frames).into_iter().enumerate() {
            let sides = if k == 0 || 2 * k == frames.n { 1.0 } else { 2.0 };
            sums[k] += sides * (re * re + im * im) / scale / count;
        }
    }
    power
}

/// Returns the transform of a list whose length divides the number of roots.
fn transformed(x: &[Complex], roots: &[Complex]) -> Vec<Complex> {
    let n = x.len();
    let Some(factor) = (2..=n).find(|factor| n.is_multiple_of(*factor)) else { return x.to_vec() };
    let part = |r: usize| x.iter().skip(r).step_by(factor).copied().collect::<Vec<_>>();
    let parts: Vec<Vec<Complex>> = (0..factor).map(|r| transformed(&part(r), roots)).collect();
    let result = |k: usize| {
        parts.iter().enumerate().fold([0.0; 2], |[re, im], (r, part)| {
            let [a, b] = part[k % part.len()];
            let [c, d] = roots[k * r % n * (roots.len() / n)];
            [re + (a * c - b * d), im + (a * d + b * c)]
        })
    };
    (0..n).map(result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transform_is_that_of_its_definition() {
        for n in [1, 2, 3, 4, 7, 12, 30, 49] {
            let x: Vec<Complex> = (0..n).map(|j| [(j * j % 5) as f64, (j % 3) as f64 - 0.5]).collect();
            for (k, [re, im]) in fft(&x).into_iter().enumerate() {
                let sum = x.iter().enumerate().fold([0.0; 2], |[re, im], (j, [a, b])| {
                    let (sin, cos) = (-TAU * (j * k % n) as f64 / n as f64).sin_cos();
                    [re + a * cos - b * sin, im + a * sin + b * cos]
                });
                assert!((re - sum[0]).abs() + (im - sum[1]).abs() < 1e-11, "{k} of {n}");
            }
        }
        assert!(fft(&[]).is_empty());
    }
}
