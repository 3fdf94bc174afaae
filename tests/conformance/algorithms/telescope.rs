//! A05, A14, A22: the operations of katsdpsigproc, as its page describes them. Host functions compute the same.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a05_columns_of_visibilities_are_summed_with_a_mask", masked_sums),
        case("a05_a_range_of_columns_is_combined_in_each_row", ranges),
        case("a14_percentiles_of_visibilities_are_those_of_their_amplitudes", percentiles),
        case("a14_noise_is_the_median_of_the_deviations_that_are_not_zero", noises),
        case("a22_a_background_is_the_median_of_the_neighbours_without_flags", backgrounds),
        case("a22_each_deviation_above_its_threshold_is_flagged", thresholds),
    ]
}

/// Returns visibilities whose parts are multiples of 1/8, so that their sums are exact.
fn visibilities(count: usize, rng: &mut fastrand::Rng) -> Vec<[f32; 2]> {
    (0..count).map(|_| [(); 2].map(|()| rng.i32(-40..40) as f32 / 8.0)).collect()
}

fn amplitudes(vis: &[[f32; 2]]) -> Vec<f32> {
    vis.iter().map(|[re, im]| re.hypot(*im)).collect()
}

#[track_caller]
fn close(found: &[f32], expected: &[f32], bound: f32, message: &str) {
    assert_eq!(found.len(), expected.len(), "{message}");
    for (at, (a, b)) in found.iter().zip(expected).enumerate() {
        let is_close = (a - b).abs() <= bound || (a.is_nan() && b.is_nan());
        assert!(is_close, "{message}: result {at} is {a}, and {b} on the host");
    }
}

fn masked_sums(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(231);
    for shape in [[1, 1], [30, 5], [300, 2]] {
        let [rows, columns] = shape;
        let list = visibilities(rows * columns, &mut rng);
        let weights: Vec<f32> = (0..rows).map(|_| [0.0, 0.5, 1.0][rng.usize(..3)]).collect();
        let vis = queue.array(&list).unwrap().reshape(shape).unwrap();
        let mask = queue.array(&weights).unwrap().reshape([rows, 1]).unwrap();
        let mut masked = queue.empty::<[f32; 2], 2>(shape).unwrap();
        let mut sums = queue.empty::<[f32; 2], 2>([1, columns]).unwrap();
        queue.map(args![x = &vis, mask = &mask], "x * mask", &mut masked).unwrap();
        queue.reduce(masked.axis(0), Monoid::new("a + b", [0.0_f32; 2]), &mut sums).unwrap();
        let mut expected = vec![[0.0; 2]; columns];
        let mut of_amplitudes = vec![0.0; columns];
        for (row, weight) in list.chunks(columns).zip(&weights) {
            for (column, [re, im]) in row.iter().enumerate() {
                expected[column][0] += re * weight;
                expected[column][1] += im * weight;
                of_amplitudes[column] += re.hypot(*im) * weight;
            }
        }
        assert_eq!(queue.read(&sums).wait().unwrap(), expected, "{shape:?}");
        let mut masked = queue.empty::<f32, 2>(shape).unwrap();
        let mut sums = queue.empty::<f32, 2>([1, columns]).unwrap();
        queue.map(args![x = &vis, mask = &mask], "length(x) * mask", &mut masked).unwrap();
        queue.reduce(masked.axis(0), Monoid::new("a + b", 0.0_f32), &mut sums).unwrap();
        let bound = 1e-5 * 10.0 * rows as f32;
        close(&queue.read(&sums).wait().unwrap(), &of_amplitudes, bound, &format!("amplitudes of {shape:?}"));
    }
}

fn ranges(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(232);
    for (rows, columns, range) in [(129, 173, 67..128_usize), (7, 8, 1..7)] {
        let list: Vec<u32> = (0..rows * columns).map(|_| rng.u32(..100_000)).collect();
        let x = queue.array(&list).unwrap().reshape([rows, columns]).unwrap();
        let mut part = queue.empty::<u32, 2>([rows, range.len()]).unwrap();
        let mut out = queue.empty::<u32, 2>([rows, 1]).unwrap();
        queue.copy_region(&x, region![.., range.clone()], &mut part, region![]).unwrap();
        queue.reduce(part.axis(1), Monoid::new("a + b", 0_u32), &mut out).unwrap();
        let expected: Vec<u32> = list.chunks(columns).map(|row| row[range.clone()].iter().sum()).collect();
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "{rows} rows of {columns}");
    }
}

