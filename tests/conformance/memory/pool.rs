//! M07: dropped arrays, and the reuse of their memory.

use crate::common::{Case, Subject, case};
use fencepost::{Context, Policy};

pub fn cases() -> Vec<Case> {
    vec![
        case("m07_dropping_an_array_neither_waits_nor_frees_under_running_work", never_waits),
        case("m07_memory_is_used_again_in_the_order_of_its_queue", same_queue),
        case("m07_another_queue_uses_memory_again_only_after_its_last_use", another_queue),
        case("m07_the_context_uses_memory_again_only_after_its_last_use", the_context),
        case("m07_memory_of_an_array_of_the_context_is_used_again_by_any_queue", made_by_the_context),
        case("m07_zeros_never_show_stale_bytes", zeros),
        case("m07_zeros_are_zero_in_memory_that_the_driver_hands_out_again", given_back),
    ]
}

const N: usize = 5000;

fn free(ctx: &Context) -> u64 {
    ctx.pool_stats().free
}

fn never_waits(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let gate = ctx.user_event("gate");
    let mut results = Vec::new();
    queue.wait_for(&gate.event()).unwrap();
    for round in 0..10_u32 {
        s.spin(&ctx, &queue, 1);
        let x = queue.full([N], round).unwrap();
        let mut y = queue.empty([N]).unwrap();
        queue.copy(&x, &mut y).unwrap();
        drop(x);
        results.push(queue.read(&y));
        drop(y);
    }
    gate.signal();
    for (round, result) in results.into_iter().enumerate() {
        assert_eq!(result.wait().unwrap(), [round as u32; N]);
    }
}

fn same_queue(s: &Subject) {
    let ctx = s.ctx();
    let (queue, _other) = (ctx.queue("q"), ctx.queue("other"));
    let gate = ctx.user_event("gate");
    queue.wait_for(&gate.event()).unwrap();
    let first = queue.full([N], 1_u32).unwrap();
    let read = queue.read(&first);
    drop(first);
    let kept = free(&ctx);
    assert!(kept >= 4 * N as u64);
    let second = queue.full([N], 2_u32).unwrap();
    assert_eq!(free(&ctx), 0, "the second array has the memory of the first, which is still in use");
    gate.signal();
    assert_eq!(queue.read(&second).wait().unwrap(), [2; N]);
    assert_eq!(read.wait().unwrap(), [1; N]);
    assert!(ctx.pool_stats().high_water >= kept && ctx.pool_stats().used >= kept);
}

fn another_queue(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
        let ctx = s.ctx_with(policy);
        let (queue, other) = (ctx.queue("q"), ctx.queue("other"));
        let gate = ctx.user_event("gate");
        queue.wait_for(&gate.event()).unwrap();
        let first = queue.full([N], 1_u32).unwrap();
        let read = queue.read(&first);
        drop(first);
        let kept = free(&ctx);
        let second = other.full([N], 2_u32).unwrap();
        assert_eq!(free(&ctx), kept, "the other queue may run before the read, so it gets other memory");
        assert_eq!(other.read(&second).wait().unwrap(), [2; N]);
        other.wait_for_queue(&queue).unwrap();
        let third = other.full([N], 3_u32).unwrap();
        assert_eq!(free(&ctx), 0, "the other queue comes after the read, so it gets the free memory");
        gate.signal();
        assert_eq!(read.wait().unwrap(), [1; N]);
        assert_eq!(other.read(&third).wait().unwrap(), [3; N], "{policy:?}");
    }
}

fn the_context(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let gate = ctx.user_event("gate");
    queue.wait_for(&gate.event()).unwrap();
    let first = queue.full([N], 1_u32).unwrap();
    let read = queue.read(&first);
    drop(first);
    let second = ctx.full([N], 2_u32).unwrap();
    let other = ctx.queue("other, made after the held work");
    gate.signal();
    assert_eq!(other.read(&second).wait().unwrap(), [2; N]);
    assert_eq!(read.wait().unwrap(), [1; N]);
    queue.finish().wait().unwrap();
}

fn made_by_the_context(s: &Subject) {
    let ctx = s.ctx();
    let queues = [ctx.queue("one"), ctx.queue("two")];
    drop(ctx.full([N], 1_u32).unwrap());
    assert!(free(&ctx) > 0);
    let next = queues[1].full([N], 2_u32).unwrap();
    assert_eq!(free(&ctx), 0, "the context's own commands come before every queue's");
    assert_eq!(queues[1].read(&next).wait().unwrap(), [2; N]);
}

fn zeros(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Unchecked] {
        let ctx = s.ctx_with(policy);
        let queues = [ctx.queue("one"), ctx.queue("two")];
        for round in 0..20_usize {
            let queue = &queues[round % 2];
            let n = N - round % 3;
            drop(queue.full([n], u32::MAX).unwrap());
            let own = queue.zeros::<u32, 1>([n]).unwrap();
            drop(ctx.full([n], u32::MAX).unwrap());
            let shared = ctx.zeros::<u32, 1>([n]).unwrap();
            let pinned = ctx.pinned::<u32, fencepost::Download, 1>([n]).unwrap();
            assert_eq!(queue.read(&own).wait().unwrap(), vec![0; n], "round {round}");
            assert_eq!(queues[round / 2 % 2].read(&shared).wait().unwrap(), vec![0; n], "round {round}");
            drop(pinned);
        }
    }
}

/// Releases memory to the driver, which may hand it out again with its old bytes.
fn given_back(s: &Subject) {
    let shared = [true, false];
    for ctx in shared.map(|shared| s.switched(|switches| switches.shared_memory &= shared)) {
        let queue = ctx.queue("q");
        for round in 1..=4_u32 {
            let full: Vec<_> = (0..8).map(|_| queue.full([N], round).unwrap()).collect();
            queue.finish().wait().unwrap();
            drop(full);
            let mut given = ctx.trim();
            while given < 8 * 4 * N as u64 {
                std::thread::yield_now(); // a thread of the context is about to release the batch
                given += ctx.trim();
            }
            let zeros: Vec<_> = (0..8).map(|_| queue.zeros::<u32, 1>([N]).unwrap()).collect();
            for (at, array) in zeros.iter().enumerate() {
                assert_eq!(queue.read(array).wait().unwrap(), [0_u32; N], "round {round}, array {at}");
            }
        }
    }
}
