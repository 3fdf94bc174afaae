//! Layouts, pointers, limits of indices, atomics, and first values.

use super::{Compiled, Test};
use crate::run::{Cells, GridRun};
use std::sync::atomic::AtomicBool;

#[test]
fn an_index_past_the_end_is_moved_to_the_last_element() {
    let test = Test::new(
        "@group(0) @binding(0) var<storage, read> input: array<u32>;
        @group(0) @binding(1) var<storage, read_write> out: array<u32>;
        const TABLE = array<u32, 12>(1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 12u);
        @compute @workgroup_size(1)
        fn limits() {
            var local = array<i32, 3>(5, 6, 7);
            let v = vec3<u32>(20u, 21u, 22u);
            let far = input[0];
            let below = i32(far) - 1001;
            out[0] = input[far];
            out[1] = input[below];
            out[2] = u32(local[far]);
            out[3] = v[far];
            out[4] = TABLE[far];
            out[5] = TABLE[far - 995u];
            local[below] = 70;
            out[6] = u32(local[2]);
            out[far] = 9u;
            out[7] = u32(local[far - 999u]);
        }",
    );
    let test = test.buffer(&[1000_u32, 1, 2, 3]).buffer(&[0_u32; 9]).run([1, 1, 1]);
    assert_eq!(test.get::<u32>(1), [3, 3, 7, 22, 12, 6, 70, 6, 9]);
}

#[test]
fn members_have_the_places_of_wgsl() {
    let test = Test::new(
        "struct Inner { a: f32, b: vec3<f32>, c: u32 }
        struct Outer { m: mat3x3<f32>, h: mat2x2<f32>, inner: array<Inner, 2>, tail: array<vec2<u32>> }
        @group(0) @binding(0) var<storage, read_write> data: Outer;
        @compute @workgroup_size(1)
        fn layouts() {
            data.m[1][2] = 1.0;
            data.h[1] = vec2<f32>(2.0, 3.0);
            data.inner[1].b.y = 4.0;
            data.inner[1].c = 5u;
            data.inner[0] = Inner(6.0, vec3<f32>(7.0, 8.0, 9.0), 10u);
            data.tail[1].y = arrayLength(&data.tail);
            let whole = data.inner[0];
            data.tail[2] = vec2<u32>(whole.c, u32(whole.b.z));
            data.m[2] = data.m * vec3<f32>(0.0, 1.0, 0.0);
        }",
    );
    let out = test.buffer(&[0_u32; 38]).run([1, 1, 1]).get::<u32>(0);
    let mut expected = [0_u32; 38];
    let floats =
        [(6, 1.0), (10, 1.0), (14, 2.0), (15, 3.0), (16, 6.0), (20, 7.0), (21, 8.0), (22, 9.0), (29, 4.0)];
    for (at, value) in floats {
        expected[at] = f32::to_bits(value);
    }
    for (at, value) in [(23, 10), (31, 5), (35, 3), (36, 10), (37, 9)] {
        expected[at] = value;
    }
    assert_eq!(out, expected);
}

#[test]
fn variables_begin_as_zero_in_every_invocation() {
    let test = Test::new(
        "var<private> total: array<u32, 40>;
        var<private> start: vec2<u32> = vec2<u32>(3u, 4u);
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        fn dirty() -> u32 {
            var scratch: array<u32, 30>;
            var flag: bool;
            let before = scratch[7] + u32(flag);
            for (var i = 0; i < 30; i++) { scratch[i] = 9u; }
            return before + scratch[8];
        }
        @compute @workgroup_size(4)
        fn fresh(@builtin(local_invocation_index) lid: u32) {
            total[lid] += 1u + dirty() + dirty();
            start.x += 1u;
            for (var i = 0u; i < 40u; i++) { out[lid] += total[i]; }
            out[lid] += start.x * 100u + start.y * 1000u;
        }",
    );
    assert_eq!(test.buffer(&[0_u32; 4]).run([1, 1, 1]).get::<u32>(0), [4419; 4]);
}

#[test]
fn pointers_reach_parts_of_local_and_private_variables() {
    let test = Test::new(
        "struct Cell { a: u32, b: array<u32, 2> }
        var<private> cells: array<Cell, 2>;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        fn bump(cell: ptr<private, Cell>, by: u32) { (*cell).b[1] += by; (*cell).a = by; }
        fn swap(pair: ptr<function, vec2<u32>>) { *pair = (*pair).yx; }
        fn through(number: ptr<function, u32>, at: u32) { let inner = number; *inner += at; }
        @compute @workgroup_size(1)
        fn pointers() {
            var pair = vec2<u32>(1u, 2u);
            swap(&pair);
            var list = array<vec2<u32>, 3>();
            let second = &list[1];
            (*second).y = 4u;
            swap(second);
            bump(&cells[1], 5u);
            bump(&cells[pair.x - 1u], 6u);
            var number = 8u;
            through(&number, 3u);
            out[0] = pair.x;
            out[1] = cells[1].b[1];
            out[2] = cells[1].a;
            out[3] = list[1].x;
            out[4] = number;
        }",
    );
    assert_eq!(test.buffer(&[0_u32; 5]).run([1, 1, 1]).get::<u32>(0), [2, 11, 6, 4, 11]);
}

