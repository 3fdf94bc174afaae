//! Checks tables of mistakes, each with the error that it must give.

use crate::common::Subject;
use crate::kernels::shaders::{LOOKS, saxpy};
use fencepost::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Objects with which mistakes are made.
pub struct Bench {
    pub ctx: Context,
    pub queue: CommandQueue,
    /// Array of 64 elements, as are all arrays of the bench.
    pub x: DeviceArray<f32>,
    pub y: DeviceArray<f32>,
    pub whole: DeviceArray<u32>,
    pub upload: HostArray<f32, Upload>,
    /// A kernel on arrays of `f32`; the kernel `looks` takes arrays of `u32`.
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

/// Name of a mistake, a function that makes it, and a check for the right error.
pub type Mistake = (&'static str, fn(&Bench) -> Result<()>, fn(&ErrorDetail) -> bool);

/// Makes a table of [`Mistake`]s from rows of a name, a call, and the kind of its error. A call may give any result.
macro_rules! mistakes {
    ($($name:literal: |$b:ident| $call:expr => $kind:ident $fields:tt $(if $guard:expr)?,)*) => {
        &[$((
            $name,
            #[allow(clippy::reversed_empty_ranges, reason = "some ranges are the mistake")]
            |$b| {
                let result: fencepost::Result<_> = $call;
                result.map(drop)
            },
            |kind| matches!(kind, fencepost::ErrorDetail::$kind $fields $(if $guard)?),
        )),*]
    };
}
pub(super) use mistakes;

/// Makes every mistake of a table, and panics with a list of the mistakes that do not give the expected errors.
pub fn check(s: &Subject, policy: Policy, table: &[Mistake]) {
    let mut bench = Bench::new(s, policy);
    let mut wrong = Vec::new();
    for (name, make, is) in table {
        let outcome = catch_unwind(AssertUnwindSafe(|| make(&bench)));
        match outcome {
            Err(_) => wrong.push(format!("{name}: panics")),
            Ok(Ok(())) => wrong.push(format!("{name}: is accepted")),
            Ok(Err(error)) if !is(error.detail()) => wrong.push(format!("{name}: {error:?}")),
            Ok(Err(error)) => has_a_sentence(&mut wrong, name, &error),
        }
        if let Err(error) = still_works(&bench) {
            wrong.push(format!("{name}: the queue fails after it: {error}"));
            bench = Bench::new(s, policy);
        }
    }
    assert!(wrong.is_empty(), "{} of {} mistakes:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

/// Checks that a message is a sentence that names objects, and not a debug form.
fn has_a_sentence(wrong: &mut Vec<String>, name: &str, error: &Error) {
    let text = error.to_string();
    if text.len() < 20 || text.contains("ErrorDetail") || text.contains("Error(") {
        wrong.push(format!("{name}: the message is `{text}`"));
    }
}

/// Checks that a mistake has left the queue and the arrays as they were.
fn still_works(bench: &Bench) -> Result<()> {
    let queue = &bench.queue;
    queue.fill(&mut bench.y.clone(), 2.0)?;
    assert_eq!(queue.read(&bench.y).wait()?, [2.0; 64]);
    assert_eq!(queue.read(&bench.x).wait()?, [1.0; 64]);
    Ok(())
}
