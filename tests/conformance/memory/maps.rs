//! M06: maps of device memory.

use crate::common::clock::Clock;
use crate::common::dump;
use crate::common::early_results::{self, REACH, VALUE};
use crate::common::kernels::Iota;
use crate::common::{Calls, Case, ONE_THREAD, Subject, assert_error, case};
use crate::kernels::shaders;
use bytemuck::{Pod, Zeroable};
use fencepost::graph::Contents;
use fencepost::{
    CommandQueue, Context, DeviceArray, Download, Element, Error, ErrorDetail, Graph, Grid, HostArray,
    Policy, Priority, QueueOptions, Replay, Upload, args,
};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("m06_a_read_map_shows_the_bytes_of_the_last_writer", shows),
        case("m06_every_queue_reads_the_changes_of_a_write_map", changes),
        case("m06_elements_may_ask_for_a_larger_alignment_than_the_memory_has", aligned),
        case("m06_a_map_of_a_slice_has_the_elements_of_the_slice", slices),
        case("m06_a_mapped_array_cannot_be_enqueued_or_mapped_again", mapped),
        case("m06_a_read_map_waits_for_the_last_writer_only", last_writer_only),
        case("m06_a_write_map_waits_for_the_last_users", last_users),
        case("m06_a_leaked_guard_makes_its_array_an_error_and_nothing_else", leaked),
        case("m06_a_host_call_returns_the_error_of_the_last_writer_until_it_is_taken", failed_writers),
        case("m06_a_host_call_returns_no_error_of_bytes_that_were_written_again", written_again),
        case("m06_a_host_call_returns_no_error_of_a_reader_or_of_a_cancelled_replay", no_writers),
        case("m06_a_graph_is_not_saved_with_bytes_whose_last_writer_failed", saved),
        case("m06_the_context_takes_the_errors_of_dropped_queues", dropped_queues),
        case("m06_new_memory_has_no_error_of_an_earlier_array", reused),
        case("m06_to_vec_returns_the_error_of_the_writer_before_it", writer_before).not_in_a_page(ONE_THREAD),
        case("m01_failed_work_comes_after_the_creation_of_its_array", after_creation),
        case("m01_cancelled_work_comes_after_the_creation_of_its_array", cancelled_after_creation),
        case("m06_a_map_can_be_awaited", futures),
        case("m06_an_awaited_map_ends_while_batches_wait_to_be_submitted", after_batches),
        case("m06_dropping_a_pending_map_changes_nothing", dropped),
        case("m06_two_threads_never_map_one_array_for_writing_at_once", alone).not_in_a_page(ONE_THREAD),
        case("m06_a_map_of_shared_memory_does_not_wait_for_later_work", map_later)
            .in_reach(REACH)
            .host_side(),
        case("m06_a_map_shows_the_writes_of_a_kernel_without_any_wait", host_reads),
    ]
}

/// An element with a larger alignment than any device guarantees; arrays share blocks.
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable, Element)]
#[repr(C, align(4096))]
struct Page {
    words: [[u32; 32]; 32],
}

fn aligned(s: &Subject) {
    for ctx in [s.ctx(), s.switched(|switches| switches.shared_memory = true)] {
        let queue = ctx.queue("q");
        let page = |value| Page { words: [[value; 32]; 32] };
        let x = ctx.array(&[1, 2, 3, 4].map(page)).unwrap();
        // The arrays begin at different places in the memory.
        for _ in 0..3 {
            let _small = ctx.zeros::<u32, 1>([5]).unwrap();
            let y = queue.array(&[5, 6].map(page)).unwrap();
            assert_eq!(*y.map_read().wait().unwrap(), [5, 6].map(page));
        }
        assert_eq!(x.slice(1..3).unwrap().map_read().wait().unwrap()[1], page(3));
        x.map_write().wait().unwrap()[2] = page(9);
        assert_eq!(queue.read(&x).wait().unwrap(), [1, 2, 9, 4].map(page));
        let mut host: HostArray<Page, Download> = ctx.pinned([4]).unwrap();
        queue.download(&x, &mut host).unwrap();
        assert_eq!(host.host().unwrap()[2], page(9));
        let mut host: HostArray<Page, Upload> = ctx.pinned([1]).unwrap();
        host.host_mut().unwrap()[0] = page(7);
        assert_eq!(host.host().unwrap()[0], page(7));
    }
}

/// Longest wait that must succeed.
const LONG: Duration = Duration::from_secs(20);
/// Time limit of a poll of a map that cannot be ready.
const NOW: Duration = Duration::ZERO;

