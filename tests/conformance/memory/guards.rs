//! M03: the guards of pinned arrays. On a device without pinned memory, no command waits for a guard.

use crate::common::thread;
use crate::common::{Calls, Case, ONE_THREAD, Subject, assert_error, assert_says, case, dump};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("m03_guards_of_several_arrays_are_open_at_once_and_during_later_calls", several)
            .not_in_a_page(ONE_THREAD),
        case("m03_a_replay_that_writes_an_array_waits_for_its_guards", writing_replay),
        case("m03_a_replay_that_uploads_an_array_is_refused_while_a_guard_may_change_it", uploading_replay),
        case("m03_a_wait_of_the_thread_with_the_guard_for_a_command_behind_it_is_an_error", wait_in_a_guard),
        case("m03_a_wait_of_another_thread_ends_when_the_guard_is_dropped", other_thread)
            .not_in_a_page(ONE_THREAD),
        case("m03_a_leaked_guard_ends_with_the_next_conflicting_use_of_its_array", leaked),
        case("m03_a_leaked_guard_ends_with_the_drop_of_its_array", leaked_and_dropped),
    ]
}

const N: usize = 64;

/// Returns an array of ones and an array of twos.
fn ones_and_twos(ctx: &Context) -> [DeviceArray<u32>; 2] {
    [1, 2].map(|value| ctx.full([N], value).unwrap())
}

/// Returns `true` if a queue waits for a guard, which it must where the context has pinned memory.
fn waits_for_a_guard(s: &Subject, ctx: &Context, queue: &CommandQueue) -> bool {
    let waits = dump::holds(ctx, queue);
    assert_eq!(waits, s.place().has_pinned_memory(), "the queue waits for a guard of pinned memory");
    waits
}

fn several(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let [ones, twos] = ones_and_twos(&ctx);
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let [mut first, mut second] = [0; 2].map(|_| ctx.pinned::<u32, Download, 1>([N]).unwrap());
    let [source, mut target] = [0; 2].map(|_| ctx.pinned::<u32, Upload, 1>([N]).unwrap());
    queue.download(&ones, &mut first).unwrap();
    queue.download(&twos, &mut second).unwrap();
    let seen = [&first, &second, &first].map(|host| host.host().unwrap());
    let zeros = source.host().unwrap();
    let mut written = target.host_mut().unwrap();
    queue.upload(&source, &mut y).unwrap(); // the device only reads the source
    assert_eq!(queue.read(&y).wait().unwrap(), [0; N]);
    written.copy_from_slice(&seen[1]);
    written[..N / 2].copy_from_slice(&seen[0][..N / 2]);
    thread::scope(|scope| {
        let sum = scope.spawn(|| seen[2].iter().chain(&*zeros).sum::<u32>());
        assert_eq!(sum.join().unwrap(), N as u32, "a reference to a guard may be sent to another thread");
    });
    drop((seen, zeros, written));
    queue.upload(&target, &mut y).unwrap();
    queue.download(&twos, &mut first).unwrap();
    let expected: Vec<u32> = (0..N).map(|at| if at < N / 2 { 1 } else { 2 }).collect();
    assert_eq!(queue.read(&y).wait().unwrap(), expected);
    assert_eq!(*first.host().unwrap(), [2; N]);
}

fn writing_replay(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let [ones, twos] = ones_and_twos(&ctx);
    let mut back = ctx.pinned::<u32, Download, 1>([N]).unwrap();
    let (graph, ()) = queue.graph_of(|c| c.download(&twos, &mut back));
    queue.download(&ones, &mut back).unwrap();
    let seen = [0; 2].map(|_| back.host().unwrap());
    queue.replay(&graph).unwrap();
    waits_for_a_guard(s, &ctx, &queue);
    let [first, second] = seen;
    drop(first);
    waits_for_a_guard(s, &ctx, &queue);
    assert_eq!(*second, [1; N]);
    drop(second);
    queue.finish().wait().unwrap();
    assert_eq!(*back.host().unwrap(), [2; N]);
}

/// On most adapters, one of the contexts has pinned memory, and the other one, on an adopted device, has none.
fn uploading_replay(s: &Subject) {
    for ctx in [s.ctx(), s.without_threads()] {
        let queue = ctx.queue("q");
        let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
        let mut source = ctx.pinned::<u32, Upload, 1>([N]).unwrap();
        source.host_mut().unwrap().fill(1);
        let (graph, ()) = queue.graph_of(|c| c.upload(&source, &mut x));
        let mut written = source.host_mut().unwrap();
        written.fill(2);
        let before = dump::enqueued(&ctx, "q");
        let error = assert_error!(queue.replay(&graph), ErrorDetail::OpenGuard { .. });
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        let text = error.to_string();
        assert!(text.contains("guards.rs:") && text.contains("pinned u32 [64], line"), "{text}");
        assert_eq!(dump::enqueued(&ctx, "q"), before, "nothing is enqueued");
        written[0] = 3;
        drop(written);
        let expected = [vec![3], vec![2; N - 1]].concat();
        assert_eq!(queue.read_after(&graph, &x), expected);
        let read = source.host().unwrap();
        queue.replay(&graph).unwrap(); // the device only reads the source
        assert_eq!(queue.read(&x).wait().unwrap(), *read);
    }
}

