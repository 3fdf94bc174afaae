//! A wait of one context, the *waiter*, for a point or event of another context, the *source*.

use crate::error::{Error, Kind, Result};
use crate::scheduler::deadline::Deadline;
use crate::scheduler::deferred_calls::{Deferred, defer_relay, run_with_deferred};
use crate::scheduler::engine::Engine;
use crate::scheduler::failure_history::FailureWatch;
use crate::scheduler::signaller::Signaller;
use crate::scheduler::user_signal::{SignalSource, UserSignal};
use crate::scheduler::wait_target::{Caller, WaitTarget};
use fencepost_sync::Point;
use fencepost_sync::prim::{Mutex, lock};
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

/// Time between two polls of a caller for a change that it is not notified of.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A relay: it signals an event of the waiter's context when another context reaches a point, or when that context has
/// submitted everything up to the point to a hardware queue that both contexts share.
///
/// The wakers of the source's context own the relay, and poll it again. The event refers to the relay weakly, so that
/// the waiter can start the work of the source.
pub(crate) struct Relay {
    waiter: Arc<Engine>,
    signaller: Signaller,
    origin: RelaySource,
    progress: Mutex<RelayProgress>,
    /// `true` once no queue waits for the signal any more.
    abandoned: AtomicBool,
}

/// Progress of a relay.
struct RelayProgress {
    /// Step that runs after the source is reached and before the signal. `None` if nothing must run, or if the relay is
    /// finished.
    then: Option<RelayStep>,
    /// `true` once the signal is sent or about to be sent. It never becomes `false` again.
    finished: bool,
    /// `true` while a call polls. That call has taken `then`.
    polling: bool,
    /// `true` if another call came during the poll.
    again: bool,
}

/// Signal at the end of a relay.
enum RelayOutcome {
    /// The source is reached and the step after it is done.
    Over(Result<()>),
    /// The source is submitted but not complete, and the device keeps the order.
    Submitted,
}

/// Source that a relay waits for.
#[derive(Clone)]
pub(crate) enum RelaySource {
    /// A point. The failure watch keeps the error of the point available.
    Point(Weak<Engine>, Point, #[expect(dead_code, reason = "kept alive, never read")] FailureWatch),
    /// A user event of the given context.
    User(Weak<Engine>, Arc<UserSignal>),
}

/// Work between the source and the signal, such as fetching the bytes of a read. The relay calls it until it returns a
/// result.
pub(crate) type RelayStep = Box<dyn FnMut(&Waker) -> Poll<Result<()>> + Send>;

impl RelaySource {
    /// Returns the name of a point of another context for messages.
    pub(crate) fn name(engine: &Engine, point: Point) -> String {
        let label = engine.lock().name_of(point);
        format!("queue `{label}` on `{}`", engine.device.caps().adapter)
    }

    /// Returns the result of the source if there is one. Otherwise registers `waker` to be called when it ends.
    fn register_waker(&self, waker: &Waker) -> Option<Result<()>> {
        match self {
            RelaySource::Point(engine, point, _) => match engine.upgrade() {
                Some(engine) => engine.register_waker(WaitTarget::Point(*point), waker),
                None => {
                    Some(Err(Kind::Abandoned { event: "a point of a context that has ended".into() }.into()))
                }
            },
            RelaySource::User(engine, user) => match engine.upgrade() {
                Some(engine) => engine.register_signal_waker(user, waker),
                None => user.result(),
            },
        }
    }

    /// Returns the context of the source.
    fn engine(&self) -> Option<Arc<Engine>> {
        match self {
            RelaySource::Point(engine, ..) => engine.upgrade(),
            RelaySource::User(engine, _) => engine.upgrade(),
        }
    }

    /// Returns `true` if both contexts submit to one hardware queue and the source is submitted: the device then keeps
    /// the order itself. If only the submission is missing, registers `waker` for it.
    fn is_submitted(&self, waiter: &Engine, waker: &Waker) -> bool {
        let RelaySource::Point(engine, point, _) = self else { return false };
        let engine = engine.upgrade().filter(|engine| engine.shares_queue(waiter));
        engine.is_some_and(|engine| engine.register_submitted_waker(*point, waker))
    }
}

impl Relay {
    /// Returns the relay that has yet to signal `event`.
    pub(crate) fn of(event: &UserSignal) -> Option<Arc<Relay>> {
        let source: Arc<dyn Any + Send + Sync> = event.source()?;
        source.downcast().ok()
    }