/// Maps memory that the host can access, for which nothing has to be submitted.
fn map_later(s: &Subject) {
    let ctx = s.switched(|switches| switches.shared_memory = true);
    early_results::on_its_queue_of(
        s,
        &ctx,
        &[
            ("a read map", |at| {
                let x = at.x.clone();
                Box::new(move || assert_eq!(x.map_read().wait().unwrap()[..], [VALUE; early_results::N]))
            }),
            ("a write map", |at| {
                let x = at.x.clone();
                Box::new(move || x.map_write().wait().unwrap().fill(8))
            }),
        ],
    );
}

/// Awaits maps that need commands of the context, after everything else is flushed: a map of an array that the context
/// has just made, and a map of an array that the host does not reach.
fn after_batches(s: &Subject) {
    for shared_memory in [true, false] {
        let ctx = s.switched(|switches| switches.shared_memory &= shared_memory);
        let queues = [Priority::Low, Priority::Normal, Priority::High]
            .map(|priority| ctx.queue_with(QueueOptions::default().label("q").priority(priority)));
        let old = ctx.full([64], 1_u32).unwrap();
        old.map_read().wait().unwrap();
        for round in 0..3 {
            let mut arrays = [(); 3].map(|()| ctx.zeros([64]).unwrap());
            s.spin(&ctx, &queues[2], 10);
            for (queue, x) in queues.iter().zip(&mut arrays) {
                (0..50).for_each(|_| queue.fill(x, round).unwrap());
            }
            // While the urgent queue is busy, the flushed work of the other queues waits to be submitted.
            ctx.flush().unwrap();
            let new = ctx.full([64], round).unwrap();
            assert_eq!(*crate::common::block_on(new.map_read()).unwrap(), [round; 64]);
            assert_eq!(*crate::common::block_on(old.map_read()).unwrap(), [1; 64]);
            assert_eq!(*crate::common::block_on(arrays[0].map_write()).unwrap(), [round; 64]);
        }
    }
}

fn is_mapped<T>(result: Result<T, Error>) -> bool {
    result.is_err_and(|error| matches!(error.detail(), ErrorDetail::Mapped { .. }))
}

fn shows(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Unchecked] {
        let (ctx, queue) = s.with_queue_under(policy, "q");
        let mut x = ctx.array(&[1_u32, 2, 3]).unwrap();
        assert_eq!(*x.map_read().wait().unwrap(), [1, 2, 3]);
        s.spin(&ctx, &queue, 20);
        queue.fill(&mut x, 4).unwrap();
        assert_eq!(*x.map_read().wait().unwrap(), [4; 3]);
        assert!(ctx.empty::<u32, 1>([0]).unwrap().map_read().wait().unwrap().is_empty());
    }
}

fn changes(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
        let ctx = s.ctx_with(policy);
        let queues = [ctx.queue("one"), ctx.queue("two")];
        let x = ctx.zeros::<u32, 1>([1000]).unwrap();
        for round in 1..5 {
            let mut map = x.map_write().wait().unwrap();
            assert_eq!(map[999], round - 1);
            map.fill(round);
            drop(map);
            let reads = [queues[0].read(&x), queues[1].read(&x)];
            for read in reads {
                assert_eq!(read.wait().unwrap(), [round; 1000], "{policy:?}");
            }
        }
        assert!(ctx.take_error().is_none());
    }
}

fn slices(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = ctx.array(&[1_u32, 2, 3, 4, 5]).unwrap();
    let part = x.slice(1..3).unwrap();
    assert_eq!(*part.map_read().wait().unwrap(), [2, 3]);
    part.map_write().wait().unwrap().copy_from_slice(&[20, 30]);
    assert_eq!(queue.read(&x).wait().unwrap(), [1, 20, 30, 4, 5]);
}

