//! A result that becomes available later.

use crate::prim::thread_local;
use crate::{Error, MaybeSend, in_task};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// The source of a [`Pending`]'s result, which exists only after earlier work is complete.
pub trait Late<T, E>: MaybeSend {
    /// Polls like [`Future::poll`]. The caller does not poll again after the result was ready.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, E>>;

    /// Blocks until the result is available. Returns `None` if `limit` has passed first; the caller may call again. Not
    /// called in a browser, where a wait polls.
    fn wait(&mut self, limit: Option<Duration>) -> Option<Result<T, E>>;
}

thread_local! {
    /// Number of times that user code ran on this thread inside a library call.
    static NESTED: Cell<u64> = Cell::default();
}

/// Records that a library call has run user code on this thread. That code may have blocked on another future, whose
/// executor may have consumed a wake meant for an outer poll on this thread. A [`Pending`] that is being polled on this
/// thread therefore wakes its task again.
///
/// # Example
/// ```
/// fn call(of_program: impl FnOnce()) {
///     of_program();
///     fencepost_sync::note_nested();
/// }
/// call(|| ());
/// ```
pub fn note_nested() {
    NESTED.with(|count| count.set(count.get() + 1));
}

/// A result that becomes available later: a [`Future`] on any executor, with blocking methods too.
///
/// The work runs even if the program does not wait for it. Dropping a `Pending` cancels nothing and does not block.
///
/// # Example
/// ```
/// use fencepost_sync::{Error, Pending};
/// let pending: Pending<u32, Error> = Pending::ready(Ok(7));
/// assert_eq!(pending.wait()?, 7);
/// # Ok::<(), Error>(())
/// ```
#[must_use = "the work runs all the same, but its result is lost"]
pub struct Pending<T, E> {
    state: PendingState<T, E>,
}

enum PendingState<T, E> {
    Ready(Result<T, E>),
    Late(Box<dyn Late<T, E>>),
    Taken,
}

impl<T, E: From<Error>> Pending<T, E> {
    /// Makes a pending result that is already available.
    pub fn ready(result: Result<T, E>) -> Self {
        Self { state: PendingState::Ready(result) }
    }

    /// Makes a pending result that `source` supplies.
    pub fn late(source: impl Late<T, E> + 'static) -> Self {
        Self { state: PendingState::Late(Box::new(source)) }
    }

    /// Blocks until the result is available.
    ///
    /// # Errors
    /// The error of the work; [`Error::Taken`] if an earlier [`wait_timeout`](Self::wait_timeout) returned the result;
    /// in the browser [`Error::WouldBlock`] unless the result is available already.
    pub fn wait(mut self) -> Result<T, E> {
        self.take(None).map(|result| result.expect("bug: a wait without limit ended without a result"))
    }

    /// Blocks until the result is available, at most for `limit`. Returns `None` after `limit`; a later wait can return
    /// the result.
    ///
    /// # Errors
    /// Fails as [`wait`](Self::wait) does.
    pub fn wait_timeout(&mut self, limit: Duration) -> Result<Option<T>, E> {
        self.take(Some(limit))
    }

    fn take(&mut self, limit: Option<Duration>) -> Result<Option<T>, E> {
        match std::mem::replace(&mut self.state, PendingState::Taken) {
            PendingState::Ready(result) => result.map(Some),
            PendingState::Taken => Err(Error::Taken.into()),
            PendingState::Late(mut source) => match wait(&mut *source, limit) {
                Ok(Some(result)) => result.map(Some),
                unfinished => {
                    self.state = PendingState::Late(source);
                    unfinished.map(|_| None).map_err(E::from)
                }
            },
        }
    }
}

/// Blocks until the result of `source` is available. Returns `None` after `limit`.
///
/// # Errors
/// [`Error::WouldBlock`] if this thread may not block.
#[cfg(not(target_arch = "wasm32"))]
fn wait<T, E>(source: &mut dyn Late<T, E>, limit: Option<Duration>) -> Result<Option<Result<T, E>>, Error> {
    Ok(source.wait(limit))
}

#[cfg(target_arch = "wasm32")]
fn wait<T, E>(source: &mut dyn Late<T, E>, limit: Option<Duration>) -> Result<Option<Result<T, E>>, Error> {
    crate::page::wait(limit, |waker| match source.poll(&mut Context::from_waker(waker)) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    })
}

