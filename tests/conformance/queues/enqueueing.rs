//! Q01: enqueueing and flushing return before the work is done, whatever the driver does.

use crate::common::busy::{Busy, Setup, Verb, each_returns};
use crate::common::kernels::Mix;
use crate::common::{Case, NO_BLOCKING, Subject, case, hold};
use fencepost::prelude::*;

const ONE_LOCK: &str = "on the CPU recorder a kernel that runs holds up the submissions of every lane";

pub fn cases() -> Vec<Case> {
    vec![
        case("q01_every_verb_returns_while_its_queue_is_held", after_a_gate),
        case("q01_every_verb_returns_before_a_busy_kernel_is_done", after_a_busy_kernel)
            .not_simulated_in_a_page(NO_BLOCKING)
            .one_lane(ONE_LOCK),
        case("q01_other_queues_take_work_while_a_kernel_is_busy", beside_a_busy_kernel)
            .not_simulated_in_a_page(NO_BLOCKING)
            .one_lane(ONE_LOCK),
        case("q01_calls_that_take_new_memory_return_before_a_busy_kernel_is_done", new_memory)
            .not_simulated_in_a_page(NO_BLOCKING)
            .one_lane(ONE_LOCK),
    ]
}

/// Objects that the verbs use.
struct Things {
    ctx: Context,
    queue: CommandQueue,
    mix: fencepost::Kernel<Mix<'static>>,
    x: DeviceArray<u32>,
    y: DeviceArray<u32>,
    pinned: HostArray<u32, Upload>,
    result: HostArray<u32, Download>,
    event: Event,
    late: Late,
}

/// Late results of the verbs.
#[derive(Default)]
struct Late {
    end: Option<Event>,
    finished: Option<Pending<()>>,
    read: Option<Pending<Vec<u32>>>,
}

const N: usize = 1000;

/// Each verb once; a different order of the verbs would give a different result.
const VERBS: &[Verb<Things>] = &[
    ("fill", |t| t.queue.fill(&mut t.y, 3).unwrap()),
    ("upload", |t| t.queue.upload(&[7; N], &mut t.x).unwrap()),
    ("launch", |t| t.launch(2, 1)),
    ("flush", |t| t.queue.flush().unwrap()),
    ("upload pinned", |t| t.queue.upload(&t.pinned, &mut t.x).unwrap()),
    ("launch after a flush", |t| t.launch(2, 1)),
    ("record", |t| t.event.record(&t.queue).unwrap()),
    ("wait_for", |t| t.queue.wait_for(&t.event).unwrap()),
    ("copy", |t| t.queue.copy(&t.y, &mut t.x).unwrap()),
    ("launch after a copy", |t| t.launch(1, 0)),
    ("download", |t| t.queue.download(&t.y, &mut t.result).unwrap()),
    ("callback", |t| t.queue.callback(|| ()).unwrap()),
    ("fork and join", |t| t.queue.wait_for(&t.queue.fork("side")).unwrap()),
    ("read", |t| t.late.read = Some(t.queue.read(&t.y))),
    ("marker", |t| t.late.end = Some(t.queue.marker())),
    ("finish", |t| t.late.finished = Some(t.queue.finish())),
    ("flush after a finish", |t| t.queue.flush().unwrap()),
    ("flush of the context", |t| t.ctx.flush().unwrap()),
];

