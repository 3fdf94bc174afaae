//! Q11: callbacks that wait for each other, and wakers that wait.

use crate::common::thread;
use crate::common::{Case, NO_BLOCKING, ONE_THREAD, Subject, case, hold, queues};
use fencepost::{CommandQueue, Context, Error, ErrorDetail, Result};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context as Task, Poll, Wake, Waker};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("q11_one_of_two_callbacks_that_wait_for_each_other_is_refused", two).not_in_a_page(NO_BLOCKING),
        case("q11_one_of_three_callbacks_that_wait_in_a_cycle_is_refused", three).not_in_a_page(NO_BLOCKING),
        case("q11_a_wait_for_a_callback_that_has_polled_once_is_not_refused", polled_once)
            .not_in_a_page(NO_BLOCKING),
        case("q11_an_await_is_refused_once_the_awaited_queue_reaches_a_callback", after_later)
            .not_in_a_page(NO_BLOCKING),
        case("q11_without_threads_a_callback_may_wait_for_a_callback_on_another_thread", on_another_thread)
            .not_in_a_page(ONE_THREAD),
        case("q11_without_threads_one_of_two_callbacks_in_a_cycle_is_refused", two_threads)
            .not_in_a_page(ONE_THREAD),
        case("q11_a_wait_in_a_waker_ends_or_would_deadlock", in_wakers).not_in_a_page(ONE_THREAD),
        case("q11_a_callback_may_wait_for_a_user_event_of_another_thread", user_event)
            .not_in_a_page(NO_BLOCKING),
    ]
}

const N: usize = 64;

fn is_refused(error: &Error) -> bool {
    matches!(error.detail(), ErrorDetail::WouldDeadlock { .. })
}

/// A way to wait for a queue in a callback.
#[derive(Clone, Copy, Debug)]
enum Way {
    Blocks,
    Awaits,
}

const WAYS: [Way; 2] = [Way::Blocks, Way::Awaits];

impl Way {
    fn finish(self, queue: &CommandQueue) -> Result<()> {
        match self {
            Way::Blocks => queue.finish().wait(),
            Way::Awaits => crate::common::block_on(queue.finish()),
        }
    }
}

/// In each context, a callback waits for work after the callback of the next context. Returns the results of the waits.
fn ring(contexts: &[Context], ways: &[Way]) -> Vec<Result<()>> {
    let queues: Vec<CommandQueue> =
        (0..contexts.len()).map(|at| contexts[at].queue(&format!("q{at}"))).collect();
    let results = Arc::new(Mutex::new(Vec::new()));
    let mut starts = Vec::new();
    for (at, (ctx, queue)) in contexts.iter().zip(&queues).enumerate() {
        let (start, started) = channel::<()>();
        let next = queues[(at + 1) % queues.len()].clone();
        let way = ways[at];
        let results = results.clone();
        starts.push(start);
        let wait = move || {
            started.recv().unwrap();
            let result = way.finish(&next);
            results.lock().unwrap().push(result);
        };
        queue.callback(wait).unwrap();
        queue.fill(&mut ctx.zeros([N]).unwrap(), 1_u32).unwrap();
        queue.flush().unwrap();
    }
    starts.iter().for_each(|start| start.send(()).unwrap());
    queues.iter().for_each(|queue| queue.finish().wait().unwrap());
    std::mem::take(&mut *results.lock().unwrap())
}

/// Checks that one wait in a ring is refused, and that its error names the callbacks of all contexts.
fn check(results: &[Result<()>], name: &str) {
    let errors: Vec<&Error> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(errors.len() == 1 && is_refused(errors[0]), "{name}: {results:?}");
    let ErrorDetail::WouldDeadlock { callbacks, .. } = errors[0].detail() else { return };
    assert_eq!(callbacks.len(), results.len(), "{name}: {}", errors[0]);
}

fn two(s: &Subject) {
    let contexts = [s.ctx(), s.ctx()];
    for first in WAYS {
        for second in WAYS {
            for _ in 0..4 {
                check(&ring(&contexts, &[first, second]), &format!("{first:?}, {second:?}"));
            }
        }
    }
}

