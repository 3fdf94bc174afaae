//! A01, A21: Fourier transforms.

use super::*;
use fencepost_oracles::Complex;

pub fn cases() -> Vec<Case> {
    vec![
        case("a21_a_transform_of_any_length_and_axis_is_within_its_bound_of_the_host", transforms),
        case("a21_a_transform_of_a_million_elements_is_within_two_millionths_of_the_host", long)
            .on_devices("the CPU recorder needs minutes for a million elements"),
        case("a21_an_inverse_transform_has_the_other_sign_and_its_factor", inverses),
        case("a21_a_transform_in_place_is_that_to_another_array", in_place),
        case("a21_spectra_of_real_numbers_are_the_first_halves_of_transforms", real),
        case("a21_real_numbers_of_spectra_ignore_parts_that_have_no_meaning", real_inverses),
        case("a21_transforms_of_real_numbers_have_the_factor_of_their_plan", real_factors),
        case("a21_transforms_of_several_axes_are_those_of_each_axis", |s| with_shares(s, || axes(s))),
        case("a21_transforms_of_real_numbers_along_several_axes_are_those_of_each_axis", |s| {
            with_shares(s, || real_axes(s));
        }),
        case("a21_transforms_of_impulses_and_tones_are_exactly_placed", tones),
        case("a21_a_transform_depends_on_its_own_elements_alone", apart),
        case("a21_the_order_of_frequencies_is_that_of_the_host", shifts),
        case("a21_a_transform_writes_its_results_alone", guards),
        case("a01_transforms_in_a_graph_equal_those_of_a_queue", in_a_graph),
        case("a01_a_refused_transform_enqueues_nothing", refused),
        case("a01_queues_share_a_plan", shared).host_side(),
    ]
}

/// Least distance of 1 and the next smaller `f32`.
const U: f64 = 1.0 / (1 << 24) as f64;

/// Bound of the relative error of a transform of `n` elements, as documented.
fn bound(n: usize) -> f64 {
    1.5 * (1.0 + (n as f64).log2()) * U
}

/// Returns random numbers whose parts are from -1 to 1.
fn numbers(len: usize, rng: &mut fastrand::Rng) -> Vec<[f32; 2]> {
    (0..len).map(|_| [(); 2].map(|()| rng.f32() * 2.0 - 1.0)).collect()
}

fn exact(list: &[[f32; 2]]) -> Vec<Complex> {
    list.iter().map(|number| number.map(f64::from)).collect()
}

/// Returns the error of a list, relative to the norm of the expected one.
fn error(found: &[[f32; 2]], expected: &[Complex]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let square = |[re, im]: Complex| re * re + im * im;
    let pairs = found.iter().zip(expected);
    let wrong: f64 = pairs.map(|(a, b)| square([f64::from(a[0]) - b[0], f64::from(a[1]) - b[1]])).sum();
    let all: f64 = expected.iter().map(|&number| square(number)).sum();
    (wrong / all.max(f64::MIN_POSITIVE)).sqrt()
}

/// Returns the results of a function for each column of an array of `batches` x n x `columns` elements.
fn along<T: Copy, V: Copy>(
    x: &[T],
    [batches, n, columns]: [usize; 3],
    of_column: impl Fn(&[T]) -> Vec<V>,
) -> Vec<V> {
    let mut results: Vec<V> = Vec::new();
    for batch in 0..batches {
        let results_of = |column: usize| {
            let elements = (0..n).map(|j| x[(batch * n + j) * columns + column]);
            of_column(&elements.collect::<Vec<T>>())
        };
        let of_batch: Vec<Vec<V>> = (0..columns).map(results_of).collect();
        let len = of_batch.first().map_or(0, Vec::len);
        results.extend((0..len).flat_map(|k| of_batch.iter().map(move |column| column[k])));
    }
    results
}

/// Lists lengths: one for each radix, products of them, lengths of one and several passes, and other prime factors.
fn lengths() -> Vec<usize> {
    let some = vec![
        1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 30, 49, 64, 100, 101, 210, 243, 343, 512, 625, 1000, 1023,
        1024, 1025, 1029, 2048, 2187, 4096, 4099,
    ];
    if !large() {
        return some;
    }
    let long = [8191, 8192, 8193, 16_807, 59_049, 65_535, 65_536, 65_537, 78_125, 100_000, 1 << 17, 1 << 18];
    (1..=128).chain(some).chain(long).collect()
}

