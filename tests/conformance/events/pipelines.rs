//! E09, E10, E11: the diamond, the double buffer, and a resource with several holders; the values are exact only if
//! every wait works.

use crate::common::kernels::{Mix, mix};
use crate::common::thread;
use crate::common::{Case, ONE_THREAD, Subject, case};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("e10_a_diamond_with_host_waits_is_exact", |s| diamond(s, Policy::Unchecked, by_host)),
        case("e10_a_diamond_with_events_is_exact", |s| diamond(s, Policy::Unchecked, by_event)),
        case("e10_a_diamond_with_waits_for_queues_is_exact", |s| diamond(s, Policy::Unchecked, by_queue)),
        case("e10_a_diamond_without_explicit_waits_is_exact_under_ordered", |s| {
            diamond(s, Policy::Ordered, |_, _| ());
        }),
        case("e10_checked_accepts_a_diamond_with_events", |s| diamond(s, Policy::Checked, by_event)),
        case("e11_a_double_buffer_over_1000_blocks_is_exact", double_buffer),
        case("e09_queues_use_an_array_in_the_order_in_which_they_acquire_it", acquired)
            .not_in_a_page(ONE_THREAD),
    ]
}

/// A way to order the second queue after everything enqueued on the first.
type Before = fn(&CommandQueue, &CommandQueue);

fn by_host(earlier: &CommandQueue, _: &CommandQueue) {
    earlier.finish().wait().unwrap();
}

fn by_event(earlier: &CommandQueue, later: &CommandQueue) {
    later.wait_for(&earlier.marker()).unwrap();
}

fn by_queue(earlier: &CommandQueue, later: &CommandQueue) {
    later.wait_for(earlier).unwrap();
}

/// Computes `a` on one queue, `b` and `c` from it on two others, and `d` from both, with two and with three queues. The
/// values are 1, 2, 2, 4.
fn diamond(subject: &Subject, policy: Policy, before: Before) {
    let ctx = subject.ctx_with(policy);
    let mix = ctx.kernel::<Mix>().unwrap();
    for queues in [2, 3] {
        let queues: Vec<CommandQueue> = (0..queues).map(|i| ctx.queue(&format!("queue {i}"))).collect();
        let top = &queues[0];
        let left = &queues[1];
        let right = &queues[queues.len() - 1];
        Diamond { ctx: &ctx, mix: &mix }.run([top, left, right], before);
    }
}

struct Diamond<'a> {
    ctx: &'a Context,
    mix: &'a Kernel<Mix<'static>>,
}

impl Diamond<'_> {
    const N: usize = 10_000;

    /// Launches `y` = `x` + `b` on a queue.
    fn add(&self, queue: &CommandQueue, b: u32, x: &DeviceArray<u32>, y: &mut DeviceArray<u32>) {
        queue.launch(self.mix, Grid::threads([Self::N]), Mix { a: 0, b, x, y }).unwrap();
    }

    fn run(&self, [top, left, right]: [&CommandQueue; 3], before: Before) {
        let [zero, mut a, mut b, mut c, mut d] = [0; 5].map(|_| self.ctx.zeros([Self::N]).unwrap());
        before(top, left);
        before(top, right);
        for _ in 0..3 {
            before(left, top);
            before(right, top);
            self.add(top, 1, &zero, &mut a);
            before(top, left);
            before(top, right);
            self.add(left, 1, &a, &mut b);
            self.add(right, 1, &a, &mut c);
            before(left, top);
            before(right, top);
            top.copy(&b, &mut d).unwrap();
            top.launch(self.mix, Grid::threads([Self::N]), Mix { a: 1, b: 0, x: &c, y: &mut d }).unwrap();
        }
        let read = [&a, &b, &c, &d].map(|array| top.read(array));
        for (value, read) in [1, 2, 2, 4].into_iter().zip(read) {
            assert_eq!(read.wait().unwrap(), [value; Self::N]);
        }
    }
}

const BLOCK: usize = 256;
const BLOCKS: u32 = 1000;

/// Returns element `i` of a block.
fn element(block: u32, i: usize) -> u32 {
    block.wrapping_mul(2_654_435_761).wrapping_add(i as u32)
}

/// Fills one of two buffers on a copy queue while a compute queue folds the other into a sum. Events order the two
/// queues in both directions.
fn double_buffer(subject: &Subject) {
    let (ctx, [copy, compute]) = subject.with_queues_under(Policy::Unchecked, ["copy", "compute"]);
    let mut staging: [HostArray<u32, Upload>; 2] =
        [ctx.pinned([BLOCK]).unwrap(), ctx.pinned([BLOCK]).unwrap()];
    let mut buffers = [ctx.zeros([BLOCK]).unwrap(), ctx.zeros([BLOCK]).unwrap()];
    let free = [ctx.event(), ctx.event()];
    let filled = ctx.event();
    let mut sum = ctx.zeros([BLOCK]).unwrap();
    for block in 0..BLOCKS {
        let side = block as usize % 2;
        let mut host = staging[side].host_mut().unwrap();
        host.iter_mut().enumerate().for_each(|(i, x)| *x = element(block, i));
        drop(host);
        copy.wait_for(&free[side]).unwrap();
        copy.upload(&staging[side], &mut buffers[side]).unwrap();
        filled.record(&copy).unwrap();
        compute.wait_for(&filled).unwrap();
        mix(&compute, 31, block, &buffers[side], &mut sum);
        free[side].record(&compute).unwrap();
    }
    let fold = |i| (0..BLOCKS).fold(0, |sum, block| Mix::of(31, block, element(block, i), sum));
    let expected: Vec<u32> = (0..BLOCK).map(fold).collect();
    assert_eq!(compute.read(&sum).wait().unwrap(), expected);
}

/// Passes one array between five holders. A holder that acquires the array gets the previous holder's event and its own
/// event to signal. The holders work in the order of acquisition, although the last one starts first.
///
/// Follows katsdpsigproc's `test_resource`.
fn acquired(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let mix = ctx.kernel::<Mix>().unwrap();
    let ones = ctx.full([BLOCK], 1_u32).unwrap();
    let x = ctx.zeros([BLOCK]).unwrap();
    let queues: Vec<CommandQueue> = (0..5).map(|at| ctx.queue(&format!("holder {at}"))).collect();
    let mut before = ctx.event();
    let mut tickets = Vec::new();
    for (holder, queue) in queues.iter().enumerate() {
        let ready = ctx.user_event("ready");
        let event = ready.event();
        tickets.push((holder as u32, queue, std::mem::replace(&mut before, event), ready));
    }
    thread::scope(|scope| {
        for (holder, queue, before, ready) in tickets.into_iter().rev() {
            let mix = &mix;
            let ones = &ones;
            let mut x = x.clone();
            scope.spawn(move || {
                queue.wait_for(&before).unwrap();
                queue
                    .launch(mix, Grid::threads([BLOCK]), Mix { a: 3, b: holder, x: ones, y: &mut x })
                    .unwrap();
                queue.callback(move || ready.signal()).unwrap();
                queue.flush().unwrap();
            });
        }
    });
    before.wait().unwrap();
    let expected = (0..5).fold(0, |y, holder| Mix::of(3, holder, 1, y));
    assert_eq!(queues[0].read(&x).wait().unwrap(), [expected; BLOCK]);
}
