//! The passes of Fourier transforms, and the table of roots and factors that the kernels read.
//!
//! A length whose prime factors are 2, 3, 5 and 7 is divided into passes of up to 1,024 elements, and each pass into
//! stages (Stockham). Another length becomes a convolution with two transforms of a longer length (Bluestein).
//!
//! The host computes all numbers of the table as `f64`, the roots from angles below a quarter of a turn, and rounds
//! them to pairs of `f32`. The table has, in any order:
//! - for a pass, the roots of its stages: with R the radix and p the product of the earlier radices, root k r of R p is
//!   at `r p + k - 1`, for r from 1 to R - 1 and k below p;
//! - for a transform of several passes, the fine and the coarse roots of its length n: the first 1,024 roots of n, and
//!   then each 1,024th root. A root is the product of a fine and a coarse one;
//! - for a convolution, its factors.

use crate::tuning::limit;
use std::f64::consts::FRAC_PI_2;

/// A complex number: its real and its imaginary part.
type Complex = [f64; 2];

/// Longest transform of a length with the prime factors 2, 3, 5 and 7 alone.
const LONGEST: usize = 1 << 24;
/// Longest transform of another length.
const LONGEST_OTHER: usize = 1 << 22;
/// Number of elements of a tile in `fft_memory.wgsl`.
pub(crate) const TILE: usize = 1024;
/// Maximum number of stages of a pass.
const MOST_STAGES: usize = 8;
/// Maximum number of elements of a line that one workgroup transforms on the CPU device. All loops of an invocation have
/// fewer than 2^16 iterations then: a captured launch may be replayed on a device that ends an invocation there.
const LONGEST_LINE: usize = 1 << 17;
/// The same for a line whose elements are not neighbours: a workgroup has several of them.
pub(crate) const LONGEST_COLUMN: usize = 1 << 14;
/// Number of fine roots of a length in `fft_tile.wgsl`.
const FINE: usize = 1024;
/// Prime factors of the lengths that are divided into stages.
const PRIMES: [usize; 4] = [7, 5, 3, 2];

/// Returns the longest length that one pass transforms.
pub(crate) fn most_in_one() -> usize {
    limit(TILE, 12)
}

/// Returns the longest pass of this many. A tile of a shorter pass has several neighbouring lines, whose elements are
/// neighbours in memory.
fn most_of(passes: usize) -> usize {
    limit(if passes == 2 { TILE / 4 } else { TILE / 2 }, 8)
}

/// Returns `true` if there is a transform of this length.
pub(crate) fn is_length(n: usize) -> bool {
    n > 0 && n <= if is_smooth(n) { LONGEST } else { LONGEST_OTHER }
}

/// A launch that transforms lines of `size` elements, as a part of transforms of `n` elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FftPass {
    /// Number of elements of the transforms that the passes compute together.
    pub(crate) n: usize,
    /// Number of elements of a line.
    pub(crate) size: usize,
    /// Radices of the stages, four bits for each, the first one in the lowest bits.
    pub(crate) radices: u32,
    /// Product of the sizes of the earlier passes.
    pub(crate) before: usize,
    /// Place of the roots of the stages in the table.
    pub(crate) stages: usize,
    /// Place of the roots of `n` in the table.
    pub(crate) roots: usize,
    /// Place of the factors of the elements, counted from 1; 0 if there are none.
    pub(crate) x_factors: usize,
    /// Place of the factors of the results, counted from 1; 0 if there are none.
    pub(crate) out_factors: usize,
    /// Exchanges of real and imaginary parts, as in `fft_tile.wgsl`.
    pub(crate) swaps: u32,
    /// `true` if a line may be longer than a tile in the memory of a workgroup.
    pub(crate) is_long: bool,
}

impl FftPass {
    /// Returns the number of lines of a transform.
    pub(crate) fn steps(self) -> usize {
        self.n / self.size
    }

    /// Returns the distance of the roots of `n` that the pass reads.
    pub(crate) fn root_step(self) -> usize {
        self.n / (self.size * self.before)
    }
}

/// Exchange of the parts of the elements of a pass.
pub(crate) const SWAP_ELEMENTS: u32 = 1;
/// Exchange of the parts of the results of a pass, before their factors.
const SWAP_BEFORE_FACTORS: u32 = 2;
/// Exchange of the parts of the results of a pass, after their factors.
pub(crate) const SWAP_RESULTS: u32 = 4;

/// Table of the numbers that the passes of a plan read.
#[derive(Default, Debug)]
pub(crate) struct FftTable {
    pub(crate) values: Vec<[f32; 2]>,
}

