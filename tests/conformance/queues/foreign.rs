//! Q13, arrays on the caller's wgpu buffers: the writes of both sides, and their order.

use crate::common::kernels::{Iota, Mix, mix};
use crate::common::program::{Program, beside};
use crate::common::{Case, ONE_THREAD, Subject, assert_error, case, dump, queues, raw, wgpu_only};
use fencepost::memory::PoolStats;
use fencepost::prelude::*;
use fencepost::{AdoptOptions, Download, ErrorDetail, HostArray, Policy, RecorderChoice, Upload};

pub fn cases() -> Vec<Case> {
    wgpu_only(vec![
        case("q13_an_array_lies_on_the_callers_buffer", lies),
        case("q13_every_verb_takes_an_array_on_the_callers_buffer", verbs),
        case("q13_bytes_that_the_caller_wrote_and_did_not_submit_are_seen", put),
        case("q13_writes_to_a_buffer_that_was_never_written_stay", unwritten),
        case("q13_a_buffer_longer_than_a_binding_keeps_its_bytes", long),
        case("q13_caller_and_context_take_turns_on_a_buffer", ping_pong),
        case("q13_two_arrays_on_one_buffer_are_ordered", ordered),
        case("q13_two_arrays_on_one_buffer_can_be_a_hazard", hazard),
        case("q13_a_launch_reads_one_part_of_the_callers_buffer_and_writes_another", parts),
        case("q13_an_array_on_a_buffer_may_be_dropped_before_its_work_is_done", dropped),
        case("q13_the_callers_memory_is_never_given_to_another_array", never_pooled),
        case("q13_the_context_leaves_the_bytes_after_an_array", after),
        case("q13_the_caller_may_submit_from_another_thread", meanwhile).not_in_a_page(ONE_THREAD),
        case("q13_a_grid_is_read_from_the_callers_buffer", grid),
    ])
}

const N: usize = 3000;

fn count(start: u32) -> Vec<u32> {
    (start..).take(N).collect()
}

fn on(ctx: &Context, buffer: &wgpu::Buffer) -> DeviceArray<u32> {
    ctx.array_on(buffer, [N]).unwrap()
}

fn lies(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let [x, y] = [0; 2].map(|_| program.buffer(N));
        program.submit(&count(7), &x);
        program.submit(&count(100), &y);
        let first = on(&ctx, &x);
        let mut second = on(&ctx, &y);
        for b in 0..3 {
            mix(&queue, 3, b, &first, &mut second);
        }
        queue.finish().wait().unwrap();
        let all = |y: u32, x: u32| (0..3).fold(y, |y, b| Mix::of(3, b, x, y));
        let expected: Vec<_> = count(100).into_iter().zip(count(7)).map(|(y, x)| all(y, x)).collect();
        assert_eq!(program.read(&y, N), expected);
        assert_eq!(program.read(&x, N), count(7));
    }
}

fn verbs(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let buffer = program.buffer(N);
        program.submit(&count(0), &buffer);
        let mut x = on(&ctx, &buffer);
        let mut expected = count(0);
        assert_eq!(queue.read(&x).wait().unwrap(), expected);
        queue.fill(&mut x.slice(0..100).unwrap(), 9).unwrap();
        expected[..100].fill(9);
        queue.upload(&[4, 5, 6], &mut x.slice(200..203).unwrap()).unwrap();
        expected[200..203].copy_from_slice(&[4, 5, 6]);
        queue.copy(&x.slice(1000..2000).unwrap(), &mut x.slice(1001..2001).unwrap()).unwrap();
        expected.copy_within(1000..2000, 1001);
        let mut other = ctx.zeros::<u32, 1>([N]).unwrap();
        queue.copy(&x, &mut other).unwrap();
        assert_eq!(queue.read(&other).wait().unwrap(), expected);
        let mut host: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
        queue.download(&x, &mut host).unwrap();
        assert_eq!(host.host().unwrap().to_vec(), expected);
        let mut up: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
        up.host_mut().unwrap().copy_from_slice(&count(5));
        queue.upload(&up, &mut x).unwrap();
        assert_eq!(*x.map_read().wait().unwrap(), count(5));
        x.map_write().wait().unwrap()[0] = 77;
        queue.fill(&mut x.slice(1..2).unwrap(), 0).unwrap();
        queue.finish().wait().unwrap();
        assert_eq!(program.read(&buffer, 3), [77, 0, 7]);
    }
}