fn mapped(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let saxpy = shaders::saxpy(s, &ctx);
    let x = ctx.full([64], 1.0_f32).unwrap();
    let mut y = ctx.full([64], 2.0_f32).unwrap();
    let mut host: HostArray<f32, Download> = ctx.pinned([64]).unwrap();
    let refuse = |x: &DeviceArray<f32>, y: &mut DeviceArray<f32>, host: &mut HostArray<f32, Download>| {
        let launch = queue.launch_dyn(&saxpy, Grid::threads([64]), args![a = 1.0_f32, x = x, y = &mut *y]);
        assert!(is_mapped(launch), "launch");
        assert!(is_mapped(queue.fill(&mut x.clone(), 0.0)), "fill");
        assert!(is_mapped(queue.upload(&[0.0; 64], &mut x.clone())), "upload");
        assert!(is_mapped(queue.copy(x, y)), "copy from the mapped array");
        assert!(is_mapped(queue.copy(y, &mut x.clone())), "copy to the mapped array");
        assert!(is_mapped(queue.read(x).wait()), "read");
        assert!(is_mapped(queue.read_into(x, &mut [0.0; 64])), "read into a slice");
        assert!(is_mapped(queue.download(x, host)), "download");
        assert!(is_mapped(x.map_read().wait()), "map to read");
        assert!(is_mapped(x.map_write().wait()), "map to write");
        assert!(is_mapped(queue.read(&x.slice(32..64).unwrap()).wait()), "read of a part");
    };
    let map = x.map_read().wait().unwrap();
    refuse(&x, &mut y, &mut host);
    drop(map);
    let map = x.map_write().wait().unwrap();
    refuse(&x, &mut y, &mut host);
    drop(map);
    queue.launch_dyn(&saxpy, Grid::threads([64]), args![a = 3.0_f32, x = &x, y = &mut y]).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [5.0; 64]);
}

fn last_writer_only(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
        let ctx = s.ctx_with(policy);
        let writer = ctx.queue("writer");
        let reader = ctx.queue("reader");
        let mut x = ctx.zeros([64]).unwrap();
        let mut y = ctx.zeros([64]).unwrap();
        writer.fill(&mut x, 5_u32).unwrap();
        reader.wait_for(&writer).unwrap();
        let gate = reader.hold();
        reader.copy(&x, &mut y).unwrap();
        reader.flush().unwrap();
        let map = x.map_read().wait_timeout(LONG).unwrap().expect("the map does not wait for the reader");
        assert_eq!(*map, [5; 64]);
        gate.signal();
        reader.finish().wait().unwrap();
        drop(map);
        assert_eq!(reader.read(&y).wait().unwrap(), [5; 64], "{policy:?}");
    }
}

fn last_users(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut clock = Clock::new(&ctx);
    let x = ctx.full([64], 5_u32).unwrap();
    let mut y = ctx.zeros([64]).unwrap();
    let gate = queue.hold();
    queue.copy(&x, &mut y).unwrap();
    let mut late = x.map_write();
    for _ in 0..2 {
        assert!(late.wait_timeout(NOW).unwrap().is_none(), "the copy has not run");
        clock.tick();
    }
    gate.signal();
    late.wait_timeout(LONG).unwrap().expect("nothing holds the copy").fill(6);
    assert_eq!(queue.read(&y).wait().unwrap(), [5; 64]);
    assert_eq!(queue.read(&x).wait().unwrap(), [6; 64]);
}

fn leaked(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = ctx.full([64], 5_u32).unwrap();
    let mut y = ctx.zeros([64]).unwrap();
    std::mem::forget(x.map_write().wait().unwrap());
    for _ in 0..2 {
        assert!(is_mapped(queue.fill(&mut x, 1)));
        assert!(is_mapped(x.map_read().wait()));
    }
    queue.fill(&mut y, 8).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [8; 64]);
    drop(x);
    let again = ctx.zeros::<u32, 1>([64]).unwrap();
    let found = queue.read(&again).wait().unwrap();
    assert_eq!(found, [0; 64], "the memory of the leaked guard is not used again");
    s.leaks(); // the leaked guard keeps the context alive
}

/// Host call without a queue.
type HostCall = fn(&Context, &DeviceArray<u32>) -> Result<Vec<u32>, Error>;

/// The host calls without a queue, each with its name.
const HOST_CALLS: [(&str, HostCall); 5] = [
    ("map_read", |_, x| x.map_read().wait().map(|map| map.to_vec())),
    ("map_write", |_, x| x.map_write().wait().map(|map| map.to_vec())),
    ("an awaited map", |_, x| crate::common::block_on(x.map_read()).map(|map| map.to_vec())),
    ("to_vec", |ctx, x| ctx.to_vec(x)),
    ("display", |ctx, x| ctx.display(x).map(|text| text.to_string().matches('1').map(|_| 1).collect())),
];

/// Enqueues fills of `x` on a queue that fails before them.
fn fail_to_fill(ctx: &Context, queue: &CommandQueue, x: &mut DeviceArray<u32>) {
    let abandoned = ctx.user_event("abandoned");
    queue.wait_for(&abandoned.event()).unwrap();
    queue.fill(x, 2).unwrap();
}