/// Numbers of batches and columns of a length.
fn layouts(n: usize) -> &'static [(usize, usize)] {
    if n > 300 { &[(1, 1), (3, 1), (1, 2)] } else { &[(1, 1), (3, 1), (1, 5), (2, 3), (70, 1), (1, 70)] }
}

/// Transforms the middle axis of three, and returns the results.
fn transformed(
    queue: &CommandQueue,
    list: &[[f32; 2]],
    shape: [usize; 3],
    norm: FftNorm,
    inverse: bool,
) -> Vec<[f32; 2]> {
    let plan = FftPlan::new(&queue.context(), [shape[1]]).unwrap().axes([1]).unwrap().norm(norm);
    let x = queue.array(list).unwrap().reshape(shape).unwrap();
    let mut out = queue.full(shape, [7.0_f32, 7.0]).unwrap();
    let enqueued = if inverse { queue.ifft(&plan, &x, &mut out) } else { queue.fft(&plan, &x, &mut out) };
    enqueued.unwrap();
    let bits = |list: &[[f32; 2]]| list.iter().map(|x| x.map(f32::to_bits)).collect::<Vec<_>>();
    assert!(bits(&queue.read(&x).wait().unwrap()) == bits(list), "the input stays");
    queue.read(&out).wait().unwrap()
}

fn transforms(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(211);
    with_shares(s, || {
        for (at, n) in lengths().into_iter().enumerate() {
            for &(batches, columns) in some(layouts(n), at) {
                let shape = [batches, n, columns];
                let list = numbers(batches * n * columns, &mut rng);
                let found = transformed(&queue, &list, shape, FftNorm::Backward, false);
                let wrong = error(&found, &along(&exact(&list), shape, host::fft));
                assert!(wrong <= bound(n), "{shape:?}: {wrong:e}, {:.1} u", wrong / U);
            }
        }
    });
}

fn long(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(212);
    // The second length has a prime factor of 13, so it is a convolution.
    let lengths = if large() { vec![1 << 20, 13 << 16, 1_000_000] } else { vec![1 << 20] };
    for n in lengths {
        let list = numbers(n, &mut rng);
        let expected = host::fft(&exact(&list));
        let found = transformed(&queue, &list, [1, n, 1], FftNorm::Backward, false);
        let wrong = error(&found, &expected);
        assert!(wrong <= 2e-6 && wrong <= bound(n), "{n}: {wrong:e}, {:.1} u", wrong / U);
        // The transform keeps the energy (Parseval).
        let energy = |list: &[Complex]| list.iter().map(|[re, im]| re * re + im * im).sum::<f64>();
        let ratio = energy(&exact(&found)) / energy(&exact(&list)) / n as f64;
        assert!((ratio - 1.0).abs() <= 2.0 * bound(n), "{n}: {ratio}");
    }
    if large() {
        longest(&queue);
    }
}

/// Transforms an impulse and a tone of the largest lengths, whose results are known.
fn longest(queue: &CommandQueue) {
    // A prime number, so a convolution.
    let n = (1 << 22) - 3;
    let mut impulse = vec![[0.0_f32; 2]; n];
    impulse[1] = [1.0, 0.0];
    let turn = |k: usize| std::f64::consts::TAU * k as f64 / n as f64;
    let expected: Vec<Complex> = (0..n).map(|k| [turn(k).cos(), -turn(k).sin()]).collect();
    let found = transformed(queue, &impulse, [1, n, 1], FftNorm::Backward, false);
    let wrong = error(&found, &expected);
    assert!(wrong <= bound(n), "an impulse in {n}: {wrong:e}");

    let n = 1 << 24;
    let at = n / 3;
    let turn = |k: usize| std::f64::consts::TAU * (k * at % n) as f64 / n as f64;
    let tone: Vec<[f32; 2]> = (0..n).map(|k| [turn(k).cos() as f32, turn(k).sin() as f32]).collect();
    let mut expected = vec![[0.0; 2]; n];
    expected[at] = [1.0, 0.0];
    let found = transformed(queue, &tone, [1, n, 1], FftNorm::Forward, false);
    let wrong = error(&found, &expected);
    // The tone itself is rounded.
    assert!(wrong <= bound(n) + U, "a tone in {n}: {wrong:e}");
}

