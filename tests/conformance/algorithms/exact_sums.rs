//! A12: histograms with weights of `f32`, whose sums are exact and rounded once.

use super::everywhere::CANCELLED;
use super::*;
use crate::common::raw;

pub fn cases() -> Vec<Case> {
    vec![
        case("a12_sums_of_floats_are_the_exact_sums_rounded_once", exact),
        case("a12_sums_of_floats_do_not_depend_on_the_order_of_the_elements", order),
        case("a12_a_sum_of_floats_keeps_what_is_left_after_large_weights_cancel", cancelled),
        case("a12_a_weight_that_is_not_finite_decides_its_sum_alone", special),
        case("a12_a_histogram_with_floats_writes_its_sums_alone", guards),
        case("a12_bins_of_floats_that_a_device_cannot_bind_are_refused_with_the_most_bins", too_many)
            .gpu_only("the case limits a wgpu device"),
    ]
}

fn lengths() -> Vec<usize> {
    if large() { super::lengths() } else { vec![1, 257, 16_385] }
}

/// Returns the bits of the sums of a queue.
fn sums(queue: &CommandQueue, words: &[u32], weights: &[f32], bins: usize) -> Vec<u32> {
    let x = queue.array(words).unwrap();
    let added = queue.array(weights).unwrap();
    let mut sums = queue.full([bins], 9.0_f32).unwrap();
    queue.histogram_weighted(&x, &added, Bins::modulo(), &mut sums).unwrap();
    queue.read(&sums.cast_bits::<u32>()).wait().unwrap()
}

/// Returns the bits of the sums of the host.
fn of_host(words: &[u32], weights: &[f32], bins: usize) -> Vec<u32> {
    let sums = host::histogram_weighted(words, weights, Bins::modulo(), bins).unwrap();
    sums.into_iter().map(f32::to_bits).collect()
}

/// Returns a finite number with random bits.
fn finite(rng: &mut fastrand::Rng) -> f32 {
    let number = f32::from_bits(rng.u32(..));
    if number.is_finite() { number } else { 1.5 }
}

fn exact(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(123);
    for len in [vec![0], lengths()].concat() {
        let words: Vec<u32> = (0..len).map(|_| rng.u32(..)).collect();
        let near: Vec<f32> = (0..len).map(|_| rng.f32() - 0.4).collect();
        let far: Vec<f32> = (0..len).map(|_| finite(&mut rng)).collect();
        let subnormal: Vec<f32> = (0..len).map(|_| f32::from_bits(rng.u32(..0x0100_0000))).collect();
        for weights in [near, far, subnormal] {
            // 256 bins are the last ones that are added in the memory of a workgroup.
            for bins in [1, 7, 256, 257] {
                let found = sums(&queue, &words, &weights, bins);
                assert!(found == of_host(&words, &weights, bins), "{len} weights in {bins} bins");
            }
        }
        let numbers: Vec<f32> = words.iter().map(|&word| word as f32 / 1e9).collect();
        let weights: Vec<f32> = (0..len).map(|_| rng.f32() * 1e6 - 3e5).collect();
        let x = queue.array(&numbers).unwrap();
        let mut sums = queue.full([33], 9.0_f32).unwrap();
        let bins = || Bins::even(0.5..3.0);
        queue.histogram_weighted(&x, &queue.array(&weights).unwrap(), bins(), &mut sums).unwrap();
        let expected = host::histogram_weighted(&numbers, &weights, bins(), 33);
        assert!(Some(queue.read(&sums).wait().unwrap()) == expected, "{len} weights between edges");
    }
}

fn order(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(124);
    let mut pairs: Vec<(u32, f32)> =
        (0..20_481).map(|_| (rng.u32(..50), (rng.f32() - 0.5) * 10_f32.powi(rng.i32(-20..20)))).collect();
    let mut found = Vec::new();
    for _ in 0..3 {
        rng.shuffle(&mut pairs);
        let (words, weights): (Vec<u32>, Vec<f32>) = pairs.iter().copied().unzip();
        found.push(sums(&queue, &words, &weights, 50));
    }
    assert!(found[0] == found[1] && found[1] == found[2], "the order of the elements changes a sum");
    // Sums of `f32` one after the other depend on the order.
    let added = |pairs: &[(u32, f32)]| pairs.iter().fold(0.0, |sum: f32, &(_, weight)| sum + weight);
    let ascending = added(&pairs);
    pairs.sort_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    assert_ne!(ascending, added(&pairs), "the weights are too simple");
}

