//! Relays and user events. A relay is a wait of one context, the *waiter*, for a point or user event of another
//! context, the *source*. A user event is signalled by the host or by another context. S is the state lock.

use crate::error::{Error, ErrorDetail, Result};
use crate::scheduler::batch::Op;
use crate::scheduler::callbacks::{defer_relay, run_with_deferred};
use crate::scheduler::complete::FailureWatch;
use crate::scheduler::engine::Engine;
use crate::scheduler::threads::signal;
use crate::scheduler::wait::{Caller, WaitTarget};
use crate::scheduler::wakers::Deadline;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{HoldId, Point};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;
use web_time::Instant;

/// Time between two polls for a change that causes no notification.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A relay signals an event of the waiter's context when another context reaches a point. If both contexts share a
/// hardware queue, the relay already signals when everything up to the point is submitted to it.
///
/// The relay is owned by its waker in the source's context, which polls it again. The event has a weak reference to the
/// relay, through which the waiter can start the work of the source.
pub(crate) struct Relay {
    waiter: Arc<Engine>,
    signaller: Signaller,
    origin: RelaySource,
    progress: Mutex<RelayProgress>,
    /// `true` once no queue waits for the signal.
    abandoned: AtomicBool,
}

/// Progress of a relay.
struct RelayProgress {
    /// Step to run after the source is reached and before the signal. `None` if there is none, or if the relay is
    /// finished.
    then: Option<RelayStep>,
    /// `true` once the signal is sent or about to be sent. It never becomes `false` again.
    finished: bool,
    /// `true` while a call polls the source. That call has taken `then` out.
    polling: bool,
    /// `true` if another call came during that poll.
    again: bool,
}

/// The signal that a relay sends at its end.
enum RelayOutcome {
    /// The source is reached and the step after it is done.
    Over(Result<()>),
    /// The source is submitted but not complete; the device keeps the order.
    Submitted,
}

/// Source that a relay waits for.
#[derive(Clone)]
pub(crate) enum RelaySource {
    /// A point. The failure watch keeps the error of the point available.
    Point(Weak<Engine>, Point, #[expect(dead_code, reason = "kept alive, never read")] FailureWatch),
    /// A user event of a context.
    User(Weak<Engine>, Arc<UserSignal>),
}

/// Work to do between the source and the signal, such as fetching the bytes of a read. It is called until it returns a
/// result.
pub(crate) type RelayStep = Box<dyn FnMut(&Waker) -> Poll<Result<()>> + Send>;

impl RelaySource {
    /// Returns the name, for messages, of a point of another context.
    pub(crate) fn name(engine: &Engine, point: Point) -> String {
        let label = engine.lock().queues.name_of(point);
        format!("queue `{label}` on `{}`", engine.device.caps().adapter)
    }