    /// Creates a relay that completes `signaller`, of the context `waiter`, when `origin` is reached and `then` is
    /// done. Flushes nothing.
    pub(crate) fn attach(
        waiter: &Arc<Engine>,
        signaller: Signaller,
        origin: RelaySource,
        then: Option<RelayStep>,
    ) {
        let progress = Mutex::new(RelayProgress { then, finished: false, polling: false, again: false });
        let abandoned = AtomicBool::new(false);
        let relay = Arc::new(Self { waiter: waiter.clone(), signaller, origin, progress, abandoned });
        let source: Arc<dyn SignalSource> = relay.clone();
        relay.signaller.state().set_source(Arc::downgrade(&source));
        relay.poll_in_turn();
    }

    /// Polls the source and signals the event if the source is reached. Relays that this wakes run afterwards, not
    /// nested. Returns `true` if the relay is finished.
    fn poll_in_turn(self: &Arc<Self>) -> bool {
        run_with_deferred(|| self.poll_source())
    }

    /// Polls the source and signals the event if the source is reached. Returns `true` if the relay is finished.
    /// Returns `false` while another call polls; that call then polls again, because it may have missed the change that
    /// this call saw. No lock is held during a poll, because the step after the source may wake user code.
    fn poll_source(self: &Arc<Self>) -> bool {
        let waker = Waker::from(self.clone());
        loop {
            let mut progress = lock(&self.progress);
            if progress.finished || self.abandoned.load(Ordering::Relaxed) {
                return true;
            }
            if std::mem::replace(&mut progress.polling, true) {
                progress.again = true;
                return false;
            }
            progress.again = false;
            let mut then = progress.then.take();
            drop(progress);
            let outcome = self.outcome(&mut then, &waker);
            let mut progress = lock(&self.progress);
            progress.polling = false;
            progress.finished = outcome.is_some();
            let Some(outcome) = outcome else {
                progress.then = then;
                if progress.again {
                    continue;
                }
                return false;
            };
            drop(progress);
            drop(then);
            match outcome {
                RelayOutcome::Over(result) => self.signaller.complete(result),
                RelayOutcome::Submitted => self.signaller.send(),
            }
            return true;
        }
    }

    /// Returns the signal to send, or `None` if the source is not reached or `then` is not done.
    fn outcome(&self, then: &mut Option<RelayStep>, waker: &Waker) -> Option<RelayOutcome> {
        let Some(arrived) = self.origin.register_waker(waker) else {
            let submitted = then.is_none() && self.origin.is_submitted(&self.waiter, waker);
            return submitted.then_some(RelayOutcome::Submitted);
        };
        match (arrived, then) {
            (Ok(()), Some(then)) => match then(waker) {
                Poll::Ready(result) => Some(RelayOutcome::Over(result)),
                Poll::Pending => None,
            },
            (arrived, _) => Some(RelayOutcome::Over(arrived.map_err(|error| self.failed(error)))),
        }
    }

    fn failed(&self, error: Error) -> Error {
        let object = self.signaller.state().label().to_owned();
        Kind::OtherContext { object, error }.into()
    }

    /// Returns the point that the relay waits for, with its context.
    pub(crate) fn origin_point(&self) -> Option<(Arc<Engine>, Point)> {
        let RelaySource::Point(engine, point, _) = &self.origin else { return None };
        Some((engine.upgrade()?, *point))
    }

    /// Starts the work up to the source. If the source's context has no threads, also does one turn of its work.
    fn start(&self) {
        if let RelaySource::Point(engine, point, _) = &self.origin
            && let Some(engine) = engine.upgrade()
        {
            engine.submit_up_to(engine.lock(), *point, Caller::Continues);
        }
    }

    /// Returns the last relay of the chain: no other context holds its source. Calls `each` for every relay of the
    /// chain. The chain is finite because an event exists before any wait for it.
    fn last(self: &Arc<Self>, mut each: impl FnMut(&Relay)) -> Arc<Self> {
        let mut at = self.clone();
        loop {
            each(&at);
            let next = match &at.origin {
                RelaySource::Point(engine, point, _) => {
                    engine.upgrade().and_then(|engine| engine.held_by(*point))
                }
                RelaySource::User(..) => None,
            };
            match next {
                Some(next) => at = next,
                None => return at,
            }
        }
    }