/// Cancels a replay that would fill an array, before it starts.
fn cancelled_fill(queue: &CommandQueue, x: &DeviceArray<u32>) -> (Graph, Replay) {
    let (graph, ()) = queue.graph_of(|c| c.fill(&mut x.clone(), 2));
    let gate = queue.hold();
    let replay = queue.replay(&graph).unwrap();
    replay.cancel().unwrap();
    gate.signal();
    (graph, replay)
}

fn is_abandoned<T>(result: Result<T, Error>) -> bool {
    result.is_err_and(|error| matches!(error.detail(), ErrorDetail::Abandoned { .. }))
}

fn failed_writers(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
        for (name, call) in HOST_CALLS {
            for waits in [false, true] {
                let (ctx, queue) = s.with_queue_under(policy, "failed");
                let other = ctx.queue("other");
                let whole = ctx.full::<u32, 1>([99], 1).unwrap();
                let mut x = whole.slice(0..9).unwrap();
                let y = whole.slice(9..18).unwrap();
                fail_to_fill(&ctx, &queue, &mut x);
                if waits {
                    assert!(is_abandoned(queue.finish().wait()));
                    // The list of uses is pruned during these fills.
                    for at in 9..90 {
                        other.fill(&mut whole.slice(at..at + 2).unwrap(), 1).unwrap();
                        other.finish().wait().unwrap();
                    }
                }
                for _ in 0..2 {
                    assert!(is_abandoned(call(&ctx, &x)), "{name} under {policy:?}, after a wait: {waits}");
                    assert!(is_abandoned(call(&ctx, &x.slice(3..6).unwrap())), "{name} of a slice");
                    assert_eq!(call(&ctx, &y).unwrap(), [1; 9], "{name} of another array");
                }
                queue.take_error().expect("the queue has failed");
                let found = call(&ctx, &x).unwrap();
                assert_eq!(found, [1; 9], "{name} under {policy:?} after the error was taken");
            }
        }
    }
}

fn written_again(s: &Subject) {
    type Again = fn(&CommandQueue, &mut DeviceArray<u32>);
    let again: [(&str, Again); 5] = [
        ("a fill", |queue, x| queue.fill(x, 1).unwrap()),
        ("fills of two parts", |queue, x| {
            queue.fill(&mut x.slice(4..9).unwrap(), 1).unwrap();
            queue.fill(&mut x.slice(0..4).unwrap(), 1).unwrap();
        }),
        ("an upload", |queue, x| queue.upload(&[1; 9], x).unwrap()),
        ("uploads of two parts", |queue, x| {
            queue.upload(&[1; 4], &mut x.slice(0..4).unwrap()).unwrap();
            queue.upload(&[1; 5], &mut x.slice(4..9).unwrap()).unwrap();
        }),
        ("many small fills", |queue, x| {
            // The list of uses is pruned during these fills.
            (0..9).for_each(|at| queue.fill(&mut x.slice(at..at + 1).unwrap(), 1).unwrap());
            queue.finish().wait().unwrap();
            (0..90).for_each(|at| queue.fill(&mut x.slice(at % 8..at % 8 + 2).unwrap(), 1).unwrap());
        }),
    ];
    for (how, write) in again {
        for (name, call) in HOST_CALLS {
            for waits in [false, true] {
                let (ctx, queue) = s.with_queue("failed");
                let other = ctx.queue("other");
                let mut x = ctx.full::<u32, 1>([9], 3).unwrap();
                fail_to_fill(&ctx, &queue, &mut x);
                if waits {
                    assert!(is_abandoned(queue.finish().wait()));
                }
                other.upload(&[1; 2], &mut x.slice(0..2).unwrap()).unwrap();
                assert!(is_abandoned(call(&ctx, &x)), "{name} after an upload of a part");
                let part = x.slice(0..2).unwrap();
                assert_eq!(call(&ctx, &part).unwrap(), [1; 2], "{name} of the uploaded part");
                write(&other, &mut x);
                assert_eq!(call(&ctx, &x).unwrap(), [1; 9], "{name} after {how}, after a wait: {waits}");
                drop(x);
                let next = ctx.zeros::<u32, 1>([9]).unwrap();
                assert_eq!(*next.map_read().wait().unwrap(), [0; 9], "the next array may have the memory");
            }
        }
    }
}

