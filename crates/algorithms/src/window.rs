//! Windows: factors that let the ends of a frame fade.

use std::f64::consts::TAU;

/// A window: one factor for each sample of a frame.
///
/// A [periodic](Self::periodic) window is for spectra, because the frame continues with its first sample; a
/// [symmetric](Self::symmetric) one is for filters. The factors are computed as `f64`, and rounded.
///
/// # Source
/// Fredric J. Harris, *On the use of windows for harmonic analysis with the discrete Fourier transform*, 1978. The
/// terms of the flat top are those of SciPy.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// assert_eq!(Window::Hann.periodic(4), [0.0, 0.5, 1.0, 0.5]);
/// assert_eq!(Window::Hann.symmetric(5), [0.0, 0.5, 1.0, 0.5, 0.0]);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Window {
    /// All factors are 1.
    Rectangle,
    /// A triangle whose ends are 0, which is also called after Bartlett.
    Triangle,
    /// One cosine, with ends of 0.
    Hann,
    /// One cosine, with ends of 0.08.
    Hamming,
    /// Two cosines, with ends of 0.
    Blackman,
    /// Three cosines, with side lobes below -92 dB.
    BlackmanHarris,
    /// Four cosines, which keep the height of a peak between two frequencies.
    FlatTop,
    /// Modified Bessel function; a larger `beta` gives lower side lobes and wider peaks.
    Kaiser {
        /// Shape of the window, a finite number: 0 is a rectangle, 8.6 resembles the window of Blackman. The sign does
        /// not matter.
        beta: f64,
    },
    /// Bell curve.
    Gaussian {
        /// Standard deviation, in samples. With 0, all factors are 0 but that of the middle.
        deviation: f64,
    },
    /// Rectangle whose ends fade as those of the window of Hann.
    Tukey {
        /// Share of the samples that fade. A number above 1 counts as 1, and a negative one as 0.
        alpha: f64,
    },
}

impl Window {
    /// Returns `n` factors whose next one would be the first one.
    pub fn periodic(self, n: usize) -> Vec<f32> {
        self.factors(n, n)
    }

    /// Returns `n` factors, the last one equal to the first one.
    pub fn symmetric(self, n: usize) -> Vec<f32> {
        self.factors(n, n.saturating_sub(1))
    }

    /// Returns the first `n` factors of a window over `span` intervals.
    fn factors(self, n: usize, span: usize) -> Vec<f32> {
        if n <= 1 {
            return vec![1.0; n];
        }
        let span = span as f64;
        (0..n).map(|i| self.at(i as f64, span) as f32).collect()
    }

    fn at(self, i: f64, span: f64) -> f64 {
        match self {
            Self::Rectangle => 1.0,
            Self::Triangle => 1.0 - (2.0 * i / span - 1.0).abs(),
            Self::Hann => cosines(&[0.5, 0.5], i / span),
            Self::Hamming => cosines(&[0.54, 0.46], i / span),
            Self::Blackman => cosines(&[0.42, 0.5, 0.08], i / span),
            Self::BlackmanHarris => cosines(&[0.358_75, 0.488_29, 0.141_28, 0.011_68], i / span),
            Self::FlatTop => {
                let terms = [0.215_578_95, 0.416_631_58, 0.277_263_158, 0.083_578_947, 0.006_947_368];
                cosines(&terms, i / span)
            }
            Self::Kaiser { beta } => {
                let from_middle = 2.0 * i / span - 1.0;
                let whole = beta.abs();
                let part = whole * (1.0 - from_middle * from_middle).max(0.0).sqrt();
                (part - whole).exp() * scaled_bessel(part) / scaled_bessel(whole)
            }
            Self::Gaussian { deviation } => {
                let from_middle = i - span / 2.0;
                let deviations = if from_middle == 0.0 { 0.0 } else { from_middle / deviation };
                (-0.5 * deviations * deviations).exp()
            }
            Self::Tukey { alpha } => {
                let alpha = alpha.min(1.0);
                let from_end = i.min(span - i) / span;
                if 2.0 * from_end >= alpha { 1.0 } else { cosines(&[0.5, 0.5], from_end / alpha) }
            }
        }
    }
}

