//! Tests of the order between commands, on a context without threads: the device executes only inside the calls of a
//! test.

use crate::api::context::Context;
use crate::api::queue::CommandQueue;
use crate::arrays::device_array::DeviceArray;
use crate::error::{Error, ErrorDetail};
use crate::memory::uses::Policy;
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use std::ops::Range;

fn context(policy: Policy) -> (Context, [CommandQueue; 3]) {
    let ctx =
        Context::simulated(SimulatorOptions { threads: false, ..SimulatorOptions::default() }.policy(policy));
    let queues = ["one", "two", "three"].map(|label| ctx.queue(label));
    (ctx, queues)
}

fn zeros(ctx: &Context) -> DeviceArray<u32> {
    ctx.zeros([64]).expect("there is memory")
}

fn try_fill(queue: &CommandQueue, x: &DeviceArray<u32>, elements: Range<usize>) -> Result<(), Error> {
    queue.fill(&mut x.slice(elements).expect("the range is inside the array"), 1)
}

fn fill(queue: &CommandQueue, x: &DeviceArray<u32>, elements: Range<usize>) {
    try_fill(queue, x, elements).expect("no hazard");
}

/// Enqueues a fill that fails with a hazard, and returns the range of bytes in the error.
fn hazard(queue: &CommandQueue, x: &DeviceArray<u32>, elements: Range<usize>) -> Range<u64> {
    let error = try_fill(queue, x, elements).expect_err("no wait orders it");
    match error.detail() {
        ErrorDetail::Hazard { range, .. } => range.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn p02_a_hazard_names_the_bytes_that_both_use() {
    for (earlier, later) in [(0..32, 16..64), (16..64, 0..32), (16..32, 0..64), (0..64, 16..32)] {
        let (ctx, [one, two, _]) = context(Policy::Checked);
        let x = zeros(&ctx);
        fill(&one, &x, earlier.clone());
        let both = earlier.start.max(later.start) as u64..earlier.end.min(later.end) as u64;
        assert_eq!(hazard(&two, &x, later.clone()), both.start * 4..both.end * 4, "{earlier:?} {later:?}");
    }
}

#[test]
fn p02_a_host_wait_for_a_use_covers_the_work_before_it() {
    let (ctx, [one, two, three]) = context(Policy::Checked);
    let x = zeros(&ctx);
    let y = zeros(&ctx);
    fill(&one, &x, 0..64);
    two.wait_for(&one).expect("nothing has failed");
    fill(&two, &y, 0..64);
    assert_eq!(hazard(&three, &x, 0..64), 0..256);
    drop(y.map_read().wait().expect("nothing has failed"));
    fill(&three, &x, 0..64);
}

#[test]
fn p02_the_progress_of_the_device_changes_no_answer() {
    let (ctx, [one, two, _]) = context(Policy::Checked);
    let x = zeros(&ctx);
    for at in 0..32 {
        fill(&one, &x, at..at + 1);
    }
    let busy = || ctx.owner.engine().lock().can_make_progress();
    one.flush().expect("nothing has failed");
    while busy() {
        one.flush().expect("nothing has failed"); // this makes progress, but reports nothing as complete
    }
    fill(&one, &x, 32..33);
    assert_eq!(hazard(&two, &x, 0..1), 0..4);
    one.finish().wait().expect("nothing has failed");
    fill(&two, &x, 0..1);
}

#[test]
fn p01_uses_that_are_not_done_are_kept_among_many() {
    let (ctx, [one, two, _]) = context(Policy::Ordered);
    let x = zeros(&ctx);
    let uses = || x.array.storage.block().order().uses.all().count();
    for at in 0..64 {
        fill(&one, &x, at..at + 1);
    }
    assert_eq!(uses(), 64);
    one.finish().wait().expect("nothing has failed");
    for at in 0..64 {
        fill(&two, &x, at..at + 1);
    }
    // The uses of the first queue are done, but the uses of the second are not.
    assert_eq!(uses(), 64);
    two.finish().wait().expect("nothing has failed");
    // A removal of complete uses examines all uses, so it runs only after that many new uses.
    (0..64).for_each(|_| fill(&one, &x, 0..1));
    assert!(uses() < 64);
}

#[test]
fn p06_an_added_wait_is_listed_with_the_last_use_that_it_waits_for() {
    let (ctx, [one, two, _]) = context(Policy::Ordered);
    ctx.diagnostics().record_waits(true);
    let x = zeros(&ctx);
    fill(&one, &x, 0..16);
    fill(&one, &x, 16..32);
    fill(&two, &x, 0..64);
    let report = ctx.diagnostics().wait_report();
    let [wait] = report.added.as_slice() else { panic!("{report}") };
    assert_eq!((wait.range.clone(), wait.access, wait.count), (64..128, "write", 1));
}

#[test]
fn p06_a_wait_that_also_orders_a_third_queue_is_not_redundant() {
    let (ctx, [one, two, three]) = context(Policy::Ordered);
    ctx.diagnostics().record_waits(true);
    let x = zeros(&ctx);
    let y = zeros(&ctx);
    fill(&one, &x, 0..64);
    three.wait_for(&one).expect("nothing has failed");
    fill(&three, &y, 0..64);
    fill(&two, &y, 0..64);
    for redundant in [0, 1] {
        // The policy orders queue `two` after the last fill only, not after the first.
        two.wait_for(&three).expect("nothing has failed");
        let report = ctx.diagnostics().wait_report();
        assert_eq!((report.added.len(), report.redundant.len()), (1, redundant), "{report}");
    }
}

#[test]
fn p06_an_added_wait_is_listed_with_the_bytes_of_all_occurrences() {
    for turns in [[0..16, 32..48], [32..48, 0..16]] {
        let (ctx, [one, two, _]) = context(Policy::Ordered);
        ctx.diagnostics().record_waits(true);
        let x = zeros(&ctx);
        for elements in turns {
            fill(&one, &x, elements.clone());
            fill(&two, &x, elements);
        }
        let report = ctx.diagnostics().wait_report();
        let [wait] = report.added.as_slice() else { panic!("{report}") };
        assert_eq!((wait.range.clone(), wait.count), (0..192, 2));
    }
}