fn three(s: &Subject) {
    let contexts = [s.ctx(), s.ctx(), s.ctx()];
    for ways in [[Way::Blocks; 3], [Way::Awaits; 3], [Way::Blocks, Way::Awaits, Way::Awaits]] {
        check(&ring(&contexts, &ways), &format!("{ways:?}"));
    }
}

/// Polls a future once.
fn look<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Task::from_waker(waker))
}

fn polled_once(s: &Subject) {
    let contexts = [s.ctx(), s.ctx()];
    let [looks, waits] = contexts.each_ref().map(|ctx| ctx.queue("called"));
    let ((go, told), (tell, seen), (end, ended)) = (channel::<()>(), channel(), channel());
    let (start, started) = channel::<()>();
    let first = looks.clone();
    let second = waits.clone();
    let look = move || {
        started.recv().unwrap();
        let mut after = second.finish();
        let waker = Waker::from(Arc::new(Forward(Mutex::new(tell))));
        assert!(look(&mut after, &waker).is_pending());
        // The other callback waits for this one. That is not a cycle, because this callback does not wait.
        go.send(()).unwrap();
        seen.recv().unwrap();
    };
    let wait = move || {
        told.recv().unwrap();
        end.send(first.finish().wait()).unwrap();
    };
    looks.callback(look).unwrap();
    waits.callback(wait).unwrap();
    for (ctx, queue) in contexts.iter().zip([&looks, &waits]) {
        queue.fill(&mut ctx.zeros([N]).unwrap(), 1_u32).unwrap();
    }
    waits.flush().unwrap();
    looks.flush().unwrap();
    start.send(()).unwrap();
    ended.recv().unwrap().unwrap();
    waits.finish().wait().unwrap();
}

/// A waker that sends a message.
struct Forward(Mutex<Sender<()>>);

impl Wake for Forward {
    fn wake(self: Arc<Self>) {
        // The receiver may be gone at the last wake-up.
        let _ = self.0.lock().unwrap().send(());
    }
}

fn after_later(s: &Subject) {
    let (ctx, [called, held]) = s.with_queues(["called", "held"]);
    let gate = hold(&held);
    held.callback(|| ()).unwrap();
    held.fill(&mut ctx.zeros([N]).unwrap(), 1_u32).unwrap();
    let ((polled, first), (tell, told), next) = (channel(), channel(), held.clone());
    let wait = move || {
        let mut finish = held.finish();
        let polling = std::future::poll_fn(|task| {
            let poll = Pin::new(&mut finish).poll(task);
            let _ = polled.send(());
            poll
        });
        tell.send(crate::common::block_on(pin!(polling))).unwrap();
    };
    called.callback(wait).unwrap();
    called.flush().unwrap();
    first.recv().unwrap();
    // From now on a callback is the next command of the awaited queue, and only the awaiting thread could run it.
    gate.signal();
    assert!(told.recv().unwrap().is_err_and(|error| is_refused(&error)));
    next.finish().wait().unwrap();
}

/// Runs a callback of a queue on its own thread. Returns the thread, and a receiver that gets a message when the
/// callback begins.
fn run_on_a_thread(
    queue: &CommandQueue,
    body: impl FnOnce() + Send + 'static,
) -> (thread::JoinHandle<Result<()>>, Receiver<()>) {
    let (begin, begun) = channel();
    let run = move || {
        begin.send(()).unwrap();
        body();
    };
    queue.callback(run).unwrap();
    queue.callback(|| ()).unwrap(); // this callback comes after the first
    let own = queue.clone();
    (thread::spawn(move || own.finish().wait()), begun)
}