fn percentiles(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(233);
    for [rows, columns] in [[3, 1], [9, 33], [2, 300]] {
        let mut list = visibilities(rows * columns, &mut rng);
        list[columns] = [f32::NAN, 1.0]; // in the second row
        let vis = queue.array(&list).unwrap().reshape([rows, columns]).unwrap();
        let mut lengths = queue.empty::<f32, 2>([rows, columns]).unwrap();
        let mut out = queue.empty::<f32, 3>([5, rows, 1]).unwrap();
        let parts = [0.0, 1.0, 0.25, 0.75, 0.5];
        let lower = QuantileMethod::Lower;
        queue.map(args![x = &vis], "length(x)", &mut lengths).unwrap();
        queue.quantile(lengths.axis(1), Quantiles::several(&parts).method(lower), &mut out).unwrap();
        let all = amplitudes(&list);
        let of_rows = |&q: &f64| {
            let of_row = move |row: &[f32]| host::quantile(row, q, lower, Nan::Propagate).unwrap();
            all.chunks(columns).map(of_row)
        };
        let expected: Vec<f32> = parts.iter().flat_map(of_rows).collect();
        assert!(expected[1].is_nan() && !expected[0].is_nan());
        close(&queue.read(&out).wait().unwrap(), &expected, 1e-5, &format!("{rows} rows of {columns}"));
    }
}

/// Returns the noise of each column of deviations.
fn noise(queue: &CommandQueue, list: &[f32], shape: [usize; 2]) -> Vec<f32> {
    let deviations = queue.array(list).unwrap().reshape(shape).unwrap();
    let mut magnitudes = queue.empty::<u32, 2>(shape).unwrap();
    let mut noise = queue.empty::<f32, 2>([1, shape[1]]).unwrap();
    let magnitude = "select(bitcast<u32>(abs(x)), 0x7fc00000u, x == 0.0)";
    queue.map(args![x = &deviations], magnitude, &mut magnitudes).unwrap();
    queue.median(magnitudes.cast_bits::<f32>().axis(0).skip_nan(), &mut noise).unwrap();
    queue.map_in_place(args![x = &mut noise], "1.4826 * x").unwrap();
    queue.read(&noise).wait().unwrap()
}

fn noises(s: &Subject) {
    let queue = s.ctx().queue("q");
    // The numbers of katsdpsigproc's `test_noise_est.py`, with a fourth baseline without deviations.
    let list = [[0.0, 3.0, 2.4, 0.0], [1.5, -1.4, 4.6, -0.0], [0.0, 1.1, 3.3, 0.0], [5.0, 0.0, -3.1, 0.0]];
    let expected = [3.25, 1.4, 3.2, f32::NAN].map(|median| 1.4826 * median);
    close(&noise(&queue, &list.concat(), [4, 4]), &expected, 1e-5, "four channels");
    let mut rng = fastrand::Rng::with_seed(234);
    for shape in [[117, 9], [2, 70], [1, 3]] {
        let number = |rng: &mut fastrand::Rng| if rng.u32(..3) == 0 { 0.0 } else { rng.f32() * 4.0 - 2.0 };
        let list: Vec<f32> = (0..shape[0] * shape[1]).map(|_| number(&mut rng)).collect();
        let of_column = |column: usize| {
            let magnitudes = list.iter().skip(column).step_by(shape[1]).map(|x| x.abs());
            let others: Vec<f32> = magnitudes.filter(|&x| x > 0.0).collect();
            1.4826 * host::median(&others, Nan::Propagate).unwrap_or(f32::NAN)
        };
        let expected: Vec<f32> = (0..shape[1]).map(of_column).collect();
        close(&noise(&queue, &list, shape), &expected, 1e-5, &format!("{shape:?}"));
    }
}

