//! Barriers, orders and ends of runs.

use crate::harness::{Buffer, OUT, prepare, run, words_of_grid};
use fencepost_cpu::{Fault, GridRun};
use std::sync::atomic::{AtomicBool, Ordering};

const REVERSE: &str = "
    var<workgroup> w: array<u32, 64>;
    @compute @workgroup_size(64) fn k(
        @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>,
    ) {
        for (var round = 0u; round < 3u; round++) {
            w[i] = id.x + round;
            workgroupBarrier();
            out[id.x] += w[63u - i];
            workgroupBarrier();
        }
    }";

#[test]
fn the_invocations_meet_at_barriers_in_every_order() {
    let expected: Vec<u32> = (0..256).map(|n| 3 * (n / 64 * 64 + 63 - n % 64) + 3).collect();
    for seed in [0, 1, 2, 3, 99] {
        assert_eq!(words_of_grid(REVERSE, 4, seed, 256), expected, "seed {seed}");
    }
}

#[test]
fn a_seed_draws_the_order_of_invocations_and_of_workgroups() {
    let text = "
        @group(0) @binding(0) var<storage, read_write> n: atomic<u32>;
        @group(0) @binding(1) var<storage, read_write> at: array<u32>;
        @compute @workgroup_size(8) fn k(@builtin(global_invocation_id) id: vec3<u32>) {
            at[atomicAdd(&n, 1u)] = id.x;
        }";
    let kernel = prepare(text).unwrap();
    let order = |seed| {
        let mut buffers = [Buffer::new(&[0_u32]), Buffer::new(&[0_u32; 64])];
        run(&kernel, [8, 1, 1], seed, &[], &mut buffers).unwrap();
        buffers[1].values::<u32>()
    };
    let plain: Vec<u32> = (0..64).collect();
    assert_eq!(order(0), plain);
    assert_ne!(order(1), plain);
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    let groups: Vec<u32> = order(1).chunks(8).map(|group| group[0] / 8).collect();
    assert_ne!(groups, (0..8).collect::<Vec<_>>());
    let mut sorted = order(1);
    sorted.sort_unstable();
    assert_eq!(sorted, plain);
}

#[test]
fn a_barrier_in_a_function_keeps_the_frames() {
    let text = "
        var<workgroup> w: array<u32, 8>;
        fn turn(i: u32, x: u32) -> u32 { var own = x; w[i] = own; workgroupBarrier(); own += w[7u - i]; return own; }
        @compute @workgroup_size(8) fn k(@builtin(local_invocation_index) i: u32) {
            let a = turn(i, i); workgroupBarrier(); out[i] = 100u * a + turn(i, 2u * i);
        }";
    assert_eq!(words_of_grid(text, 1, 5, 8), [714; 8]);
}

#[test]
fn a_uniform_load_gives_all_invocations_the_same_value() {
    let text = "
        var<workgroup> n: u32; var<workgroup> a: atomic<u32>;
        @compute @workgroup_size(8) fn k(@builtin(local_invocation_index) i: u32) {
            atomicAdd(&a, 1u);
            if i == 5u { n = 7u; }
            let x = workgroupUniformLoad(&n);
            if i == 2u { n = 9u; }
            let y = workgroupUniformLoad(&n);
            out[i] = 10u * x + y + 100u * workgroupUniformLoad(&a);
        }";
    for seed in 0..5 {
        assert_eq!(words_of_grid(text, 1, seed, 8), [879; 8]);
    }
}

/// Returns the fault of a barrier in line 4 of a text, for a workgroup of 4.
fn barrier_fault(body: &str) -> Fault {
    let head = "@compute @workgroup_size(4) fn k(@builtin(local_invocation_index) i: u32) {";
    let kernel = prepare(&format!("{OUT}\n{head}\n{body}\n}}")).unwrap();
    run(&kernel, [2, 1, 1], 0, &[], &mut [Buffer::new(&[0_u32; 4])]).unwrap_err()
}

#[test]
fn a_barrier_that_some_invocations_miss_is_a_fault_with_its_line() {
    let fault = barrier_fault("if out[i] + i == 2u { return; }\nworkgroupBarrier();");
    assert_eq!(
        fault.to_string(),
        "k.wgsl:4:1: only some invocations of workgroup [0, 0, 0] reach this barrier"
    );
    let fault = barrier_fault("if out[i] + i < 2u {\nworkgroupBarrier(); } else { storageBarrier(); }");
    assert!(matches!(fault, Fault::Barrier { .. }));
}

#[test]
fn a_fault_names_its_line_beside_overrides_and_other_entry_points() {
    let text = "override N: u32 = 4;
        @compute @workgroup_size(N) fn k(@builtin(local_invocation_index) i: u32) {
            if out[i] + i == N - 2u { return; }
            workgroupBarrier();
        }
        @compute @workgroup_size(1) fn other() { out[0] = 1u; }";
    let kernel = prepare(&format!("{text}{OUT}")).unwrap();
    let fault = run(&kernel, [1; 3], 0, &[], &mut [Buffer::new(&[0_u32; 4])]).unwrap_err();
    assert!(fault.to_string().starts_with("k.wgsl:4:13: only some"), "{fault}");
}

#[test]
fn a_stopped_run_ends_in_an_endless_loop() {
    let text =
        "@compute @workgroup_size(1) fn k() { loop { out[0] += 1u; if out[0] == 0xffffffffu { break; } } }";
    let kernel = prepare(&format!("{text}{OUT}")).unwrap();
    let mut buffer = Buffer::new(&[0_u32]);
    let cells = [buffer.cells()];
    let stop = AtomicBool::new(false);
    let run = GridRun { groups: [1; 3], range: 0..1, params: &[], buffers: &cells, seed: 0, stop: &stop };
    let fault = std::thread::scope(|scope| {
        let running = scope.spawn(|| kernel.run_groups(&run));
        std::thread::sleep(std::time::Duration::from_millis(20));
        stop.store(true, Ordering::Relaxed);
        running.join().unwrap()
    });
    assert_eq!(fault, Err(Fault::Stopped));
}
