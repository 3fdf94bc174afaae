//! A table of mistakes, each with the error it must give.

use crate::common::Subject;
use crate::kernels::shaders::{LOOKS, saxpy};
use fencepost::{
    CommandQueue, Context, DeviceArray, DynKernel, Error, HostArray, Kind, Policy, Result, Upload,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What mistakes are made with.
pub struct Bench {
    pub ctx: Context,
    pub queue: CommandQueue,
    /// 64 elements each.
    pub x: DeviceArray<f32>,
    pub y: DeviceArray<f32>,
    pub whole: DeviceArray<u32>,
    pub upload: HostArray<f32, Upload>,
    /// `saxpy` on `f32`, `looks` on `u32`.
    pub saxpy: DynKernel,
    pub looks: DynKernel,
}

impl Bench {
    pub fn new(s: &Subject, policy: Policy) -> Self {
        let ctx = s.ctx_with(policy);
        Self {
            queue: ctx.queue("bench"),
            x: ctx.full([64], 1.0).expect("memory"),
            y: ctx.zeros([64]).expect("memory"),
            whole: ctx.zeros([64]).expect("memory"),
            upload: ctx.pinned([64]).expect("memory"),
            saxpy: saxpy(s, &ctx),
            looks: LOOKS.kernel(s, &ctx),
            ctx,
        }
    }
}

/// One mistake: what it is, how it is made, and whether an error is the right one for it.
pub type Mistake = (&'static str, fn(&Bench) -> Result<()>, fn(&Kind) -> bool);

/// Makes every mistake of a table, each on a bench of its own queue, and says which did not give its error.
pub fn check(s: &Subject, policy: Policy, table: &[Mistake]) {
    let mut bench = Bench::new(s, policy);
    let mut wrong = Vec::new();
    for (name, make, is) in table {
        let outcome = catch_unwind(AssertUnwindSafe(|| make(&bench)));
        match outcome {
            Err(_) => wrong.push(format!("{name}: panics")),
            Ok(Ok(())) => wrong.push(format!("{name}: is let in")),
            Ok(Err(error)) if !is(error.kind()) => wrong.push(format!("{name}: {error:?}")),
            Ok(Err(error)) => says_something(&mut wrong, name, &error),
        }
        if let Err(error) = still_works(&bench) {
            wrong.push(format!("{name}: the queue is spoilt by it: {error}"));
            bench = Bench::new(s, policy);
        }
    }
    assert!(wrong.is_empty(), "{} of {} mistakes:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

/// A message is a sentence that names things, not a debug form.
fn says_something(wrong: &mut Vec<String>, name: &str, error: &Error) {
    let text = error.to_string();
    if text.len() < 20 || text.contains("Kind") || text.contains("Error(") {
        wrong.push(format!("{name}: the message is `{text}`"));
    }
}

/// A mistake leaves the queue and the arrays as they were.
fn still_works(bench: &Bench) -> Result<()> {
    let queue = &bench.queue;
    queue.fill(&mut bench.y.handle(), 2.0)?;
    assert_eq!(queue.read(&bench.y).wait()?, [2.0; 64]);
    assert_eq!(queue.read(&bench.x).wait()?, [1.0; 64]);
    Ok(())
}
