//! The smallest programs that once failed. Each is named by the property that must hold. They run with many orders.

use super::case::Cpu;
use super::common::results::CPU;
use super::op::{Contents, How, Id, Kernel, Maker, Op, Part, Ty, Wait};
use super::run::run;
use fencepost::Policy;
use libtest_mimic::Trial;

/// Number of orders with which each program runs.
const SEEDS: u64 = 60;

/// Returns all regression tests. The second argument is the number of queues that a program has from its start.
pub fn trials() -> Vec<Trial> {
    const ORDERED: Policy = Policy::Ordered;
    const CHECKED: Policy = Policy::Checked;
    const UNCHECKED: Policy = Policy::Unchecked;
    vec![
        trial("a_wait_for_a_queue_covers_the_waits_of_that_queue", 3, ORDERED, waits_for_all()),
        trial("a_read_in_place_waits_for_the_fill_of_the_context", 2, ORDERED, read_of_a_fill()),
        trial("two_writers_of_parts_of_a_read_do_not_race_with_the_copy_for_it", 2, ORDERED, read_in_parts()),
        trial("order_through_a_queue_of_another_lane_holds_in_a_batch", 4, UNCHECKED, order_by_a_third()),
        trial("a_marker_between_a_wait_and_work_covers_the_wait", 4, UNCHECKED, marker_after_a_wait()),
        trial("a_read_with_copied_bytes_can_be_awaited_without_threads", 2, ORDERED, awaited_late()),
        trial("a_refused_copy_within_an_array_records_no_use", 2, CHECKED, half_a_copy()),
        trial("an_array_of_a_queue_is_made_in_queue_order", 3, CHECKED, made_in_order()),
        trial("a_read_that_timed_out_orders_nothing", 2, CHECKED, told_nothing()),
        trial("an_indirect_launch_with_zero_workgroups_on_one_axis_runs_none", 1, ORDERED, no_groups()),
        trial("an_empty_array_waits_for_the_earlier_array_in_its_memory", 2, ORDERED, reused_memory()),
        trial("a_map_after_a_copy_within_an_array_covers_all_of_it", 2, CHECKED, map_after_a_copy()),
    ]
}

fn trial(name: &str, queues: usize, policy: Policy, ops: Vec<Op>) -> Trial {
    let ops: Vec<Op> = (1..=queues).map(|q| Op::Queue { q, urgency: 0, at: 0 }).chain(ops).collect();
    super::trials::trial(format!("p08_{name}"), CPU, move || {
        for seed in 0..SEEDS {
            let place = Cpu::of_seed(seed, policy);
            run(&place, &ops).map_err(|what| format!("with the options of seed {seed}: {what}"))?;
        }
        Ok(())
    })
}

fn array(by: Maker, a: Id, len: usize, contents: Contents) -> Op {
    Op::Array { a, by, ty: Ty::U32, len, contents }
}

fn part(a: Id, range: std::ops::Range<usize>) -> Part {
    Part { a, start: range.start, len: range.len() }
}

fn fill(q: Id, dst: Part, value: u32) -> Op {
    Op::Fill { q, dst, value }
}

fn waits_for_all() -> Vec<Op> {
    let mix = |q, x, y| Op::Launch {
        q,
        kernel: Kernel::Mix { a: 3, b: 5, x: part(x, 0..64), y: part(y, 0..64) },
        how: How::Typed,
    };
    vec![
        array(Maker::Context(0), 1, 64, Contents::Elements(1)),
        array(Maker::Context(0), 2, 64, Contents::Elements(2)),
        fill(1, part(1, 0..64), 7),
        mix(2, 1, 2),
        mix(2, 1, 2),
        Op::Mark { e: 1, q: 1 },
        Op::WaitFor { q: 2, events: vec![1] },
        Op::DropQueue { q: 1 },
        Op::WaitForQueue { q: 3, other: 2 },
        Op::DropQueue { q: 2 },
        Op::Queue { q: 4, urgency: -1, at: 0 },
        Op::Callback { q: 4 },
        mix(4, 2, 1),
        Op::Finish { q: 3, how: Wait::Block },
        Op::MapRead { m: 1, part: part(2, 0..64) },
    ]
}

fn read_of_a_fill() -> Vec<Op> {
    vec![
        array(Maker::Context(0), 1, 256, Contents::Full(9)),
        Op::Read { q: 1, r: 1, src: part(1, 0..256) },
        Op::Read { q: 2, r: 2, src: part(1, 0..256) },
        Op::WaitRead { r: 2, how: Wait::Block },
    ]
}

fn read_in_parts() -> Vec<Op> {
    vec![
        array(Maker::Context(0), 1, 192, Contents::Elements(4)),
        array(Maker::Context(0), 2, 64, Contents::Elements(5)),
        Op::Read { q: 1, r: 1, src: part(1, 0..192) },
        Op::Copy { q: 2, src: part(2, 1..3), dst: part(1, 0..2) },
        fill(1, part(1, 95..181), 6),
        Op::MapRead { m: 1, part: part(1, 0..192) },
        Op::WaitRead { r: 1, how: Wait::Block },
    ]
}