/// Returns the sum of cosines with alternating signs at a part of a turn.
fn cosines(terms: &[f64], turn: f64) -> f64 {
    let term = |(k, term): (usize, &f64)| {
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        sign * term * (TAU * k as f64 * turn).cos()
    };
    // An end of 0 stays 0.
    let sum: f64 = terms.iter().enumerate().map(term).sum();
    if sum.abs() < 1e-15 { 0.0 } else { sum }
}

/// Returns the modified Bessel function of the first kind and of order 0, divided by the exponential function. `x` is at
/// least 0.
fn scaled_bessel(x: f64) -> f64 {
    let mut sum = 1.0;
    let mut term = 1.0;
    // The sum of the series overflows at 713, and the terms of the asymptotic expansion decrease only if `x` is large.
    if x < 50.0 {
        for k in 1..1000 {
            term *= x * x / (4 * k * k) as f64;
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        sum * (-x).exp()
    } else {
        for k in 1..20 {
            let odd = (2 * k - 1) as f64;
            term *= odd * odd / (8.0 * k as f64 * x);
            sum += term;
        }
        sum / (TAU.sqrt() * x.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f32], expected: &[f64]) {
        let near = |(found, expected): (&f32, &f64)| (f64::from(*found) - expected).abs() < 1e-6;
        assert!(found.len() == expected.len() && found.iter().zip(expected).all(near), "{found:?}");
    }

    #[test]
    fn windows_have_their_known_factors() {
        close(&Window::Hamming.symmetric(5), &[0.08, 0.54, 1.0, 0.54, 0.08]);
        close(&Window::Blackman.symmetric(5), &[0.0, 0.34, 1.0, 0.34, 0.0]);
        close(&Window::BlackmanHarris.symmetric(5), &[6e-5, 0.217_47, 1.0, 0.217_47, 6e-5]);
        close(&Window::Triangle.symmetric(5), &[0.0, 0.5, 1.0, 0.5, 0.0]);
        close(&Window::Kaiser { beta: 0.0 }.symmetric(3), &[1.0; 3]);
        close(&Window::Kaiser { beta: 2.0 }.symmetric(3), &[0.438_676_27, 1.0, 0.438_676_27]);
        close(&Window::Gaussian { deviation: 1.0 }.symmetric(3), &[0.606_530_66, 1.0, 0.606_530_66]);
        close(&Window::Tukey { alpha: 1.0 }.symmetric(5), &[0.0, 0.5, 1.0, 0.5, 0.0]);
        close(&Window::Tukey { alpha: 0.5 }.symmetric(5), &[0.0, 1.0, 1.0, 1.0, 0.0]);
        close(&Window::Tukey { alpha: 0.0 }.symmetric(3), &[1.0; 3]);
        close(&Window::Tukey { alpha: 9.0 }.symmetric(5), &[0.0, 0.5, 1.0, 0.5, 0.0]);
        close(&Window::Tukey { alpha: -1.0 }.symmetric(3), &[1.0; 3]);
        close(&Window::Gaussian { deviation: 0.0 }.symmetric(3), &[0.0, 1.0, 0.0]);
        close(&Window::FlatTop.symmetric(3), &[-0.000_421_05, 1.000_000_003, -0.000_421_05]);
    }

    #[test]
    fn a_window_of_kaiser_has_a_shape_of_any_size() {
        // The quotients of the Bessel function were computed with 60 digits.
        let factor = |beta, n, i: usize| Window::Kaiser { beta }.symmetric(n)[i];
        close(&[factor(49.0, 9, 3), factor(51.0, 9, 3)], &[0.214_438_151, 0.201_242_291]);
        close(&[factor(60.0, 9, 3), factor(720.0, 65, 30)], &[0.151_216_051, 0.244_963_229]);
        for beta in [0.0, 10.0, 720.0, 1e6, f64::MAX] {
            let window = Window::Kaiser { beta }.symmetric(9);
            assert_eq!(window, Window::Kaiser { beta: -beta }.symmetric(9), "{beta}");
            assert!(window[..5].is_sorted() && window[0] >= 0.0 && window[4] == 1.0, "{beta}: {window:?}");
        }
    }

    #[test]
    fn a_periodic_window_is_the_beginning_of_a_longer_symmetric_one() {
        for window in [Window::Hann, Window::Triangle, Window::Kaiser { beta: 8.6 }, Window::FlatTop] {
            assert_eq!(window.periodic(8), window.symmetric(9)[..8]);
            assert_eq!((window.periodic(0), window.symmetric(1)), (vec![], vec![1.0]));
        }
    }
}
