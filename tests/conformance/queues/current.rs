//! Q08: the current queue of a thread.

use crate::common::thread;
use crate::common::{Case, NO_UNWINDING, ONE_THREAD, Subject, case, dump, hold};
use fencepost::ScopeOptions;
use fencepost::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::channel;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("q08_a_scope_sets_the_current_queue_and_its_end_restores_it", scope),
        case("q08_scopes_nest", nest),
        case("q08_a_panic_in_a_scope_restores_the_current_queue", panics).not_in_a_page(NO_UNWINDING),
        case("q08_a_scope_waits_for_the_queue_that_was_current", entry_waits),
        case("q08_a_scope_waits_for_the_default_queue_if_none_was_set", entry_waits_for_default),
        case("q08_a_scope_without_the_wait_waits_for_nothing", entry_without),
        case("q08_a_scope_of_a_failed_queue_waits_too", entry_of_failed),
        case("q08_the_end_of_a_scope_waits_for_nothing", exit),
        case("q08_make_current_waits_for_nothing_and_the_end_of_a_scope_undoes_it", make_current),
        case("q08_a_dropped_queue_is_not_current", gone),
        case("q08_each_thread_has_a_current_queue_for_each_context", own).not_in_a_page(ONE_THREAD),
        case("q08_the_default_queue_is_current_in_a_callback", in_callback),
    ]
}

const N: usize = 100;

fn current(ctx: &Context) -> String {
    ctx.current_queue().options().label.to_owned()
}

fn scope(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    assert_eq!(current(&ctx), "default");
    let inside = queue.scope(|| {
        let mut x = ctx.zeros([N]).unwrap();
        ctx.current_queue().fill(&mut x, 4_u32).unwrap();
        (current(&ctx), ctx.current_queue().read(&x).wait().unwrap())
    });
    assert_eq!(inside, ("main".into(), vec![4; N]));
    assert_eq!(current(&ctx), "default");
}

fn nest(subject: &Subject) {
    let (ctx, [a, b]) = subject.with_queues(["a", "b"]);
    let seen = a.scope(|| {
        let inner =
            b.scope(|| (current(&ctx), a.scope(|| current(&ctx)), b.scope(|| current(&ctx)), current(&ctx)));
        (inner, current(&ctx))
    });
    let (inner, outer) = seen;
    assert_eq!(inner, ("b".into(), "a".into(), "b".into(), "b".into()));
    assert_eq!((outer.as_str(), current(&ctx).as_str()), ("a", "default"));
}

fn panics(subject: &Subject) {
    let (ctx, [a, b]) = subject.with_queues(["a", "b"]);
    a.scope(|| {
        let panic = AssertUnwindSafe(|| b.scope(|| resume_unwind(Box::new("on purpose"))));
        catch_unwind(panic).unwrap_err();
        assert_eq!(current(&ctx), "a");
    });
    assert_eq!(current(&ctx), "default");
}

fn entry_waits(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let [first, second, third] = ["first", "second", "third"].map(|label| ctx.queue(label));
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&first);
    first.fill(&mut x, 1_u32).unwrap();
    let mut read = first.scope(|| second.scope(|| ctx.current_queue().read(&x)));
    assert!(read.wait_timeout(Duration::ZERO).unwrap().is_none());
    assert!(dump::is_held(&ctx, "second"), "the queue of the scope waits for the queue that was current");
    assert!(third.read(&x).wait().unwrap() == [0; N], "no other queue waits");
    gate.signal();
    assert_eq!(read.wait().unwrap(), [1; N]);
}

fn entry_waits_for_default(subject: &Subject) {
    let (ctx, [queue]) = subject.with_queues_under(Policy::Unchecked, ["main"]);
    let default = ctx.default_queue();
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&default);
    default.fill(&mut x, 1_u32).unwrap();
    let mut read = queue.scope(|| ctx.current_queue().read(&x));
    assert!(read.wait_timeout(Duration::ZERO).unwrap().is_none());
    assert!(dump::is_held(&ctx, "main"));
    gate.signal();
    assert_eq!(read.wait().unwrap(), [1; N]);
}

