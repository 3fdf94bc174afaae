//! A01: the compilation of kernels before the first call of a verb.

use crate::common::{Case, Subject, case, dump};
use fencepost::Kind;
use fencepost::algorithms::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_warm_up_makes_its_calls_and_executes_nothing", calls),
        case("a01_threads_may_warm_up_a_queue_that_executes_commands", threads),
    ]
}

fn calls(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let (x, mut out, mut total) = (
        queue.full([5000], 3_u32).unwrap(),
        queue.full([5000], 7_u32).unwrap(),
        queue.full([1], 7_u32).unwrap(),
    );
    let before = dump::enqueued(&ctx, "q");
    queue
        .warm_up(|q| {
            q.sum(&x, &mut total)?;
            q.sort(&x, &mut out, Sort::ascending())
        })
        .unwrap();
    // The compiler refuses an expression, so a call compiles its kernel.
    let error = queue.warm_up(|q| q.map(&x, "x * nothing", &mut out)).unwrap_err();
    assert!(matches!(error.kind(), Kind::Kernel(_)) && error.to_string().contains("nothing"), "{error}");
    let error = queue.warm_up(|q| q.sum_of(&x).wait().map(drop)).unwrap_err();
    assert!(matches!(error.kind(), Kind::Captured { .. }), "{error}");
    let error = queue.warm_up(|q| q.sum(&x, &mut x.slice(0..1)?)).unwrap_err();
    assert!(matches!(error.kind(), Kind::Aliased { .. }), "{error}");
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 5000]);
    assert_eq!(queue.read(&total).wait().unwrap(), [7]);
    queue.sum(&x, &mut total).unwrap();
    assert_eq!(queue.read(&total).wait().unwrap(), [15_000]);
}

fn threads(s: &Subject) {
    let queue = s.ctx().queue("q");
    let (x, mut total) = (queue.full([5000], 3_u32).unwrap(), queue.full([1], 0_u32).unwrap());
    std::thread::scope(|scope| {
        for at in 0..4_u32 {
            let (queue, x) = (&queue, &x);
            scope.spawn(move || {
                queue.warm_up(|q| q.map(x, &format!("x + {at}u"), &mut q.empty::<u32, 1>([5000])?)).unwrap();
            });
        }
        for _ in 0..20 {
            queue.axpy(1, &x.slice(0..1).unwrap(), &mut total).unwrap();
        }
    });
    assert_eq!(queue.read(&total).wait().unwrap(), [60]);
}