    /// Blocks until something in the chain makes progress, for at most `limit`. Does the work of source contexts
    /// without threads.
    ///
    /// # Errors
    /// Returns `WouldDeadlock` if the source comes after the callback that waits.
    pub(crate) fn wait(self: &Arc<Self>, limit: Duration) -> Result<()> {
        let last = self.last(|_| ());
        match &last.origin {
            RelaySource::Point(engine, point, _) => {
                let Some(engine) = engine.upgrade() else { return Ok(()) };
                let waited = engine.wait(*point, Deadline::after(Some(limit)));
                match waited {
                    Err(error) if matches!(error.kind(), Kind::WouldDeadlock { .. }) => return Err(error),
                    Ok(false) => {}
                    Ok(true) | Err(_) if last.poll_in_turn() => last.await_signal(limit),
                    // The point is reached, and only the work of `then` is left: it waits for a batch that saves the
                    // bytes it needs.
                    Ok(true) | Err(_) if engine.threads => engine.park(engine.lock(), POLL_INTERVAL),
                    Ok(true) | Err(_) => engine.make_progress(limit),
                }
            }
            RelaySource::User(engine, user) => {
                let idle = idle_context(engine);
                if let Some(engine) = &idle {
                    engine.make_progress(limit);
                }
                let state = last.waiter.lock();
                if user.result().is_some() {
                    drop(state);
                    if last.poll_in_turn() {
                        last.await_signal(limit);
                    }
                } else if idle.is_none() {
                    last.waiter.park(state, limit);
                }
            }
        }
        Ok(())
    }

    /// Blocks for at most `limit` while another thread is about to signal the event.
    fn await_signal(&self, limit: Duration) {
        self.waiter.park_while_held(self.signaller.state().hold, limit);
    }

    /// Registers `waker`, which is registered in the waiter's context, with the source's context too.
    fn forward_waker(&self, waker: &Waker) {
        if let Some(engine) = self.origin.engine() {
            self.waiter.forward_waker(waker, &engine);
        }
        drop(self.origin.register_waker(waker));
    }

    /// Registers `waker` for any progress in the chain, and does one turn of the work of source contexts without
    /// threads. Returns an error if the source can never be reached.
    ///
    /// # Errors
    /// The returned error is `WouldDeadlock`: the source comes after a callback that waits for this poll.
    pub(crate) fn poll(self: &Arc<Self>, waker: &Waker) -> Option<Error> {
        let last = self.last(|relay| relay.forward_waker(waker));
        match &last.origin {
            RelaySource::Point(engine, point, _) => {
                let engine = engine.upgrade()?;
                match engine.poll(*point, waker)? {
                    Err(error) if matches!(error.kind(), Kind::WouldDeadlock { .. }) => return Some(error),
                    _ => {
                        if !last.poll_in_turn() && !engine.threads {
                            engine.make_progress(Duration::ZERO);
                        }
                        waker.wake_by_ref();
                    }
                }
            }
            RelaySource::User(engine, _) => {
                if let Some(engine) = idle_context(engine) {
                    engine.make_progress(Duration::ZERO);
                    waker.wake_by_ref();
                }
            }
        }
        None
    }

    /// Polls the source, and starts its work if the relay is not finished.
    pub(crate) fn poll_or_start(self: &Arc<Self>) {
        if !self.poll_source() {
            self.start();
        }
    }
}

impl SignalSource for Relay {
    /// Removes the relay's waker from the other context.
    fn abandon(self: Arc<Self>) {
        self.abandoned.store(true, Ordering::Relaxed);
        if let Some(engine) = self.origin.engine() {
            engine.forget(&Waker::from(self.clone()));
        }
    }

    fn waker(self: Arc<Self>) -> Waker {
        Waker::from(self)
    }
}

impl Deferred for Relay {
    fn run(self: Arc<Self>) {
        self.poll_or_start();
    }
}

/// Returns the context of an event if the caller must do its work: the context has no threads, has work to do, and
/// may run a callback that signals the event.
fn idle_context(engine: &Weak<Engine>) -> Option<Arc<Engine>> {
    engine.upgrade().filter(|engine| !engine.threads && engine.lock().busy())
}

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        if !defer_relay(&self) {
            run_with_deferred(|| self.poll_or_start());
        }
    }
}
