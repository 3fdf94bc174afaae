//! A01, A21: convolutions, and spectra of frames.

use super::*;
use fencepost::algorithms::Convolve;
use fencepost_oracles::{Complex, FramesOf};

pub fn cases() -> Vec<Case> {
    vec![
        case("a21_a_convolution_is_within_its_bound_of_the_host", convolutions),
        case("a21_a_convolution_of_many_weights_is_within_its_bound_of_the_host", many_weights),
        case("a21_products_of_a_convolution_are_added_one_by_one", one_by_one),
        case("a21_a_convolution_without_elements_is_zero", empty),
        case("a21_spectra_of_frames_are_those_of_the_host", frames),
        case("a21_the_inverse_of_spectra_of_frames_is_the_signal", again),
        case("a21_samples_come_back_unless_no_frame_has_them", lost_samples),
        case("a21_mean_power_spectra_are_those_of_the_host", powers),
        case("a21_signals_have_the_results_of_numpy_and_scipy", literals),
        case("a01_signals_in_a_graph_equal_those_of_a_queue", in_a_graph),
        case("a01_refused_signals_enqueue_nothing", refused),
    ]
}

/// Returns random numbers from -1 to 1.
fn numbers(len: usize, rng: &mut fastrand::Rng) -> Vec<f32> {
    (0..len).map(|_| rng.f32() * 2.0 - 1.0).collect()
}

fn exact(list: &[f32]) -> Vec<f64> {
    list.iter().map(|&x| f64::from(x)).collect()
}

/// Half of the distance of 1 and the next larger `f32`.
const U: f64 = 1.0 / (1 << 24) as f64;

const MODES: [ConvolveMode; 3] = [ConvolveMode::Full, ConvolveMode::Same, ConvolveMode::Valid];

/// Returns the documented bound of the error of each result: of sums of products, or of spectra of blocks.
fn bounds(row: &[f64], weights: &[f64], mode: ConvolveMode, by_spectra: bool) -> Vec<f64> {
    let [n, m] = [row.len(), weights.len()];
    if !by_spectra {
        let absolute = |list: &[f64]| list.iter().map(|x| x.abs()).collect::<Vec<f64>>();
        let magnitudes = host::convolve(&absolute(row), &absolute(weights), mode).unwrap();
        return magnitudes.into_iter().map(|magnitude| n.min(m) as f64 * U * magnitude).collect();
    }
    let mut squares = vec![0.0];
    for x in row {
        squares.push(squares[squares.len() - 1] + x * x);
    }
    let norm = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    // The block of a result is inside of two blocks around it.
    let block = if 2 * m <= 1024 { 1024 } else { (4 * m).next_power_of_two() };
    let results = match mode {
        ConvolveMode::Full => 0..n + m - 1,
        ConvolveMode::Same => (m - 1) / 2..n + (m - 1) / 2,
        _ => m - 1..n,
    };
    let bound = |k: usize| {
        let part = squares[n.min(k + block)] - squares[n.min((k + 1).saturating_sub(block))];
        40.0 * U * norm * part.sqrt()
    };
    results.map(bound).collect()
}

