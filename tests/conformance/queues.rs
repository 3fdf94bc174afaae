//! The rules of queues.

use crate::common::kernels::Mix;
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![case("q02_commands_of_a_queue_run_in_the_order_of_enqueueing", q02_order),
    case("q00_spin", |s: &Subject| { let ctx = s.ctx(); let q = ctx.queue("x"); for _ in 0..3 { let t = std::time::Instant::now(); s.spin(&ctx, &q, 100); q.finish().wait().unwrap(); eprintln!("{:?}", t.elapsed()); } }),
    case("q00_tick", |s: &Subject| { let ctx = s.ctx(); let k = crate::common::kernels::tick(&ctx); let q = ctx.queue("x");
        let mut c = q.zeros::<u32,1>([1]).unwrap(); let mut t = q.zeros::<u32, 1>([10]).unwrap();
        for i in 0..10u32 { q.launch_dyn(&k, Grid::groups([1]), args![at = i, clock = &mut c, ticks = &mut t]).unwrap(); }
        assert_eq!(q.read(&t).wait().unwrap(), (1..=10).collect::<Vec<_>>()); }),
    ]
}

fn q02_order(subject: &Subject) {
    let ctx = subject.ctx();
    let queue = ctx.queue("main");
    let mix = ctx.kernel::<Mix>().unwrap();
    let x = queue.array(&[1_u32; 100]).unwrap();
    let mut y = queue.array(&[7_u32; 100]).unwrap();
    queue.launch(&mix, Grid::threads([100]), Mix { a: 3, b: 5, x: &x, y: &mut y }).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [27; 100]);
}