fn entry_without(subject: &Subject) {
    let (ctx, [first, second]) = subject.with_queues_under(Policy::Unchecked, ["first", "second"]);
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&first);
    first.fill(&mut x, 1_u32).unwrap();
    let no_wait = ScopeOptions::default().wait(false);
    let read = first.scope(|| second.scope_with(no_wait, || ctx.current_queue().read(&x)));
    assert_eq!(read.wait().unwrap(), [0; N]);
    gate.signal();
    first.finish().wait().unwrap();
}

fn entry_of_failed(subject: &Subject) {
    let (ctx, [first, failed]) = subject.with_queues_under(Policy::Unchecked, ["first", "failed"]);
    failed.wait_for(&ctx.user_event("abandoned").event()).unwrap();
    failed.finish().wait().unwrap_err();
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&first);
    first.fill(&mut x, 1_u32).unwrap();
    let mut read = first.scope(|| {
        failed.scope(|| {
            failed.take_error().unwrap();
            ctx.current_queue().read(&x)
        })
    });
    assert!(read.wait_timeout(Duration::ZERO).unwrap().is_none());
    assert!(dump::is_held(&ctx, "failed"));
    gate.signal();
    assert_eq!(read.wait().unwrap(), [1; N]);
}

fn exit(subject: &Subject) {
    let (ctx, [first, second]) = subject.with_queues_under(Policy::Unchecked, ["first", "second"]);
    let gate = ctx.user_event("gate");
    let mut x = ctx.zeros([N]).unwrap();
    first.scope(|| {
        second.scope(|| {
            second.wait_for(&gate.event()).unwrap();
            second.fill(&mut x, 1_u32).unwrap();
        });
        assert_eq!(ctx.current_queue().read(&x).wait().unwrap(), [0; N]);
    });
    gate.signal();
    assert_eq!(second.read(&x).wait().unwrap(), [1; N]);
}

fn make_current(subject: &Subject) {
    let (ctx, [a, b, c]) = subject.with_queues_under(Policy::Unchecked, ["a", "b", "c"]);
    let mut x = ctx.zeros([N]).unwrap();
    a.make_current();
    let gate = hold(&a);
    a.fill(&mut x, 1_u32).unwrap();
    b.make_current();
    assert_eq!(current(&ctx), "b");
    assert_eq!(ctx.current_queue().read(&x).wait().unwrap(), [0; N]);
    c.scope(|| {
        a.make_current();
        assert_eq!(current(&ctx), "a");
    });
    assert_eq!(current(&ctx), "b");
    ctx.default_queue().make_current();
    assert_eq!(current(&ctx), "default");
    gate.signal();
    a.finish().wait().unwrap();
}

fn gone(subject: &Subject) {
    let (ctx, [a, b]) = subject.with_queues(["a", "b"]);
    a.make_current();
    b.scope(|| drop(a));
    assert_eq!(current(&ctx), "default", "the queue that was current before the scope is dropped in it");
    b.make_current();
    let watch = ctx.diagnostics().watch();
    drop((ctx, b));
    crate::common::assert_ended(&watch);
    let next = subject.ctx();
    assert_eq!(current(&next), "default");
}

fn own(subject: &Subject) {
    let [ctx, other] = [0; 2].map(|_| subject.ctx());
    let queue = ctx.queue("ours");
    let theirs = other.queue("theirs");
    queue.scope(|| {
        assert_eq!(current(&other), "default");
        theirs.scope(|| assert_eq!((current(&ctx), current(&other)), ("ours".into(), "theirs".into())));
        thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(current(&ctx), "default");
                theirs.make_current();
                ctx.queue("another").scope(|| assert_eq!(current(&ctx), "another"));
            });
        });
        assert_eq!((current(&ctx), current(&other)), ("ours".into(), "default".into()));
    });
}

fn in_callback(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, (sender, receiver)) = (ctx.queue("main"), channel());
    queue.scope(|| {
        let own = ctx.clone();
        queue.callback(move || sender.send(current(&own)).unwrap()).unwrap();
        queue.finish().wait().unwrap();
    });
    assert_eq!(crate::common::received(&receiver), "default");
}
