//! Findings in kernels whose invocations run in different orders.

use crate::harness::{Kernel, Launch};
use fencepost_cpu::{Finding, Mistake};

/// Returns the findings, which are the same for 20 seeds.
fn findings(launch: &Launch) -> Vec<Finding> {
    let first = launch.check(0);
    (1..20).for_each(|seed| assert_eq!(launch.check(seed), first, "seed {seed}"));
    first
}

fn launch(body: &str) -> Launch {
    Launch::new(Kernel::text(format!(
        "@group(0) @binding(0) var<storage, read_write> new_a: array<u32>;
        @group(0) @binding(1) var<storage, read_write> new_n: array<atomic<u32>>;
        @group(0) @binding(2) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(16) fn k(
            @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>,
            @builtin(workgroup_id) g: vec3<u32>) {{ {body} }}"
    )))
}

#[test]
fn r07_a_read_that_races_with_the_first_write_is_a_race_and_no_unwritten_read() {
    let found = findings(&launch("if i == 3u { new_a[0] = 1u; }\nif i == 9u { out[0] = new_a[0]; }"));
    assert!(matches!(found[..], [Finding { mistake: Mistake::RaceInWorkgroup(_), .. }]), "{found:?}");
    let body = "if i == 3u && g.x == 2u { new_a[0] = 1u; }\nif i == 9u && g.x == 1u { out[0] = new_a[0]; }";
    let found = findings(&launch(body).groups(3));
    assert!(matches!(found[..], [Finding { mistake: Mistake::RaceBetweenWorkgroups(_), .. }]), "{found:?}");
}

#[test]
fn r07_an_atomic_load_that_some_order_puts_after_a_store_is_no_finding() {
    let body = "if i == 3u { atomicStore(&new_n[0], 1u); }\nif i == 9u { out[g.x] = atomicLoad(&new_n[0]); }";
    assert_eq!(findings(&launch(body).groups(3)), []);
}

#[test]
fn r07_all_changes_of_an_unwritten_counter_are_found() {
    let body = "if i == 3u { atomicAdd(&new_n[0], 1u); }\nif i == 9u { atomicMax(&new_n[0], 4u); }";
    let found = findings(&launch(body).groups(3));
    assert_eq!(found.iter().map(|finding| finding.count).collect::<Vec<_>>(), [3, 3]);
    assert!(found.iter().all(|finding| matches!(finding.mistake, Mistake::UnwrittenRead { .. })));
}

#[test]
fn r07_each_pair_of_lines_that_races_is_found_whatever_the_number_of_readers() {
    let body = "
        out[i + 16u] = out[0];
        out[i + 32u] = out[0];
        if i == 7u { out[0] = 1u; }
        if i == 8u { out[0] = 2u; }";
    let lines = |finding: &Finding| match &finding.mistake {
        Mistake::RaceInWorkgroup(race) => {
            [&race.one, &race.other].map(|access| access.step.place.as_ref().unwrap().line)
        }
        mistake => panic!("{mistake}"),
    };
    let found = findings(&launch(body));
    let found: Vec<[usize; 2]> = found.iter().map(lines).collect();
    assert_eq!(found, [[7, 9], [7, 10], [8, 9], [8, 10], [9, 10]]);
}