impl<T: Unpin, E: From<Error> + Unpin> Future for Pending<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let PendingState::Late(source) = &mut self.state {
            if in_task() {
                note_nested(); // for an outer poll on this thread, if there is one
            }
            let before = NESTED.with(Cell::get);
            let polled = source.poll(cx);
            if polled.is_ready() {
                self.state = PendingState::Taken;
            } else if NESTED.with(Cell::get) != before {
                // User code that ran inside the poll may have consumed a wake of this task.
                cx.waker().wake_by_ref();
            }
            return polled;
        }
        match std::mem::replace(&mut self.state, PendingState::Taken) {
            PendingState::Ready(result) => Poll::Ready(result),
            _ => Poll::Ready(Err(Error::Taken.into())),
        }
    }
}

impl<T, E> fmt::Debug for Pending<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            PendingState::Ready(_) => "Pending(ready)",
            PendingState::Late(_) => "Pending(late)",
            PendingState::Taken => "Pending(taken)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that is ready at the third poll. A wait without a limit returns at once; a wait with a limit returns at
    /// the third call.
    struct Third(u32);

    impl Late<u32, Error> for Third {
        fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<u32, Error>> {
            self.0 += 1;
            cx.waker().wake_by_ref();
            if self.0 < 3 { Poll::Pending } else { Poll::Ready(Ok(self.0)) }
        }
        fn wait(&mut self, limit: Option<Duration>) -> Option<Result<u32, Error>> {
            self.0 += 1;
            (limit.is_none() || self.0 >= 3).then_some(Ok(self.0))
        }
    }

    #[test]
    fn a_wait_after_a_timeout_returns_the_result() {
        let mut pending = Pending::late(Third(0));
        assert_eq!(pending.wait_timeout(Duration::ZERO), Ok(None));
        assert_eq!(pending.wait(), Ok(2));
    }

    #[test]
    fn a_pending_result_is_returned_once() {
        let mut pending = Pending::late(Third(2));
        assert_eq!(pending.wait_timeout(Duration::ZERO), Ok(Some(3)));
        assert_eq!(pending.wait_timeout(Duration::ZERO), Err(Error::Taken));
        assert_eq!(pollster::block_on(&mut pending), Err(Error::Taken));
    }

    /// A source that wakes its task while it is polled, and then runs user code that consumes the wake.
    struct Outer {
        polls: u32,
        nested: Nested,
    }

    /// User code that runs inside the poll.
    #[derive(Clone, Copy)]
    enum Nested {
        Callback,
        Waker,
    }

    /// A waker that blocks on another future.
    struct Blocks;

    impl std::task::Wake for Blocks {
        fn wake(self: std::sync::Arc<Self>) {
            assert_eq!(pollster::block_on(Pending::late(Third(0))), Ok(3));
        }
    }

    impl Late<u32, Error> for Outer {
        fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<u32, Error>> {
            self.polls += 1;
            if self.polls > 1 {
                return Poll::Ready(Ok(self.polls));
            }
            cx.waker().wake_by_ref();
            match self.nested {
                Nested::Callback => {
                    assert_eq!(pollster::block_on(Pending::late(Third(0))), Ok(3));
                    note_nested();
                }
                Nested::Waker => {
                    let blocks = std::task::Waker::from(std::sync::Arc::new(Blocks));
                    crate::TaskWaker::default().set(&blocks).wake_by_ref();
                }
            }
            // Parks like an inner executor that has nothing else to wait for.
            std::thread::park_timeout(Duration::ZERO);
            Poll::Pending
        }
        fn wait(&mut self, _: Option<Duration>) -> Option<Result<u32, Error>> {
            None
        }
    }

    #[test]
    fn a_wake_that_code_of_the_program_takes_inside_a_poll_is_not_lost() {
        for nested in [Nested::Callback, Nested::Waker] {
            let (tell, told) = std::sync::mpsc::channel();
            let outer = move || tell.send(pollster::block_on(Pending::late(Outer { polls: 0, nested })));
            drop(std::thread::spawn(outer));
            assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(Ok(2)));
        }
    }

    #[test]
    fn any_executor_can_await_a_pending_result() {
        assert_eq!(pollster::block_on(Pending::late(Third(0))), Ok(3));
    }
}