/// A wait for the work of a queue.
type Wait<'a> = (&'static str, &'a dyn Fn() -> Result<()>);

fn wait_in_a_guard(s: &Subject) {
    let (ctx, queue) = s.with_queue("behind");
    let elsewhere = s.ctx().queue("elsewhere");
    let [ones, twos] = ones_and_twos(&ctx);
    let [mut back, mut other] = [0; 2].map(|_| ctx.pinned::<u32, Download, 1>([N]).unwrap());
    let (graph, ()) = queue.graph_of(|c| {
        c.download(&twos, &mut back)?;
        c.download(&twos, &mut other)
    });
    queue.download(&ones, &mut back).unwrap();
    let seen = back.host().unwrap();
    let replay = queue.replay(&graph).unwrap();
    elsewhere.wait_for(&queue).unwrap();
    let waits: [Wait<'_>; 8] = [
        ("the queue", &|| queue.finish().wait()),
        ("a marker", &|| queue.marker().wait()),
        ("the submission of a marker", &|| queue.marker().submitted().wait()),
        ("the replay", &|| replay.wait()),
        ("a read", &|| queue.read(&ones).wait().map(drop)),
        ("everything", &|| ctx.synchronize().wait()),
        ("another array that the replay uses", &|| other.host().map(drop)),
        ("another context that waits for the queue", &|| elsewhere.finish().wait()),
    ];
    if waits_for_a_guard(s, &ctx, &queue) {
        for (name, wait) in waits {
            let error = assert_error!(wait(), ErrorDetail::WaitInGuard { .. }, "a wait for {name}");
            assert_eq!(error.kind(), ErrorKind::Deadlock);
            let text = error.to_string();
            assert!(text.contains("guards.rs:") && text.contains("pinned u32 [64], line"), "{text}");
        }
    }
    assert_eq!(*seen, [1; N]);
    drop(seen);
    for (name, wait) in waits {
        wait().unwrap_or_else(|error| panic!("after the drop of the guard, {name}: {error}"));
    }
    assert_eq!(*back.host().unwrap(), [2; N]);
}

fn other_thread(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let [ones, twos] = ones_and_twos(&ctx);
    let mut back = ctx.pinned::<u32, Download, 1>([N]).unwrap();
    let (graph, ()) = queue.graph_of(|c| c.download(&twos, &mut back));
    queue.download(&ones, &mut back).unwrap();
    let seen = back.host().unwrap();
    queue.replay(&graph).unwrap();
    let end = queue.marker();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| end.wait());
        assert_eq!(*seen, [1; N]);
        drop(seen);
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(*back.host().unwrap(), [2; N]);
}

fn leaked(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let [ones, twos] = ones_and_twos(&ctx);
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let mut back = ctx.pinned::<u32, Download, 1>([N]).unwrap();
    let mut source = ctx.pinned::<u32, Upload, 1>([N]).unwrap();
    for array in [&ones, &twos] {
        std::mem::forget(back.host().unwrap());
        queue.download(array, &mut back).unwrap();
        assert_eq!(queue.read(array).wait().unwrap(), *back.host().unwrap());
    }
    std::mem::forget(source.host_mut().unwrap());
    queue.upload(&source.slice(0..N).unwrap(), &mut y).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [0; N]);
    std::mem::forget(source.host_mut().unwrap());
    assert_eq!(*source.host().unwrap(), [0; N]);
    std::mem::forget(source.host().unwrap());
    source.host_mut().unwrap().fill(3);
    queue.upload(&source, &mut y).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [3; N]);
    s.leaks(); // a leaked guard keeps a part of its context
}

fn leaked_and_dropped(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = ctx.full([N], 1_u32).unwrap();
    let mut back = ctx.pinned::<u32, Download, 1>([N]).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        c.download(&x, &mut back)?;
        c.fill(&mut x, 2)
    });
    std::mem::forget(back.host().unwrap());
    queue.replay(&graph).unwrap();
    waits_for_a_guard(s, &ctx, &queue);
    drop(back);
    assert_eq!(queue.read(&x).wait().unwrap(), [2; N]);
    let mut source = ctx.pinned::<u32, Upload, 1>([N]).unwrap();
    let (graph, ()) = queue.graph_of(|c| c.upload(&source, &mut x));
    std::mem::forget(source.host_mut().unwrap());
    assert_says(queue.replay(&graph), "drop the guard before the replay");
    drop(source);
    assert_eq!(queue.read_after(&graph, &x), [0; N]);
    s.leaks();
}
