//! The ways to wait for a result: block, wait with a timeout, await, select, or drop.

use super::worker::Worker;
use fencepost::{Error, Pending};
use std::pin::Pin;
use std::task::{Context as Task, Poll, Waker};
use std::thread;
use std::time::Duration;

/// Message of a failure.
#[derive(Debug)]
pub struct Wrong(pub String);

/// Result of a step.
pub type Done<T = ()> = Result<T, Wrong>;

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Self(format!("a call fails: {error}"))
    }
}

/// A pending read and its expected elements.
pub struct Coming {
    pub reading: Pending<Vec<u32>>,
    pub expected: Vec<u32>,
    /// Name of the thread and the step that enqueued the read.
    pub from: String,
}

/// A way in which a thread waits.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    Block,
    /// Waits of this number of microseconds, this many times, then a wait without a limit.
    Within(u64, u32),
    Await,
    /// An await together with a future that is ready after this number of polls, then a plain await.
    Select(u32),
    /// Like `Select`, but the result is dropped if the other future is ready first.
    SelectAndDrop(u32),
    Drop,
}

impl Worker<'_> {
    pub fn way(&mut self) -> Way {
        match self.rng.u32(..12) {
            0..3 => Way::Block,
            3..5 => Way::Within(self.rng.u64(..400), self.rng.u32(1..4)),
            5..8 => Way::Await,
            8..10 => Way::Select(self.rng.u32(..4)),
            10 => Way::SelectAndDrop(self.rng.u32(..3)),
            _ => Way::Drop,
        }
    }

    /// Waits in one of the ways. Returns `None` if the wait was given up.
    pub fn wait<T: Unpin + 'static>(
        &mut self,
        pending: Pending<T>,
        way: Way,
    ) -> fencepost::Result<Option<T>> {
        self.release();
        let mut pending = pending;
        match way {
            Way::Block => Ok(Some(pending.wait()?)),
            Way::Within(micros, times) => {
                for _ in 0..times {
                    if let Some(found) = pending.wait_timeout(Duration::from_micros(micros))? {
                        return Ok(Some(found));
                    }
                }
                Ok(Some(pending.wait()?))
            }
            Way::Await => Ok(Some(self.awaited(pending)?)),
            Way::Select(looks) => match select(&mut pending, looks) {
                Some(result) => Ok(Some(result?)),
                None if self.rng.bool() => Ok(Some(pending.wait()?)),
                None => Ok(Some(self.awaited(pending)?)),
            },
            Way::SelectAndDrop(looks) => Ok(select(&mut pending, looks).transpose()?),
            Way::Drop => Ok(None),
        }
    }

    /// Awaits a result on an executor. Unless every context has threads, no thread would wake the task, so it is polled
    /// in a loop.
    pub fn awaited<T: Unpin + 'static>(&self, mut pending: Pending<T>) -> fencepost::Result<T> {
        if self.shared.drawn.all_have_threads() {
            return pollster::block_on(pending);
        }
        let mut task = Task::from_waker(Waker::noop());
        loop {
            match Pin::new(&mut pending).poll(&mut task) {
                Poll::Ready(result) => return result,
                Poll::Pending => thread::yield_now(),
            }
        }
    }

    /// Waits for a read in one of the ways, and compares its elements.
    pub fn end(&mut self, coming: Coming, way: Way) -> Done {
        let Coming { reading, expected, from } = coming;
        self.say(|| format!("waits for the read of {from}, {way:?}"));
        match self.wait(reading, way)? {
            Some(found) => compare(&found, &expected, || format!("the read of {from}")),
            None => Ok(()),
        }
    }

    /// Waits for one of the pending reads.
    pub fn end_one(&mut self) -> Done {
        if self.comings.is_empty() {
            return Ok(());
        }
        let at = self.rng.usize(..self.comings.len());
        let coming = self.comings.swap_remove(at);
        let way = self.way();
        self.end(coming, way)
    }
}

/// Polls a result together with a future that becomes ready after `looks` polls. Returns the result if it is ready
/// first.
fn select<T: Unpin + 'static>(pending: &mut Pending<T>, looks: u32) -> Option<fencepost::Result<T>> {
    let mut left = looks;
    pollster::block_on(std::future::poll_fn(|task| match Pin::new(&mut *pending).poll(task) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            task.waker().wake_by_ref();
            Poll::Pending
        }
    }))
}

/// Compares elements with the expected elements.
pub fn compare(found: &[u32], expected: &[u32], what: impl Fn() -> String) -> Done {
    if found == expected {
        return Ok(());
    }
    if found.len() != expected.len() {
        return Err(Wrong(format!("{} has {} elements, not {}", what(), found.len(), expected.len())));
    }
    let differ = found.iter().zip(expected).enumerate().filter(|(_, (found, expected))| found != expected);
    let places: Vec<usize> = differ.map(|(at, _)| at).collect();
    let first = places[0];
    let is = found[first];
    let must = expected[first];
    let count = places.len();
    Err(Wrong(format!("{}: element {first} is {is:#x}, it must be {must:#x}; {count} differ", what())))
}
