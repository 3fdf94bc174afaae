//! Launches that end early.

use crate::harness::{Kernel, Launch};
use fencepost_cpu::{CheckedRun, Fault, Mistake};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs a kernel that never ends, and stops it.
fn stopped(launch: &Launch) -> CheckedRun {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        launch.check_until(0, &mut launch.shadow.clone(), &stop)
    })
}

#[test]
fn r07_a_stopped_launch_keeps_the_findings_before_its_end() {
    // The second workgroup does not run. It might have written `new_a[3]` before the first one reads it.
    let text = "
        @group(0) @binding(0) var<storage, read_write> zero: array<atomic<u32>>;
        @group(0) @binding(1) var<storage, read_write> new_a: array<u32>;
        @group(0) @binding(2) var<storage, read_write> sums: array<u32>;
        @compute @workgroup_size(4) fn k(
            @builtin(local_invocation_index) i: u32, @builtin(workgroup_id) g: vec3<u32>) {
            sums[i / 2u] = 7u / sums[0];
            if g.x == 1u { new_a[3] = 1u; }
            workgroupBarrier();
            if i == 0u { sums[9] = new_a[3]; }
            while atomicLoad(&zero[0]) == 0u {}
        }";
    let run = stopped(&Launch::new(Kernel::text(text)).groups(2));
    assert_eq!(run.fault, Some(Fault::Stopped));
    let mistakes: Vec<&Mistake> = run.findings.iter().map(|finding| &finding.mistake).collect();
    let [Mistake::RaceInWorkgroup(race), Mistake::DivisionByZero { .. }] = &mistakes[..] else {
        panic!("{:?}", run.findings)
    };
    assert_eq!(race.element.path, "sums[0]");
}