/// Convolves rows of n elements between guard elements, and compares the results with the host's.
#[track_caller]
fn convolved(
    queue: &CommandQueue,
    [rows, n, m]: [usize; 3],
    mode: ConvolveMode,
    by_spectra: bool,
    rng: &mut fastrand::Rng,
) {
    let list = numbers(rows * n, rng);
    let weights = numbers(m, rng);
    let whole = queue.array(&around(&list, f32::NAN)).unwrap();
    let x = inside(&whole).reshape([rows, n]).unwrap();
    let of_weights = queue.array(&around(&weights, f32::INFINITY)).unwrap();
    let weights_array = inside(&of_weights);
    for correlate in [false, true] {
        let mut order = exact(&weights);
        if correlate {
            order.reverse();
        }
        let of_row = |row: &[f32]| {
            let of_host = if correlate { host::correlate } else { host::convolve };
            of_host(&exact(row), &exact(&weights), mode).unwrap()
        };
        let expected: Vec<f64> = list.chunks(n).flat_map(of_row).collect();
        let bounds = list.chunks(n).flat_map(|row| bounds(&exact(row), &order, mode, by_spectra));
        let found = guarded(queue, expected.len(), |out| {
            let mut out = out.reshape([rows, expected.len() / rows])?;
            match correlate {
                true => queue.correlate(&x, &weights_array, mode, &mut out),
                false => queue.convolve(&x, &weights_array, mode, &mut out),
            }
        });
        // A comparison with NaN is false, so a NaN is not near.
        let near = |((a, b), bound): ((&f32, &f64), f64)| (f64::from(*a) - b).abs() <= bound;
        let far = found.iter().zip(&expected).zip(bounds).position(|pair| !near(pair));
        assert_eq!(far, None, "{rows} x {n} by {m}, {mode:?}, correlation {correlate}");
    }
}

fn convolutions(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(231);
    for (n, m) in [(1, 1), (2, 5), (5, 2), (7, 7), (64, 3), (65, 64), (1000, 17), (300, 2)] {
        for mode in MODES.into_iter().filter(|&mode| mode != ConvolveMode::Valid || m <= n) {
            convolved(&queue, [3, n, m], mode, false, &mut rng);
        }
    }
}

fn many_weights(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(232);
    let mut shapes = vec![(65, 65), (100, 80), (3000, 100), (1025, 513), (2000, 1100)];
    if large() {
        shapes.extend([(100_000, 300), (50_000, 5000), (100, 65_437)]);
    }
    with_shares(s, || {
        for (at, (n, m)) in shapes.into_iter().enumerate() {
            let modes = MODES.into_iter().filter(|&mode| mode != ConvolveMode::Valid || m <= n);
            for &mode in some(&modes.collect::<Vec<_>>(), at) {
                convolved(&queue, [2, n, m], mode, true, &mut rng);
            }
        }
        // Rows that are much shorter than the weights.
        for (n, m) in [(1, 5000), (10, 1000), (100, 3900)] {
            convolved(&queue, [2, n, m], ConvolveMode::Full, true, &mut rng);
        }
    });
}

/// Sums of small whole numbers are exact, and an infinity changes only results with its products.
fn one_by_one(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(237);
    let mut whole = |len: usize| -> Vec<f32> { (0..len).map(|_| rng.i32(1..=100) as f32).collect() };
    let convolved = |list: &[f32], weights: &[f32], mode: Convolve| {
        let rows = [2, list.len() / 2];
        let x = queue.array(list).unwrap().reshape(rows).unwrap();
        let mut out = queue.zeros([2, rows[1] + weights.len() - 1]).unwrap();
        queue.convolve(&x, &queue.array(weights).unwrap(), mode, &mut out).unwrap();
        queue.read(&out).wait().unwrap()
    };
    let full = ConvolveMode::Full;
    let shapes =
        [(200, 64, full.into()), (64, 200, full.into()), (200, 65, full.direct()), (300, 150, full.direct())];
    for (n, m, mode) in shapes {
        let mut list = whole(2 * n);
        list[n - 1] = f32::INFINITY;
        let weights = whole(m);
        let of_row = |row: &[f32]| host::convolve(&exact(row), &exact(&weights), full).unwrap();
        let expected: Vec<f64> = list.chunks(n).flat_map(of_row).collect();
        let found = convolved(&list, &weights, mode);
        // A device may compute anything from an infinity.
        let other = |(a, b): (&f32, &f64)| b.is_finite() && f64::from(*a) != *b;
        let wrong = found.iter().zip(&expected).position(other);
        assert_eq!(wrong, None, "{n} by {m}, {mode:?}");
    }
    // With spectra, it changes results of its block, and none of another row.
    let weights = whole(65);
    let mut list = whole(400);
    let expected = convolved(&list, &weights, full.into());
    list[199] = f32::INFINITY;
    let found = convolved(&list, &weights, full.into());
    assert!(found[264..] == expected[264..]);
}

