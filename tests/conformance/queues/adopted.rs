//! Q13, adopted devices: a context on the caller's wgpu device and queue.

use crate::common::kernels::{Mix, mix};
use crate::common::program::Program;
use crate::common::{Case, NO_DEVICE, ONE_THREAD, Subject, case, queues, raw};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("q13_a_context_works_on_the_callers_device_and_queue", works).gpu_only(NO_DEVICE),
        case("q13_the_caller_may_submit_while_the_context_works", caller_submits).gpu_only(NO_DEVICE),
        case("q13_the_callers_device_outlives_the_context", device_outlives).gpu_only(NO_DEVICE),
        case("q13_two_contexts_may_share_the_callers_device", two_contexts)
            .not_in_a_page(ONE_THREAD)
            .gpu_only(NO_DEVICE),
        case("q13_the_wgpu_objects_of_a_context_can_be_borrowed", borrowed),
        case("q13_submissions_to_a_borrowed_queue_change_no_result", beside)
            .not_in_a_page(ONE_THREAD)
            .gpu_only(NO_DEVICE),
    ]
}

const N: usize = 500;

fn adopt(subject: &Subject, program: &Program) -> Context {
    subject.adopt((program.device.clone(), program.queue.clone()), AdoptOptions::default())
}

/// Launches on two queues in turn, and checks the result.
fn exercise(ctx: &Context) {
    let [one, two] = queues(ctx, ["one", "two"]);
    let x = one.array(&[3_u32; N]).unwrap();
    let mut y = two.zeros([N]).unwrap();
    let mut expected = 0;
    for turn in 0..20 {
        let queue = if turn % 2 == 0 { &one } else { &two };
        mix(queue, 5, turn, &x, &mut y);
        expected = Mix::of(5, turn, 3, expected);
    }
    assert_eq!(one.read(&y).wait().unwrap(), [expected; N]);
}

fn works(subject: &Subject) {
    let ctx = subject.adopt(raw::open(subject), AdoptOptions::default());
    assert_eq!(ctx.info().name, subject.place().info().unwrap().name);
    exercise(&ctx);
}

/// Two buffers of the caller, between which it copies numbers.
struct Caller {
    program: Program,
    from: wgpu::Buffer,
    to: wgpu::Buffer,
}

impl Caller {
    fn new(program: Program) -> Self {
        Self { from: program.buffer(N), to: program.buffer(N), program }
    }

    /// Opens a device of the caller.
    fn open(subject: &Subject) -> Self {
        let (device, queue) = raw::open(subject);
        Self::new(Program { device, queue })
    }

    fn submit(&self, value: u32) {
        self.program.put(&[value; N], &self.from);
        self.program.copy(&self.from, &self.to, N);
    }

    fn read(&self) -> Vec<u32> {
        self.program.read(&self.to, N)
    }
}

fn caller_submits(subject: &Subject) {
    let caller = Caller::open(subject);
    let ctx = adopt(subject, &caller.program);
    let ours = ctx.queue("ours");
    let x = ours.array(&[1_u32; N]).unwrap();
    let mut y = ours.zeros([N]).unwrap();
    let mut expected = 0;
    for turn in 0..50 {
        caller.submit(turn);
        mix(&ours, 3, turn, &x, &mut y);
        expected = Mix::of(3, turn, 1, expected);
        ours.flush().unwrap();
        caller.submit(turn + 1000);
        if turn % 10 == 0 {
            assert_eq!(ours.read(&y).wait().unwrap(), [expected; N]);
            assert_eq!(caller.read(), [turn + 1000; N]);
        }
    }
    assert_eq!(ours.read(&y).wait().unwrap(), [expected; N]);
    assert_eq!(caller.read(), [1049; N]);
}

fn device_outlives(subject: &Subject) {
    let caller = Caller::open(subject);
    for turn in 0..3 {
        let ctx = adopt(subject, &caller.program);
        exercise(&ctx);
        drop(ctx);
        caller.submit(turn);
        assert_eq!(caller.read(), [turn; N]);
    }
}

fn two_contexts(subject: &Subject) {
    let opened = raw::open(subject);
    let contexts = [opened.clone(), opened].map(|opened| subject.adopt(opened, AdoptOptions::default()));
    crate::common::thread::scope(|scope| contexts.iter().for_each(|ctx| _ = scope.spawn(|| exercise(ctx))));
}

fn borrowed(subject: &Subject) {
    let ctx = subject.ctx();
    assert_eq!(ctx.wgpu().is_some(), subject.place().has_wgpu());
    if ctx.wgpu().is_some() {
        let caller = Caller::new(Program::of(&ctx));
        caller.submit(7);
        exercise(&ctx);
        assert_eq!(caller.read(), [7; N]);
    }
}

fn beside(subject: &Subject) {
    let ctx = subject.ctx();
    let caller = Caller::new(Program::of(&ctx));
    crate::common::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0..40 {
                caller.submit(turn);
                assert_eq!(caller.read(), [turn; N]);
            }
        });
        for _ in 0..2 {
            scope.spawn(|| (0..10).for_each(|_| exercise(&ctx)));
        }
    });
}