fn put(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let buffer = program.buffer(N);
        let mut x = on(&ctx, &buffer);
        let ones = queue.array(&[1; N]).unwrap();
        for turn in 0..3 {
            program.put(&count(turn), &buffer);
            mix(&queue, 2, turn, &ones, &mut x);
            let expected: Vec<_> = count(turn).into_iter().map(|y| Mix::of(2, turn, 1, y)).collect();
            assert_eq!(queue.read(&x).wait().unwrap(), expected);
            // The copy for the read is the first command that uses the new bytes.
            program.put(&count(turn + 50), &buffer);
            assert_eq!(queue.read(&x).wait().unwrap(), count(turn + 50));
        }
    }
}

fn unwritten(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let iota = ctx.kernel::<Iota>().unwrap();
        let [by_kernel, by_copy, untouched] = [0; 3].map(|_| program.buffer(N));
        let mut x = on(&ctx, &by_kernel);
        queue.launch(&iota, Grid::threads([N]), Iota { start: 3, step: 1, out: &mut x }).unwrap();
        queue.upload(&count(8), &mut on(&ctx, &by_copy)).unwrap();
        queue.finish().wait().unwrap();
        assert_eq!(program.read(&by_kernel, N), count(3));
        assert_eq!(program.read(&by_copy, N), count(8));
        // A buffer that was never written is zero, as everywhere in wgpu.
        assert_eq!(queue.read(&on(&ctx, &untouched)).wait().unwrap(), [0; N]);
    }
}

fn long(subject: &Subject) {
    for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal] {
        let opened = raw::open_with(subject, |limits| limits.max_storage_buffer_binding_size = 4096);
        let ctx = subject.adopt(opened, AdoptOptions::default().recorder(recorder));
        let program = Program::of(&ctx);
        let queue = ctx.queue("main");
        let buffer = program.buffer(N);
        queue.fill(&mut on(&ctx, &buffer), 5).unwrap();
        queue.finish().wait().unwrap();
        assert_eq!(program.read(&buffer, N), [5; N]);
    }
}

fn ping_pong(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let buffer = program.buffer(N);
        let mut y = on(&ctx, &buffer);
        let ones = queue.array(&[1; N]).unwrap();
        let mut expected = count(1);
        program.submit(&expected, &buffer);
        for turn in 0..20 {
            mix(&queue, 3, turn, &ones, &mut y);
            queue.finish().wait().unwrap();
            expected.iter_mut().for_each(|y| *y = Mix::of(3, turn, 1, *y));
            let found = program.read(&buffer, N);
            assert_eq!(found, expected, "turn {turn}");
            expected.iter_mut().for_each(|y| *y ^= turn);
            if turn % 2 == 0 { program.submit(&expected, &buffer) } else { program.put(&expected, &buffer) }
        }
        assert_eq!(queue.read(&y).wait().unwrap(), expected);
    }
}

fn ordered(subject: &Subject) {
    for (ctx, _, program) in beside(subject) {
        let [one, two] = queues(&ctx, ["one", "two"]);
        let mix = ctx.kernel::<Mix>().unwrap();
        let buffer = program.buffer(N);
        program.submit(&[1; N], &buffer);
        let [mut first, mut second] = [0; 2].map(|_| on(&ctx, &buffer));
        let ones = one.array(&[1; N]).unwrap();
        let mut expected = 1;
        for turn in 0..40 {
            let (queue, y) = if turn % 2 == 0 { (&one, &mut first) } else { (&two, &mut second) };
            queue.launch(&mix, Grid::threads([N]), Mix { a: 3, b: turn, x: &ones, y }).unwrap();
            expected = Mix::of(3, turn, 1, expected);
        }
        assert_eq!(one.read(&first).wait().unwrap(), [expected; N]);
        let aliased = two.launch(&mix, Grid::threads([N]), Mix { a: 1, b: 1, x: &first, y: &mut second });
        assert!(matches!(aliased.unwrap_err().detail(), ErrorDetail::Aliased { .. }));
    }
}

fn hazard(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Checked);
    let buffer = Program::of(&ctx).buffer(N);
    let [one, two] = queues(&ctx, ["one", "two"]);
    one.fill(&mut on(&ctx, &buffer), 1).unwrap();
    assert_error!(two.fill(&mut on(&ctx, &buffer), 2), ErrorDetail::Hazard { .. });
    // The device has done the work, but no call has told the host, so the second fill is still a hazard.
    let filled = one.marker();
    one.flush().unwrap();
    dump::until_done(&ctx, "one");
    assert_error!(two.fill(&mut on(&ctx, &buffer), 2), ErrorDetail::Hazard { .. });
    two.wait_for(&filled).unwrap();
    two.fill(&mut on(&ctx, &buffer), 2).unwrap();
    assert_eq!(two.read(&on(&ctx, &buffer)).wait().unwrap(), [2; N]);
}