/// Returns each kind of factors, with those of forward and of inverse transforms of `n` elements. The host divides
/// inverse transforms by n.
fn factors(n: usize) -> [(FftNorm, [f64; 2]); 3] {
    let n = n as f64;
    [
        (FftNorm::Backward, [1.0, 1.0]),
        (FftNorm::Ortho, [1.0 / n.sqrt(), n.sqrt()]),
        (FftNorm::Forward, [1.0 / n, n]),
    ]
}

fn sized(list: &[Complex], factor: f64) -> Vec<Complex> {
    list.iter().map(|number| number.map(|part| part * factor)).collect()
}

/// Returns real numbers as complex ones.
fn complex(list: &[f64]) -> Vec<Complex> {
    list.iter().map(|&x| [x, 0.0]).collect()
}

fn inverses(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(213);
    with_shares(s, || {
        for n in [1, 6, 11, 64, 77, 1000, 1024, 1100, 2048] {
            let list = numbers(2 * n, &mut rng);
            let shape = [2, n, 1];
            let forward = along(&exact(&list), shape, host::fft);
            let inverse = along(&exact(&list), shape, host::ifft);
            for (norm, factors) in factors(n) {
                for (is_inverse, expected) in
                    [(false, sized(&forward, factors[0])), (true, sized(&inverse, factors[1]))]
                {
                    let found = transformed(&queue, &list, shape, norm, is_inverse);
                    let wrong = error(&found, &expected);
                    assert!(wrong <= bound(n), "{n}, {norm:?}, inverse {is_inverse}: {wrong:e}");
                }
            }
        }
    });
}

fn in_place(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(214);
    with_shares(s, || {
        for (at, n) in [1, 2, 7, 12, 13, 100, 1024, 1025, 1080, 2048].into_iter().enumerate() {
            for &(batches, columns) in some(&[(1, 1), (3, 1), (1, 4), (40, 1)], at) {
                let shape = [batches, n, columns];
                let list = numbers(batches * n * columns, &mut rng);
                let plan = FftPlan::new(&queue.context(), [n]).unwrap().axes([1]).unwrap();
                for inverse in [false, true] {
                    let expected = transformed(&queue, &list, shape, FftNorm::Backward, inverse);
                    let mut x = queue.array(&list).unwrap().reshape(shape).unwrap();
                    if inverse {
                        queue.ifft_in_place(&plan, &mut x).unwrap();
                    } else {
                        queue.fft_in_place(&plan, &mut x).unwrap();
                    }
                    let found = queue.read(&x).wait().unwrap();
                    let is_near = || error(&found, &exact(&expected)) <= 2.0 * bound(n);
                    // The kernels are two, and a compiler may round them differently.
                    assert!(found == expected || !s.is_cpu() && is_near(), "{shape:?}, inverse {inverse}");
                }
            }
        }
    });
}

fn real(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(215);
    with_shares(s, || {
        for (at, n) in [1, 2, 3, 4, 8, 11, 22, 27, 100, 1000, 1023, 1024, 1026, 1100, 2048, 2049, 4094]
            .into_iter()
            .enumerate()
        {
            for &(batches, columns) in some(layouts(n), at) {
                let shape = [batches, n, columns];
                let list: Vec<f32> = numbers(batches * n * columns, &mut rng).iter().map(|x| x[0]).collect();
                let as_f64: Vec<f64> = list.iter().map(|&x| f64::from(x)).collect();
                let expected = along(&as_f64, shape, host::rfft);
                let plan = RealFftPlan::new(&queue.context(), [n]).unwrap().axes([1]).unwrap();
                let x = queue.array(&list).unwrap().reshape(shape).unwrap();
                let mut spectra = queue.full([batches, n / 2 + 1, columns], [7.0_f32; 2]).unwrap();
                queue.rfft(&plan, &x, &mut spectra).unwrap();
                let found = queue.read(&spectra).wait().unwrap();
                let wrong = error(&found, &expected);
                assert!(wrong <= bound(n), "{shape:?}: {wrong:e}, {:.1} u", wrong / U);

                let mut again = queue.full(shape, 7.0_f32).unwrap();
                queue.irfft(&plan, &spectra, &mut again).unwrap();
                let again: Vec<[f32; 2]> =
                    queue.read(&again).wait().unwrap().into_iter().map(|x| [x, 0.0]).collect();
                let expected: Vec<Complex> = as_f64.iter().map(|&x| [x, 0.0]).collect();
                let wrong = error(&again, &expected);
                assert!(wrong <= 2.0 * bound(n), "{shape:?} and back: {wrong:e}, {:.1} u", wrong / U);
                assert!(queue.read(&spectra).wait().unwrap() == found, "the spectra stay");
            }
        }
    });
}

