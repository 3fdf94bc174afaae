//! Layouts, bounds and atomic operations.

use crate::harness::{Buffer, OUT, prepare, run, statements, words};
use fencepost_cpu::GridRun;
use std::sync::atomic::AtomicBool;

#[test]
fn an_index_past_the_end_names_the_last_element() {
    let before = "var<workgroup> w: array<u32, 3>; var<private> p: array<u32, 3>;";
    let body = "
        var far = 100u; var negative = -1i; var v = vec3(1u, 2u, 3u); let c = v;
        w[far] = 5u; p[negative] = 6u; v[far] = 7u;
        out[0] = w[2]; out[1] = p[2]; out[2] = v.z; out[3] = c[far];
        out[far] = 8u; out[4] = out[far + 7u];";
    assert_eq!(statements(before, body, 6), [5, 6, 7, 3, 8, 8]);
}

#[test]
fn a_runtime_sized_array_has_the_length_of_its_buffer() {
    let text = "
        struct Tail { head: vec3<f32>, n: u32, tail: array<vec3<u32>> }
        @group(0) @binding(0) var<storage, read_write> t: Tail;
        @compute @workgroup_size(1) fn k() { t.n = arrayLength(&t.tail); t.tail[99] = vec3(4u, 5u, 6u); }";
    let mut buffers = [Buffer::new(&[1_u32; 16])];
    run(&prepare(text).unwrap(), [1; 3], 0, &[], &mut buffers).unwrap();
    assert_eq!(buffers[0].values::<u32>(), [1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 4, 5, 6, 1]);
}

#[test]
fn structs_keep_the_padding_of_their_members() {
    let text = "
        struct S { a: vec3<f32>, b: f32, m: mat3x3<f32>, v: array<vec2<f32>, 2> }
        struct P { x: f32, s: vec3<f32> }
        @group(0) @binding(0) var<uniform> p: P;
        @group(0) @binding(1) var<storage, read> source: array<S>;
        @group(0) @binding(2) var<storage, read_write> to: array<S>;
        @compute @workgroup_size(1) fn k() {
            var s = source[0]; s.b += p.x; s.m[1].z += p.s.z; s.v[1] *= 2.0; to[1] = s;
        }";
    let input: Vec<f32> = (0..20).map(|n| n as f32).collect();
    let params = [10.0_f32, 0.0, 0.0, 0.0, 1.0, 2.0, 30.0, 0.0];
    let mut buffers = [Buffer::new(&input), Buffer::new(&[-1.0_f32; 40])];
    run(&prepare(text).unwrap(), [1; 3], 0, bytemuck::cast_slice(&params), &mut buffers).unwrap();
    let out = buffers[1].values::<f32>();
    let p = -1.0;
    assert_eq!(out[..20], [p; 20]);
    let row = [
        0.0, 1.0, 2.0, 13.0, 4.0, 5.0, 6.0, p, 8.0, 9.0, 40.0, p, 12.0, 13.0, 14.0, p, 16.0, 17.0, 36.0, 38.0,
    ];
    assert_eq!(out[20..], row);
}

#[test]
fn halves_in_one_word_do_not_disturb_each_other() {
    let text = "
        enable f16;
        struct S { a: f16, v: vec3<f16>, m: mat2x2<f16> }
        @group(0) @binding(0) var<storage, read_write> h: array<f16>;
        @group(0) @binding(1) var<storage, read_write> s: array<S>;
        @compute @workgroup_size(8) fn k(@builtin(local_invocation_index) i: u32) {
            h[i] = h[i] * 2.0h + f16(i);
            if i == 0u { s[1].v.y = s[0].m[1].y; s[1].a = 0.5h; }
        }";
    let half = |value: f32| half::f16::from_f32(value).to_bits();
    let halves: Vec<u16> = (0..8).map(|n| half(n as f32)).collect();
    let structs: Vec<u16> = (0..24).map(|n| half(n as f32)).collect();
    let mut buffers = [Buffer::new(&halves), Buffer::new(&structs)];
    run(&prepare(text).unwrap(), [1; 3], 3, &[], &mut buffers).unwrap();
    assert_eq!(buffers[0].values::<u16>(), (0..8).map(|n| half(3.0 * n as f32)).collect::<Vec<_>>());
    let mut expected = structs.clone();
    (expected[12], expected[17]) = (half(0.5), half(11.0));
    assert_eq!(buffers[1].values::<u16>(), expected);
}

#[test]
fn variables_of_a_workgroup_hold_booleans_and_matrices() {
    let text = "
        struct S { flags: array<bool, 5>, v: vec3<bool>, m: mat3x2<f32> }
        var<workgroup> w: S;
        @compute @workgroup_size(5) fn k(@builtin(local_invocation_index) i: u32) {
            w.flags[i] = i % 2u == 0u;
            if i == 1u { w.v = vec3(false, true, true); w.m[2] = vec2(1.0, 3.0); }
            workgroupBarrier();
            let all = w;
            out[i] = u32(all.flags[4u - i]) + 2u * u32(all.v[i]) + 4u * u32(w.m[i].y);
        }";
    assert_eq!(words(text, 5), [1, 2, 1 + 2 + 12, 2 + 12, 1 + 2 + 12]);
}