    /// Returns the result of the source if there is one. Otherwise registers `waker` to be called when the source ends.
    fn register_waker(&self, waker: &Waker) -> Option<Result<()>> {
        match self {
            RelaySource::Point(engine, point, _) => match engine.upgrade() {
                Some(engine) => engine.register_waker(WaitTarget::Point(*point), waker),
                None => {
                    Some(Err(
                        ErrorDetail::Abandoned { event: "a point of a context that has ended".into() }.into()
                    ))
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

    /// Returns `true` if both contexts share a hardware queue and the source is submitted, so that the device keeps the
    /// order itself. If the source is not yet submitted, registers `waker` for its submission.
    fn is_submitted(&self, waiter: &Engine, waker: &Waker) -> bool {
        let RelaySource::Point(engine, point, _) = self else { return false };
        let engine = engine.upgrade().filter(|engine| engine.shares_queue(waiter));
        engine.is_some_and(|engine| engine.register_submitted_waker(*point, waker))
    }
}

impl Relay {
    /// Returns the relay that has yet to signal `event`.
    pub(crate) fn of(event: &UserSignal) -> Option<Arc<Relay>> {
        event.source()
    }

    /// Creates a relay that completes `signaller`, an event of the context `waiter`, when `origin` is reached and
    /// `then` is done. Flushes nothing.
    pub(crate) fn attach(
        waiter: &Arc<Engine>,
        signaller: Signaller,
        origin: RelaySource,
        then: Option<RelayStep>,
    ) {
        let progress = Mutex::new(RelayProgress { then, finished: false, polling: false, again: false });
        let abandoned = AtomicBool::new(false);
        let relay = Arc::new(Self { waiter: waiter.clone(), signaller, origin, progress, abandoned });
        relay.signaller.state().set_source(Arc::downgrade(&relay));
        relay.poll_in_turn();
    }

    /// Polls the source, and signals the event if the source is reached. Relays that this wakes run afterwards instead
    /// of recursively. Returns `true` if the relay is finished.
    fn poll_in_turn(self: &Arc<Self>) -> bool {
        run_with_deferred(|| self.poll_source())
    }

    /// Polls the source as [`poll_in_turn`](Self::poll_in_turn) does. Also returns `true` if another thread is polling:
    /// that thread will poll again, see what this thread has seen, and signal the event.
    fn poll_or_leave(self: &Arc<Self>) -> bool {
        self.poll_in_turn() || {
            let progress = lock(&self.progress);
            progress.finished || progress.polling
        }
    }

    /// Polls the source and signals the event if the source is reached. Returns `true` if the relay is finished. While
    /// another call is polling, returns `false`; that call then polls again, because it may have missed the change that
    /// this call saw. No lock is held during a poll, because the step after the source may wake user code.
    fn poll_source(self: &Arc<Self>) -> bool {
        let waker = Waker::from(self.clone());
        // Keeps the source's context alive for the next poll. Otherwise it might end as soon as it has completed its
        // work and called the waker.
        let _source = self.origin.engine();
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

    /// Returns the signal to send. Returns `None` while the source is not reached, or `then` is not done.
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
        ErrorDetail::OtherContext { object, error }.into()
    }

    /// Returns the point that the relay waits for, and its context.
    pub(crate) fn origin_point(&self) -> Option<(Arc<Engine>, Point)> {
        let RelaySource::Point(engine, point, _) = &self.origin else { return None };
        Some((engine.upgrade()?, *point))
    }

    /// Starts the work up to the source. If its context has no threads, also does one turn of that context's work.
    fn start(&self) {
        if let RelaySource::Point(engine, point, _) = &self.origin
            && let Some(engine) = engine.upgrade()
        {
            engine.submit_up_to(engine.lock(), *point, Caller::Continues);
        }
    }

    /// Returns the last relay of the chain: the one whose source no other context holds back. Calls `each` for every
    /// relay of the chain. The chain is finite, because an event exists before any wait for it.
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

    /// Checks that this thread holds no guard that holds back the source of the chain.
    ///
    /// # Errors
    /// `WaitInGuard`.
    pub(crate) fn check_guards(self: &Arc<Self>) -> Result<()> {
        let last = self.last(|_| ());
        let RelaySource::Point(engine, point, _) = &last.origin else { return Ok(()) };
        engine.upgrade().map_or(Ok(()), |engine| engine.lock().check_guards(*point))
    }

    /// Blocks for at most `limit` until something in the chain makes progress. Also does the work of source contexts
    /// without threads.
    ///
    /// # Errors
    /// Returns `WouldDeadlock` if the source comes after the callback that is waiting.
    pub(crate) fn wait(self: &Arc<Self>, limit: Duration) -> Result<()> {
        let last = self.last(|_| ());
        match &last.origin {
            RelaySource::Point(engine, point, _) => {
                let Some(engine) = engine.upgrade() else { return Ok(()) };
                let waited = engine.wait(*point, Deadline::after(Some(limit)));
                match waited {
                    Err(error) if matches!(error.detail(), ErrorDetail::WouldDeadlock { .. }) => {
                        return Err(error);
                    }
                    Ok(false) => {}
                    Ok(true) | Err(_) if last.poll_or_leave() => last.await_signal(limit),
                    // The point is reached, and only `then` is left, which waits for a batch that saves the bytes it
                    // needs.
                    Ok(true) | Err(_) if engine.threads => engine.park(engine.lock(), POLL_INTERVAL),
                    Ok(true) | Err(_) => drop(engine.make_progress(limit)),
                }
            }
            RelaySource::User(engine, user) => {
                let idle = active_context(engine);
                if let Some(engine) = &idle {
                    engine.make_progress(limit);
                }
                let state = last.waiter.lock();
                if user.result().is_some() {
                    drop(state);
                    if last.poll_or_leave() {
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

    /// Registers `waker`, a waker of the waiter's context, with the source's context too.
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
    /// Returns `WouldDeadlock` if the source comes after a callback that waits for this poll, and `WaitInGuard` if a
    /// blocking call of a page polls and its thread holds back the source with a guard.
    pub(crate) fn poll(self: &Arc<Self>, waker: &Waker) -> Option<Error> {
        let last = self.last(|relay| relay.forward_waker(waker));
        match &last.origin {
            RelaySource::Point(engine, point, _) => {
                let engine = engine.upgrade()?;
                match engine.poll(*point, waker)? {
                    Err(error) if never_ends(&error) => return Some(error),
                    _ => {
                        if !last.poll_in_turn() && !engine.threads {
                            engine.make_progress(Duration::ZERO);
                        }
                        poll_again(waker);
                    }
                }
            }
            RelaySource::User(engine, _) => {
                if let Some(engine) = active_context(engine) {
                    engine.make_progress(Duration::ZERO);
                    poll_again(waker);
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

    /// Stops the relay, because no queue waits for its signal, and removes its waker from the other context.
    fn abandon(self: &Arc<Self>) {
        self.abandoned.store(true, Ordering::Relaxed);
        if let Some(engine) = self.origin.engine() {
            engine.forget(&Waker::from(self.clone()));
        }
    }
}

/// Returns `true` for the errors of polls whose work can never be done.
fn never_ends(error: &Error) -> bool {
    matches!(error.detail(), ErrorDetail::WouldDeadlock { .. } | ErrorDetail::WaitInGuard { .. })
}

/// Wakes a task at once, because without threads only polls make progress. Does nothing in a browser, where turns make
/// progress: a task that polls again at once would keep the page from its events.
fn poll_again(waker: &Waker) {
    if cfg!(not(target_arch = "wasm32")) {
        waker.wake_by_ref();
    }
}

/// Returns the context of an event if the caller must do that context's work. That is so if the context has no threads
/// but work to do, and may run a callback that signals the event.
fn active_context(engine: &Weak<Engine>) -> Option<Arc<Engine>> {
    engine.upgrade().filter(|engine| !engine.threads && engine.lock().can_make_progress())
}

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        if !defer_relay(&self) {
            run_with_deferred(|| self.poll_or_start());
        }
    }
}

/// Handle that signals a user event. Dropping it abandons the event if it has not ended.
pub(crate) struct Signaller(Arc<UserSignal>);

impl Signaller {
    pub(crate) fn new(engine: &Arc<Engine>, label: &str, by: SignalledBy) -> Self {
        Self(Arc::new(UserSignal::new(engine.new_hold(), label, Arc::downgrade(engine), by)))
    }

    pub(crate) fn state(&self) -> &Arc<UserSignal> {
        &self.0
    }

    pub(crate) fn signal(&self) {
        signal(|| self.complete(Ok(())));
    }

    /// Returns the wait for the event as a command.
    pub(crate) fn wait(&self) -> Op {
        Op::WaitUser(UserWait(self.0.clone()))
    }

    /// Ends the event with `result`.
    pub(crate) fn complete(&self, result: Result<()>) {
        self.0.complete(result);
    }

    /// Ends the event with `result`, as the program's own signal does.
    pub(crate) fn end(&self, result: Result<()>) {
        signal(|| self.complete(result));
    }

    /// Ends the event as submitted, which is enough for a waiter on the same hardware queue.
    pub(crate) fn send(&self) {
        self.0.send();
    }
}

impl Drop for Signaller {
    fn drop(&mut self) {
        let event = self.0.label().to_string();
        signal(|| self.0.complete(Err(ErrorDetail::Abandoned { event }.into())));
    }
}

/// The party that signals an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalledBy {
    Program,
    /// Another context, whose queue may itself be waiting for the program.
    OtherContext,
    /// A thread of the context itself, independently of the program.
    OwnThread,
}

/// State of a user event.
pub(crate) struct UserSignal {
    pub(crate) hold: HoldId,
    label: Arc<str>,
    by: SignalledBy,
    /// Context of the event. Weak, so that a wait on the device does not keep the context alive.
    owner: Weak<Engine>,
    outcome: Mutex<SignalOutcome>,
    /// Relay that signals the event on behalf of another context, if there is one.
    source: OnceLock<Weak<Relay>>,
}

#[derive(Default)]
struct SignalOutcome {
    result: Option<Result<(), Error>>,
    at: Option<Instant>,
    /// `true` if the event has ended early: when its source's work was submitted to the shared hardware queue.
    submitted: bool,
}

/// A queue's wait for a user event.
pub(crate) struct UserWait(pub(crate) Arc<UserSignal>);

impl Deref for UserWait {
    type Target = UserSignal;

    fn deref(&self) -> &UserSignal {
        &self.0
    }
}

impl Drop for UserWait {
    /// Abandons the relay if the wait is dropped before the signal, because its queue has failed. An unfinished wait
    /// must be dropped outside S, because the relay takes the S of the source's context. A finished wait may be dropped
    /// under S.
    fn drop(&mut self) {
        if self.result().is_none()
            && let Some(source) = self.source()
        {
            source.abandon();
        }
    }
}

impl UserSignal {
    pub(crate) fn new(hold: HoldId, label: &str, owner: Weak<Engine>, by: SignalledBy) -> Self {
        Self { hold, label: label.into(), by, owner, outcome: Mutex::default(), source: OnceLock::new() }
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn signalled_by(&self) -> SignalledBy {
        self.by
    }

    /// Records that another context signals this event.
    pub(crate) fn set_source(&self, source: Weak<Relay>) {
        self.source.get_or_init(|| source);
    }

    /// Returns the relay that has yet to signal this event on behalf of another context.
    pub(crate) fn source(&self) -> Option<Arc<Relay>> {
        self.source.get()?.upgrade()
    }

    /// Returns the result of the event if it has ended.
    pub(crate) fn result(&self) -> Option<Result<()>> {
        lock(&self.outcome).result.clone()
    }

    /// Returns `true` if the event ended as submitted. A waiter must still be ordered after that work on the shared
    /// hardware queue.
    pub(crate) fn is_submitted(&self) -> bool {
        lock(&self.outcome).submitted
    }

    /// Returns the time at which the event ended, if it has.
    pub(crate) fn ended(&self) -> Option<Instant> {
        lock(&self.outcome).at
    }

    /// Ends the event before its source's work is complete, because that work is already on the hardware queue to which
    /// the waiter submits.
    pub(crate) fn send(&self) {
        lock(&self.outcome).submitted = true;
        self.complete(Ok(()));
    }

    /// Ends the event. Later calls have no effect.
    pub(crate) fn complete(&self, result: Result<()>) {
        {
            let mut outcome = lock(&self.outcome);
            if outcome.result.is_some() {
                return;
            }
            outcome.result = Some(result);
            outcome.at = Some(Instant::now());
        }
        if let Some(owner) = self.owner.upgrade() {
            owner.release(self.hold);
        }
    }
}