fn real_inverses(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(216);
    with_shares(s, || {
        for n in [1, 2, 5, 12, 13, 1024, 1028, 2002, 2049] {
            let bins = n / 2 + 1;
            // The spectra of no real numbers: the first and the last element have imaginary parts.
            let list = numbers(2 * bins, &mut rng);
            let of_column = |column: &[Complex]| host::irfft(column, n).unwrap();
            let expected = along(&exact(&list), [2, bins, 1], of_column);
            let expected: Vec<Complex> = expected.into_iter().map(|x| [x, 0.0]).collect();
            let plan = RealFftPlan::new(&queue.context(), [n]).unwrap();
            let x = queue.array(&list).unwrap().reshape([2, bins]).unwrap();
            let mut out = queue.full([2, n], 7.0_f32).unwrap();
            queue.irfft(&plan, &x, &mut out).unwrap();
            let found: Vec<[f32; 2]> =
                queue.read(&out).wait().unwrap().into_iter().map(|x| [x, 0.0]).collect();
            let wrong = error(&found, &expected);
            assert!(wrong <= bound(n), "{n}: {wrong:e}, {:.1} u", wrong / U);
        }
    });
}

fn real_factors(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(223);
    with_shares(s, || {
        // One pass, a convolution, halves of pairs, and halves in several passes.
        for n in [1, 12, 23, 1026, 2100] {
            let bins = n / 2 + 1;
            let reals: Vec<f32> = numbers(n, &mut rng).iter().map(|number| number[0]).collect();
            let as_f64: Vec<f64> = reals.iter().map(|&x| f64::from(x)).collect();
            let spectrum = numbers(bins, &mut rng);
            let forward = host::rfft(&as_f64);
            let inverse = complex(&host::irfft(&exact(&spectrum), n).unwrap());
            let x = queue.array(&reals).unwrap();
            let y = queue.array(&spectrum).unwrap();
            for (norm, factors) in factors(n) {
                let plan = RealFftPlan::new(&queue.context(), [n]).unwrap().norm(norm);
                let mut spectra = queue.full([bins], [7.0_f32; 2]).unwrap();
                queue.rfft(&plan, &x, &mut spectra).unwrap();
                let found = queue.read(&spectra).wait().unwrap();
                let wrong = error(&found, &sized(&forward, factors[0]));
                assert!(wrong <= bound(n), "{n}, {norm:?}: {wrong:e}");
                let mut out = queue.full([n], 7.0_f32).unwrap();
                queue.irfft(&plan, &y, &mut out).unwrap();
                let found: Vec<[f32; 2]> =
                    queue.read(&out).wait().unwrap().into_iter().map(|x| [x, 0.0]).collect();
                let wrong = error(&found, &sized(&inverse, factors[1]));
                assert!(wrong <= bound(n), "{n}, {norm:?}, inverse: {wrong:e}");
            }
        }
    });
}

