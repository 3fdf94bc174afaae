//! A01, A12: histograms with weights.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_histogram_with_weights_enqueues_nothing", refused),
        case("a01_a_histogram_with_weights_and_a_hazard_enqueues_nothing", hazard),
        case("a01_a_histogram_with_weights_in_a_graph_equals_that_of_the_host", in_a_graph),
        case("a12_sums_of_whole_weights_are_exact_and_wrap", whole),
        case("a12_sums_of_fixed_points_are_within_their_bound", fixed),
        case("a12_weights_out_of_the_range_of_a_fixed_point_are_its_ends", ends),
        case("a12_a_histogram_with_weights_writes_its_sums_alone", guards),
    ]
}

fn lengths() -> Vec<usize> {
    if large() { super::lengths() } else { vec![1, 257, 16_385] }
}

fn whole(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(121);
    for len in [vec![0], lengths()].concat() {
        let words: Vec<u32> = (0..len).map(|_| rng.u32(..)).collect();
        let weights: Vec<u32> = (0..len).map(|_| rng.u32(..)).collect();
        let x = queue.array(&words).unwrap();
        let added = queue.array(&weights).unwrap();
        for bins in [1, 7, 256, 300] {
            let mut sums = queue.full([bins], 9).unwrap();
            queue.histogram_weighted(&x, &added, Bins::modulo(), &mut sums).unwrap();
            let expected = host::histogram_weighted(&words, &weights, Bins::modulo(), bins);
            assert!(Some(queue.read(&sums).wait().unwrap()) == expected, "{len} in {bins} bins");
        }
        let numbers: Vec<f32> = words.iter().map(|&word| word as f32 / 1e9).collect();
        let x = queue.array(&numbers).unwrap();
        let mut sums = queue.full([33], 9).unwrap();
        queue.histogram_weighted(&x, &added, Bins::even(0.5..3.0), &mut sums).unwrap();
        let expected = host::histogram_weighted(&numbers, &weights, Bins::even(0.5..3.0), 33);
        assert!(Some(queue.read(&sums).wait().unwrap()) == expected, "{len} between edges");
    }
}

fn fixed(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(122);
    for len in lengths() {
        let words: Vec<u32> = (0..len).map(|_| rng.u32(..)).collect();
        let weights: Vec<f32> = (0..len).map(|_| rng.f32() - 0.25).collect();
        let x = queue.array(&words).unwrap();
        let added = queue.array(&weights).unwrap();
        for (bins, fraction_bits) in [(5, 0), (5, 10), (300, 16)] {
            let mut sums = queue.full([bins], 9.0).unwrap();
            queue.histogram_fixed(&x, &added, fraction_bits, Bins::modulo(), &mut sums).unwrap();
            let found = queue.read(&sums).wait().unwrap();
            let on_host =
                host::histogram_fixed(&words, &weights, fraction_bits, Bins::modulo(), bins).unwrap();
            for (bin, (found, on_host)) in found.into_iter().zip(on_host).enumerate() {
                let own = words.iter().zip(&weights).filter(|(word, _)| **word as usize % bins == bin);
                let (count, exact) =
                    own.fold((0.0, 0.0), |(count, sum), (_, &weight)| (count + 1.0, sum + f64::from(weight)));
                let rounding = exact.abs() * 2_f64.powi(-23);
                let bound = count * 2_f64.powi(-(fraction_bits as i32) - 1) + rounding;
                assert!((f64::from(found) - exact).abs() <= bound, "bin {bin}: {found} for {exact}");
                assert!((f64::from(found) - f64::from(on_host)).abs() <= rounding, "bin {bin}: {on_host}");
            }
        }
    }
}