#[test]
fn every_atomic_function_returns_the_old_value() {
    let before = "var<workgroup> a: atomic<i32>; var<workgroup> u: atomic<u32>;";
    let body = "
        atomicStore(&a, 5i);
        out[0] = u32(atomicAdd(&a, 3i)); out[1] = u32(atomicSub(&a, 10i)); out[2] = u32(atomicMax(&a, 1i) + 10i);
        out[3] = u32(atomicMin(&a, -4i)); out[4] = u32(atomicExchange(&a, 12i) + 10i);
        out[5] = u32(atomicAnd(&a, 10i)); out[6] = u32(atomicOr(&a, 1i)); out[7] = u32(atomicXor(&a, 3i));
        out[8] = u32(atomicLoad(&a));
        let no = atomicCompareExchangeWeak(&u, 1u, 2u); let yes = atomicCompareExchangeWeak(&u, 0u, 3u);
        out[9] = no.old_value + u32(no.exchanged); out[10] = u32(yes.exchanged); out[11] = atomicLoad(&u);";
    assert_eq!(statements(before, body, 12), [5, 8, 8, 1, 6, 12, 8, 9, 10, 0, 1, 3]);
}

#[test]
fn atomics_of_64_bits_and_of_floats_are_changed_in_one_step() {
    let text = "
        @group(0) @binding(0) var<storage, read_write> l: array<atomic<u64>, 2>;
        @group(0) @binding(1) var<storage, read_write> f: atomic<f32>;
        @compute @workgroup_size(64) fn k() {
            atomicAdd(&l[0], 0x100000001lu); atomicMax(&l[1], 0xffffffffflu); atomicAdd(&f, 0.5);
        }";
    let kernel = prepare(text).unwrap();
    let mut buffers = [Buffer::new(&[0_u64; 2]), Buffer::new(&[0.0_f32])];
    run(&kernel, [4, 1, 1], 0, &[], &mut buffers).unwrap();
    assert_eq!(buffers[0].values::<u64>(), [0x100_0000_0100, 0xf_ffff_ffff]);
    assert_eq!(buffers[1].values::<f32>(), [128.0]);
}

#[test]
fn two_threads_count_in_one_grid_without_losing_anything() {
    let text = "
        @group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>, 4>;
        @compute @workgroup_size(64) fn k(@builtin(local_invocation_index) i: u32) {
            atomicAdd(&n[i % 4u], 1u);
            loop {
                let old = atomicLoad(&n[3]);
                if atomicCompareExchangeWeak(&n[3], old, old + 2u).exchanged { break; }
            }
        }";
    let kernel = prepare(text).unwrap();
    let mut buffer = Buffer::new(&[0_u32; 4]);
    let cells = [buffer.cells()];
    let stop = AtomicBool::new(false);
    let groups = [100, 1, 1];
    std::thread::scope(|scope| {
        for range in [0..50, 50..100] {
            let run = GridRun { groups, range, params: &[], buffers: &cells, seed: 0, stop: &stop };
            let kernel = &kernel;
            scope.spawn(move || kernel.run_groups(&run).unwrap());
        }
    });
    assert_eq!(buffer.values::<u32>(), [1600, 1600, 1600, 1600 + 2 * 6400]);
}

#[test]
fn an_empty_buffer_reads_zero_and_takes_no_write() {
    let text = "
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(1) fn k() { x[3] = 1u; y[0] = x[7] + arrayLength(&x) + 2u; }";
    let kernel = prepare(text).unwrap();
    let mut x = Buffer::new::<u32>(&[]);
    let mut y = Buffer::new(&[0_u32]);
    let cells = [x.cells(), y.cells()];
    let stop = AtomicBool::new(false);
    let run = GridRun { groups: [1; 3], range: 0..1, params: &[], buffers: &cells, seed: 0, stop: &stop };
    kernel.run_groups(&run).unwrap();
    assert_eq!(y.values::<u32>(), [2]);
}

#[test]
fn variables_may_be_named_without_a_use() {
    let before = "
        var<private> p: array<u32, 4>; var<workgroup> w: array<u32, 4>;
        @group(0) @binding(1) var<storage, read_write> other: array<u32>;
        fn unused(x: ptr<private, array<u32, 4>>) -> u32 { let y = &(*x)[1]; return 3u; }";
    let body =
        "var i = 2u; let a = &p[i]; let b = &w[i]; let c = &other[i]; let d = &other; out[0] = unused(&p);";
    let text = format!("{before}\n@compute @workgroup_size(1) fn k() {{ {body} }} {OUT}");
    let kernel = prepare(&text).unwrap();
    let mut buffers = [Buffer::new(&[0_u32]), Buffer::new(&[0_u32])];
    run(&kernel, [1; 3], 0, &[], &mut buffers).unwrap();
    assert_eq!(buffers[0].values::<u32>(), [3]);
}