fn axes(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(217);
    let shape = [6, 5, 22, 3];
    let list = numbers(shape.iter().product(), &mut rng);
    let x = queue.array(&list).unwrap().reshape(shape).unwrap();
    let view = |axis: usize| {
        [shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product::<usize>()]
    };
    for axes in [vec![0], vec![3], vec![2, 3], vec![2, 0], vec![1, 2, 3], vec![3, 0, 1, 2]] {
        let lengths: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
        let n: usize = lengths.iter().product();
        let expected = axes.iter().fold(exact(&list), |x, &axis| along(&x, view(axis), host::fft));
        let plan = FftPlan::new(&queue.context(), &lengths).unwrap().axes(&axes).unwrap();
        let mut out = queue.zeros(shape).unwrap();
        queue.fft(&plan, &x, &mut out).unwrap();
        let found = queue.read(&out).wait().unwrap();
        assert!(error(&found, &expected) <= 2.0 * bound(n), "{axes:?}: {:e}", error(&found, &expected));
        queue.ifft_in_place(&plan, &mut out).unwrap();
        let again = queue.read(&out).wait().unwrap();
        assert!(error(&again, &exact(&list)) <= 4.0 * bound(n), "{axes:?} and back");
    }
    // Without axes, the last ones are transformed.
    let of_last = FftPlan::new(&queue.context(), [22, 3]).unwrap();
    let named = of_last.clone().axes([2, 3]).unwrap();
    let [mut one, mut two] = [(); 2].map(|()| queue.zeros(shape).unwrap());
    queue.fft(&of_last, &x, &mut one).unwrap();
    queue.fft(&named, &x, &mut two).unwrap();
    assert!(queue.read(&one).wait().unwrap() == queue.read(&two).wait().unwrap());
}

fn real_axes(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(224);
    // The last axis of a plan has real numbers; that of the first one is not the last of the array.
    for (shape, axes, norm) in [
        ([6, 10, 3], vec![0, 2, 1], FftNorm::Ortho),
        ([1, 3, 2048], vec![1, 2], FftNorm::Forward),
        ([2, 30, 11], vec![1, 2], FftNorm::Backward),
    ] {
        let lengths: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
        let n: usize = lengths.iter().product();
        let plan = RealFftPlan::new(&queue.context(), &lengths).unwrap().axes(&axes).unwrap().norm(norm);
        let [of_forward, of_inverse] = factors(n).into_iter().find(|(known, _)| *known == norm).unwrap().1;
        let (&last, others) = axes.split_last().unwrap();
        let view = |shape: [usize; 3], axis: usize| {
            [shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product::<usize>()]
        };
        let mut bins = shape;
        bins[last] = shape[last] / 2 + 1;

        let list: Vec<f32> =
            numbers(shape.iter().product(), &mut rng).iter().map(|number| number[0]).collect();
        let as_f64: Vec<f64> = list.iter().map(|&x| f64::from(x)).collect();
        let halves = along(&as_f64, view(shape, last), host::rfft);
        let all = others.iter().fold(halves, |x, &axis| along(&x, view(bins, axis), host::fft));
        let x = queue.array(&list).unwrap().reshape(shape).unwrap();
        let mut spectra = queue.full(bins, [7.0_f32; 2]).unwrap();
        queue.rfft(&plan, &x, &mut spectra).unwrap();
        let found = queue.read(&spectra).wait().unwrap();
        let wrong = error(&found, &sized(&all, of_forward));
        assert!(wrong <= 2.0 * bound(n), "{axes:?} of {shape:?}: {wrong:e}");

        // The spectra of no real numbers.
        let list = numbers(bins.iter().product(), &mut rng);
        let all = others.iter().fold(exact(&list), |x, &axis| along(&x, view(bins, axis), host::ifft));
        let of_column = |column: &[Complex]| host::irfft(column, shape[last]).unwrap();
        let all = complex(&along(&all, view(bins, last), of_column));
        let x = queue.array(&list).unwrap().reshape(bins).unwrap();
        let mut out = queue.full(shape, 7.0_f32).unwrap();
        queue.irfft(&plan, &x, &mut out).unwrap();
        let found: Vec<[f32; 2]> = queue.read(&out).wait().unwrap().into_iter().map(|x| [x, 0.0]).collect();
        let wrong = error(&found, &sized(&all, of_inverse));
        assert!(wrong <= 2.0 * bound(n), "{axes:?} of {shape:?}, inverse: {wrong:e}");
        let kept = queue.read(&x).wait().unwrap();
        assert!(kept == list, "the spectra stay");
    }
}

