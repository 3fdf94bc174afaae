//! P04: a binding is accessed as the entry point accesses it.

use crate::common::{Case, Subject, assert_error, case, hold, queues};
use crate::kernels::shaders::{LOOKS, MEASURES, SUMS};
use fencepost::interface::Access;
use fencepost::{ErrorDetail, Grid, Policy, args};

pub fn cases() -> Vec<Case> {
    vec![
        case("p04_a_writable_binding_that_is_only_read_counts_as_read", only_read),
        case("p04_a_binding_that_the_kernel_does_not_access_counts_as_no_use", not_touched),
        case("p04_a_write_in_a_called_function_counts_as_a_write", written_below),
        case("p04_a_binding_that_is_only_written_comes_after_its_readers", only_written),
        case("p04_the_interface_lists_the_declared_and_the_actual_access", interface),
    ]
}

fn only_read(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let looks = LOOKS.kernel(s, &ctx);
    let mut x = ctx.full([64], 1_u32).unwrap();
    let queues = [ctx.queue("one"), ctx.queue("two")];
    let reads = queues.each_ref().map(|queue| {
        let mut y = queue.zeros::<u32, 1>([64]).unwrap();
        queue.launch_dyn(&looks, Grid::threads([64]), args![x = &mut x, y = &mut y]).unwrap();
        queue.read(&y)
    });
    for read in reads {
        assert_eq!(read.wait().unwrap(), [2; 64]);
    }
}

fn not_touched(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let measures = MEASURES.kernel(s, &ctx);
    let [one, two] = queues(&ctx, ["one", "two"]);
    let mut x = ctx.zeros::<u32, 1>([64]).unwrap();
    let gate = hold(&one);
    one.fill(&mut x, 1_u32).unwrap();
    let mut y = ctx.zeros::<u32, 1>([1]).unwrap();
    two.launch_dyn(&measures, Grid::groups([1]), args![x = &mut x, y = &mut y]).unwrap();
    assert_eq!(two.read(&y).wait().unwrap(), [64], "the launch does not wait for the held writer of `x`");
    gate.signal();
    one.fill(&mut x, 2).unwrap();
    assert_eq!(one.read(&x).wait().unwrap(), [2; 64]);
}

fn written_below(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let looks = LOOKS.kernel(s, &ctx);
    let [one, two] = queues(&ctx, ["one", "two"]);
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros::<u32, 1>([64]).unwrap());
    one.launch_dyn(&looks, Grid::threads([64]), args![x = &mut x, y = &mut y]).unwrap();
    assert_error!(two.read(&y).wait(), ErrorDetail::Hazard { access: "write", .. });
    assert_eq!(two.read(&x).wait().unwrap(), [0; 64]);
}

fn only_written(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let sums = SUMS.kernel(s, &ctx);
    let [one, two] = queues(&ctx, ["one", "two"]);
    let x = ctx.full([64], 1_u32).unwrap();
    let [mut totals, mut copy] = [0; 2].map(|_| ctx.zeros::<u32, 1>([1]).unwrap());
    one.copy(&totals, &mut copy).unwrap();
    let error = two.launch_dyn(&sums, Grid::groups([1]), args![x = &x, totals = &mut totals]).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Hazard { access: "read", .. }), "{error}");
    two.wait_for(&one).unwrap();
    two.launch_dyn(&sums, Grid::groups([1]), args![x = &x, totals = &mut totals]).unwrap();
    assert_eq!(two.read(&totals).wait().unwrap(), [64]);
    assert_eq!(one.read(&copy).wait().unwrap(), [0]);
}

fn interface(s: &Subject) {
    let ctx = s.ctx();
    let used = |kernel: &fencepost::DynKernel| {
        let bindings = &kernel.interface().bindings;
        bindings.iter().map(|binding| (binding.declared, binding.used)).collect::<Vec<_>>()
    };
    let writable = Access::ReadWrite;
    let readable = Access::Read;
    let looks = [(writable, Some(Access::Read)), (writable, Some(Access::Write))];
    assert_eq!(used(&LOOKS.kernel(s, &ctx)), looks);
    assert_eq!(used(&MEASURES.kernel(s, &ctx)), [(writable, None), (writable, Some(Access::Write))]);
    assert_eq!(
        used(&SUMS.kernel(s, &ctx)),
        [(readable, Some(Access::Read)), (writable, Some(Access::Write))]
    );
}