fn empty(s: &Subject) {
    let queue = s.ctx().queue("q");
    let weights = queue.full([4], 2.0_f32).unwrap();
    let x = queue.zeros([3, 0]).unwrap();
    let mut out = queue.full([3, 3], 9.0_f32).unwrap();
    queue.convolve(&x, &weights, ConvolveMode::Full, &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [0.0; 9]);
    let mut none = queue.zeros([3, 0]).unwrap();
    queue.correlate(&x, &weights, ConvolveMode::Same, &mut none).unwrap();
    let rows = queue.zeros([0, 7]).unwrap();
    queue.convolve(&rows, &weights, ConvolveMode::Valid, &mut queue.zeros([0, 4]).unwrap()).unwrap();
}

/// Windows, distances of frames, lengths of transforms, and numbers of samples. The CPU recorder has short ones alone.
fn plans(s: &Subject) -> Vec<(Vec<f32>, usize, usize, usize)> {
    let mut plans = vec![
        (Window::Hann.periodic(16), 4, 16, 100),
        (Window::Hamming.symmetric(15), 7, 15, 64),
        (Window::Kaiser { beta: 5.0 }.periodic(20), 20, 32, 61),
        (Window::Rectangle.periodic(9), 3, 13, 40),
        (Window::Blackman.periodic(30), 11, 30, 29),
        (Window::Hann.periodic(50), 20, 64, 150),
    ];
    if !s.is_cpu() {
        plans.push((Window::Hann.periodic(1024), 256, 1024, 3000));
        plans.push((Window::Hann.periodic(1500), 500, 2048, 4000));
    }
    if large() {
        plans.push((Window::FlatTop.periodic(256), 64, 256, 100_000));
        plans.push((Window::Hann.periodic(4096), 1024, 4096, 200_000));
    }
    plans
}

/// Returns the error of numbers, relative to the norm of the expected ones.
fn error(found: impl IntoIterator<Item = f64>, expected: impl IntoIterator<Item = f64>) -> f64 {
    let squares = found.into_iter().zip(expected).map(|(a, b)| [(a - b).powi(2), b * b]);
    let [wrong, all] = squares.fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d]);
    (wrong / f64::max(all, f64::MIN_POSITIVE)).sqrt()
}

fn parts(spectra: &[[f32; 2]]) -> impl Iterator<Item = f64> + '_ {
    spectra.iter().flatten().map(|&part| f64::from(part))
}

/// Bound of the relative error of a transform of `n` elements, of which a window keeps a part.
fn bound(n: usize) -> f64 {
    (4.0 + 1.5 * (1.0 + (n as f64).log2())) * U
}

/// Kinds of frames that a list of plans is tried with: centered or not, and padded at the end or not.
fn kinds(at: usize) -> [(bool, bool); 3] {
    [(false, false), (true, false), (at.is_multiple_of(2), true)]
}

/// Makes the plan for the frames of the host.
fn plan_of(ctx: &Context, window: &[f32], frames: FramesOf<'_>) -> StftPlan {
    let plan = StftPlan::padded(ctx, window, frames.hop, frames.n).unwrap();
    let plan = if frames.centered { plan.centered() } else { plan };
    if frames.pads_end { plan.pad_end() } else { plan }
}