fn tones(s: &Subject) {
    let queue = s.ctx().queue("q");
    with_shares(s, || {
        for n in [8, 15, 97, 1024, 1200, 2048] {
            let at = n / 3;
            let mut impulse = vec![[0.0_f32; 2]; n];
            impulse[at] = [1.0, 0.0];
            let found = transformed(&queue, &impulse, [1, n, 1], FftNorm::Backward, false);
            let turn = |k: usize| std::f64::consts::TAU * (k * at % n) as f64 / n as f64;
            let expected: Vec<Complex> = (0..n).map(|k| [turn(k).cos(), -turn(k).sin()]).collect();
            assert!(error(&found, &expected) <= bound(n), "an impulse in {n}");

            let tone: Vec<[f32; 2]> = (0..n).map(|k| [turn(k).cos() as f32, turn(k).sin() as f32]).collect();
            let found = transformed(&queue, &tone, [1, n, 1], FftNorm::Forward, false);
            for (k, [re, im]) in found.into_iter().enumerate() {
                let expected = if k == at { 1.0 } else { 0.0 };
                assert!((re - expected).abs() + im.abs() < 1e-6, "frequency {k} of a tone in {n}: {re} {im}");
            }
        }
    });
}

/// A NaN in one batch or column changes no other one.
fn apart(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(218);
    with_shares(s, || {
        for (n, shape) in [(12, [5, 12, 7]), (13, [3, 13, 2]), (1024, [3, 1024, 1]), (1100, [2, 1100, 2])] {
            let list = numbers(shape.iter().product(), &mut rng);
            let [_, _, columns] = shape;
            let marked = |at: usize| at / (n * columns) == 1 && at % columns == columns - 1;
            let mut with_nan = list.clone();
            let middle = (0..list.len()).filter(|&at| marked(at)).nth(n / 2).unwrap();
            with_nan[middle][1] = f32::NAN;
            let [expected, found] =
                [&list, &with_nan].map(|list| transformed(&queue, list, shape, FftNorm::Backward, false));
            for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert!(marked(at) || found == expected, "element {at} of {shape:?}");
            }
        }
    });
}

fn shifts(s: &Subject) {
    let queue = s.ctx().queue("q");
    for n in [0, 1, 2, 5, 64, 65, 1001] {
        let list: Vec<u32> = (0..n as u32).map(|i| 0x7F80_0001 ^ i.wrapping_mul(0x1E37_79B9)).collect();
        let x = queue.array(&list).unwrap();
        let found = guarded(&queue, n, |out| queue.fftshift(&x, out));
        assert_eq!(found, host::fftshift(&list));
        let found = guarded(&queue, n, |out| queue.ifftshift(&x, out));
        assert_eq!(found, host::ifftshift(&list));
    }
    let mut rng = fastrand::Rng::with_seed(219);
    let shape = [3, 4, 5];
    let list = numbers(60, &mut rng);
    let x = queue.array(&list).unwrap().reshape(shape).unwrap();
    let views = [[1, 3, 20], [3, 4, 5], [12, 5, 1]];
    for (axis, view) in views.into_iter().enumerate() {
        let mut out = queue.zeros(shape).unwrap();
        queue.fftshift(x.axis(axis), &mut out).unwrap();
        assert_eq!(queue.read(&out).wait().unwrap(), along(&list, view, host::fftshift), "axis {axis}");
    }
    let mut out = queue.zeros(shape).unwrap();
    queue.ifftshift(&x, &mut out).unwrap();
    let expected = views.into_iter().fold(list, |list, view| along(&list, view, host::ifftshift));
    assert_eq!(queue.read(&out).wait().unwrap(), expected);
}