fn no_writers(s: &Subject) {
    for (name, call) in HOST_CALLS {
        let (ctx, queue) = s.with_queue("failed");
        let other = ctx.queue("other");
        let x = ctx.full::<u32, 1>([9], 1).unwrap();
        let mut y = ctx.zeros::<u32, 1>([9]).unwrap();
        let abandoned = ctx.user_event("abandoned");
        queue.wait_for(&abandoned.event()).unwrap();
        queue.copy(&x, &mut y).unwrap();
        drop(abandoned);
        assert_eq!(call(&ctx, &x).unwrap(), [1; 9], "{name}");
        assert!(is_abandoned(call(&ctx, &y)), "{name} of the target");

        let (_graph, replay) = cancelled_fill(&other, &x);
        assert_eq!(call(&ctx, &x).unwrap(), [1; 9], "{name} after a cancel");
        assert_error!(replay.wait(), ErrorDetail::Cancelled { .. });
    }
}

/// A saved graph contains the bytes of its arrays.
fn saved(s: &Subject) {
    for dropped in [false, true] {
        let ctx = s.ctx();
        let mut queue = ctx.queue("failed");
        let mut x = ctx.full::<u32, 1>([9], 1).unwrap();
        let (graph, _) = ctx.queue("captured").capture(|c| c.read_as("x", &x)).unwrap();
        fail_to_fill(&ctx, &queue, &mut x);
        assert!(is_abandoned(graph.to_bytes_with(Contents::Included)), "before the failure is known");
        assert!(is_abandoned(queue.finish().wait()));
        if dropped {
            queue = ctx.queue("next");
        }
        assert!(is_abandoned(graph.to_bytes_with(Contents::Included)), "dropped: {dropped}");
        let taken = if dropped { ctx.take_error() } else { queue.take_error() };
        assert!(is_abandoned(Err::<(), _>(taken.expect("the error"))));
        let bytes = graph.to_bytes_with(Contents::Included).unwrap();
        let loaded = Graph::from_bytes(&ctx, &bytes).unwrap();
        let replay = queue.replay(&loaded).unwrap();
        assert_eq!(replay.read(&loaded.output::<u32>("x").unwrap()).unwrap().wait().unwrap(), [1; 9]);
    }
}

fn dropped_queues(s: &Subject) {
    for (name, call) in HOST_CALLS {
        let (ctx, queue) = s.with_queue("failed");
        let other = ctx.queue("other");
        let [mut x, mut y] = [1_u32, 1].map(|value| ctx.full([9], value).unwrap());
        fail_to_fill(&ctx, &queue, &mut x);
        fail_to_fill(&ctx, &other, &mut y);
        assert!(is_abandoned(queue.finish().wait()) && is_abandoned(other.finish().wait()));
        drop(queue);
        let _next = ctx.queue("next");
        assert!(is_abandoned(call(&ctx, &x)), "{name} after the drop of the queue");
        let taken = ctx.take_error().expect("the error of the dropped queue");
        assert!(is_abandoned(Err::<(), _>(taken)), "{name}");
        assert!(ctx.take_error().is_none(), "{name}: one error");
        assert_eq!(call(&ctx, &x).unwrap(), [1; 9], "{name} after the error was taken");
        assert!(is_abandoned(call(&ctx, &y)), "{name} of an array of a queue that lives");
        other.take_error().expect("the queue has failed");
        assert_eq!(call(&ctx, &y).unwrap(), [1; 9], "{name}");
    }
}

fn reused(s: &Subject) {
    for waits in [false, true] {
        let (ctx, queue) = s.with_queue("failed");
        let other = ctx.queue("other");
        let mut x = ctx.full::<u32, 1>([1000], 1).unwrap();
        fail_to_fill(&ctx, &queue, &mut x);
        if waits {
            assert!(is_abandoned(queue.finish().wait()));
        }
        other.wait_for(&queue).unwrap();
        drop(x);
        let next = other.empty::<u32, 1>([1000]).unwrap();
        drop(next.map_read().wait().unwrap());
        drop(next.map_write().wait().unwrap());
        assert_eq!(ctx.to_vec(&next).unwrap().len(), 1000);
    }
}

