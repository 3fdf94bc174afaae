//! Operations of subgroups, whose size is 4.

use crate::harness::words;

/// Runs the statements of 8 invocations `i`, which may write to `out[i]`.
fn lanes(body: &str) -> Vec<u32> {
    let arguments = "@builtin(local_invocation_index) i: u32, @builtin(subgroup_invocation_id) lane: u32,
        @builtin(subgroup_id) group: u32, @builtin(subgroup_size) size: u32, @builtin(num_subgroups) groups: u32";
    words(&format!("@compute @workgroup_size(8) fn k({arguments}) {{ {body} }}"), 8)
}

#[test]
fn the_built_in_values_number_the_lanes() {
    assert_eq!(
        lanes("out[i] = 1000u * groups + 100u * size + 10u * group + lane;"),
        [2400, 2401, 2402, 2403, 2410, 2411, 2412, 2413]
    );
}

#[test]
fn reductions_and_scans_combine_the_lanes_of_one_subgroup() {
    assert_eq!(lanes("out[i] = subgroupAdd(i);"), [6, 6, 6, 6, 22, 22, 22, 22]);
    assert_eq!(lanes("out[i] = subgroupInclusiveAdd(i);"), [0, 1, 3, 6, 4, 9, 15, 22]);
    assert_eq!(lanes("out[i] = subgroupExclusiveMul(i + 1u);"), [1, 1, 2, 6, 1, 5, 30, 210]);
    assert_eq!(lanes("out[i] = subgroupMax(vec2(i, 9u - i)).y;"), [9, 9, 9, 9, 5, 5, 5, 5]);
    assert_eq!(
        lanes("out[i] = u32(subgroupAll(i < 4u)) + 2u * u32(subgroupAny(i == 7u));"),
        [1, 1, 1, 1, 2, 2, 2, 2]
    );
}

#[test]
fn lanes_take_values_of_other_lanes() {
    assert_eq!(lanes("out[i] = subgroupBallot(i % 2u == 1u).x;"), [10; 8]);
    assert_eq!(lanes("out[i] = subgroupBroadcast(i, 2u);"), [2, 2, 2, 2, 6, 6, 6, 6]);
    assert_eq!(lanes("out[i] = subgroupShuffleXor(i, 3u);"), [3, 2, 1, 0, 7, 6, 5, 4]);
    assert_eq!(lanes("out[i] = subgroupShuffleDown(i, 1u);"), [1, 2, 3, 3, 5, 6, 7, 7]);
    assert_eq!(lanes("out[i] = quadSwapX(i);"), [1, 0, 3, 2, 5, 4, 7, 6]);
}

#[test]
fn lanes_of_another_branch_take_no_part_and_meet_after_it() {
    let body = "
        var x = 0u;
        if i % 2u == 0u { x = subgroupAdd(1u); } else if lane == 1u { x = 10u * subgroupAdd(1u); }
        out[i] = 100u * subgroupAdd(1u) + x;";
    assert_eq!(lanes(body), [402, 410, 402, 400, 402, 410, 402, 400]);
}

#[test]
fn lanes_that_leave_a_loop_wait_after_it() {
    let body = "
        var n = 0u;
        for (var k = 0u; k <= lane; k++) { n += subgroupAdd(1u); }
        subgroupBarrier();
        out[i] = n + 100u * subgroupAdd(1u);";
    assert_eq!(lanes(body), [404, 407, 409, 410, 404, 407, 409, 410]);
}

#[test]
fn operations_in_functions_keep_the_lanes_of_different_calls_apart() {
    let text = "
        fn sum(x: u32) -> u32 { return subgroupAdd(x); }
        @compute @workgroup_size(6) fn k(@builtin(local_invocation_index) i: u32) {
            var n = 0u;
            if i % 2u == 0u { n = sum(1u); } else { n = 10u * sum(1u); }
            out[i] = n + 100u * sum(1u);
        }";
    assert_eq!(words(text, 6), [402, 420, 402, 420, 201, 210]);
}
