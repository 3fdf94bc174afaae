//! Algorithms with cooperating invocations, run in random orders.

use crate::harness::{Buffer, prepare, run};
use fastrand::Rng;

const SORT: &str = "
    const N = 128u;
    @group(0) @binding(0) var<storage, read_write> x: array<i32>;
    var<workgroup> w: array<i32, N>;
    fn order(a: ptr<function, i32>, b: ptr<function, i32>, up: bool) {
        if (*a > *b) == up { let t = *a; *a = *b; *b = t; }
    }
    @compute @workgroup_size(64) fn sort(
        @builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>,
    ) {
        let first = group.x * N;
        w[i] = x[first + i]; w[i + 64u] = x[first + i + 64u];
        for (var size = 2u; size <= N; size <<= 1u) {
            for (var step = size >> 1u; step > 0u; step >>= 1u) {
                workgroupBarrier();
                let at = 2u * i - (i & (step - 1u));
                var a = w[at]; var b = w[at + step];
                order(&a, &b, (at & size) == 0u);
                w[at] = a; w[at + step] = b;
            }
        }
        workgroupBarrier();
        x[first + i] = w[i]; x[first + i + 64u] = w[i + 64u];
    }";

const MATMUL: &str = "
    struct P { n: u32 }
    const T = 8u;
    @group(0) @binding(0) var<uniform> p: P;
    @group(0) @binding(1) var<storage, read> a: array<f32>;
    @group(0) @binding(2) var<storage, read> b: array<f32>;
    @group(0) @binding(3) var<storage, read_write> c: array<f32>;
    var<workgroup> left: array<array<f32, T>, T>;
    var<workgroup> right: array<array<f32, T>, T>;
    @compute @workgroup_size(T, T) fn matmul(
        @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>,
    ) {
        var sum = 0.0;
        for (var tile = 0u; tile < p.n; tile += T) {
            left[local.y][local.x] = a[id.y * p.n + tile + local.x];
            right[local.y][local.x] = b[(tile + local.y) * p.n + id.x];
            workgroupBarrier();
            for (var k = 0u; k < T; k++) { sum += left[local.y][k] * right[k][local.x]; }
            workgroupBarrier();
        }
        c[id.y * p.n + id.x] = sum;
    }";

const SCAN: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    var<workgroup> sums: array<u32, 16>;
    @compute @workgroup_size(64) fn scan(
        @builtin(local_invocation_index) i: u32, @builtin(subgroup_id) group: u32,
        @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32,
    ) {
        let own = x[i];
        let before = subgroupExclusiveAdd(own);
        if lane == size - 1u { sums[group] = before + own; }
        workgroupBarrier();
        var sum = before;
        for (var g = 0u; g < group; g++) { sum += sums[g]; }
        x[i] = sum + own;
    }";

#[test]
fn a_bitonic_sort_sorts_in_every_order_of_its_invocations() {
    let kernel = prepare(SORT).unwrap();
    for seed in 0..4 {
        let mut rng = Rng::with_seed(seed);
        let mut values: Vec<i32> = (0..512).map(|_| rng.i32(-1000..1000)).collect();
        let mut buffers = [Buffer::new(&values)];
        run(&kernel, [4, 1, 1], seed, &[], &mut buffers).unwrap();
        values.chunks_mut(128).for_each(<[i32]>::sort_unstable);
        assert_eq!(buffers[0].values::<i32>(), values);
    }
}

#[test]
fn a_product_in_tiles_is_the_product() {
    const N: usize = 32;
    let kernel = prepare(MATMUL).unwrap();
    let mut rng = Rng::with_seed(1);
    let mut matrix = || (0..N * N).map(|_| rng.i32(-9..9) as f32).collect::<Vec<_>>();
    let a = matrix();
    let b = matrix();
    let dot = |at: usize| (0..N).map(|k| a[at / N * N + k] * b[k * N + at % N]).sum::<f32>();
    let expected: Vec<f32> = (0..N * N).map(dot).collect();
    for seed in 0..3 {
        let mut buffers = [Buffer::new(&a), Buffer::new(&b), Buffer::new(&[0.0_f32; N * N])];
        run(&kernel, [4, 4, 1], seed, &(N as u32).to_le_bytes(), &mut buffers).unwrap();
        assert_eq!(buffers[2].values::<f32>(), expected);
    }
}

#[test]
fn a_scan_with_subgroups_adds_what_is_before() {
    let kernel = prepare(SCAN).unwrap();
    let values: Vec<u32> = (0..64).map(|n| n * 7 % 10).collect();
    let sums: Vec<u32> = (0..64).map(|n| values[..=n].iter().sum()).collect();
    for seed in 0..4 {
        let mut buffers = [Buffer::new(&values)];
        run(&kernel, [1; 3], seed, &[], &mut buffers).unwrap();
        assert_eq!(buffers[0].values::<u32>(), sums);
    }
}
