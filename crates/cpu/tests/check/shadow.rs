//! Tests of the shadow, which outlives a launch, and of workgroup variables.

use crate::harness::{Kernel, Launch, only};
use fencepost_cpu::{Bound, Mistake};

const COPY: &str = "
    @group(0) @binding(0) var<storage, read> new_a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> new_b: array<u32>;
    @compute @workgroup_size(16) fn k(@builtin(global_invocation_id) id: vec3<u32>) { new_b[id.x] = new_a[id.x]; }";

#[test]
fn r07_a_launch_reads_what_an_earlier_one_wrote() {
    let mut launch = Launch::new(Kernel::text(COPY));
    let mut shadow = launch.shadow.clone();
    assert_eq!(launch.check_with(0, &mut shadow).len(), 1);
    shadow.write(0, 0..64);
    assert_eq!(launch.check_with(0, &mut shadow), []);
    assert!(shadow.is_written(1, 63) && !shadow.is_written(1, 64));
    // The second launch reads the buffer only up to the byte at which the first launch stopped writing.
    launch.bound.reverse();
    assert_eq!(launch.check_with(0, &mut shadow), []);
    launch.bound[0].offset = 32;
    let findings = launch.check_with(0, &mut shadow);
    let Mistake::UnwrittenRead { element, .. } = only(&findings) else { panic!("{findings:?}") };
    assert_eq!((element.path.as_str(), findings[0].count), ("new_a[8]", 8));
}

#[test]
fn r07_parts_of_one_buffer_do_not_race_where_they_do_not_overlap() {
    let text = "
        @group(0) @binding(0) var<storage, read_write> a: array<u32>;
        @group(0) @binding(1) var<storage, read_write> b: array<u32>;
        @compute @workgroup_size(8) fn k(@builtin(global_invocation_id) id: vec3<u32>) {
            a[id.x] = 1u;
            b[7u - id.x] = 2u;
        }";
    let mut launch = Launch::new(Kernel::text(text));
    launch.bound = vec![Bound { buffer: 0, offset: 0 }, Bound { buffer: 0, offset: 32 }];
    assert_eq!(launch.check(0), []);
    launch.bound[1].offset = 16;
    let findings = launch.check(0);
    let Mistake::RaceInWorkgroup(race) = only(&findings) else { panic!("{findings:?}") };
    // The fifth word of `a` is the first one of `b`.
    let paths =
        (race.element.path.as_str(), race.one.step.invocation.global, race.other.step.invocation.global);
    assert_eq!(paths, ("a[4]", [4, 0, 0], [7, 0, 0]));
}

#[test]
fn r07_reads_of_unwritten_variables_of_the_workgroup_are_found_if_the_caller_wants() {
    let text = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        var<workgroup> w: array<u32, 8>;
        var<workgroup> n: atomic<u32>;
        @compute @workgroup_size(8) fn k(@builtin(local_invocation_index) i: u32) {
            if i < 4u { w[i] = i; }
            workgroupBarrier();
            out[i] = w[i];
        }";
    let mut launch = Launch::new(Kernel::text(text));
    assert_eq!(launch.check(0), []);
    launch.options.unwritten_workgroup = true;
    let findings = launch.check(0);
    let Mistake::UnwrittenRead { element, .. } = only(&findings) else { panic!("{findings:?}") };
    assert_eq!((element.path.as_str(), findings[0].count), ("w[4]", 4));
}

#[test]
fn r07_stores_to_two_components_are_a_race_if_the_caller_wants() {
    let text = "
        @group(0) @binding(0) var<storage, read_write> v: array<vec3<f32>, 8>;
        var<workgroup> m: mat2x2<f32>;
        @compute @workgroup_size(8) fn k(@builtin(local_invocation_index) i: u32) {
            v[i / 2u][i % 2u] = 1.0;
            if i < 2u { m[i].y = 2.0; }
        }";
    let mut launch = Launch::new(Kernel::text(text));
    assert_eq!(launch.check(0), []);
    launch.options.whole_vectors = true;
    let findings = launch.check(0);
    (1..5).for_each(|seed| assert_eq!(launch.check(seed), findings));
    let Mistake::RaceInWorkgroup(race) = only(&findings) else { panic!("{findings:?}") };
    assert_eq!((race.element.path.as_str(), race.one.step.place.as_ref().unwrap().line), ("v[0].x", 5));
}