/// Binds one buffer to a read-only and a writable binding, which wgpu alone refuses even for separate ranges.
fn parts(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let half = ctx.binding_alignment().max(256) as usize / 4;
        let buffer = program.buffer(2 * half);
        program.submit(&[vec![1_u32; half], vec![5; half]].concat(), &buffer);
        let whole = ctx.array_on::<u32, 1>(&buffer, [2 * half]).unwrap();
        let x = whole.slice(0..half).unwrap();
        let mut y = whole.slice(half..2 * half).unwrap();
        mix(&queue, 3, 2, &x, &mut y);
        queue.finish().wait().unwrap();
        let expected = [vec![1; half], vec![Mix::of(3, 2, 1, 5); half]].concat();
        assert_eq!(program.read(&buffer, 2 * half), expected);
    }
}

fn dropped(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let mut out = queue.zeros([N]).unwrap();
        for start in 0..5 {
            let buffer = program.buffer(N);
            program.put(&count(start), &buffer);
            subject.spin(&ctx, &queue, 5);
            let x = on(&ctx, &buffer);
            queue.copy(&x, &mut out).unwrap();
            queue.flush().unwrap();
            drop((x, buffer));
            program.device.poll(wgpu::PollType::Poll).unwrap();
            let next = program.buffer(N); // `next` may get the memory of the dropped buffer
            program.put(&[9; N], &next);
            program.queue.submit([]);
            assert_eq!(queue.read(&out).wait().unwrap(), count(start));
        }
    }
}

fn never_pooled(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let buffer = program.buffer(1024);
        // The first fill may allocate memory for its parameters.
        queue.fill(&mut ctx.array_on::<u32, 1>(&program.buffer(1024), [1024]).unwrap(), 4).unwrap();
        queue.finish().wait().unwrap();
        let memory = || {
            let PoolStats { used, free, arrays, blocks, staging, .. } = ctx.pool().stats();
            [used, free, arrays, blocks, staging]
        };
        let before = memory();
        let mut x = ctx.array_on::<u32, 1>(&buffer, [1024]).unwrap();
        queue.fill(&mut x, 5).unwrap();
        queue.finish().wait().unwrap();
        drop(x);
        assert_eq!(memory(), before);
        let other = queue.full([1024], 6_u32).unwrap();
        assert_eq!(queue.read(&other).wait().unwrap(), [6; 1024]);
        assert_eq!(program.read(&buffer, 1024), [5; 1024]);
    }
}

fn after(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let buffer = program.buffer(64);
        program.submit(&[8; 64], &buffer);
        let mut x = ctx.array_on::<u32, 2>(&buffer, [3, 7]).unwrap();
        queue.fill(&mut x, 0).unwrap();
        queue.fill(&mut x.slice(1..2).unwrap(), 3).unwrap();
        queue.upload(&[1; 7], &mut x.slice(2..3).unwrap()).unwrap();
        queue.finish().wait().unwrap();
        let expected = [vec![0; 7], vec![3; 7], vec![1; 7], vec![8; 43]].concat();
        assert_eq!(program.read(&buffer, 64), expected);
    }
}

fn meanwhile(subject: &Subject) {
    for (ctx, _, program) in beside(subject) {
        let [mine, yours] = [0; 2].map(|_| program.buffer(N));
        let mix = ctx.kernel::<Mix>().unwrap(); // made here, launched by another thread
        crate::common::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0..30 {
                    program.submit(&count(turn), &mine);
                    assert_eq!(program.read(&mine, N), count(turn));
                }
            });
            scope.spawn(|| {
                let queue = ctx.queue("main");
                let mut y = on(&ctx, &yours);
                let ones = queue.array(&[1; N]).unwrap();
                let mut expected = 0;
                for turn in 0..30 {
                    let args = Mix { a: 5, b: turn, x: &ones, y: &mut y };
                    queue.launch(&mix, Grid::threads([N]), args).unwrap();
                    expected = Mix::of(5, turn, 1, expected);
                    assert_eq!(queue.read(&y).wait().unwrap(), [expected; N]);
                }
            });
        });
    }
}

fn grid(subject: &Subject) {
    const ONES: &str = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn ones(@builtin(workgroup_id) at: vec3<u32>) { out[at.x] = 1u; }";
    for (ctx, queue, program) in beside(subject) {
        let buffer = program.buffer(4);
        program.put(&[9, 3, 1, 1], &buffer);
        let sizes = ctx.array_on::<u32, 1>(&buffer, [4]).unwrap();
        let ones = ctx.kernel_from(ONES, "ones").unwrap();
        let mut out = ctx.zeros::<u32, 1>([5]).unwrap();
        queue.launch_dyn(&ones, Grid::indirect(&sizes, 1), args![out = &mut out]).unwrap();
        assert_eq!(queue.read(&out).wait().unwrap(), [1, 1, 1, 0, 0]);
    }
}
