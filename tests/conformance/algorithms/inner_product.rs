//! A01, A04: inner products, norms and means.

use super::lengths;
use crate::common::{Case, Subject, case};
use fencepost::Shape;
use fencepost::prelude::*;
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_refused_inner_products_enqueue_nothing", refused),
        case("a01_inner_products_in_a_graph_equal_those_of_a_queue", in_a_graph),
        case("a04_inner_products_of_integers_wrap_and_are_exact", integers),
        case("a04_inner_products_norms_and_means_are_within_their_bounds", floats),
        case("a04_an_inner_product_writes_one_element", guards),
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

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.array(&[1.0_f32; 100]).unwrap();
    let mut out = queue.full([1], 5.0_f32).unwrap();
    let shape =
        |error: fencepost::Error| assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
    shape(queue.dot(&x, &queue.zeros([99]).unwrap(), &mut out).unwrap_err());
    shape(
        queue.dot(&x.reshape([4, 25]).unwrap(), &x.reshape([25, 4]).unwrap(), &mut out.clone()).unwrap_err(),
    );
    shape(queue.dot(&x, &x, &mut queue.zeros([2]).unwrap()).unwrap_err());
    shape(queue.norm(&x, &mut queue.zeros([0]).unwrap()).unwrap_err());
    shape(queue.mean(&queue.empty::<f32, 1>([0]).unwrap(), &mut out).unwrap_err());
    let padded = queue.zeros::<f32, 1>(Shape::padded([5], [8])).unwrap();
    for error in [queue.dot(&padded, &padded, &mut out), queue.mean(&padded, &mut out)] {
        assert!(matches!(error.as_ref().unwrap_err().detail(), ErrorDetail::Padding { .. }), "{error:?}");
    }
    let mut foreign = s.ctx().queue("other").zeros([1]).unwrap();
    for len in [100, 20_000] {
        // The last of two launches would be refused.
        let x = queue.zeros::<f32, 1>([len]).unwrap();
        let y = queue.zeros::<f32, 1>([len]).unwrap();
        let own = || y.slice(0..1).unwrap();
        for error in [queue.dot(&x, &y, &mut own()), queue.norm(&y, &mut own()), queue.mean(&y, &mut own())] {
            assert!(matches!(error.as_ref().unwrap_err().detail(), ErrorDetail::Aliased { .. }), "{error:?}");
        }
        let error = queue.dot(&x, &y, &mut foreign).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
    }
    assert_eq!(queue.read(&out).wait().unwrap(), [5.0]);
}

fn enqueue(queue: &CommandQueue, x: &DeviceArray<f32>, out: &DeviceArray<f32>) -> fencepost::Result<()> {
    let part = |at: usize| out.slice(64 * at..64 * at + 1);
    queue.dot(x, x, &mut part(0)?)?;
    queue.norm(x, &mut part(1)?)?;
    queue.mean(x, &mut part(2)?)
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [100, 20_000] {
        let mut x = queue.zeros::<f32, 1>([len]).unwrap();
        let [out, eager] = [(); 2].map(|()| queue.zeros::<f32, 1>([192]).unwrap());
        let (graph, ()) = queue.capture(|c| enqueue(c, &x, &out)).unwrap();
        for round in 0..3 {
            let list: Vec<f32> = (0..len).map(|i| ((i + round) % 3) as f32).collect();
            queue.upload(&list, &mut x).unwrap();
            queue.replay(&graph).unwrap();
            enqueue(&queue, &x, &eager).unwrap();
            let found = queue.read(&out).wait().unwrap();
            assert_eq!(found, queue.read(&eager).wait().unwrap(), "{len} elements, round {round}");
            assert_eq!(found[0], host::dot(&list, &list));
        }
    }
    let x = queue.zeros::<f32, 1>([4]).unwrap();
    let error = queue.capture(|c| c.value_of(|out| c.mean(&x, out)).wait().map(drop)).map(drop).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Captured { .. }), "{error}");
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [1, 300, 4097, 16_385] {
        let list: Vec<f32> = (0..len).map(|i| if i % 4 == 0 { 1.0 } else { 0.0 }).collect();
        let all = queue.array(&[vec![9.0; 64], list.clone(), vec![9.0; 64]].concat()).unwrap();
        let x = all.slice(64..64 + list.len()).unwrap();
        let out = queue.full([192], 5.0_f32).unwrap();
        queue.dot(&x, &x, &mut out.slice(64..65).unwrap()).unwrap();
        let mut expected = [5.0; 192];
        expected[64] = host::dot(&list, &list);
        assert_eq!(queue.read(&out).wait().unwrap(), expected);
        assert_eq!(queue.read(&x).wait().unwrap(), list, "the input stays");
    }
}