impl FftTable {
    /// Returns the passes of a transform of `n` elements, in their order, and adds their numbers to the table.
    pub(crate) fn transform(&mut self, n: usize) -> Vec<FftPass> {
        if is_smooth(n) { self.stockham(n) } else { self.bluestein(n) }
    }

    /// Returns other passes for a transform, whose lines have all elements, and adds the roots of their stages. Returns
    /// `None` if the lines have all elements already, would have too many, or would need too many stages.
    pub(crate) fn long(&mut self, passes: &[FftPass]) -> Option<Vec<FftPass>> {
        let &FftPass { n, size, .. } = passes.first()?;
        let radices = radices(n);
        if size == n || n > LONGEST_LINE || radices.len() > MOST_STAGES {
            return None;
        }
        let stages = self.stages(&radices);
        // A convolution has two transforms. The first pass of each may have factors of elements, and the last of results.
        let transforms = passes.iter().filter(|pass| pass.before == 1).count();
        let joined = |parts: &[FftPass]| {
            let last = parts[parts.len() - 1];
            let radices = packed(&radices);
            FftPass {
                size: n,
                radices,
                stages,
                is_long: true,
                x_factors: parts[0].x_factors,
                before: 1,
                ..last
            }
        };
        Some(passes.chunks(passes.len() / transforms).map(joined).collect())
    }

    /// Adds the fine and the coarse roots of `n`, and returns their place.
    pub(crate) fn roots(&mut self, n: usize) -> usize {
        let fine = (0..FINE).map(|k| root(k, n));
        let coarse = (0..n.div_ceil(FINE)).map(|k| root(k * FINE, n));
        self.add(fine.chain(coarse))
    }

    /// Adds real factors, two in each element, and returns their place.
    pub(crate) fn pairs(&mut self, factors: &[f32]) -> usize {
        let place = self.values.len();
        let pairs = factors.chunks(2).map(|pair| [pair[0], pair.get(1).copied().unwrap_or(0.0)]);
        self.values.extend(pairs);
        place
    }

    fn stockham(&mut self, n: usize) -> Vec<FftPass> {
        let sizes = sizes(n);
        let roots = if sizes.len() > 1 { self.roots(n) } else { 0 };
        let mut before = 1;
        let mut passes: Vec<FftPass> = Vec::new();
        for size in sizes {
            let radices = radices(size);
            // Passes of one size have the same stages.
            let known = passes.iter().find(|pass| pass.size == size).map(|pass| pass.stages);
            let stages = known.unwrap_or_else(|| self.stages(&radices));
            let none = FftPass {
                n,
                size,
                radices: packed(&radices),
                before,
                stages,
                roots,
                x_factors: 0,
                out_factors: 0,
                swaps: 0,
                is_long: false,
            };
            passes.push(none);
            before *= size;
        }
        passes
    }

    /// Adds the roots of the stages of a pass, and returns their place.
    fn stages(&mut self, radices: &[usize]) -> usize {
        let place = self.values.len();
        let mut before = 1;
        for &radix in radices {
            for r in 1..radix {
                self.add((0..before).map(|k| root(k * r, radix * before)));
            }
            before *= radix;
        }
        place
    }

    /// Returns the passes of a convolution: with b(j) = exp(pi i j^2 / n), result k is conj(b(k)) times the sum over j
    /// of x(j) conj(b(j)) b(k - j). The first transform multiplies its results by the spectrum of b; the second one is
    /// its inverse, by exchanges of the parts before and after it.
    fn bluestein(&mut self, n: usize) -> Vec<FftPass> {
        let m = convolution_length(n);
        let square = |j: usize| (j as u64 * j as u64 % (2 * n as u64)) as usize;
        let chirp: Vec<Complex> = (0..n).map(|j| root(square(j), 2 * n)).collect();
        let mut filter = vec![[0.0; 2]; m];
        for (j, [re, im]) in chirp.iter().enumerate() {
            filter[j] = [*re, -im];
            filter[(m - j) % m] = [*re, -im];
        }
        let circle: Vec<Complex> = (0..m).map(|k| root(k, m)).collect();
        let spectrum = spectrum(&filter, 0, 1, m, &circle);
        let chirp = 1 + self.add(chirp);
        let filter = 1 + self.add(spectrum.into_iter().map(|part| part.map(|part| part / m as f64)));
        let passes = self.stockham(m);
        let last = passes.len() - 1;
        let mut both = [passes.clone(), passes];
        both[0][0].x_factors = chirp;
        both[0][last].out_factors = filter;
        both[0][last].swaps = SWAP_RESULTS;
        both[1][last].out_factors = chirp;
        both[1][last].swaps = SWAP_BEFORE_FACTORS;
        both.concat()
    }