fn on_another_thread(s: &Subject) {
    let ctx = s.without_threads();
    let [one, two] = queues(&ctx, ["one", "two"]);
    let ((go, told), (tell, results)) = (channel::<()>(), channel());
    let (other, begun) = run_on_a_thread(&two, move || told.recv().unwrap());
    begun.recv().unwrap();
    let wait = move || {
        let mut finish = two.finish();
        let first = finish.wait_timeout(Duration::ZERO);
        go.send(()).unwrap();
        tell.send((first, finish.wait())).unwrap();
    };
    one.callback(wait).unwrap();
    one.finish().wait().unwrap();
    let (first, second) = results.recv().unwrap();
    assert!(first.unwrap().is_none(), "the other callback still runs");
    second.unwrap();
    other.join().unwrap().unwrap();
}

fn two_threads(s: &Subject) {
    for way in WAYS {
        let ctx = s.without_threads();
        let queues = [ctx.queue("one"), ctx.queue("two")];
        let (tell, results) = channel();
        let mut threads = Vec::new();
        let mut starts = Vec::new();
        for at in 0..2 {
            let (start, started) = channel::<()>();
            let next = queues[1 - at].clone();
            let tell = tell.clone();
            let (thread, begun) = run_on_a_thread(&queues[at], move || {
                started.recv().unwrap();
                tell.send(way.finish(&next)).unwrap();
            });
            begun.recv().unwrap();
            threads.push(thread);
            starts.push(start);
        }
        starts.iter().for_each(|start| start.send(()).unwrap());
        threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
        check(&results.try_iter().collect::<Vec<_>>(), &format!("{way:?}"));
    }
}

/// A waker that waits for a queue at the first wake-up.
struct Waiting {
    queue: CommandQueue,
    results: Mutex<Option<Sender<Result<()>>>>,
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        let once = self.results.lock().unwrap().take();
        if let Some(results) = once {
            results.send(self.queue.finish().wait()).unwrap();
        }
    }
}

fn in_wakers(s: &Subject) {
    for (threads, called) in [(true, false), (true, true), (false, false), (false, true)] {
        let ctx = if threads { s.ctx() } else { s.without_threads() };
        let [queue, next] = queues(&ctx, ["woken", "next"]);
        let ((begin, begun), (go, told), (tell, results)) = (channel(), channel::<()>(), channel());
        let waker = Waker::from(Arc::new(Waiting { queue: next.clone(), results: Mutex::new(Some(tell)) }));
        let run = move || {
            begin.send(()).unwrap();
            told.recv().unwrap();
        };
        // The callback is the last command of its queue, so the thread that ran it calls the waker.
        queue.callback(run).unwrap();
        let own = queue.clone();
        let other = thread::spawn(move || own.finish().wait());
        begun.recv().unwrap();
        let mut end = queue.finish();
        assert!(look(&mut end, &waker).is_pending());
        if called {
            next.wait_for(&queue.marker()).unwrap();
            next.callback(|| ()).unwrap();
        }
        next.fill(&mut ctx.zeros([N]).unwrap(), 1_u32).unwrap();
        go.send(()).unwrap();
        // In a context without threads the waker runs the next callback itself.
        match results.recv().unwrap() {
            Ok(()) => assert!(!(threads && called), "the thread that has to run the callback waits for it"),
            Err(error) => assert!(threads && called && is_refused(&error), "{error}"),
        }
        other.join().unwrap().unwrap();
        next.finish().wait().unwrap();
    }
}

fn user_event(s: &Subject) {
    for way in WAYS {
        let (ctx, (begin, begun), (tell, told)) = (s.ctx(), channel(), channel());
        let queue = ctx.queue("called");
        let gate = ctx.user_event("gate");
        let event = gate.event();
        let wait = move || {
            begin.send(()).unwrap();
            let done = event.done();
            tell.send(match way {
                Way::Blocks => done.wait(),
                Way::Awaits => crate::common::block_on(done),
            })
            .unwrap();
        };
        queue.callback(wait).unwrap();
        queue.flush().unwrap();
        begun.recv().unwrap();
        gate.signal();
        told.recv().unwrap().unwrap();
        queue.finish().wait().unwrap();
    }
}
