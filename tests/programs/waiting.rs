//! Waits on the host for the results of a program.

use super::awaiting::Waits;
use super::common::block_on;
use super::held::Reading;
use super::machine::{Machine, Outcome};
use super::op::{Id, Wait};
use fencepost::{Pending, Result};
use std::task::{Poll, Waker};
use std::time::Duration;

impl Machine {
    pub(super) fn wait_read(&mut self, r: Id, how: Wait) -> Result<Outcome> {
        let result = match self.reads.remove(&r) {
            Some(Reading::U32(pending)) => {
                self.wait_or_keep(pending, how).map(|found| read(found, Reading::U32))
            }
            Some(Reading::I32(pending)) => {
                self.wait_or_keep(pending, how).map(|found| read(found, Reading::I32))
            }
            Some(Reading::F32(pending)) => {
                self.wait_or_keep(pending, how).map(|found| read(found, Reading::F32))
            }
            Some(Reading::Here(elements)) => Ok(Reading::Here(elements)),
            Some(Reading::Failed(error)) => Err(error),
            None => unreachable!("bug: no read {r}"),
        };
        let (outcome, kept) = match result {
            Ok(Reading::Here(elements)) => (Outcome::Data(elements.clone()), Reading::Here(elements)),
            Ok(pending) => (Outcome::Later, pending),
            Err(error) => (Outcome::Failed(error.clone()), Reading::Failed(error)),
        };
        self.reads.insert(r, kept);
        Ok(outcome)
    }

    /// Waits for a result. Returns the result, or the pending result.
    fn wait_or_keep<T: Unpin + 'static>(
        &mut self,
        mut pending: Pending<T>,
        how: Wait,
    ) -> Result<Result<T, Pending<T>>> {
        Ok(match how {
            Wait::Look => Err(pending),
            Wait::Within(us) if self.waits != Waits::AsDrawn => polled(pending, 1 + us % 8)?,
            _ if self.waits != Waits::AsDrawn => Ok(self.get(pending)?),
            Wait::Block => Ok(pending.wait()?),
            Wait::Await => Ok(self.awaited(pending)?),
            Wait::Within(us) => pending.wait_timeout(Duration::from_micros(us))?.ok_or(pending),
        })
    }

    /// Waits for a result in the machine's way, for operations that do not name one.
    pub fn get<T: Unpin + 'static>(&mut self, pending: Pending<T>) -> Result<T> {
        match self.waits {
            Waits::AsDrawn => pending.wait(),
            Waits::Awaited => block_on(pending),
            Waits::AwaitedBesideReads => self.awaited_beside_reads(pending),
        }
    }

    pub(super) fn wait<T: Unpin + 'static>(&mut self, pending: Pending<T>, how: Wait) -> Result<Option<T>> {
        Ok(self.wait_or_keep(pending, how)?.ok())
    }

    /// Awaits a result on an executor. Without threads it polls in a loop.
    fn awaited<T: Unpin + 'static>(&self, mut pending: Pending<T>) -> Result<T> {
        if self.threads {
            return block_on(pending);
        }
        let mut cx = std::task::Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(result) = Future::poll(std::pin::Pin::new(&mut pending), &mut cx) {
                return result;
            }
        }
    }
}

/// Polls at most `times` times. A count is used instead of a clock, so that no result depends on time.
fn polled<T: Unpin>(mut pending: Pending<T>, times: u64) -> Result<Result<T, Pending<T>>> {
    let mut cx = std::task::Context::from_waker(Waker::noop());
    for _ in 0..times {
        if let Poll::Ready(result) = Future::poll(std::pin::Pin::new(&mut pending), &mut cx) {
            return result.map(Ok);
        }
    }
    Ok(Err(pending))
}

fn read<T: bytemuck::Pod + Unpin>(
    found: Result<Vec<T>, Pending<Vec<T>>>,
    pending: fn(Pending<Vec<T>>) -> Reading,
) -> Reading {
    found.map_or_else(pending, |elements| Reading::Here(bytemuck::cast_slice(&elements).to_vec()))
}