/// A later write does not change the bytes that `to_vec` returned.
fn writer_before(s: &Subject) {
    let (ctx, queue) = s.with_queue("failed");
    let other = ctx.queue("other");
    let mut x = ctx.full::<u32, 1>([9], 1).unwrap();
    let gate = queue.hold();
    queue.fill(&mut x, 2).unwrap();
    crate::common::thread::scope(|scope| {
        let reader = scope.spawn(|| ctx.to_vec(&x));
        let look = "a look at an array";
        dump::until(|| ctx.diagnostics().state_dump().contains(look) && dump::pending(&ctx, look) > 0);
        other.fill(&mut x.clone(), 5).unwrap();
        drop(gate);
        assert!(is_abandoned(reader.join().unwrap()));
    });
    assert_eq!(ctx.to_vec(&x).unwrap(), [5; 9]);
}

fn after_creation(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
        for writes in [false, true] {
            let (ctx, queue) = s.with_queue_under(policy, "failed");
            let other = ctx.queue("other");
            let mut x = ctx.full::<u32, 1>([9], 1).unwrap();
            fail_to_fill(&ctx, &queue, &mut x);
            while !is_abandoned(queue.marker().is_complete()) {
                crate::common::thread::yield_now();
            }
            queue.take_error().expect("the queue has failed");
            assert_eq!(*x.map_read().wait().unwrap(), [1; 9], "{policy:?}");
            if writes {
                x.map_write().wait().unwrap().fill(7);
                ctx.synchronize().wait().unwrap();
                assert_eq!(other.read(&x).wait().unwrap(), [7; 9], "{policy:?}");
            }
            assert_eq!(ctx.to_vec(&x).unwrap(), [if writes { 7 } else { 1 }; 9], "{policy:?}");
        }
    }
}

fn cancelled_after_creation(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = ctx.full::<u32, 1>([9], 1).unwrap();
    let (_graph, replay) = cancelled_fill(&queue, &x);
    assert_error!(replay.wait(), ErrorDetail::Cancelled { .. });
    queue.upload(&[7; 9], &mut x).unwrap();
    ctx.synchronize().wait().unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [7; 9]);
}

fn futures(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = ctx.zeros([64]).unwrap();
    crate::common::block_on(async {
        for value in 1..10_u32 {
            queue.fill(&mut x, value).unwrap();
            assert_eq!(*x.map_read().await.unwrap(), [value; 64]);
            x.map_write().await.unwrap()[0] = 100;
            assert_eq!(queue.read(&x).await.unwrap()[..2], [100, value]);
        }
    });
}

fn dropped(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut clock = Clock::new(&ctx);
    let mut x = ctx.zeros([64]).unwrap();
    let gate = queue.hold();
    queue.fill(&mut x, 3_u32).unwrap();
    drop(x.map_read());
    let mut late = x.map_write();
    for _ in 0..2 {
        assert!(late.wait_timeout(NOW).unwrap().is_none());
        clock.tick();
    }
    drop(late);
    gate.signal();
    assert_eq!(*x.map_read().wait().unwrap(), [3; 64]);
    queue.fill(&mut x, 4).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [4; 64]);
}

/// Two threads map one array for writing, in turns.
fn alone(s: &Subject) {
    let ctx = s.ctx();
    let x = ctx.zeros([16]).unwrap();
    crate::common::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| add_often(&ctx, &x));
        }
    });
    assert_eq!(ctx.queue("q").read(&x).wait().unwrap(), [40; 16]);
}

/// Adds 1 to every element twenty times, each time in a new map.
fn add_often(_: &Context, x: &DeviceArray<u32>) {
    let mut done = 0;
    while done < 20 {
        match x.map_write().wait() {
            Ok(mut map) => {
                map.iter_mut().for_each(|element| *element += 1);
                done += 1;
            }
            Err(error) => {
                assert!(matches!(error.detail(), ErrorDetail::Mapped { .. }), "{error}");
                crate::common::thread::yield_now();
            }
        }
    }
}

/// Follows `test_kernel_sync` of Taichi.
fn host_reads(s: &Subject) {
    const LEN: usize = 1000;
    let ctx = s.ctx();
    let iota = ctx.kernel::<Iota>().unwrap();
    let mut x = ctx.zeros([LEN]).unwrap();
    for start in 0..5 {
        ctx.current_queue()
            .launch(&iota, Grid::threads([LEN]), Iota { start, step: 2, out: &mut x })
            .unwrap();
        let expected: Vec<u32> = (0..LEN as u32).map(|i| start + 2 * i).collect();
        assert_eq!(*x.map_read().wait().unwrap(), expected);
        x.map_write().wait().unwrap()[0] = 77;
        assert_eq!(ctx.current_queue().read(&x.slice(0..2).unwrap()).wait().unwrap(), [77, expected[1]]);
    }
}
