//! K08: several threads enqueue one kernel at the same time.

use super::shaders;
use crate::common::kernels::Mix;
use crate::common::thread;
use crate::common::{Case, ONE_THREAD, Subject, case};
use fencepost::prelude::*;
use std::sync::Barrier;

pub fn cases() -> Vec<Case> {
    vec![
        case("k08_threads_with_queues_of_their_own_launch_one_kernel", |s| run(s, |ctx| ctx.queue("own")))
            .not_in_a_page(ONE_THREAD),
        case("k08_threads_launch_one_kernel_on_one_queue", |s| {
            let shared = std::sync::OnceLock::new();
            run(s, |ctx| shared.get_or_init(|| ctx.queue("shared")).clone());
        })
        .not_in_a_page(ONE_THREAD),
        case("k08_threads_launch_one_kernel_from_a_text_with_their_own_values", values)
            .not_in_a_page(ONE_THREAD),
        case("k08_threads_launch_one_kernel_on_one_array_and_no_launch_is_lost", one_array)
            .not_in_a_page(ONE_THREAD),
    ]
}

const THREADS: u32 = 6;
const LAUNCHES: u32 = 30;
const N: usize = 200;

/// Calls `body` on all threads at once, each with its number.
fn on_threads(body: impl Fn(u32) + Sync) {
    let start = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let start = &start;
            let body = &body;
            scope.spawn(move || {
                start.wait();
                body(number);
            });
        }
    });
}

/// Each thread launches `mix` with its own values on its own array. The result depends on the order of its launches.
fn run(s: &Subject, queue: impl Fn(&Context) -> CommandQueue + Sync) {
    let ctx = s.ctx();
    let kernel = ctx.kernel::<Mix>().unwrap();
    let x = ctx.full([N], 5_u32).unwrap();
    on_threads(|number| {
        let queue = queue(&ctx);
        let mut y = queue.full([N], number).unwrap();
        for b in 0..LAUNCHES {
            let args = Mix { a: number + 2, b, x: &x, y: &mut y };
            queue.launch(&kernel, Grid::threads([N]), args).unwrap();
        }
        let expected = (0..LAUNCHES).fold(number, |y, b| Mix::of(number + 2, b, 5, y));
        assert_eq!(queue.read(&y).wait().unwrap(), [expected; N], "thread {number}");
    });
}

fn values(s: &Subject) {
    let ctx = s.ctx();
    let kernel = shaders::saxpy(s, &ctx);
    let queue = ctx.queue("q");
    let x = ctx.full([N], 1.0_f32).unwrap();
    on_threads(|number| {
        let mut y = queue.zeros::<f32, 1>([N]).unwrap();
        for _ in 0..LAUNCHES {
            let args = args![a = number as f32, x = &x, y = &mut y];
            queue.launch_dyn(&kernel, Grid::threads([N]), args).unwrap();
        }
        assert_eq!(queue.read(&y).wait().unwrap(), [(number * LAUNCHES) as f32; N], "thread {number}");
    });
}

fn one_array(s: &Subject) {
    let ctx = s.ctx();
    let kernel = ctx.kernel::<Mix>().unwrap();
    let x = ctx.full([N], 1_u32).unwrap();
    let y = ctx.zeros::<u32, 1>([N]).unwrap();
    on_threads(|_| {
        let queue = ctx.queue("own");
        let kernel = kernel.clone();
        for _ in 0..LAUNCHES {
            let args = Mix { a: 1, b: 0, x: &x, y: &mut y.clone() };
            queue.launch(&kernel, Grid::threads([N]), args).unwrap();
        }
    });
    assert_eq!(ctx.queue("reads").read(&y).wait().unwrap(), [THREADS * LAUNCHES; N]);
}