fn frames(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(233);
    with_shares(s, || {
        for (at, (window, hop, n, samples)) in plans(s).into_iter().enumerate() {
            let of_window = exact(&window);
            for (centered, pads_end) in kinds(at) {
                let list = numbers(2 * samples, &mut rng);
                let frames = FramesOf { window: &of_window, hop, n, centered, pads_end };
                let plan = plan_of(&ctx, &window, frames);
                let expected: Vec<Complex> =
                    list.chunks(samples).flat_map(|signal| host::stft(&exact(signal), frames)).collect();
                let shape = [2, plan.frames(samples), plan.bins()];
                assert_eq!(shape.iter().product::<usize>(), expected.len(), "{frames:?} of {samples}");
                let whole = queue.array(&around(&list, f32::NAN)).unwrap();
                let x = inside(&whole).reshape([2, samples]).unwrap();
                let all = queue.full([expected.len() + 128], [7.0_f32; 2]).unwrap();
                queue.stft(&plan, &x, &mut inside(&all).reshape(shape).unwrap()).unwrap();
                let found = queue.read(&all).wait().unwrap();
                let (before, rest) = found.split_at(64);
                let (found, after) = rest.split_at(expected.len());
                assert_eq!((before, after), (&[[7.0; 2]; 64][..], &[[7.0; 2]; 64][..]));
                let wrong = error(parts(found), expected.iter().flatten().copied());
                assert!(wrong <= bound(n), "{hop}, {n}, {samples}, {centered}, {pads_end}: {wrong:e}");
            }
        }
    });
}

/// Units of the factors of a window. An `f32` cannot be as small or as large as some of their squares.
const UNITS: [f32; 3] = [1.0, 1e-20, 1e20];

fn again(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(234);
    with_shares(s, || {
        for (at, (window, hop, n, samples)) in plans(s).into_iter().enumerate() {
            // Without small factors, by which the results would be divided.
            let unit = UNITS[at % UNITS.len()];
            let window: Vec<f32> = window.iter().map(|factor| (factor.abs() + 0.05) * unit).collect();
            let of_window = exact(&window);
            for (centered, pads_end) in kinds(at) {
                let frames = FramesOf { window: &of_window, hop, n, centered, pads_end };
                let plan = plan_of(&ctx, &window, frames);
                let shape = [2, plan.frames(samples), plan.bins()];
                let len: usize = shape.iter().product();
                // Any spectra, also those of no signal.
                let list: Vec<[f32; 2]> =
                    numbers(2 * len, &mut rng).chunks(2).map(|parts| [parts[0], parts[1]]).collect();
                let complex: Vec<Complex> = list.iter().map(|number| number.map(f64::from)).collect();
                let expected: Vec<f64> = match len {
                    0 => vec![0.0; 2 * samples],
                    _ => complex
                        .chunks(len / 2)
                        .flat_map(|spectra| host::istft(spectra, frames, samples).unwrap())
                        .collect(),
                };
                let whole = queue.array(&super::around(&list, [f32::NAN; 2])).unwrap();
                let x = inside(&whole).reshape(shape).unwrap();
                let found = guarded(&queue, 2 * samples, |out| {
                    queue.istft(&plan, &x, &mut out.reshape([2, samples])?)
                });
                let wrong = error(exact(&found), expected);
                let names = format!("{hop}, {n}, {samples}, {centered}, {pads_end}, {unit:e}");
                assert!(wrong <= 4.0 * bound(n), "{names}: {wrong:e}");
            }
        }
    });
}

fn lost_samples(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let samples: Vec<f32> = (0..22).map(|i| 1.0 + (i % 7) as f32).collect();
    let x = queue.array(&samples).unwrap();
    let plan = |window: Window, n: usize, hop: usize| StftPlan::new(&ctx, &window.periodic(n), hop).unwrap();
    let hann = plan(Window::Hann, 8, 4); // the first factor is 0
    for (plan, lost) in [
        (hann.clone(), vec![0, 20, 21]),
        (hann.clone().pad_end(), vec![0]),
        (hann.centered(), vec![]),
        (plan(Window::Rectangle, 5, 8), vec![5, 6, 7, 13, 14, 15, 21]),
        (plan(Window::Rectangle, 5, 6).pad_end(), vec![5, 11, 17]),
    ] {
        let mut spectra = queue.zeros::<[f32; 2], 2>([plan.frames(22), plan.bins()]).unwrap();
        queue.stft(&plan, &x, &mut spectra).unwrap();
        let mut again = queue.full([22], 9.0_f32).unwrap();
        queue.istft(&plan, &spectra, &mut again).unwrap();
        let found = queue.read(&again).wait().unwrap();
        for (at, (found, sample)) in found.into_iter().zip(&samples).enumerate() {
            let is_right = if lost.contains(&at) { found == 0.0 } else { (found - sample).abs() < 1e-4 };
            assert!(is_right, "sample {at} without {lost:?} is {found} instead of {sample}");
        }
    }
}

