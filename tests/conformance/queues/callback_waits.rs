//! Q11: every kind of wait inside a callback ends, with its result or with `WouldDeadlock`.

use crate::common::{Case, case, hold, queues};
use fencepost::prelude::*;
use fencepost::{ErrorDetail, QueueOptions, Result, region, synchronize_all};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context as Task, Poll, Wake, Waker};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("q11_every_wait_in_a_callback_ends_and_loses_no_result", |s| every_wait(&[s.ctx(), s.ctx()])),
        case("q11_every_wait_in_a_callback_ends_and_loses_no_result_without_threads", |s| {
            every_wait(&[s.without_threads(), s.without_threads()]);
        }),
        case("q11_every_wait_in_a_callback_ends_beside_a_context_without_threads", |s| {
            every_wait(&[s.ctx(), s.without_threads()]);
            every_wait(&[s.without_threads(), s.ctx()]);
        }),
        case("q11_the_first_poll_in_a_callback_of_later_work_is_refused", |s| {
            first_poll(&[s.ctx(), s.ctx()]);
            first_poll(&[s.ctx(), s.without_threads()]);
        }),
        case("q11_an_await_that_runs_a_callback_which_awaits_the_same_work_ends", |s| {
            nested(&s.without_threads())
        }),
        case("q11_an_access_in_a_callback_to_a_pinned_array_that_another_thread_awaits_ends", |s| {
            second_access(&s.ctx())
        }),
    ]
}

const N: usize = 64;
const LONG: Duration = Duration::from_secs(30);

/// A way to wait.
#[derive(Clone, Copy, Debug)]
enum Way {
    Blocks,
    HasALimit,
    Awaits,
}

impl Way {
    fn wait<T: Unpin>(self, mut pending: Pending<T>) -> Result<()> {
        match self {
            Way::Blocks => pending.wait().map(drop),
            Way::HasALimit => {
                pending.wait_timeout(LONG).map(|there| assert!(there.is_some(), "the wait ends in time"))
            }
            Way::Awaits => crate::common::block_on(pending).map(drop),
        }
    }
}

/// Objects for which a callback waits.
struct Target {
    ctx: Context,
    queue: CommandQueue,
    before: Event,
    after: Event,
    array: DeviceArray<u32>,
    down: HostArray<u32, Download>,
    up: HostArray<u32, Upload>,
}

impl Target {
    /// Enqueues work on a queue.
    fn work(ctx: &Context, queue: CommandQueue) -> Self {
        let before = queue.marker();
        let [mut array, mut other] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
        let mut down = ctx.pinned([N]).unwrap();
        let up = ctx.pinned([N]).unwrap();
        queue.fill(&mut array, 7_u32).unwrap();
        queue.download(&array, &mut down).unwrap();
        queue.upload(&up, &mut other).unwrap();
        Self { ctx: ctx.clone(), before, after: queue.marker(), queue, array, down, up }
    }
}

/// Kind of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asks {
    /// A wait for the work of the target.
    Work,
    /// A wait for the target's work on some devices; the other devices need no wait, or have no clock.
    WorkOrNothing,
    /// A wait for all work of the target's context.
    Context,
}

type Wait = fn(&mut Target, Way) -> Result<()>;

const WAITS: &[(&str, Asks, Wait)] = &[
    ("a finish", Asks::Work, |t, way| way.wait(t.queue.finish())),
    ("an event", Asks::Work, |t, way| way.wait(t.after.done())),
    ("the submission of an event", Asks::Work, |t, way| way.wait(t.after.submitted())),
    ("a read", Asks::Work, |t, way| way.wait(t.queue.read(&t.array))),
    ("a read into a slice", Asks::Work, |t, _| t.queue.read_into(&t.array, &mut [0; N])),
    ("a read of a region", Asks::Work, |t, way| way.wait(t.queue.read_region(&t.array, region![0..N / 2]))),
    ("a map to read", Asks::Work, |t, way| way.wait(t.array.map_read())),
    ("a map to write", Asks::Work, |t, way| way.wait(t.array.map_write())),
    ("a pinned array to download to", Asks::Work, |t, _| {
        assert_eq!(*t.down.host()?, [7; N]);
        Ok(())
    }),
    ("a pinned array to upload from", Asks::WorkOrNothing, |t, _| {
        t.up.host_mut()?.fill(8);
        Ok(())
    }),
    ("a time", Asks::WorkOrNothing, |t, way| way.wait(t.after.seconds_since(&t.before))),
    ("a synchronize", Asks::Context, |t, way| way.wait(t.ctx.synchronize())),
    ("a profile", Asks::Context, |t, way| {
        let profiler = t.ctx.profile();
        t.queue.fill(&mut t.array, 7)?;
        way.wait(profiler.finish())
    }),
];

/// Position of a target relative to a callback.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Where {
    After,
    BehindOnAnotherQueue,
    BehindInAnotherContext,
    Elsewhere,
    InAnotherContext,
}

impl Where {
    const ALL: [Self; 5] = [
        Self::After,
        Self::BehindOnAnotherQueue,
        Self::BehindInAnotherContext,
        Self::Elsewhere,
        Self::InAnotherContext,
    ];

    fn is_after(self) -> bool {
        !matches!(self, Self::Elsewhere | Self::InAnotherContext)
    }

    /// Returns the context of the target.
    fn context(self, [ctx, other]: &[Context; 2]) -> &Context {
        if matches!(self, Self::BehindInAnotherContext | Self::InAnotherContext) { other } else { ctx }
    }

