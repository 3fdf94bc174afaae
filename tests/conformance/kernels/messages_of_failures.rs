//! K06: lines and assertions of a launch that fails its queue.

use super::messages::Collected;
use crate::common::{Case, Needs, Subject, case};
use fencepost::prelude::*;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    let native = Needs::Native("only the CPU as a device ends launches and checks them");
    let case = |name, run| Case { needs: native, ..case(name, run) };
    vec![
        case("k06_a_launch_that_takes_too_long_prints", too_long),
        case("k06_a_launch_whose_mistakes_fail_its_queue_prints", checked),
        case("k06_only_launches_that_begin_print_in_a_replay_that_fails", replay),
    ]
}

/// `says` prints its element. `hangs` also never returns, if the element is 3. `slips` also reads past the end.
const TEXT: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(1) fn says(@builtin(global_invocation_id) id: vec3<u32>) { print(\"says {}\", x[id.x]); }
@compute @workgroup_size(1) fn hangs(@builtin(global_invocation_id) id: vec3<u32>) {
    print(\"hangs {}\", x[id.x]);
    assert(x[id.x] != 3u);
    while x[id.x] == 3u { }
}
@compute @workgroup_size(1) fn slips(@builtin(global_invocation_id) id: vec3<u32>) {
    print(\"slips {}\", x[id.x]);
    x[0] = x[id.x + 100u];
}";

fn too_long(s: &Subject) {
    let limit = Duration::from_millis(200);
    let ctx = s.options(|options| options.launch_limit = limit);
    let lines = Collected::of(&ctx, 1 << 16);
    let queue = ctx.queue("q");
    let [says, hangs] = ["says", "hangs"].map(|entry| ctx.kernel_from(TEXT, entry).unwrap());
    let mut x = ctx.array(&[7_u32, 3]).unwrap();
    for _ in 0..2 {
        queue.launch_dyn(&hangs, Grid::threads([2]), args![x = &mut x]).unwrap();
        queue.launch_dyn(&says, Grid::threads([2]), args![x = &mut x]).unwrap();
        assert_refused!(queue.finish().wait(), LaunchTooLong);
        assert_eq!(lines.take(), ["hangs 7", "hangs 3"], "the launch after the failure is not executed");
        queue.take_error().unwrap();
    }
    queue.launch_dyn(&says, Grid::threads([2]), args![x = &mut x]).unwrap();
    queue.finish().wait().unwrap();
    assert_eq!(lines.take(), ["says 7", "says 3"]);
}

fn checked(s: &Subject) {
    let check = CheckOptions::default().fail_queue(true);
    let ctx = s.options(|options| options.check = Some(check));
    let lines = Collected::of(&ctx, 1 << 16);
    let queue = ctx.queue("q");
    let slips = ctx.kernel_from(TEXT, "slips").unwrap();
    let mut x = ctx.array(&[7_u32, 8]).unwrap();
    queue.launch_dyn(&slips, Grid::threads([1]), args![x = &mut x]).unwrap();
    let error = queue.finish().wait().unwrap_err();
    assert!(!matches!(error.detail(), ErrorDetail::AssertionFailed { .. }), "{error}");
    assert_eq!(lines.take(), ["slips 7"]);
}

fn replay(s: &Subject) {
    let ctx = s.options(|options| options.launch_limit = Duration::from_millis(200));
    let lines = Collected::of(&ctx, 1 << 16);
    let queue = ctx.queue("q");
    let [says, hangs] = ["says", "hangs"].map(|entry| ctx.kernel_from(TEXT, entry).unwrap());
    let mut x = ctx.array(&[5_u32]).unwrap();
    let (graph, ()) = queue
        .capture(|c| {
            for kernel in [&says, &hangs, &says] {
                c.launch_dyn(kernel, Grid::threads([1]), args![x = &mut x])?;
            }
            Ok(())
        })
        .unwrap();
    queue.replay(&graph).unwrap();
    queue.finish().wait().unwrap();
    assert_eq!(lines.take(), ["says 5", "hangs 5", "says 5"]);
    queue.fill(&mut x, 3).unwrap();
    queue.replay(&graph).unwrap();
    let error = queue.finish().wait().unwrap_err();
    assert!(error.to_string().contains("hangs"), "{error}");
    assert_eq!(lines.take(), ["says 3", "hangs 3"], "the last launch does not begin");
}
