//! Q09: calls on the context, which take no queue.

use crate::common::kernels::Mix;
use crate::common::{Case, Subject, assert_error, case, hold};
use crate::kernels::shaders::LOOKS;
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("q09_verbs_without_a_queue_go_to_the_current_queue", go_to_current),
        case("q09_a_read_without_a_queue_is_in_the_order_of_the_current_queue", reads),
        case("q09_a_marker_without_a_queue_covers_the_current_queue", marker),
        case("q09_record_and_wait_for_without_a_queue_go_to_the_current_queue", record_and_wait),
        case("q09_a_verb_of_a_queue_does_not_use_the_current_queue", explicit_wins),
        case("q09_verbs_without_a_queue_refuse_objects_of_another_context", foreign),
        case("q09_arrays_made_by_the_context_do_not_use_the_current_queue", making),
    ]
}

const N: usize = 64;

/// Arguments of the verbs.
struct Bench {
    ctx: Context,
    mix: Kernel<Mix<'static>>,
    looks: DynKernel,
    upload: HostArray<u32, Upload>,
}

impl Bench {
    fn new(subject: &Subject, ctx: &Context) -> Self {
        let mix = ctx.kernel::<Mix>().unwrap();
        let looks = LOOKS.kernel(subject, ctx);
        Self { ctx: ctx.clone(), mix, looks, upload: ctx.pinned([N]).unwrap() }
    }

    fn other(&self) -> DeviceArray<u32> {
        self.ctx.zeros([N]).unwrap()
    }
}