    /// Adds numbers, and returns the place of the first one.
    fn add(&mut self, numbers: impl IntoIterator<Item = Complex>) -> usize {
        let place = self.values.len();
        self.values.extend(numbers.into_iter().map(|number| number.map(|part| part as f32)));
        place
    }
}

/// Returns `true` if a length has the prime factors 2, 3, 5 and 7 alone.
fn is_smooth(n: usize) -> bool {
    let (_, rest) = prime_factors(n);
    rest == 1
}

/// Returns the prime factors of a length that are 7, 5, 3 or 2, in descending order, and the rest of it.
fn prime_factors(n: usize) -> (Vec<usize>, usize) {
    let mut factors = Vec::new();
    let mut rest = n;
    for prime in PRIMES {
        while rest > 0 && rest.is_multiple_of(prime) {
            factors.push(prime);
            rest /= prime;
        }
    }
    (factors, rest)
}

/// Returns the sizes of the passes of a transform, the largest one first.
fn sizes(n: usize) -> Vec<usize> {
    if n <= most_in_one() {
        return vec![n];
    }
    let (factors, _) = prime_factors(n);
    let mut passes = 2;
    loop {
        let mut sizes = vec![1; passes];
        for factor in &factors {
            let least = sizes.iter_mut().min().expect("bug: there are two passes or more");
            *least *= factor;
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        if sizes[0] <= most_of(passes) {
            return sizes;
        }
        passes += 1;
    }
}

/// Returns the radices of the stages of a pass, in ascending order: stages of 8 and 4 replace those of 2.
fn radices(size: usize) -> Vec<usize> {
    let (mut radices, _) = prime_factors(size);
    let twos = size.trailing_zeros() as usize;
    radices.retain(|&radix| radix != 2);
    let (eights, rest): (usize, &[usize]) = match (twos / 3, twos % 3) {
        (0, 1) => (0, &[2]),
        (eights, 1) => (eights - 1, &[4, 4]),
        (eights, 2) => (eights, &[4]),
        (eights, _) => (eights, &[]),
    };
    radices.extend_from_slice(rest);
    radices.extend(std::iter::repeat_n(8, eights));
    radices.sort_unstable();
    radices
}

/// Returns the radices of stages in one number, as in [`FftPass`].
fn packed(radices: &[usize]) -> u32 {
    radices.iter().rev().fold(0, |packed, &radix| (packed << 4) | radix as u32)
}

/// Returns the length of the transforms of a convolution that computes one of `n` elements.
fn convolution_length(n: usize) -> usize {
    let least = 2 * n - 1;
    let lengths = [1, 3, 5, 7, 9].map(|odd: usize| odd * least.div_ceil(odd).next_power_of_two());
    lengths.into_iter().min().expect("bug: there are five")
}

/// Returns exp(-2 pi i k / n). Multiples of a quarter of a turn are exact.
fn root(k: usize, n: usize) -> Complex {
    let quarters = 4 * (k % n);
    let (sin, cos) = (FRAC_PI_2 * (quarters % n) as f64 / n as f64).sin_cos();
    match quarters / n {
        0 => [cos, -sin],
        1 => [-sin, -cos],
        2 => [-cos, sin],
        _ => [sin, cos],
    }
}

/// Returns the discrete Fourier transform of `n` numbers, from `first` on each `step`-th one. `circle` has the roots of
/// a multiple of `n`.
fn spectrum(x: &[Complex], first: usize, step: usize, n: usize, circle: &[Complex]) -> Vec<Complex> {
    /// Longest transform that is computed by its definition.
    const SHORT: usize = 8;
    let stride = circle.len() / n;
    let radix = (2..=SHORT).find(|&radix| n > SHORT && n.is_multiple_of(radix)).unwrap_or(n);
    let parts: Vec<Vec<Complex>> = (0..radix)
        .map(|r| match n / radix {
            1 => vec![x[first + r * step]],
            part => spectrum(x, first + r * step, step * radix, part, circle),
        })
        .collect();
    let result = |k: usize| {
        parts.iter().enumerate().fold([0.0; 2], |[re, im], (r, part)| {
            let [a, b] = part[k % part.len()];
            let [c, d] = circle[k * r % n * stride];
            [re + (a * c - b * d), im + (a * d + b * c)]
        })
    };
    (0..n).map(result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passes_of_a_length_are_short_and_have_it_as_their_product() {
        for n in [1, 2, 7, 8, 1000, 1024, 1029, 2048, 4096, 1 << 16, 1 << 17, 823_543, 1 << 20, LONGEST] {
            let sizes = sizes(n);
            assert_eq!(sizes.iter().product::<usize>(), n, "{sizes:?}");
            let most = if sizes.len() == 1 { TILE } else { TILE / 2 };
            assert!(sizes.iter().all(|&size| size <= most), "{n} is {sizes:?}");
            for size in sizes {
                let radices = radices(size);
                assert_eq!(radices.iter().product::<usize>(), size, "{radices:?}");
                assert!(radices.iter().all(|radix| [2, 3, 4, 5, 7, 8].contains(radix)) && radices.len() <= 8);
            }
        }
        assert_eq!((sizes(1 << 16), sizes(1 << 20)), (vec![256, 256], vec![128, 128, 64]));
        assert_eq!((radices(1024), radices(6), radices(16)), (vec![4, 4, 8, 8], vec![2, 3], vec![4, 4]));
    }

    #[test]
    fn long_passes_have_the_steps_of_the_passes_that_they_replace() {
        let mut table = FftTable::default();
        for n in [2048, 1 << 16, LONGEST_LINE, 3000, 4099] {
            let passes = table.transform(n);
            let long = table.long(&passes).expect("the length has several passes, and few stages");
            assert_eq!(long.len(), if is_smooth(n) { 1 } else { 2 });
            let of_each = passes.len() / long.len();
            for (at, pass) in long.iter().enumerate() {
                let parts = &passes[at * of_each..][..of_each];
                let last = parts[of_each - 1];
                assert_eq!((pass.n, pass.size, pass.steps(), pass.before), (last.n, last.n, 1, 1));
                assert_eq!((parts[0].before, pass.x_factors), (1, parts[0].x_factors));
                assert_eq!((pass.out_factors, pass.swaps), (last.out_factors, last.swaps));
                assert!(pass.stages + pass.size <= table.values.len() + 1 && pass.is_long);
            }
        }
        for n in [1, 1024, 3_usize.pow(10), 2 * LONGEST_LINE] {
            let passes = table.transform(n);
            assert!(table.long(&passes).is_none(), "{n} has one pass, is too long, or has many stages");
        }
    }

    #[test]
    fn roots_are_those_of_the_circle() {
        assert_eq!(
            [0, 1, 2, 3, 4].map(|k| root(k, 4)),
            [[1.0, -0.0], [-0.0, -1.0], [-1.0, 0.0], [0.0, 1.0], [1.0, -0.0]]
        );
        for (k, n) in [(1, 3), (5, 7), (1, 8), (999, 1000)] {
            let angle = -std::f64::consts::TAU * k as f64 / n as f64;
            let [re, im] = root(k, n);
            assert!((re - angle.cos()).abs() + (im - angle.sin()).abs() < 1e-15, "{k} of {n}");
        }
    }

    #[test]
    fn a_stage_has_its_roots_at_the_places_that_the_kernels_read() {
        let mut table = FftTable::default();
        let place = table.stages(&[3, 4]);
        assert_eq!((place, table.values.len()), (0, 11));
        for (r, k) in [(1, 0), (2, 1), (3, 2)] {
            assert_eq!(table.values[3 * r + k - 1], root(k * r, 12).map(|part| part as f32));
        }
    }

    #[test]
    fn a_convolution_is_long_enough_and_has_a_smooth_length() {
        for n in [11, 13, 1009, 4099, LONGEST_OTHER - 1] {
            let m = convolution_length(n);
            assert!(m >= 2 * n - 1 && m < 3 * n && is_smooth(m), "{m} for {n}");
        }
        assert!(is_length(1) && is_length(LONGEST) && is_length(LONGEST_OTHER - 1));
        assert!(!is_length(0) && !is_length(LONGEST - 1) && !is_length(LONGEST + 1));
    }

    #[test]
    fn the_spectrum_of_a_tone_is_one_number() {
        for n in [1, 6, 16, 45, 224] {
            let circle: Vec<Complex> = (0..n).map(|k| root(k, n)).collect();
            let tone: Vec<Complex> = (0..n).map(|j| root(3 * j, n)).map(|[re, im]| [re, -im]).collect();
            for (k, [re, im]) in spectrum(&tone, 0, 1, n, &circle).into_iter().enumerate() {
                let expected = if k == 3 % n { n as f64 } else { 0.0 };
                assert!((re - expected).abs() + im.abs() < 1e-11, "{k} of {n}: {re}, {im}");
            }
        }
    }
}
