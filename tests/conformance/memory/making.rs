//! M01: arrays made by the context come before every later use; making an array on a queue is ordered like a command.

use crate::common::{Calls, Case, Subject, case};
use fencepost::{Context, DeviceArray, Policy};

pub fn cases() -> Vec<Case> {
    vec![
        case("m01_an_array_made_by_the_context_is_ready_for_every_queue", for_every_queue),
        case("m01_an_array_made_by_the_context_waits_for_no_queue", waits_for_no_queue),
        case("m01_an_array_made_by_a_queue_is_in_the_order_of_the_queue", in_the_queues_order),
        case("m01_arrays_have_the_shape_they_were_made_with", shapes),
        case("m01_arrays_without_elements_work", empty_arrays),
    ]
}

/// Returns one array of each kind, with its expected elements.
fn all_kinds(ctx: &Context) -> Vec<(DeviceArray<u32>, Vec<u32>)> {
    let full = ctx.full([100], 7_u32).unwrap();
    let zeros = ctx.zeros(&full).unwrap();
    let counted: Vec<u32> = (0..100).collect();
    vec![
        (ctx.array(&counted).unwrap(), counted),
        (zeros, vec![0; 100]),
        (ctx.zeros([100]).unwrap(), vec![0; 100]),
        (full, vec![7; 100]),
    ]
}

fn for_every_queue(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
        let ctx = s.ctx_with(policy);
        let queues = [ctx.queue("one"), ctx.queue("two"), ctx.queue("three")];
        for round in 0..3 {
            for (array, expected) in all_kinds(&ctx) {
                for queue in &queues {
                    let found = queue.read(&array).wait().unwrap();
                    assert_eq!(found, expected, "{policy:?}, {queue:?}, {round}");
                }
            }
        }
    }
}

fn waits_for_no_queue(s: &Subject) {
    let ctx = s.ctx();
    let held = ctx.queue("held");
    let free = ctx.queue("free");
    let gate = held.hold();
    let other = held.full([100], 1_u32).unwrap();
    held.flush().unwrap();
    for (array, expected) in all_kinds(&ctx) {
        assert_eq!(free.read(&array).wait().unwrap(), expected);
    }
    gate.signal();
    assert_eq!(held.read(&other).wait().unwrap(), [1; 100]);
}

fn in_the_queues_order(s: &Subject) {
    let (ctx, queue) = s.with_queue("queue");
    let other = ctx.queue("other");
    let gate = queue.hold();
    let full = queue.full([64], 3_u32).unwrap();
    let mut copy = queue.empty([64]).unwrap();
    queue.copy(&full, &mut copy).unwrap();
    let zeros = queue.zeros::<u32, 1>([64]).unwrap();
    let array = queue.array(&[9_u32; 64]).unwrap();
    other.wait_for(&queue).unwrap();
    let late = other.read(&copy);
    assert!(!queue.marker().is_complete().unwrap(), "the gate is closed");
    gate.signal();
    assert_eq!(late.wait().unwrap(), [3; 64]);
    assert_eq!(other.read(&zeros).wait().unwrap(), [0; 64]);
    assert_eq!(other.read(&array).wait().unwrap(), [9; 64]);
}

fn shapes(s: &Subject) {
    let ctx = s.ctx();
    let cube = ctx.full([2, 3, 4], 1.5_f32).unwrap();
    let like = ctx.empty::<f32, 3>(&cube).unwrap();
    assert_eq!((cube.shape(), cube.len(), like.shape()), ([2, 3, 4], 24, [2, 3, 4]));
    let flat = cube.reshape([24]).unwrap();
    assert_eq!(ctx.queue("q").read(&flat).wait().unwrap(), [1.5; 24]);
    let vectors = ctx.array(&[[1.0_f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]).unwrap();
    assert_eq!(ctx.queue("q").read(&vectors.slice(1..2).unwrap()).wait().unwrap(), [[5.0, 6.0, 7.0, 8.0]]);
}

fn empty_arrays(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut none = ctx.array::<u32>(&[]).unwrap();
    queue.fill(&mut none, 1).unwrap();
    queue.upload(&[], &mut none).unwrap();
    let other = queue.zeros::<u32, 1>([0]).unwrap();
    queue.copy(&other, &mut none).unwrap();
    assert!(none.is_empty() && queue.read(&none).wait().unwrap().is_empty());
    let flat = ctx.zeros::<f32, 2>([0, 5]).unwrap();
    assert_eq!(queue.read(&flat).wait().unwrap(), [0.0_f32; 0]);
}