/// Calls `verb` with an array between guard elements, and checks that those stay.
fn guarded_complex(
    queue: &CommandQueue,
    len: usize,
    verb: impl FnOnce(&mut DeviceArray<[f32; 2]>) -> Result<()>,
) -> Vec<[f32; 2]> {
    let all = queue.full([len + 128], [3.0_f32, -5.0]).unwrap();
    verb(&mut all.slice(64..64 + len).unwrap()).unwrap();
    let list = queue.read(&all).wait().unwrap();
    let is_guard = |at: usize| !(64..64 + len).contains(&at);
    assert!((0..list.len()).all(|at| !is_guard(at) || list[at] == [3.0, -5.0]), "{len} results");
    list[64..64 + len].to_vec()
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(220);
    with_shares(s, || {
        for (batches, n) in [(1, 1), (3, 7), (2, 60), (5, 22), (3, 1024), (2, 1030), (1, 2048)] {
            let ctx = queue.context();
            let plan = FftPlan::new(&ctx, [n]).unwrap();
            let list = numbers(batches * n, &mut rng);
            let shape = [batches, n];
            let around = super::around(&list, [f32::NAN, f32::INFINITY]);
            let whole = queue.array(&around).unwrap();
            let x = whole.slice(64..64 + list.len()).unwrap().reshape(shape).unwrap();
            let expected = along(&exact(&list), [batches, n, 1], host::fft);
            let found =
                guarded_complex(&queue, list.len(), |out| queue.fft(&plan, &x, &mut out.reshape(shape)?));
            assert!(error(&found, &expected) <= bound(n), "{shape:?}");
            let found = guarded_complex(&queue, list.len(), |out| {
                queue.copy(&x, &mut out.reshape(shape)?)?;
                queue.fft_in_place(&plan, &mut out.reshape(shape)?)
            });
            assert!(error(&found, &expected) <= bound(n), "{shape:?} in place");

            let plan = RealFftPlan::new(&ctx, [n]).unwrap();
            let reals: Vec<f32> = list.iter().map(|number| number[0]).collect();
            let whole = queue.array(&super::around(&reals, f32::NAN)).unwrap();
            let x = inside(&whole).reshape(shape).unwrap();
            let bins = n / 2 + 1;
            let spectra = guarded_complex(&queue, batches * bins, |out| {
                queue.rfft(&plan, &x, &mut out.reshape([batches, bins])?)
            });
            let spectra = queue.array(&super::around(&spectra, [f32::NAN; 2])).unwrap();
            let spectra = inside(&spectra).reshape([batches, bins]).unwrap();
            let again =
                guarded(&queue, reals.len(), |out| queue.irfft(&plan, &spectra, &mut out.reshape(shape)?));
            assert!(again.iter().zip(&reals).all(|(a, b)| (a - b).abs() < 1e-5), "{shape:?} and back");
        }
    });
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(221);
    // One pass, several passes, a convolution, and two axes.
    for (shape, lengths) in
        [([3, 60], vec![60]), ([1, 2048], vec![2048]), ([2, 1009], vec![1009]), ([12, 14], vec![12, 14])]
    {
        let plan = FftPlan::new(&queue.context(), &lengths).unwrap();
        let len: usize = shape.iter().product();
        let x = queue.zeros(shape).unwrap();
        let lists: Vec<Vec<[f32; 2]>> = (0..3).map(|_| numbers(len, &mut rng)).collect();
        let enqueue = |queue: &CommandQueue, x: &DeviceArray<[f32; 2], 2>, out: &DeviceArray<[f32; 2]>| {
            let mut out = out.reshape(shape)?;
            queue.fft(&plan, x, &mut out)?;
            queue.fft_in_place(&plan, &mut out)
        };
        check_replays(&queue, x, len, enqueue, lists, |list, found| {
            // Two transforms reverse the order of the elements, except of the first one.
            let n: usize = lengths.iter().product();
            let [rows, columns] = shape;
            let of_row = |row: usize| if lengths.len() == 2 { (rows - row) % rows } else { row };
            let expected: Vec<Complex> = (0..len)
                .map(|at| list[of_row(at / columns) * columns + (columns - at % columns) % columns])
                .map(|number| number.map(|part| f64::from(part) * n as f64))
                .collect();
            assert!(error(found, &expected) <= 2.0 * bound(n), "{shape:?}");
        });
    }
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    queue.full([1], 0_u32).unwrap(); // the dump has the queues with commands
    let before = dump::enqueued(&ctx, "q");
    let zeros = |shape: [usize; 2]| ctx.zeros::<[f32; 2], 2>(shape).unwrap();
    let x = zeros([4, 6]);
    let mut out = zeros([4, 6]);
    let plan = FftPlan::new(&ctx, [6]).unwrap();
    let lists: [&[usize]; 5] = [&[], &[0], &[3, 0], &[(1 << 24) + 1], &[(1 << 22) + 1]];
    for lengths in lists {
        let error = assert_refused!(FftPlan::new(&ctx, lengths).map(drop), Value);
        let is_number = lengths.is_empty();
        assert!(error.to_string().contains("lengths of a plan") == is_number, "{error}");
    }
    assert_refused!(plan.clone().axes([]).map(drop), Value);
    assert_refused!(plan.clone().axes([0, 1]).map(drop), Value);
    assert_refused!(FftPlan::new(&ctx, [4, 6]).unwrap().axes([1, 1]).map(drop), Value);

    let error = assert_refused!(queue.fft(&FftPlan::new(&ctx, [5]).unwrap(), &x, &mut out), Shape);
    assert!(error.to_string().starts_with("verb `fft`, argument `x`: array `"), "{error}");
    assert!(error.to_string().contains("has shape [4, 6], [4, 5] is needed"), "{error}");
    let error = assert_refused!(queue.ifft(&plan, &x, &mut zeros([6, 4])), Shape);
    assert!(error.to_string().starts_with("verb `ifft`, argument `out`: array `"), "{error}");
    assert_refused!(queue.fft(&plan.clone().axes([2]).unwrap(), &x, &mut out), Axis { axis: 2, rank: 2, .. });
    let three = FftPlan::new(&ctx, [2, 4, 6]).unwrap();
    assert_refused!(queue.fft(&three, &x, &mut out), Axis { axis: 2, rank: 2, .. });
    let error = assert_refused!(queue.fft(&plan, &x, &mut x.clone()), Aliased);
    assert!(error.to_string().starts_with("verb `fft`: arguments `x` and `out` overlap"), "{error}");

    let real = RealFftPlan::new(&ctx, [6]).unwrap();
    let numbers = ctx.zeros::<f32, 2>([4, 6]).unwrap();
    assert_refused!(queue.rfft(&real, &numbers, &mut out), Shape);
    let error = assert_refused!(queue.irfft(&real, &zeros([4, 4]), &mut ctx.zeros([4, 5]).unwrap()), Shape);
    assert!(error.to_string().starts_with("verb `irfft`, argument `out`: array `"), "{error}");

    let other = s.ctx();
    let foreign = FftPlan::new(&other, [6]).unwrap();
    let error = assert_refused!(queue.fft(&foreign, &x, &mut out), ForeignContext);
    assert!(error.to_string().starts_with("verb `fft`, argument `plan`: array `"), "{error}");
    assert_refused!(queue.fft_in_place(&foreign, &mut out), ForeignContext);

    let error = assert_refused!(queue.fftshift(x.axis(2), &mut out), Axis { axis: 2, rank: 2, .. });
    assert!(error.to_string().starts_with("verb `fftshift`: axis 2"), "{error}");
    let words = ctx.zeros::<u32, 1>([3]).unwrap();
    let count = ctx.zeros([1]).unwrap();
    assert_refused!(queue.fftshift(words.first(&count), &mut ctx.zeros([3]).unwrap()), Value);
    let bytes = ctx.zeros::<u8, 1>([8]).unwrap();
    assert_refused!(queue.ifftshift(&bytes, &mut ctx.zeros([8]).unwrap()), Value);
    assert_eq!(dump::enqueued(&ctx, "q"), before);

    // Arrays without elements need nothing.
    queue.fft(&plan, &zeros([0, 6]), &mut zeros([0, 6])).unwrap();
    queue.fft_in_place(&plan, &mut zeros([0, 6])).unwrap();
    let mut none = zeros([0, 4]);
    queue.rfft(&real, &ctx.zeros([0, 6]).unwrap(), &mut none).unwrap();
    queue.irfft(&real, &none, &mut ctx.zeros([0, 6]).unwrap()).unwrap();
    queue.fftshift(&none, &mut zeros([0, 4])).unwrap();
    assert_eq!(dump::enqueued(&ctx, "q"), before);
}

/// Uses one plan on two queues that nothing orders.
fn shared(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let queues = [ctx.queue("one"), ctx.queue("two")];
    let plan = FftPlan::new(&ctx, [2048]).unwrap();
    let mut rng = fastrand::Rng::with_seed(222);
    let list = numbers(2048, &mut rng);
    let expected = host::fft(&exact(&list));
    let arrays = queues.each_ref().map(|queue| {
        let mut x = queue.array(&list).unwrap();
        queue.fft_in_place(&plan, &mut x).unwrap();
        x
    });
    drop(plan);
    for (queue, x) in queues.iter().zip(&arrays) {
        let found = queue.read(x).wait().unwrap();
        assert!(error(&found, &expected) <= bound(2048));
    }
}