#[test]
fn atomics_return_the_old_value() {
    let test = Test::new(
        "@group(0) @binding(0) var<storage, read_write> cells: array<atomic<i32>>;
        @group(0) @binding(1) var<storage, read_write> out: array<i32>;
        var<workgroup> local: atomic<u32>;
        @compute @workgroup_size(1)
        fn atomics() {
            out[0] = atomicAdd(&cells[0], 5);
            out[1] = atomicMin(&cells[1], -3);
            out[2] = atomicMax(&cells[2], 8);
            out[3] = atomicExchange(&cells[3], 77);
            let first = atomicCompareExchangeWeak(&cells[4], 14, 50);
            let second = atomicCompareExchangeWeak(&cells[5], 14, 50);
            out[4] = first.old_value + i32(first.exchanged) * 100;
            out[5] = second.old_value + i32(second.exchanged) * 100;
            atomicStore(&cells[6], atomicLoad(&cells[0]) - 1);
            atomicXor(&cells[7], 3);
            atomicOr(&local, 6u);
            atomicAnd(&local, 3u);
            let third = atomicCompareExchangeWeak(&local, 2u, 9u);
            out[6] = i32(third.old_value) + i32(third.exchanged) * 100;
            out[7] = i32(atomicSub(&local, 1u));
        }",
    );
    let cells: Vec<i32> = (10..18).collect();
    let test = test.buffer(&cells).buffer(&[0_i32; 8]).run([1, 1, 1]);
    assert_eq!(test.get::<i32>(0), [15, -3, 12, 77, 50, 15, 14, 18]);
    assert_eq!(test.get::<i32>(1), [10, 11, 12, 13, 114, 15, 102, 9]);
}

#[test]
fn a_histogram_counts_every_value_on_several_threads() {
    let test = Test::new(
        "@group(0) @binding(0) var<storage, read> values: array<u32>;
        @group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>, 8>;
        @compute @workgroup_size(64)
        fn histogram(@builtin(global_invocation_id) id: vec3<u32>) {
            atomicAdd(&bins[values[id.x] % 8u], 1u);
        }",
    );
    let mut values: Vec<u128> = Vec::new();
    let words: Vec<u32> = (0..4096_u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
    values.resize(words.len() / 4, 0);
    bytemuck::cast_slice_mut::<_, u32>(&mut values).copy_from_slice(&words);
    let mut bins = [0_u128; 2];
    {
        let cells = [
            Cells::new(bytemuck::cast_slice_mut(&mut values)),
            Cells::new(bytemuck::cast_slice_mut(&mut bins)),
        ];
        run_on_threads(&test.compiled, &cells);
    }
    let mut expected = [0_u32; 8];
    words.iter().for_each(|word| expected[*word as usize % 8] += 1);
    assert_eq!(bytemuck::cast_slice::<_, u32>(&bins), expected);
}

/// Runs 64 workgroups of a kernel on 4 threads.
fn run_on_threads(compiled: &Compiled, cells: &[Cells<'_>]) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for part in 0..4 {
            let groups = [64, 1, 1];
            let range = part * 16..part * 16 + 16;
            let run = GridRun { groups, range, params: &[], buffers: cells, seed: 0, stop: &stop };
            scope.spawn(move || compiled.run(&run));
        }
    });
}

#[test]
fn atomics_of_floats_return_the_old_value() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> cells: array<atomic<f32>>;
        @group(0) @binding(1) var<storage, read> values: array<f32>;
        @group(0) @binding(2) var<storage, read_write> out: array<f32>;
        @compute @workgroup_size(16)
        fn floats(@builtin(global_invocation_id) id: vec3<u32>) {
            let i = id.x;
            out[4u * i] = atomicAdd(&cells[i], values[i]);
            out[4u * i + 1u] = atomicSub(&cells[i], 0.5);
            if i % 3u > 0u { out[4u * i + 2u] = atomicExchange(&cells[i], values[31u - i]); }
            out[4u * i + 3u] = atomicLoad(&cells[i]);
            for (var k = 0u; k < i % 4u; k++) { atomicAdd(&cells[i], 0.25); }
            if i % 5u == 0u { atomicStore(&cells[i], atomicLoad(&cells[i]) * 2.0); }
        }";
    let mut values: Vec<f32> = (0..32).map(|i| i as f32 - 7.25).collect();
    values[20] = f32::INFINITY;
    values[21] = f32::NAN;
    let test = Test::new(wgsl).buffer(&[1.5_f32; 32]).buffer(&values).buffer(&[0_f32; 128]);
    assert!(test.vector.is_ok() && test.wider.len() == 2, "{:?}", test.vector.err());
    let test = test.run([2, 1, 1]);
    assert_eq!(test.get::<f32>(2)[..8], [1.5, -5.75, 0.0, -6.25, 1.5, -4.75, -5.25, 22.75]);
    let cells = test.get::<f32>(0);
    assert_eq!((cells[0], cells[1]), (-12.5, 23.0));
}

#[test]
fn sums_of_floats_count_every_value_on_several_threads() {
    let test = Test::new(
        "@group(0) @binding(0) var<storage, read_write> sums: array<atomic<f32>, 2>;
        @compute @workgroup_size(64)
        fn sum(@builtin(global_invocation_id) id: vec3<u32>) {
            for (var turn = 0u; turn < 1024u; turn++) {
                atomicAdd(&sums[0], 1.0);
                atomicSub(&sums[1], 0.5);
            }
        }",
    );
    let wide = test.wider.iter().map(|(_, wide)| wide);
    for compiled in test.vector.iter().chain(wide).chain([&test.compiled]) {
        let mut sums = [0_u128];
        run_on_threads(compiled, &[Cells::new(&mut bytemuck::bytes_of_mut(&mut sums)[..8])]);
        assert_eq!(bytemuck::cast_slice::<_, f32>(&sums), [4_194_304.0, -2_097_152.0, 0.0, 0.0]);
    }
}
