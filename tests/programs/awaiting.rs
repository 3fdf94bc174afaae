//! Runs programs without blocking: a small executor awaits every result.

use super::case::{Adapter, Cpu};
use super::common::received;
use super::common::subject::{self, Subject};
use super::held::Reading;
use super::machine::Machine;
use super::op::Id;
use super::run::Place;
use fencepost::testing::CpuFaults;
use fencepost::{Context, Pending, Policy, Result, SimulatorOptions};
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as Task, Poll, Wake, Waker};

/// A way in which a program waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Waits {
    /// As each operation specifies.
    #[default]
    AsDrawn,
    /// Each result is awaited alone.
    Awaited,
    /// Each result is awaited together with all pending reads, each in its own task, on one thread.
    AwaitedBesideReads,
}

/// A place whose programs await their results.
#[derive(Clone)]
pub struct Awaiting<P> {
    pub place: P,
    pub seed: u64,
}

impl<P: Place> Place for Awaiting<P> {
    fn open(&self) -> std::result::Result<Context, String> {
        self.place.open()
    }

    fn open_second(&self) -> std::result::Result<Context, String> {
        self.place.open_second()
    }

    fn policy(&self) -> Policy {
        self.place.policy()
    }

    fn threads(&self) -> bool {
        self.place.threads()
    }

    fn waits(&self) -> Waits {
        // Under `Checked`, a finished read tells the host that work is done, but the model does not know about reads
        // that finish early.
        let beside = self.policy() != Policy::Checked && (self.seed / 2).is_multiple_of(2);
        if beside { Waits::AwaitedBesideReads } else { Waits::Awaited }
    }
}

/// An adapter of this machine whose context has threads, except for every second seed.
#[derive(Clone)]
pub enum WithOrWithoutThreads {
    With(Box<Adapter>),
    Without(Arc<subject::Place>, Policy),
}

impl Place for WithOrWithoutThreads {
    fn open(&self) -> std::result::Result<Context, String> {
        match self {
            Self::With(adapter) => adapter.open(),
            Self::Without(place, policy) => Ok(Subject::new(place.clone()).without_threads_with(*policy)),
        }
    }

    /// Opens the second context. If the first has no threads, the second is on the CPU recorder and has none either.
    fn open_second(&self) -> std::result::Result<Context, String> {
        match self {
            Self::With(adapter) => adapter.open_second(),
            Self::Without(_, policy) => {
                let options = SimulatorOptions::default().threads(false);
                Cpu { options, faults: CpuFaults::default(), policy: *policy }.open()
            }
        }
    }

    fn policy(&self) -> Policy {
        match self {
            Self::With(adapter) => adapter.policy(),
            Self::Without(_, policy) => *policy,
        }
    }

    fn threads(&self) -> bool {
        matches!(self, Self::With(_))
    }
}

/// A task of the executor: a pending read, or `None` for the awaited result.
type Number = Option<Id>;

/// A waker that adds its task to the executor's queue.
struct Ready {
    task: Number,
    queue: Mutex<Sender<Number>>,
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        // The receiver is gone if the executor has ended.
        let _ = self.queue.lock().unwrap_or_else(PoisonError::into_inner).send(self.task);
    }
}

impl Machine {
    /// Awaits a result on this thread together with the pending reads. A task is polled only after it was woken, so a
    /// lost wake-up would be a hang.
    pub(super) fn awaited_beside_reads<T: Unpin + 'static>(&mut self, mut pending: Pending<T>) -> Result<T> {
        let (ready, woken) = channel();
        for task in self.reads.keys().map(|&r| Some(r)).chain([None]) {
            ready.send(task).expect("this thread listens");
        }
        let waker = |task| Waker::from(Arc::new(Ready { task, queue: Mutex::new(ready.clone()) }));
        loop {
            let task = received(&woken);
            let waker = waker(task);
            let mut cx = Task::from_waker(&waker);
            match task {
                Some(r) => self.poll_read(r, &mut cx),
                None => {
                    if let Poll::Ready(result) = Pin::new(&mut pending).poll(&mut cx) {
                        return result;
                    }
                }
            }
        }
    }

    /// Polls a pending read, and keeps its result.
    fn poll_read(&mut self, r: Id, cx: &mut Task<'_>) {
        let Some(reading) = self.reads.get_mut(&r) else { return };
        let polled = match reading {
            Reading::U32(pending) => Pin::new(pending).poll(cx),
            Reading::I32(pending) => Pin::new(pending).poll(cx).map_ok(bytemuck::cast_vec),
            Reading::F32(pending) => Pin::new(pending).poll(cx).map_ok(bytemuck::cast_vec),
            Reading::Here(_) | Reading::Failed(_) => return,
        };
        if let Poll::Ready(result) = polled {
            *reading = result.map_or_else(Reading::Failed, Reading::Here);
        }
    }
}