    /// Makes a target for a callback of the queue `called`; `other` is a queue that was made before the callback.
    fn target(self, ctx: &Context, called: &CommandQueue, other: CommandQueue) -> Target {
        if self == Self::After {
            return Target::work(ctx, called.clone());
        }
        if self.is_after() {
            other.wait_for(&called.marker()).unwrap();
        }
        Target::work(ctx, other)
    }

    /// Returns `true` if a wait for the target can end.
    fn can_end(self, asks: Asks) -> bool {
        match asks {
            Asks::Context => self == Self::InAnotherContext,
            _ => !self.is_after(),
        }
    }
}

fn every_wait(contexts: &[Context; 2]) {
    for &(what, asks, wait) in WAITS {
        for place in Where::ALL {
            for way in [Way::Blocks, Way::HasALimit, Way::Awaits] {
                let (keep, kept) = channel();
                let result = in_callback(contexts, place, move |mut target| {
                    let result = wait(&mut target, way);
                    keep.send(target.down).unwrap();
                    result
                });
                let name = format!("{what}, {place:?}, {way:?}");
                let down = kept.recv().unwrap();
                assert_eq!(*down.host().unwrap(), [7; N], "{name}: the download is there afterwards");
                let refused =
                    |error: &fencepost::Error| matches!(error.detail(), ErrorDetail::WouldDeadlock { .. });
                match result {
                    Ok(()) => {
                        assert!(place.can_end(asks) || asks == Asks::WorkOrNothing, "{name} is not refused")
                    }
                    Err(error) if place.can_end(asks) => {
                        assert!(asks == Asks::WorkOrNothing && !refused(&error), "{name}: {error}");
                    }
                    Err(error) => assert!(refused(&error) || asks == Asks::WorkOrNothing, "{name}: {error}"),
                }
            }
        }
    }
    let all = in_callback(contexts, Where::Elsewhere, |_| synchronize_all().wait());
    assert!(all.is_err_and(|error| matches!(error.detail(), ErrorDetail::WouldDeadlock { .. })));
}

fn first_poll(contexts: &[Context; 2]) {
    for place in Where::ALL.into_iter().filter(|place| place.is_after()) {
        let poll = |target: Target| {
            let mut finish = target.queue.finish();
            let waker = Waker::from(Arc::new(Silent)); // a poll with `Waker::noop` is not a wait
            match Pin::new(&mut finish).poll(&mut Task::from_waker(&waker)) {
                Poll::Ready(result) => result,
                Poll::Pending => Ok(()),
            }
        };
        let refused = in_callback(contexts, place, poll).expect_err("the first poll is refused");
        assert!(matches!(refused.detail(), ErrorDetail::WouldDeadlock { .. }), "{place:?}: {refused}");
    }
}

/// A callback and the program's thread use a pinned array, to which a command after the callback downloads. Usually the
/// thread waits first.
fn second_access(ctx: &Context) {
    let queue = ctx.queue("q");
    let x = ctx.full([N], 7_u32).unwrap();
    let mut down = ctx.pinned([N]).unwrap();
    let (give, given) = channel::<Arc<HostArray<u32, Download>>>();
    let (tell, told) = channel();
    queue
        .callback(move || {
            let down = given.recv().unwrap();
            crate::common::sleep(Duration::from_millis(100));
            let access = down.host().map(drop);
            tell.send(access).unwrap();
        })
        .unwrap();
    queue.download(&x, &mut down).unwrap();
    let down = Arc::new(down);
    give.send(down.clone()).unwrap();
    assert_eq!(*down.host().unwrap(), [7; N]);
    let error = told.recv().unwrap().expect_err("the access waits for its own callback");
    assert!(matches!(error.detail(), ErrorDetail::WouldDeadlock { .. }), "{error}");
}

struct Silent;

impl Wake for Silent {
    fn wake(self: Arc<Self>) {}
}

/// Runs `wait` in a callback, once all work after the callback is enqueued.
fn in_callback(
    contexts: &[Context; 2],
    place: Where,
    wait: impl FnOnce(Target) -> Result<()> + Send + 'static,
) -> Result<()> {
    let timed = |label: &str| QueueOptions::default().label(label).timing(true);
    let ctx = place.context(contexts);
    let queue = contexts[0].queue_with(timed("called"));
    let other = ctx.queue_with(timed("other"));
    let ((give, given), (tell, told)) = (channel(), channel());
    queue.callback(move || tell.send(wait(given.recv().unwrap())).unwrap()).unwrap();
    give.send(place.target(ctx, &queue, other)).unwrap();
    queue.finish().wait().unwrap();
    told.recv().unwrap()
}

/// Polls a future; the poll runs a callback. The callback starts the work of the future, and awaits that work too. Both
/// awaits are on one thread, and a single wake-up must wake both.
fn nested(ctx: &Context) {
    for _ in 0..10 {
        let [work, calls] = queues(ctx, ["work", "calls"]);
        let mut x = work.zeros([N]).unwrap();
        let gate = hold(&work);
        work.fill(&mut x, 7_u32).unwrap();
        let end = work.marker();
        let inside = work.marker();
        calls
            .callback(move || {
                gate.signal();
                crate::common::block_on(inside.done()).unwrap();
            })
            .unwrap();
        crate::common::block_on(end.done()).unwrap();
        assert_eq!(crate::common::block_on(work.read(&x)).unwrap(), [7; N]);
    }
}