fn order_by_a_third() -> Vec<Op> {
    vec![
        array(Maker::Context(0), 1, 256, Contents::Zeros),
        fill(4, part(1, 0..256), 1),
        fill(4, part(1, 200..212), 2),
        Op::Queue { q: 5, urgency: 0, at: 0 },
        Op::WaitForQueue { q: 1, other: 5 },
        fill(1, part(1, 0..256), 3),
        Op::WaitForQueue { q: 2, other: 1 },
        Op::WaitForQueue { q: 3, other: 2 },
        fill(3, part(1, 0..256), 4),
    ]
}

fn marker_after_a_wait() -> Vec<Op> {
    vec![
        array(Maker::Context(0), 1, 64, Contents::Zeros),
        array(Maker::Context(0), 2, 64, Contents::Zeros),
        // The commands are planned together after the signal.
        Op::UserEvent { u: 1, at: 0 },
        Op::WaitForUser { q: 1, u: 1 },
        fill(1, part(1, 0..64), 1),
        Op::WaitForQueue { q: 2, other: 1 },
        Op::Mark { e: 1, q: 2 },
        fill(2, part(2, 0..64), 2),
        Op::WaitFor { q: 3, events: vec![1] },
        fill(3, part(1, 0..64), 3),
        Op::Signal { u: 1 },
        // Without threads one flush plans all queues, each to its end.
        Op::Flush { q: 4 },
    ]
}

fn awaited_late() -> Vec<Op> {
    vec![
        array(Maker::Context(0), 1, 64, Contents::Zeros),
        Op::Read { q: 1, r: 1, src: part(1, 0..64) },
        fill(2, part(1, 21..50), 8),
        Op::WaitRead { r: 1, how: Wait::Await },
    ]
}

fn half_a_copy() -> Vec<Op> {
    vec![
        array(Maker::Context(0), 1, 16, Contents::Elements(3)),
        Op::Copy { q: 2, src: part(1, 0..9), dst: part(1, 4..13) },
        Op::Copy { q: 1, src: part(1, 0..1), dst: part(1, 0..1) },
        Op::Copy { q: 2, src: part(1, 11..13), dst: part(1, 0..2) },
    ]
}

fn made_in_order() -> Vec<Op> {
    vec![
        array(Maker::Queue(1), 1, 16, Contents::Zeros),
        Op::Upload { q: 2, dst: part(1, 0..16), seed: 1 },
        Op::WaitForQueue { q: 2, other: 1 },
        Op::Upload { q: 2, dst: part(1, 0..16), seed: 1 },
        Op::WaitForQueue { q: 1, other: 3 },
        array(Maker::Queue(1), 2, 16, Contents::Empty),
        Op::Copy { q: 3, src: part(2, 0..4), dst: part(2, 8..12) },
        // Reused memory gives the same result.
        Op::DropArray { a: 1 },
        array(Maker::Queue(2), 3, 16, Contents::Zeros),
        fill(3, part(3, 0..4), 5),
    ]
}

fn told_nothing() -> Vec<Op> {
    vec![
        array(Maker::Queue(2), 1, 100, Contents::Elements(6)),
        array(Maker::Queue(2), 2, 1, Contents::Zeros),
        Op::Read { q: 2, r: 1, src: part(1, 59..76) },
        Op::Copy { q: 2, src: part(1, 0..100), dst: part(1, 0..100) },
        Op::WaitRead { r: 1, how: Wait::Within(0) },
        Op::Upload { q: 1, dst: part(2, 0..1), seed: 7 },
    ]
}

fn map_after_a_copy() -> Vec<Op> {
    vec![
        array(Maker::Context(0), 1, 16, Contents::Elements(8)),
        Op::Copy { q: 2, src: part(1, 10..11), dst: part(1, 13..14) },
        Op::MapWrite { m: 1, part: part(1, 8..12), seed: 9 },
        Op::Unmap { m: 1 },
        Op::Copy { q: 1, src: part(1, 0..16), dst: part(1, 0..16) },
    ]
}

fn no_groups() -> Vec<Op> {
    let counts =
        |a| Op::Array { a, by: Maker::Context(0), ty: Ty::Groups, len: 3, contents: Contents::Full(1) };
    let mut ops = vec![array(Maker::Context(0), 1, 64, Contents::Elements(1))];
    for axis in 0..3 {
        let none = Part { a: 2 + axis, start: axis, len: 1 };
        let kernel = Kernel::Iota { start: 7, step: 1, out: part(1, 0..64) };
        let how = How::Indirect(part(none.a, 0..3));
        ops.extend([counts(none.a), fill(1, none, 0), Op::Launch { q: 1, kernel, how }]);
    }
    ops
}

fn reused_memory() -> Vec<Op> {
    vec![
        array(Maker::Queue(1), 1, 64, Contents::Zeros),
        Op::UserEvent { u: 1, at: 0 },
        Op::WaitForUser { q: 1, u: 1 },
        fill(1, part(1, 0..64), 7),
        Op::DropArray { a: 1 },
        array(Maker::Queue(1), 2, 64, Contents::Empty),
        fill(2, part(2, 0..64), 9),
        Op::Flush { q: 2 },
        Op::Signal { u: 1 },
        Op::Finish { q: 1, how: Wait::Block },
    ]
}
