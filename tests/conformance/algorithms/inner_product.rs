//! A04: inner products, norms and means.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a04_inner_products_of_integers_wrap_and_are_exact", integers),
        case("a04_inner_products_norms_and_means_are_within_their_bounds", floats),
    ]
}

fn integers(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(21);
    for len in lengths() {
        let [x, y] = [(); 2].map(|()| (0..len).map(|_| rng.u32(..)).collect::<Vec<u32>>());
        let arrays = [&x, &y].map(|list| queue.array(list).unwrap());
        let found = queue.value_of(|out| queue.dot(&arrays[0], &arrays[1], out)).wait().unwrap();
        assert_eq!(found, host::dot(&x, &y), "{len} elements");
        let arrays = arrays.map(|array| array.cast_bits::<i32>());
        let [x, y] = [&x, &y].map(|list| bytemuck::cast_slice::<u32, i32>(list));
        let found = queue.value_of(|out| queue.dot(&arrays[0], &arrays[1], out)).wait().unwrap();
        assert_eq!(found, host::dot(x, y), "{len} elements");
    }
    let none = queue.empty::<u32, 1>([0]).unwrap();
    assert_eq!(queue.value_of(|out| queue.dot(&none, &none, out)).wait().unwrap(), 0);
}

/// Half a unit in the last place of numbers from 1 to 2.
const U: f64 = 1.0 / (1 << 24) as f64;

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(22);
    for len in lengths() {
        let depth = len as f64 / f64::from(1 << 20);
        let uniform: Vec<f32> = (0..len).map(|_| rng.f32() + 0.25).collect();
        let cancelling: Vec<f32> = (0..len).map(|_| (rng.f32() - 0.5) * [1.0, 1e6][rng.usize(..2)]).collect();
        for list in [&cancelling, &uniform] {
            let wide = || list.iter().map(|&x| f64::from(x));
            let x = queue.array(list).unwrap();
            let y = queue.array(&uniform).unwrap();
            let products = wide().zip(&uniform).map(|(x, &y)| x * f64::from(y));
            let (exact, sizes) = products.fold((0.0, 0.0), |(sum, all), p: f64| (sum + p, all + p.abs()));
            let found = f64::from(queue.value_of(|out| queue.dot(&x, &y, out)).wait().unwrap());
            let bound = (53.0 + depth) * U * sizes;
            assert!((found - exact).abs() <= bound, "dot of {len}: {found}, {exact} +- {bound}");
            let exact = wide().map(|x| x * x).sum::<f64>().sqrt();
            let found = f64::from(queue.value_of(|out| queue.norm(&x, out)).wait().unwrap());
            let bound = (36.0 + depth / 2.0) * U * exact;
            assert!((found - exact).abs() <= bound, "norm of {len}: {found}, {exact} +- {bound}");
            let exact = wide().sum::<f64>() / len as f64;
            let sizes = wide().map(f64::abs).sum::<f64>();
            let found = f64::from(queue.value_of(|out| queue.mean(&x, out)).wait().unwrap());
            let bound = (52.0 + depth) * U * sizes / len as f64 + 5.0 * U * exact.abs();
            assert!((found - exact).abs() <= bound, "mean of {len}: {found}, {exact} +- {bound}");
        }
    }
    let x = queue.array(&[1.5_f32, -2.0, 4.0, 0.5]).unwrap();
    let y = queue.array(&[2.0_f32, 3.0, 0.5, 0.0]).unwrap();
    assert_eq!(queue.value_of(|out| queue.dot(&x, &y, out)).wait().unwrap(), -1.0);
    assert_eq!(queue.value_of(|out| queue.mean(&x.reshape([2, 2]).unwrap(), out)).wait().unwrap(), 1.0);
    assert_eq!(
        queue.value_of(|out| queue.norm(&queue.empty::<f32, 2>([0, 3]).unwrap(), out)).wait().unwrap(),
        0.0
    );
    let large = queue.array(&[1e20_f32, 1.0]).unwrap();
    assert_eq!(queue.value_of(|out| queue.norm(&large, out)).wait().unwrap(), f32::INFINITY);
}
