//! Runs in slices.

use crate::harness::{Buffer, OUT, prepare};
use fencepost_cpu::{CpuKernel, Fault, GridRun};
use std::sync::atomic::{AtomicBool, Ordering};

/// Kernels whose slices end in a loop, between two barriers, in a call, and between the operations of a subgroup.
const KERNELS: [&str; 4] = [
    "@compute @workgroup_size(8) fn k(@builtin(global_invocation_id) id: vec3<u32>) {
        var n = id.x + 1u;
        while n != 1u {
            n = select(n / 2u, 3u * n + 1u, n % 2u == 1u);
            out[id.x] += 1u;
        }
    }",
    "var<workgroup> w: array<u32, 8>;
    @compute @workgroup_size(8) fn k(
        @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>,
    ) {
        for (var round = 0u; round < 3u; round++) {
            w[i] += id.x + round;
            workgroupBarrier();
            for (var at = 0u; at < 8u; at++) { out[id.x] += w[at] * (at + 1u); }
            workgroupBarrier();
        }
    }",
    "fn double(n: u32) -> u32 { return 2u * n; }
    fn sum(n: u32) -> u32 {
        var all = 0u;
        for (var i = 0u; i < n; i++) { all += double(i); }
        return all;
    }
    @compute @workgroup_size(8) fn k(@builtin(global_invocation_id) id: vec3<u32>) {
        out[id.x] = sum(id.x) + 7u * sum(id.x / 2u);
    }",
    "@compute @workgroup_size(8) fn k(
        @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>,
    ) {
        var n = i;
        for (var round = 0u; round < 4u; round++) { n = subgroupAdd(n) + i; }
        out[id.x] = n;
    }",
];

/// Number of workgroups of 8 invocations.
const GROUPS: u32 = 5;

fn kernel(text: &str) -> CpuKernel {
    prepare(&format!("{text}\n{OUT}")).unwrap_or_else(|error| panic!("{error}"))
}

/// Outcome of a run in slices.
#[derive(Debug, PartialEq)]
struct Outcome {
    words: Vec<u32>,
    result: Result<(), Fault>,
}

/// Executes a run on zeros in slices of `steps` steps. Returns its outcome and the number of slices.
fn in_slices(kernel: &CpuKernel, seed: u64, steps: u64) -> (Outcome, usize) {
    let mut buffer = Buffer::new(&[0_u32; 8 * GROUPS as usize]);
    let cells = [buffer.cells()];
    let stop = AtomicBool::new(false);
    let groups = [GROUPS, 1, 1];
    let range = 0..GridRun::all(groups);
    let run = GridRun { groups, range, params: &[], buffers: &cells, seed, stop: &stop };
    let mut paused = kernel.begin(&run);
    let mut slices = 1;
    let result = loop {
        match kernel.resume(&run, &mut paused, steps) {
            Ok(false) => slices += 1,
            Ok(true) => break Ok(()),
            Err(fault) => break Err(fault),
        }
    };
    (Outcome { words: buffer.values(), result }, slices)
}

#[test]
fn slices_of_any_length_give_the_words_of_one_run() {
    for text in KERNELS {
        let kernel = kernel(text);
        for seed in [0, 1, 9] {
            let (whole, one) = in_slices(&kernel, seed, u64::MAX);
            assert_eq!((one, &whole.result), (1, &Ok(())), "{text}");
            assert!(whole.words.iter().any(|&word| word > 0), "{text}");
            for steps in [1, 2, 3, 7, 50] {
                let (sliced, slices) = in_slices(&kernel, seed, steps);
                assert_eq!(sliced, whole, "{steps} steps a slice, seed {seed}: {text}");
                assert!(slices > 1, "{steps} steps a slice: {text}");
            }
        }
    }
}

#[test]
fn slices_end_with_the_fault_of_one_run() {
    let text = "@compute @workgroup_size(8) fn k(
            @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>,
        ) {
            for (var at = 0u; at < 4u; at++) { out[id.x] += at; }
            if out[id.x] + id.x == 25u { return; }
            workgroupBarrier();
            out[id.x] += i;
        }";
    let kernel = kernel(text);
    let (whole, _) = in_slices(&kernel, 0, u64::MAX);
    assert!(matches!(whole.result, Err(Fault::Barrier { workgroup: [2, 0, 0], .. })), "{whole:?}");
    for steps in [1, 2, 3, 7, 50] {
        assert_eq!(in_slices(&kernel, 0, steps).0, whole, "{steps} steps a slice");
    }
}

#[test]
fn a_slice_ends_in_an_endless_loop_and_a_stopped_run_does_not_go_on() {
    let kernel =
        kernel("@compute @workgroup_size(1) fn k() { loop { out[0] += 1u; if out[1] == 1u { break; } } }");
    let mut buffer = Buffer::new(&[0_u32; 4]);
    let cells = [buffer.cells()];
    let stop = AtomicBool::new(false);
    let run = GridRun { groups: [1; 3], range: 0..1, params: &[], buffers: &cells, seed: 0, stop: &stop };
    let mut paused = kernel.begin(&run);
    for _ in 0..3 {
        assert_eq!(kernel.resume(&run, &mut paused, 100), Ok(false));
    }
    stop.store(true, Ordering::Relaxed);
    assert_eq!(kernel.resume(&run, &mut paused, 100), Err(Fault::Stopped));
    let iterations = buffer.values::<u32>()[0];
    assert!((200..=310).contains(&iterations), "{iterations} iterations in three slices of 100 steps");
}

#[test]
fn a_slice_ends_between_calls() {
    let doubling = |level: u32| format!("fn f{level}() {{ f{0}(); f{0}(); }}\n", level - 1);
    let calls: String = (1..40).map(doubling).collect();
    let text = format!(
        "fn f0() {{ out[0] += 1u; }}\n{calls}@compute @workgroup_size(1) fn k() {{ f39(); out[1] = 1u; }}"
    );
    let kernel = kernel(&text);
    let mut buffer = Buffer::new(&[0_u32; 4]);
    let cells = [buffer.cells()];
    let stop = AtomicBool::new(false);
    let run = GridRun { groups: [1; 3], range: 0..1, params: &[], buffers: &cells, seed: 0, stop: &stop };
    let mut paused = kernel.begin(&run);
    for _ in 0..3 {
        assert_eq!(kernel.resume(&run, &mut paused, 1000), Ok(false));
    }
    let [calls, ends, ..] = buffer.values::<u32>()[..] else { panic!("the buffer has four words") };
    assert!(calls > 0 && ends == 0, "{calls} calls");
}