/// Returns the deviations of visibilities from the background of a width.
fn deviations(
    queue: &CommandQueue,
    vis: &[[f32; 2]],
    shape: [usize; 2],
    flags: &DeviceArray<u32, 2>,
    width: usize,
) -> Vec<f32> {
    let vis = queue.array(vis).unwrap().reshape(shape).unwrap();
    let [mut amplitudes, mut background, mut deviations] =
        [(); 3].map(|()| queue.empty::<f32, 2>(shape).unwrap());
    queue.map(args![v = &vis], "length(v)", &mut amplitudes).unwrap();
    let windows = Rolling::median([width, 1]).skip_nan().without(flags);
    queue.rolling(&amplitudes, &mut background, windows).unwrap();
    let difference = "select(x - m, 0.0, f != 0u || (bitcast<u32>(x - m) & 0x7fffffffu) > 0x7f800000u)";
    queue.map(args![x = &amplitudes, m = &background, f = flags], difference, &mut deviations).unwrap();
    queue.read(&deviations).wait().unwrap()
}

fn backgrounds(s: &Subject) {
    let queue = s.ctx().queue("q");
    // The numbers of katsdpsigproc's `test_background.py`.
    let few = [[1.25, 0.0], [0.0, 1.5], [1.0, 0.0], [2.0, 0.0], [-1.75, 0.0], [2.0, 0.0]];
    for (flags, expected) in [
        ([0, 0, 0, 0, 0, 0], [-0.125, 0.25, -0.5, 0.25, -0.25, 0.125]),
        ([0, 0, 1, 0, 0, 4], [-0.125, 0.125, 0.0, 0.125, -0.125, 0.0]),
    ] {
        let on_device = queue.array(&flags).unwrap().reshape([6, 1]).unwrap();
        close(&deviations(&queue, &few, [6, 1], &on_device, 3), &expected, 1e-5, &format!("flags {flags:?}"));
    }
    let mut rng = fastrand::Rng::with_seed(235);
    let shape = [60, 7];
    let mut vis = visibilities(420, &mut rng);
    vis.iter_mut().step_by(17).for_each(|vis| *vis = [f32::NAN, 1.0]);
    let all = amplitudes(&vis);
    let none = vec![0_u32; 60];
    let of_channels: Vec<u32> = (0..60).map(|_| u32::from(rng.u32(..8) == 0)).collect();
    let mut full: Vec<u32> = (0..420).map(|_| u32::from(rng.u32(..8) == 0)).collect();
    full[140..210].fill(4); // windows without elements
    for (flags, columns) in [(none, 1), (of_channels, 1), (full, 7), (vec![1; 60], 1)] {
        let on_device = queue.array(&flags).unwrap().reshape([60, columns]).unwrap();
        let is_kept = |place: usize| flags[if columns == 1 { place / 7 } else { place }] == 0;
        for width in [3, 5, 31] {
            let median = |window: &[f32]| host::median(window, Nan::Ignore).unwrap_or(f32::NAN);
            let background = host::rolling(&all, shape, [width, 1], is_kept, median);
            let deviation = |place: usize| {
                let difference = all[place] - background[place];
                if is_kept(place) && !difference.is_nan() { difference } else { 0.0 }
            };
            let expected: Vec<f32> = (0..420).map(deviation).collect();
            let found = deviations(&queue, &vis, shape, &on_device, width);
            let message = format!("{columns} columns of flags, width {width}");
            close(&found, &expected, 1e-5, &message);
            let is_zero = |place: usize| (is_kept(place) && !all[place].is_nan()) || found[place] == 0.0;
            assert!((0..420).all(is_zero), "{message}: flagged deviations are 0");
        }
    }
}

fn thresholds(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(236);
    let noise = [0.0, 0.125, 0.25, 0.5, f32::NAN];
    let list: Vec<f32> = (0..300).map(|_| rng.i32(-40..40) as f32 / 8.0).collect();
    let deviations = queue.array(&list).unwrap().reshape([60, 5]).unwrap();
    let of_columns = queue.array(&noise).unwrap().reshape([1, 5]).unwrap();
    let mut flags = queue.full([60, 5], 9_u32).unwrap();
    let inputs = args![x = &deviations, noise = &of_columns, n = 8.0_f32];
    queue.map(inputs, "u32(x > n * noise)", &mut flags).unwrap();
    let expected: Vec<u32> =
        list.iter().zip(noise.iter().cycle()).map(|(&x, &noise)| u32::from(x > 8.0 * noise)).collect();
    assert_eq!(queue.read(&flags).wait().unwrap(), expected);
}