fn powers(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(235);
    with_shares(s, || {
        let plans = plans(s).into_iter().filter(|plan| plan.0.len() <= plan.3);
        for (at, (window, hop, n, samples)) in plans.enumerate() {
            // A power does not depend on the unit of the window.
            let unit = UNITS[at % UNITS.len()];
            let window: Vec<f32> = window.iter().map(|factor| factor * unit).collect();
            let of_window = exact(&window);
            let frames = FramesOf { window: &of_window, hop, n, centered: false, pads_end: false };
            let plan = plan_of(&ctx, &window, frames);
            // A mean that is much larger than the rest, except where it stays.
            for (welch, rate, mean) in [
                (Welch::density(48.0), Some(48.0), 100.0),
                (Welch::spectrum(), None, 10.0),
                (Welch::density(2.0).keep_mean(), Some(2.0), 0.5),
            ] {
                let keeps = welch == welch.keep_mean();
                let list: Vec<f32> = numbers(2 * samples, &mut rng).iter().map(|x| x + mean).collect();
                let of_signal = |signal: &[f32]| host::welch(&exact(signal), frames, rate, !keeps).unwrap();
                let expected: Vec<f64> = list.chunks(samples).flat_map(of_signal).collect();
                let x = queue.array(&list).unwrap().reshape([2, samples]).unwrap();
                let found = guarded(&queue, expected.len(), |out| {
                    queue.welch(&plan, welch, &x, &mut out.reshape([2, plan.bins()])?)
                });
                let wrong = error(exact(&found), expected.iter().copied());
                // The error of the mean of a frame is relative to that mean.
                let of_mean = if keeps { 0.0 } else { 100.0 * f64::from(mean) * U };
                let names = format!("{hop}, {n}, {samples}, {unit:e}, {welch:?}");
                assert!(wrong <= 4.0 * bound(n) + of_mean, "{names}: {wrong:e}");
            }
        }
    });
}