impl Things {
    /// Makes the objects for a queue of the context.
    fn new(ctx: &Context, queue: &CommandQueue) -> Self {
        let mut pinned = ctx.pinned([N]).unwrap();
        pinned.host_mut().unwrap().fill(5);
        let mix = ctx.kernel::<Mix>().unwrap();
        let [x, y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
        let result = ctx.pinned([N]).unwrap();
        let event = ctx.event();
        let late = Late::default();
        Self { ctx: ctx.clone(), queue: queue.clone(), mix, x, y, pinned, result, event, late }
    }

    /// Makes the objects as [`new`](Self::new) does. On GL it also uses each verb once, because the first use
    /// allocates.
    fn ready(subject: &Subject, ctx: &Context, queue: &CommandQueue) -> Self {
        let mut things = Self::new(ctx, queue);
        if !is_gl(subject) {
            return things;
        }
        VERBS.iter().for_each(|(_, verb)| verb(&mut things));
        things.check();
        things
    }

    fn launch(&mut self, a: u32, b: u32) {
        let Self { queue, mix, x, y, .. } = self;
        queue.launch(mix, Grid::threads([N]), Mix { a, b, x, y }).unwrap();
    }

    fn check(&mut self) {
        let y = 2 * Mix::of(2, 1, 5, Mix::of(2, 1, 7, 3));
        let Late { end, finished, read } = std::mem::take(&mut self.late);
        assert_eq!(read.unwrap().wait().unwrap(), [y; N]);
        finished.unwrap().wait().unwrap();
        assert!(end.unwrap().is_complete().unwrap());
        assert_eq!(self.result.host().unwrap().to_vec(), [y; N]);
    }
}

/// Returns `true` on GL, which admits one thread at a time. There, a verb that needs new memory waits for the running
/// submission, as the rule states.
fn is_gl(subject: &Subject) -> bool {
    subject.place().info().is_some_and(|info| info.backend == "GL")
}

fn after_a_gate(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("held");
    let mut things = Things::new(&ctx, &queue);
    let gate = hold(&queue);
    VERBS.iter().for_each(|(_, verb)| verb(&mut things));
    assert!(!things.late.end.as_ref().unwrap().is_complete().unwrap());
    gate.signal();
    things.check();
}

fn after_a_busy_kernel(subject: &Subject) {
    let make = || {
        let (ctx, busy) = subject.with_queue("busy");
        let things = Things::ready(subject, &ctx, &busy);
        Setup { ctx, busy, things }
    };
    each_returns(subject, make, VERBS, |mut things| things.check());
}

fn beside_a_busy_kernel(subject: &Subject) {
    let make = || {
        let (ctx, [busy, other]) = subject.with_queues(["busy", "other"]);
        let things = Things::ready(subject, &ctx, &other);
        Setup { ctx, busy, things }
    };
    each_returns(subject, make, VERBS, |mut things| things.check());
}

/// Arrays for which the pool has no block.
#[derive(Default)]
struct Made {
    arrays: Vec<(u32, DeviceArray<u32>)>,
    pinned: Vec<HostArray<u32, Upload>>,
}

struct Makes {
    ctx: Context,
    queue: CommandQueue,
    made: Made,
}

impl Makes {
    fn keep(&mut self, value: u32, array: fencepost::Result<DeviceArray<u32>>) {
        self.made.arrays.push((value, array.unwrap()));
    }
}

const MAKES: &[Verb<Makes>] = &[
    ("zeros of the context", |m| m.keep(0, m.ctx.zeros([N]))),
    ("full of the context", |m| m.keep(4, m.ctx.full([2 * N], 4))),
    ("array of the context", |m| m.keep(5, m.ctx.array(&[5; 4 * N]))),
    ("zeros of a queue", |m| m.keep(0, m.queue.zeros([8 * N]))),
    ("full of a queue", |m| m.keep(6, m.queue.full([16 * N], 6))),
    ("array of a queue", |m| m.keep(7, m.queue.array(&[7; 32 * N]))),
    ("pinned", |m| m.made.pinned.push(m.ctx.pinned([64 * N]).unwrap())),
    ("queue", |m| m.queue = m.ctx.queue("another")),
];

/// Makes arrays while a kernel is busy. On GL the calls return late, but their arrays are right.
fn new_memory(subject: &Subject) {
    let make = || {
        let (ctx, [busy, queue]) = subject.with_queues(["busy", "makes"]);
        Setup { busy, things: Makes { ctx: ctx.clone(), queue, made: Made::default() }, ctx }
    };
    let check = |makes: Makes| {
        for (value, array) in &makes.made.arrays {
            assert_eq!(makes.queue.read(array).wait().unwrap(), vec![*value; array.len()]);
        }
    };
    if is_gl(subject) {
        let Setup { ctx, busy, things: mut makes } = make();
        let _busy = Busy::start(subject, &ctx, &busy, 50);
        MAKES.iter().for_each(|(_, verb)| verb(&mut makes));
        return check(makes);
    }
    each_returns(subject, make, MAKES, check);
}