/// A call on the context that uses `x`, and otherwise only new arrays.
type Verb = (&'static str, fn(&Bench, &Context, &mut DeviceArray<u32>) -> Result<()>);

const VERBS: &[Verb] = &[
    ("launch", |b, ctx, x| {
        ctx.current_queue().launch(&b.mix, Grid::threads([N]), Mix { a: 1, b: 1, x: &b.other(), y: x })
    }),
    ("launch_dyn", |b, ctx, x| {
        ctx.current_queue().launch_dyn(&b.looks, Grid::threads([N]), args![&mut b.other(), x])
    }),
    ("upload", |_, ctx, x| ctx.current_queue().upload(&[7; N], x)),
    ("upload pinned", |b, ctx, x| ctx.current_queue().upload(&b.upload, x)),
    ("upload a slice", |b, ctx, x| ctx.current_queue().upload(&b.upload.slice(1..N)?, &mut x.slice(1..N)?)),
    ("copy from", |b, ctx, x| ctx.current_queue().copy(x, &mut b.other())),
    ("copy to", |b, ctx, x| ctx.current_queue().copy(&b.other(), x)),
    ("fill", |_, ctx, x| ctx.current_queue().fill(x, 3)),
    ("set", |_, ctx, x| ctx.current_queue().set(x, [5], 3)),
    ("get", |_, ctx, x| given(ctx.current_queue().get(x, [5]))),
    ("download", |b, ctx, x| ctx.current_queue().download(x, &mut b.ctx.pinned([N])?)),
    ("read", |_, ctx, x| given(ctx.current_queue().read(x))),
    ("read_region", |_, ctx, x| given(ctx.current_queue().read_region(x, region![..]))),
];

/// Returns an error if the read was not enqueued. There is no wait for the read, so the host learns nothing.
fn given<T>(mut read: Pending<T>) -> Result<()> {
    match read.wait_timeout(std::time::Duration::ZERO) {
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}

/// Finds the queue and the line of the verb in the error that `Checked` returns for a later use.
fn go_to_current(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Checked);
    let bench = Bench::new(subject, &ctx);
    let other = ctx.queue("other");
    for &(name, verb) in VERBS {
        let queue = ctx.queue(name);
        let gate = ctx.user_event("gate");
        queue.wait_for(&gate.event()).unwrap(); // the gate holds the work back, so no read shows that it is done
        queue.scope(|| {
            let mut x = ctx.zeros([N]).unwrap();
            verb(&bench, &ctx, &mut x).expect(name);
            let error = other.fill(&mut x, 9).expect_err(name);
            let ErrorDetail::Hazard { earlier, .. } = error.detail() else { panic!("{name}: {error}") };
            assert_eq!(&*earlier.queue, name);
            assert!(earlier.location.file().ends_with("verbs.rs"), "{name}: {error}");
            assert!(earlier.location.file().contains("conformance"), "{name}: {error}");
        });
        gate.signal();
    }
}

fn reads(subject: &Subject) {
    let (ctx, [queue]) = subject.with_queues_under(Policy::Unchecked, ["main"]);
    let mut x = ctx.zeros([N]).unwrap();
    queue.make_current();
    let gate = hold(&queue);
    ctx.current_queue().fill(&mut x, 5_u32).unwrap();
    let first = ctx.current_queue().read(&x);
    let second = ctx.current_queue().read_region(&x, region![..]);
    ctx.current_queue().fill(&mut x, 6).unwrap();
    gate.signal();
    assert_eq!((first.wait().unwrap(), second.wait().unwrap()), (vec![5; N], vec![5; N]));
    let mut out = [0; N];
    ctx.current_queue().read_into(&x, &mut out).unwrap();
    assert_eq!(out, [6; N]);
}

fn marker(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    ctx.default_queue(); // the default queue is made first, because a new queue comes after the held work
    let gate = hold(&queue);
    queue.callback(|| ()).unwrap();
    assert!(ctx.current_queue().marker().is_complete().unwrap(), "the default queue has no work");
    let held = queue.scope(|| ctx.current_queue().marker());
    assert!(!held.is_complete().unwrap());
    gate.signal();
    held.wait().unwrap();
}

fn record_and_wait(subject: &Subject) {
    let (ctx, [first, second]) = subject.with_queues(["first", "second"]);
    let event = ctx.event();
    ctx.default_queue(); // the default queue is made first, because a new queue comes after the held work
    let gate = hold(&first);
    first.callback(|| ()).unwrap();
    let no_wait = fencepost::ScopeOptions::default().wait(false);
    first.scope_with(no_wait, || event.record(&ctx.current_queue())).unwrap();
    assert!(!event.is_complete().unwrap());
    second.scope_with(no_wait, || ctx.current_queue().wait_for(&event)).unwrap();
    let waits = second.marker();
    assert!(!waits.is_complete().unwrap(), "the queue that was current waits");
    assert!(ctx.default_queue().marker().is_complete().unwrap(), "the default queue does not wait");
    gate.signal();
    waits.wait().unwrap();
}

fn explicit_wins(subject: &Subject) {
    let (ctx, [a, b, c]) = subject.with_queues_under(Policy::Checked, ["a", "b", "c"]);
    a.scope(|| {
        let mut x = ctx.zeros([N]).unwrap();
        b.fill(&mut x, 1_u32).unwrap();
        assert_error!(c.fill(&mut x, 2), ErrorDetail::Hazard { earlier, .. } if &*earlier.queue == "b");
    });
}

fn foreign(subject: &Subject) {
    let [ctx, other] = [0; 2].map(|_| subject.ctx());
    let bench = Bench::new(subject, &ctx);
    let mut theirs = other.zeros([N]).unwrap();
    // Copies may connect two contexts, so they are left out.
    let verbs = || VERBS.iter().filter(|(name, _)| !name.contains("copy"));
    let mut refused: Vec<(&str, Result<()>)> =
        verbs().map(|&(name, verb)| (name, verb(&bench, &ctx, &mut theirs))).collect();
    refused.push(("read_into", ctx.current_queue().read_into(&theirs, &mut [0; N])));
    // Here the verb belongs to the other context, but the arguments do not.
    for &(name, verb) in verbs().filter(|(name, _)| !name.contains("read") && *name != "upload") {
        if !["fill", "set", "get"].contains(&name) {
            refused.push((name, verb(&bench, &other, &mut theirs)));
        }
    }
    for (name, found) in refused {
        assert_error!(found, ErrorDetail::ForeignContext { .. }, "{name}");
    }
}

fn making(subject: &Subject) {
    let (ctx, [held, queue]) = subject.with_queues(["held", "main"]);
    let gate = hold(&held);
    held.scope(|| {
        let zeros = ctx.zeros::<u32, 1>([N]).unwrap();
        let full = ctx.full([N], 2_u32).unwrap();
        let array = ctx.array(&[3_u32; N]).unwrap();
        assert_eq!(queue.read(&zeros).wait().unwrap(), [0; N]);
        assert_eq!(queue.read(&full).wait().unwrap(), [2; N]);
        assert_eq!(queue.read(&array).wait().unwrap(), [3; N]);
    });
    gate.signal();
    held.finish().wait().unwrap();
}
