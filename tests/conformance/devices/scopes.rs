//! D02: the current context.

use crate::common::thread;
use crate::common::{Case, NO_UNWINDING, ONE_THREAD, Subject, assert_error, case};
use fencepost::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

pub fn cases() -> Vec<Case> {
    vec![
        case("d02_a_context_is_current_inside_its_scope", inside),
        case("d02_scopes_of_contexts_nest_and_a_panic_ends_them", nest).not_in_a_page(NO_UNWINDING),
        case("d02_the_current_context_is_per_thread", of_its_thread).not_in_a_page(ONE_THREAD),
        case("d02_the_scope_of_a_queue_makes_its_context_current", of_a_queue).not_in_a_page(NO_UNWINDING),
        case("d02_no_current_context_is_an_error", none),
    ]
}

/// Returns the label of the current queue, which identifies the context in a test.
fn current() -> String {
    Context::current().unwrap().current_queue().options().label.to_owned()
}

/// Fills an array on the current context, and returns its elements.
fn work(value: u32) -> fencepost::Result<Vec<u32>> {
    let ctx = Context::current()?;
    let mut x = ctx.zeros([10])?;
    ctx.current_queue().fill(&mut x, value)?;
    ctx.current_queue().read(&x).wait()
}

fn inside(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("ours");
    queue.make_current();
    assert_eq!(ctx.scope(|| (current(), work(4).unwrap())), ("ours".into(), vec![4; 10]));
    // Only the handles keep the context alive.
    let watch = ctx.diagnostics().watch();
    drop((ctx, queue));
    crate::common::assert_ended(&watch);
}

fn nest(subject: &Subject) {
    let [a, b] = [0; 2].map(|_| subject.ctx());
    let of_a = a.queue("a");
    let of_b = b.queue("b");
    of_a.make_current();
    of_b.make_current();
    a.scope(|| {
        assert_eq!(
            b.scope(|| (current(), a.scope(current), current())),
            ("b".into(), "a".into(), "b".into())
        );
        catch_unwind(AssertUnwindSafe(|| b.scope(|| resume_unwind(Box::new("on purpose"))))).unwrap_err();
        assert_eq!(current(), "a");
    });
    assert!(Context::current().is_err());
}

fn of_a_queue(subject: &Subject) {
    let [a, b] = [0; 2].map(|_| subject.ctx());
    let of_a = a.queue("a");
    let of_b = b.queue("b");
    let inside = of_a.scope(|| {
        let nested = of_b.scope(|| (current(), work(5).unwrap()));
        catch_unwind(AssertUnwindSafe(|| of_b.scope(|| resume_unwind(Box::new("on purpose"))))).unwrap_err();
        (nested, current())
    });
    assert_eq!(inside, (("b".into(), vec![5; 10]), "a".into()));
    assert!(Context::current().is_err());
}

fn of_its_thread(subject: &Subject) {
    let [a, b] = [0; 2].map(|_| subject.ctx());
    a.scope(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(Context::current().is_err());
                assert_eq!(b.scope(|| work(6)).unwrap(), [6; 10]);
            });
        });
        assert_eq!(work(5).unwrap(), [5; 10]);
    });
}

fn none(_: &Subject) {
    assert_error!(work(1), ErrorDetail::NoContext);
}