/// Compares with results of NumPy and SciPy: exact fractions, from their definitions.
fn literals(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = queue.array(&[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let weights = queue.array(&[1.0_f32, 10.0, 100.0, 1000.0]).unwrap();
    let mut out = queue.zeros([4]).unwrap();
    // numpy.convolve(x, w, "same") and numpy.correlate(x, w, "same")
    queue.convolve(&x, &weights, ConvolveMode::Same, &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [12.0, 123.0, 1234.0, 2340.0]);
    queue.correlate(&x, &weights, ConvolveMode::Same, &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [2100.0, 3210.0, 4321.0, 432.0]);
    // numpy.correlate(x, w, "full") and scipy.signal.convolve(x[:2], w, "same")
    let mut all = queue.zeros([7]).unwrap();
    queue.correlate(&x, &weights, ConvolveMode::Full, &mut all).unwrap();
    assert_eq!(queue.read(&all).wait().unwrap(), [1000.0, 2100.0, 3210.0, 4321.0, 432.0, 43.0, 4.0]);
    let mut two = queue.zeros([2]).unwrap();
    queue.convolve(&x.slice(0..2).unwrap(), &weights, ConvolveMode::Same, &mut two).unwrap();
    assert_eq!(queue.read(&two).wait().unwrap(), [12.0, 120.0]);

    // stft(x, window=w, nperseg=4, noverlap=2, boundary=None, padded=False)[2].T * sum(w)
    let plan = StftPlan::new(&ctx, &[1.0, 2.0, 2.0, 1.0], 2).unwrap();
    let x = queue.array(&[1.0_f32, 2.0, 3.0, 4.0, 3.0, 2.0]).unwrap();
    let mut spectra = queue.zeros::<[f32; 2], 2>([2, 3]).unwrap();
    queue.stft(&plan, &x, &mut spectra).unwrap();
    let expected = [[15.0, 0.0], [-5.0, 0.0], [-1.0, 0.0], [19.0, 0.0], [-3.0, -6.0], [-1.0, 0.0]];
    let found = queue.read(&spectra).wait().unwrap();
    assert!(error(parts(&found), expected.into_iter().flatten()) < 1e-6, "{found:?}");

    // welch(x, fs=2, window=w, nperseg=4, noverlap=2), and with scaling="spectrum"
    let power = |plan: &StftPlan, welch: Welch, x: &DeviceArray<f32>| -> Vec<f32> {
        let mut out = queue.zeros([plan.bins()]).unwrap();
        queue.welch(plan, welch, x, &mut out).unwrap();
        queue.read(&out).wait().unwrap()
    };
    let near = |found: &[f32], expected: &[f64]| {
        assert!(error(exact(found), expected.iter().copied()) < 1e-6, "{found:?} is not {expected:?}");
    };
    near(&power(&plan, Welch::density(2.0), &x), &[0.025, 1.075, 0.05]);
    near(&power(&plan, Welch::spectrum(), &x), &[1.0 / 72.0, 43.0 / 72.0, 2.0 / 72.0]);
    // welch(x, fs=1.5, window=w, nperseg=3, noverlap=0), and with scaling="spectrum"
    let plan = StftPlan::new(&ctx, &[1.0, 2.0, 1.0], 3).unwrap();
    let x = queue.array(&[1.0_f32, 2.0, 3.0, 5.0, 4.0, 0.0]).unwrap();
    near(&power(&plan, Welch::density(1.5), &x), &[1.0 / 18.0, 28.0 / 9.0]);
    near(&power(&plan, Welch::spectrum(), &x), &[1.0 / 32.0, 1.75]);
}

fn in_a_graph(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(236);
    let plan = StftPlan::new(&ctx, &Window::Hann.periodic(32), 8).unwrap().centered();
    let of_power = StftPlan::new(&ctx, &Window::Hann.periodic(32), 16).unwrap();
    let weights = queue.array(&numbers(70, &mut rng)).unwrap();
    let spectra = queue.zeros::<[f32; 2], 2>([plan.frames(320), plan.bins()]).unwrap();
    let x = queue.zeros::<f32, 1>([320]).unwrap();
    let enqueue = |queue: &CommandQueue, x: &DeviceArray<f32>, out: &DeviceArray<f32>| {
        queue.stft(&plan, x, &mut spectra.clone())?;
        queue.istft(&plan, &spectra, &mut out.slice(0..320)?)?;
        queue.convolve(x, &weights, ConvolveMode::Same, &mut out.slice(320..640)?)?;
        queue.correlate(x, &weights.slice(0..5)?, ConvolveMode::Same, &mut out.slice(640..960)?)?;
        queue.welch(&of_power, Welch::spectrum(), x, &mut out.slice(960..977)?)
    };
    let lists: Vec<Vec<f32>> = (0..3).map(|_| numbers(320, &mut rng)).collect();
    check_replays(&queue, x, 1024, enqueue, lists, |list, found| {
        assert!(error(exact(&found[..320]), exact(list)) < 1e-6, "the signal comes back");
    });
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    queue.full([1], 0_u32).unwrap(); // the dump has the queues with commands
    let before = dump::enqueued(&ctx, "q");
    let zeros = |shape: [usize; 2]| ctx.zeros::<f32, 2>(shape).unwrap();
    let list = |len: usize| ctx.zeros::<f32, 1>([len]).unwrap();
    let x = zeros([2, 50]);
    let mut out = zeros([2, 50]);
    let error = assert_refused!(queue.convolve(&x, &list(0), ConvolveMode::Same, &mut out), Shape);
    assert!(error.to_string().starts_with("verb `convolve`, argument `weights`: array `"), "{error}");
    let error = assert_refused!(queue.correlate(&x, &list(51), ConvolveMode::Valid, &mut out), Shape);
    assert!(error.to_string().starts_with("verb `correlate`, argument `weights`: array `"), "{error}");
    let error = assert_refused!(queue.convolve(&x, &list(3), ConvolveMode::Full, &mut out), Shape);
    assert!(error.to_string().contains("[2, 52] is needed"), "{error}");
    for m in [3, 70] {
        let error =
            assert_refused!(queue.convolve(&x, &list(m), ConvolveMode::Same, &mut x.clone()), Aliased);
        assert!(error.to_string().starts_with("verb `convolve`: arguments `x` and `out` overlap"), "{error}");
    }
    let one = ctx.zeros::<f32, 0>([0_usize; 0]).unwrap();
    assert_refused!(queue.convolve(&one, &list(1), ConvolveMode::Same, &mut one.clone()), Axis { .. });

    let window = Window::Hann.periodic(16);
    for refused in [
        StftPlan::new(&ctx, &window, 0),
        StftPlan::new(&ctx, &[], 1),
        StftPlan::padded(&ctx, &window, 4, 15),
        StftPlan::padded(&ctx, &window, 4, (1 << 22) + 1),
        StftPlan::new(&ctx, &vec![1.0; 65_536], 1),
        StftPlan::new(&ctx, &[1.0, f32::NAN], 1),
        StftPlan::new(&ctx, &[f32::INFINITY, 1.0], 1),
    ] {
        assert_refused!(refused.map(drop), Value);
    }
    let plan = StftPlan::new(&ctx, &window, 4).unwrap();
    let mut spectra = ctx.zeros::<[f32; 2], 3>([2, 9, 9]).unwrap();
    let mut short = ctx.zeros::<[f32; 2], 3>([2, 8, 9]).unwrap();
    let error = assert_refused!(queue.stft(&plan, &x, &mut short), Shape);
    assert!(error.to_string().starts_with("verb `stft`, argument `out`: array `"), "{error}");
    let error = assert_refused!(queue.istft(&plan, &short, &mut out), Shape);
    assert!(error.to_string().starts_with("verb `istft`, argument `x`: array `"), "{error}");
    assert_refused!(queue.stft(&plan, &x, &mut ctx.zeros::<[f32; 2], 2>([9, 9]).unwrap()), Shape);
    let mut power = zeros([2, 9]);
    let error = assert_refused!(queue.welch(&plan, Welch::spectrum(), &zeros([2, 15]), &mut power), Shape);
    assert!(error.to_string().starts_with("verb `welch`, argument `x`: array `"), "{error}");
    assert_refused!(queue.welch(&plan, Welch::spectrum(), &x, &mut out), Shape);
    for plan in [plan.clone().centered(), plan.clone().pad_end()] {
        assert_refused!(queue.welch(&plan, Welch::spectrum(), &x, &mut power), Value);
    }
    for rate in [0.0, -48.0, f64::NAN, f64::INFINITY] {
        let refused = queue.welch(&plan, Welch::density(rate), &x, &mut power);
        let error = assert_refused!(refused, Value);
        assert!(error.to_string().starts_with("verb `welch`, argument `welch`: the factor"), "{error}");
    }
    let balanced = StftPlan::new(&ctx, &[1.0, -1.0], 1).unwrap();
    assert_refused!(queue.welch(&balanced, Welch::spectrum(), &x, &mut zeros([2, 2])), Value);
    let foreign = StftPlan::new(&s.ctx(), &window, 4).unwrap();
    let error = assert_refused!(queue.stft(&foreign, &x, &mut spectra), ForeignContext);
    assert!(error.to_string().starts_with("verb `stft`, argument `plan`: array `"), "{error}");
    assert_eq!(dump::enqueued(&ctx, "q"), before);
}