fn ends(s: &Subject) {
    let queue = s.ctx().queue("q");
    let special =
        [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, 0.5, 1.5, 2.5, -0.5, 8.0, -8.0];
    let words: Vec<u32> = (0..special.len() as u32).collect();
    let x = queue.array(&words).unwrap();
    let weights = queue.array(&special).unwrap();
    for fraction_bits in [0, 1, 28, 31] {
        let mut sums = queue.zeros([special.len()]).unwrap();
        queue.histogram_fixed(&x, &weights, fraction_bits, Bins::modulo(), &mut sums).unwrap();
        let found = queue.read(&sums).wait().unwrap();
        let end = 2_f32.powi(31 - fraction_bits as i32);
        let expected = match fraction_bits {
            // A tie between two integers rounds to the even one.
            0 => [0.0, 0.0, end, -end, end, -end, 0.0, 2.0, 2.0, 0.0, 8.0, -8.0],
            1 => [0.0, 0.0, end, -end, end, -end, 0.5, 1.5, 2.5, -0.5, 8.0, -8.0],
            28 => [0.0, 0.0, end, -end, end, -end, 0.5, 1.5, 2.5, -0.5, end, -end],
            _ => [0.0, 0.0, end, -end, end, -end, 0.5, end, end, -0.5, end, -end],
        };
        for (found, expected) in found.iter().zip(expected) {
            // The greatest number is 1 below the limit, and may be rounded up or down.
            assert!((found - expected).abs() <= expected.abs() * 2_f32.powi(-23), "{found} for {expected}");
        }
        let on_host = host::histogram_fixed(&words, &special, fraction_bits, Bins::modulo(), 12).unwrap();
        assert_eq!(on_host, expected);
    }
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    let x = queue.full([100], 1_u32).unwrap();
    let weights = queue.full([100], 2_u32).unwrap();
    let mut sums = queue.full([4], 9_u32).unwrap();
    let bins = Bins::modulo;
    assert_refused!(queue.histogram_weighted(&x, &queue.zeros([99]).unwrap(), bins(), &mut sums), Shape);
    let error = queue.histogram_weighted(&x, &weights, Bins::edges(&[1, 2]), &mut sums).unwrap_err();
    assert!(
        error.to_string().starts_with("verb `histogram_weighted`: the array of counts has shape"),
        "{error}"
    );
    let call = queue.histogram_weighted(&x, &weights, bins(), &mut weights.clone());
    assert_refused!(call, Aliased { first, .. } if first == "weights");
    let mut foreign = other.zeros([4]).unwrap();
    assert_refused!(queue.histogram_weighted(&x, &weights, bins(), &mut foreign), ForeignContext);
    let numbers = weights.cast_bits::<f32>();
    let error = queue.histogram_fixed(&x, &numbers, 32, bins(), &mut sums.cast_bits()).unwrap_err();
    assert!(error.to_string().contains("32"), "{error}");
    assert!(matches!(error.detail(), ErrorDetail::Value { .. }), "{error}");
    assert_eq!(host::histogram_fixed(&[1_u32], &[1.0], 32, bins(), 4), None);
    assert_eq!(host::histogram_weighted(&[1_u32, 2], &[1], bins(), 4), None);
    assert_refused!(queue.histogram_fixed(&x, &numbers, 8, bins(), &mut numbers.clone()), Aliased);
    assert_eq!(queue.read(&sums).wait().unwrap(), [9; 4]);
    assert_eq!(queue.read(&weights).wait().unwrap(), vec![2; 100]);
}

fn hazard(s: &Subject) {
    enqueue_nothing_with_a_hazard(
        s,
        100,
        &[
            |queue, x, out| queue.histogram_weighted(x, x, Bins::modulo(), out),
            |queue, x, out| queue.histogram_fixed(x, &x.cast_bits(), 8, Bins::modulo(), &mut out.cast_bits()),
        ],
    );
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    let len = 5000;
    let mut x = queue.zeros::<u32, 1>([len]).unwrap();
    let mut weights = queue.zeros::<u32, 1>([len]).unwrap();
    let mut sums = queue.zeros([10]).unwrap();
    let mut numbers = queue.zeros([10]).unwrap();
    let (graph, ()) = queue
        .capture(|c| {
            c.histogram_weighted(
                &x,
                &weights,
                Bins::edges(&[0, 5, 1 << 30, u32::MAX]),
                &mut sums.slice(0..3)?,
            )?;
            c.histogram_weighted(&x, &weights, Bins::modulo(), &mut sums)?;
            c.histogram_fixed(&x, &weights.cast_bits(), 4, Bins::modulo(), &mut numbers)
        })
        .unwrap();
    for round in 0..2_u32 {
        let list: Vec<u32> = (0..len as u32).map(|i| (i ^ round).wrapping_mul(0x9E37_79B9)).collect();
        let added: Vec<u32> = list.iter().map(|word| ((word >> 25) as f32).to_bits()).collect();
        queue.upload(&list, &mut x).unwrap();
        queue.upload(&added, &mut weights).unwrap();
        queue.replay(&graph).unwrap();
        let expected = host::histogram_weighted(&list, &added, Bins::modulo(), 10);
        assert_eq!(Some(queue.read(&sums).wait().unwrap()), expected, "round {round}");
        let expected = host::histogram_fixed(&list, bytemuck::cast_slice(&added), 4, Bins::modulo(), 10);
        assert_eq!(Some(queue.read(&numbers).wait().unwrap()), expected, "round {round}");
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list: Vec<u32> = (0..16_500_u32).map(|i| i.wrapping_mul(i)).collect();
    let all = queue.array(&around(&list, 1)).unwrap();
    let x = inside(&all);
    for bins in [100, 3000] {
        let sums = guarded(&queue, bins, |out| {
            queue.histogram_weighted(&x, &x, Bins::modulo(), out)?;
            queue.histogram_weighted(&x, &x, Bins::modulo(), out)
        });
        assert!(Some(sums) == host::histogram_weighted(&list, &list, Bins::modulo(), bins), "{bins} bins");
        assert!(queue.read(&all).wait().unwrap() == around(&list, 1), "the input stays");
    }
}
