//! Q01: enqueueing and flushing return before the work is done, whatever the driver does.

use crate::common::kernels::{Mix, mixed};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("q01_every_verb_returns_while_its_queue_is_held", behind_a_gate),
        case("q01_every_verb_returns_before_a_busy_kernel_is_done", behind_a_busy_kernel)
            .gpu_only("on the CPU recorder whoever looks does the steps"),
        case("q01_other_queues_take_work_while_a_kernel_is_busy", beside_a_busy_kernel)
            .gpu_only("on the CPU recorder whoever looks does the steps"),
    ]
}

/// What the verbs work on.
struct Things {
    ctx: Context,
    mix: fencepost::Kernel<Mix<'static>>,
    x: DeviceArray<u32>,
    y: DeviceArray<u32>,
    pinned: HostArray<u32, Upload>,
    result: HostArray<u32, Download>,
}

/// What they give at the end.
struct Late {
    end: Event,
    finished: Pending<()>,
    read: Pending<Vec<u32>>,
}

const N: usize = 1000;

impl Things {
    fn new(subject: &Subject) -> Self {
        let ctx = subject.ctx();
        let mut pinned = ctx.pinned([N]).unwrap();
        pinned.write(|host| host.fill(5)).unwrap();
        let mix = ctx.kernel::<Mix>().unwrap();
        let (x, y) = (ctx.zeros([N]).unwrap(), ctx.zeros([N]).unwrap());
        let result = ctx.pinned([N]).unwrap();
        Self { ctx, mix, x, y, pinned, result }
    }

    /// Each verb once.
    fn enqueue(&mut self, queue: &CommandQueue) -> Late {
        let Self { ctx, mix, x, y, pinned, result } = self;
        let event = ctx.event();
        queue.fill(y, 3).unwrap();
        queue.upload(&[7; N], x).unwrap();
        queue.launch(mix, Grid::threads([N]), Mix { a: 2, b: 1, x, y }).unwrap();
        queue.flush().unwrap();
        queue.upload(pinned, x).unwrap();
        queue.launch(mix, Grid::threads([N]), Mix { a: 2, b: 1, x, y }).unwrap();
        queue.record(&event).unwrap();
        queue.wait_for(&event).unwrap();
        queue.copy(y, x).unwrap();
        queue.launch(mix, Grid::threads([N]), Mix { a: 1, b: 0, x, y }).unwrap();
        queue.download(y, result).unwrap();
        queue.callback(|| ()).unwrap();
        let (read, end) = (queue.read(y), queue.marker());
        let finished = queue.finish();
        queue.flush().unwrap();
        Late { end, finished, read }
    }

    fn check(&self, late: Late) {
        let y = 2 * mixed(mixed(3, 2, 7, 1), 2, 5, 1);
        assert_eq!(late.read.wait().unwrap(), [y; N]);
        late.finished.wait().unwrap();
        assert!(late.end.is_complete().unwrap());
        assert_eq!(self.result.read(<[u32]>::to_vec).unwrap(), [y; N]);
    }
}

fn behind_a_gate(subject: &Subject) {
    let mut things = Things::new(subject);
    let (queue, gate) = (things.ctx.queue("held"), things.ctx.user_event("gate"));
    queue.wait_for(&gate.event()).unwrap();
    let late = things.enqueue(&queue);
    assert!(!late.end.is_complete().unwrap());
    gate.signal();
    things.check(late);
}

/// A verb that blocks does so for as long as the kernel is busy, so it fails at every length; a slow machine does
/// not.
const LENGTHS: [u32; 4] = [300, 1000, 3000, 9000];

fn behind_a_busy_kernel(subject: &Subject) {
    let mut things = Things::new(subject);
    let queue = things.ctx.queue("busy");
    // What compiles or allocates when first used does so here.
    let late = things.enqueue(&queue);
    things.check(late);
    let returned = LENGTHS.into_iter().any(|milliseconds| {
        let busy = busy(subject, &things.ctx, &queue, milliseconds);
        let late = things.enqueue(&queue);
        let returned = !busy.is_complete().unwrap();
        things.check(late);
        returned
    });
    assert!(returned, "some verb returned only when the kernel before it was done");
}

fn beside_a_busy_kernel(subject: &Subject) {
    let mut things = Things::new(subject);
    let (queue, other) = (things.ctx.queue("busy"), things.ctx.queue("other"));
    let late = things.enqueue(&other);
    things.check(late);
    let returned = LENGTHS.into_iter().any(|milliseconds| {
        let busy = busy(subject, &things.ctx, &queue, milliseconds);
        let late = things.enqueue(&other);
        let returned = !busy.is_complete().unwrap();
        things.check(late);
        returned
    });
    assert!(returned, "some verb of one queue returned only when the kernel of another was done");
}

/// The end of a kernel that is on its way.
fn busy(subject: &Subject, ctx: &Context, queue: &CommandQueue, milliseconds: u32) -> Event {
    subject.spin(ctx, queue, milliseconds);
    queue.flush().unwrap();
    queue.marker()
}
