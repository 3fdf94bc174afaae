//! Commands as a queue holds them until they are planned.

use crate::memory::read_slot::ReadSlot;
use crate::scheduler::loop_run::LoopRun;
use crate::scheduler::user_signal::UserWait;
use crate::work::kernel_launch::Launch;
use crate::work::step::Work;
use crate::work::time_slot::TimeSlot;
use fencepost_sync::prim::assert_unlocked;
use fencepost_sync::{HoldId, Point, Seq, Stamp};
use std::sync::Arc;

/// An enqueued command that is not yet planned.
pub(crate) struct Command {
    /// Position among all commands of the context.
    pub(crate) stamp: Stamp,
    pub(crate) op: Op,
}

impl Command {
    /// Returns the launch of the command, if it is a launch.
    #[inline]
    pub(crate) fn launch(self) -> Option<Box<Launch>> {
        if let Op::Work(Work::Launch(launch)) = self.op { Some(launch) } else { None }
    }
}

/// Effect of a command.
pub(crate) enum Op {
    /// The device executes this work as part of a batch.
    Work(Work),
    /// The device executes this work and measures its time. The box keeps the common command small.
    Timed(Box<Timed>),
    /// Later commands of the queue wait for this point of another queue.
    Wait(Point),
    /// Later commands of the queue wait for this user event.
    WaitUser(UserWait),
    /// A context command that was planned in this batch, ahead of the context commands before it.
    Early(Seq),
    /// The callback thread runs this function in queue order.
    Callback(Callback),
    /// The callback is due or running. This entry keeps its place in the queue until the callback has run.
    DueCallback(HoldId),
    /// The device executes this loop in chunks. This entry stays until the loop has ended.
    Loop(Box<LoopRun>),
}

impl Op {
    /// Returns the bytes that the command keeps staged for the device until it is complete.
    #[inline]
    pub(crate) fn staged_bytes(&self) -> u64 {
        match self {
            Op::Work(work) => work.staged_bytes(),
            Op::Timed(timed) => timed.work.staged_bytes(),
            _ => 0,
        }
    }

    /// Returns `true` for a callback and for a wait for a user event.
    #[inline]
    pub(crate) fn is_of_host(&self) -> bool {
        matches!(self, Op::WaitUser(_) | Op::Callback(_) | Op::DueCallback(_))
    }

    /// Returns `true` for a command that may stop the later commands of its queue: it waits for another queue or for
    /// the host, or the program can cancel it.
    #[inline]
    pub(crate) fn may_stop(&self) -> bool {
        match self {
            Op::Work(work) => matches!(work, Work::Graph(_)),
            Op::Timed(timed) => matches!(timed.work, Work::Graph(_)),
            Op::Early(_) => false,
            Op::Wait(_) | Op::WaitUser(_) | Op::Callback(_) | Op::DueCallback(_) | Op::Loop(_) => true,
        }
    }

    /// Returns the read of a command that reads the messages of a launch, and the size of the read in bytes.
    #[inline]
    pub(crate) fn messages(&self) -> Option<(&Arc<ReadSlot>, u64)> {
        let work = match self {
            Op::Work(work) => work,
            Op::Timed(timed) => &timed.work,
            _ => return None,
        };
        let Work::Read { src, slot } = work else { return None };
        slot.messages().map(|_| (slot, src.size))
    }
}

/// A host callback. The function and the values that it captures are user code, so it is called and dropped without a
/// lock.
pub(crate) struct Callback(Option<Box<dyn FnOnce() + Send>>);

impl Callback {
    pub(crate) fn new(run: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(run)))
    }

    pub(crate) fn call(mut self) {
        assert_unlocked("a host callback");
        if let Some(run) = self.0.take() {
            run();
        }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        if self.0.is_some() {
            assert_unlocked("the drop of a host callback");
        }
    }
}

/// A command whose start and end are measured.
pub(crate) struct Timed {
    pub(crate) work: Work,
    pub(crate) time: Arc<TimeSlot>,
    /// `true` if the device measures the time with timestamps.
    pub(crate) clocked: bool,
}
