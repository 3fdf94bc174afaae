//! The one late answer.

use crate::prim::thread_local;
use crate::{Error, MaybeSend, in_task};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Where a [`Pending`] gets its result from.
pub trait Late<T, E>: MaybeSend {
    /// As [`Future::poll`]; never asked again after it was ready.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, E>>;

    /// Blocks until the result is there, or until `limit` has passed: then `None`, and it may be asked again.
    fn wait(&mut self, limit: Option<Duration>) -> Option<Result<T, E>>;
}

thread_local! {
    /// How often code of the program has run on this thread inside a call of the library.
    static NESTED: Cell<u64> = Cell::default();
}

/// Notes that code of the program, which may have blocked on a future, has run on this thread. A [`Pending`] that is being
/// polled here asks to be polled again: an executor that parks the thread may have taken the wake that was for that poll.
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

/// A result that comes later: a [`Future`] on any executor, with blocking twins.
///
/// The work runs whether or not anybody waits. Dropping a `Pending` cancels nothing and blocks nobody.
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
    state: State<T, E>,
}

enum State<T, E> {
    Ready(Result<T, E>),
    Late(Box<dyn Late<T, E>>),
    Taken,
}

impl<T, E: From<Error>> Pending<T, E> {
    /// A result that is there already.
    pub fn ready(result: Result<T, E>) -> Self {
        Self { state: State::Ready(result) }
    }

    /// A result that `source` will have.
    pub fn late(source: impl Late<T, E> + 'static) -> Self {
        Self { state: State::Late(Box::new(source)) }
    }

    /// Blocks until the result is there.
    ///
    /// # Errors
    /// The error of the work; [`Error::Taken`] if an earlier [`wait_timeout`](Self::wait_timeout) had the result;
    /// in the browser [`Error::WouldBlock`] unless it is there already.
    pub fn wait(mut self) -> Result<T, E> {
        self.take(None).map(|result| result.expect("bug: a wait without limit ended without a result"))
    }

    /// Blocks until the result is there, at most for `limit`: then `None`, and a later wait can have it.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_timeout(&mut self, limit: Duration) -> Result<Option<T>, E> {
        self.take(Some(limit))
    }

    fn take(&mut self, limit: Option<Duration>) -> Result<Option<T>, E> {
        match std::mem::replace(&mut self.state, State::Taken) {
            State::Ready(result) => result.map(Some),
            State::Taken => Err(Error::Taken.into()),
            State::Late(mut source) => match source.wait(limit) {
                Some(result) => result.map(Some),
                None => {
                    self.state = State::Late(source);
                    Ok(None)
                }
            },
        }
    }
}

impl<T: Unpin, E: From<Error> + Unpin> Future for Pending<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let State::Late(source) = &mut self.state {
            if in_task() {
                note_nested(); // of a poll further out on this thread, if there is one
            }
            let before = NESTED.with(Cell::get);
            let polled = source.poll(cx);
            if polled.is_ready() {
                self.state = State::Taken;
            } else if NESTED.with(Cell::get) != before {
                cx.waker().wake_by_ref();
            }
            return polled;
        }
        match std::mem::replace(&mut self.state, State::Taken) {
            State::Ready(result) => Poll::Ready(result),
            _ => Poll::Ready(Err(Error::Taken.into())),
        }
    }
}

impl<T, E> fmt::Debug for Pending<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            State::Ready(_) => "Pending(ready)",
            State::Late(_) => "Pending(late)",
            State::Taken => "Pending(taken)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_wait_after_a_timeout_has_the_result() {
        let mut pending = Pending::late(Third(0));
        assert_eq!(pending.wait_timeout(Duration::ZERO), Ok(None));
        assert_eq!(pending.wait(), Ok(2));
    }

    #[test]
    fn a_result_is_handed_out_once() {
        let mut pending = Pending::late(Third(2));
        assert_eq!(pending.wait_timeout(Duration::ZERO), Ok(Some(3)));
        assert_eq!(pending.wait_timeout(Duration::ZERO), Err(Error::Taken));
        assert_eq!(pollster::block_on(&mut pending), Err(Error::Taken));
    }

    /// Wakes its task while it is polled, and then runs code of the program, which takes the wake.
    struct Outer {
        polls: u32,
        nested: Nested,
    }

    /// How code of the program runs inside the poll.
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
                    crate::Bell::default().set(&blocks).wake_by_ref();
                }
            }
            // As the park of an executor further in, which had nothing else to wait for.
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
    fn any_executor_can_await_it() {
        assert_eq!(pollster::block_on(Pending::late(Third(0))), Ok(3));
    }
}