/// Checks the sums of lists of weights, one bin for each.
#[track_caller]
fn check(queue: &CommandQueue, lists: &[(&[f32], f32)]) {
    let pairs = (0..).zip(lists).flat_map(|(bin, (list, _))| list.iter().map(move |&weight| (bin, weight)));
    let (words, weights): (Vec<u32>, Vec<f32>) = pairs.unzip();
    let found = sums(queue, &words, &weights, lists.len());
    for (found, (list, expected)) in found.into_iter().zip(lists) {
        assert_eq!(found, expected.to_bits(), "{} for {list:?}", f32::from_bits(found));
    }
    assert_eq!(
        of_host(&words, &weights, lists.len()),
        lists.iter().map(|list| list.1.to_bits()).collect::<Vec<_>>()
    );
}

fn cancelled(s: &Subject) {
    check(&s.ctx().queue("q"), CANCELLED);
}

fn special(s: &Subject) {
    let infinite = f32::INFINITY;
    check(
        &s.ctx().queue("q"),
        &[
            (&[1.0, infinite, -2.0], infinite),
            (&[-infinite, 1.0, -infinite], -infinite),
            (&[infinite, 5.0, -infinite], f32::NAN),
            (&[1.0, f32::NAN], f32::NAN),
            (&[-f32::NAN, infinite], f32::NAN),
            (&[f32::from_bits(0xFF80_0001)], f32::NAN),
            (&[2.0], 2.0),
        ],
    );
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list: Vec<u32> = (0..16_500_u32).map(|i| i.wrapping_mul(i)).collect();
    let weights: Vec<f32> = list.iter().map(|&word| word as f32 * 1e-3 - 7.0).collect();
    let all = queue.array(&around(&list, 1)).unwrap();
    let of_weights = queue.array(&around(&weights, f32::INFINITY)).unwrap();
    for bins in [100, 3000] {
        // The second call replaces the sums of the first one.
        let found = guarded(&queue, bins, |out| {
            queue.histogram_weighted(&inside(&all), &inside(&of_weights), Bins::modulo(), out)?;
            queue.histogram_weighted(&inside(&all), &inside(&of_weights), Bins::modulo(), out)
        });
        assert!(
            Some(found) == host::histogram_weighted(&list, &weights, Bins::modulo(), bins),
            "{bins} bins"
        );
        assert!(queue.read(&all).wait().unwrap() == around(&list, 1), "the input stays");
    }
}

fn too_many(s: &Subject) {
    let (device, wgpu_queue) = raw::open_with(s, |limits| limits.max_storage_buffer_binding_size = 1 << 16);
    // A browser gives no device less than the default of WebGPU.
    let binding = device.limits().max_storage_buffer_binding_size;
    let ctx = Context::adopt(device, wgpu_queue, AdoptOptions::default()).unwrap();
    let queue = ctx.queue("q");
    let most = (binding / 44) as usize;
    let x = queue.array(&[most as u32 - 1, most as u32, 3]).unwrap();
    let weights = queue.array(&[1.0_f32, 2.0, 4.0]).unwrap();
    let mut sums = queue.full([most + 1], 9.0_f32).unwrap();
    let before = dump::enqueued(&ctx, "q");
    let refused = queue.histogram_weighted(&x, &weights, Bins::modulo(), &mut sums);
    let error = assert_refused!(refused, Value);
    let said = format!(
        "verb `histogram_weighted`, argument `sums`: the number of bins is {}, and this device sums `f32` in at most \
         {most}, with 44 bytes for each; a smaller number, or a call of `histogram_fixed`",
        most + 1
    );
    assert!(error.to_string().starts_with(&said), "{error}");
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    // Integers take more bins, and floats take the most ones.
    let whole = weights.cast_bits::<u32>();
    queue.histogram_weighted(&x, &whole, Bins::modulo(), &mut sums.cast_bits::<u32>()).unwrap();
    assert_eq!(queue.get(&sums, [most]).wait().unwrap(), 2.0);
    let mut largest = sums.slice(0..most).unwrap();
    queue.histogram_weighted(&x, &weights, Bins::modulo(), &mut largest).unwrap();
    let found = queue.read(&largest).wait().unwrap();
    assert_eq!([found[0], found[3], found[most - 1]], [2.0, 4.0, 1.0]);
}
