//! K04: workgroup memory, barriers, and sizes by override.

use super::shaders::{REVERSES, SUMS};
use crate::common::{Case, Subject, case};
use fencepost::{Grid, args};

pub fn cases() -> Vec<Case> {
    vec![
        case("k04_workgroups_sum_in_their_own_memory", sums),
        case("k04_an_override_sets_the_size_of_workgroup_memory_too", sizes),
        case("k04_a_barrier_makes_the_writes_of_a_workgroup_visible_in_it", barriers),
    ]
}

fn counted(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

/// Checks the sums over workgroups of `workgroup` invocations.
fn check_sums(s: &Subject, workgroup: usize, n: usize) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = SUMS.kernel_with(s, &ctx, &[("WORKGROUP", workgroup as f64)]);
    assert_eq!(kernel.interface().workgroup, [workgroup as u32, 1, 1]);
    let (x, mut totals) =
        (ctx.array(&counted(n)).unwrap(), ctx.zeros::<u32, 1>([n.div_ceil(workgroup)]).unwrap());
    queue.launch_dyn(&kernel, Grid::threads([n]), args![x = &x, totals = &mut totals]).unwrap();
    let expected: Vec<u32> = counted(n).chunks(workgroup).map(|part| part.iter().sum()).collect();
    assert_eq!(queue.read(&totals).wait().unwrap(), expected, "{workgroup} invocations, {n} elements");
}

fn sums(s: &Subject) {
    check_sums(s, 64, 64);
    check_sums(s, 64, 1000);
}

fn sizes(s: &Subject) {
    [1, 2, 32, 128, 256].into_iter().for_each(|workgroup| check_sums(s, workgroup, 1000));
}

fn barriers(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    for workgroup in [8, 64, 128] {
        let kernel = REVERSES.kernel_with(s, &ctx, &[("WORKGROUP", workgroup as f64)]);
        let mut x = ctx.array(&counted(1024)).unwrap();
        for _ in 0..3 {
            queue.launch_dyn(&kernel, Grid::threads([1024]), args![x = &mut x]).unwrap();
        }
        let expected: Vec<u32> =
            counted(1024).chunks(workgroup).flat_map(|part| part.iter().rev().copied()).collect();
        assert_eq!(
            queue.read(&x).wait().unwrap(),
            expected,
            "reversed three times, {workgroup} elements at once"
        );
    }
}
