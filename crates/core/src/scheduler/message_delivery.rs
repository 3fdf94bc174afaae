//! Delivers the messages of completed launches: printed lines and failed assertions. S is the state lock.
//!
//! The thread that finds batches complete delivers their messages before it marks the batches as complete, so no wait that
//! covers a launch ends before that. Another thread that finds the same batches complete waits meanwhile.

use crate::error::panic_text::panic_text;
use crate::error::{Error, Kind};
use crate::memory::message_source::MessageSource;
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::scheduler::callbacks::Inside;
use crate::scheduler::engine::{Engine, EngineLane};
use crate::scheduler::print_options::{PrintTo, Printed};
use crate::scheduler::state::State;
use crate::scheduler::thread_state::this_thread;
use crate::work::step::{Step, Work};
use fencepost_kernels::AssertionFailure;
use fencepost_sync::prim::{MutexGuard, lock};
use fencepost_sync::{Slot, Stamp, TimelineValue};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Is a read of a message buffer that the device has executed.
struct MessageRead {
    slot: Slot,
    stamp: Stamp,
    source: Arc<MessageSource>,
    place: ReadState,
    /// Counts the bytes of the message buffer.
    size: u64,
}

impl Engine {
    /// Delivers the messages of the batches that the lanes have completed, before `lane` completes its batches up to
    /// `reached`. Those batches may come after batches of other lanes. Returns `None` in code of the program that receives
    /// messages on this thread: the batches complete after it returns.
    pub(crate) fn deliver_messages<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        lane: usize,
        reached: TimelineValue,
    ) -> Option<MutexGuard<'a, State>> {
        drop(state);
        let completed = self.completed_values(lane, reached);
        let state = self.lock();
        if state.message_steps(&completed).next().is_none() {
            return Some(state);
        }
        drop(state);
        if self.messages.is_delivered_here() {
            return None;
        }
        let turn = lock(&self.messages.turn);
        let reads = self.lock().take_message_reads(&completed);
        *lock(&self.messages.thread) = Some(this_thread());
        let failures: Vec<_> = reads.iter().filter_map(|read| Some((read, self.deliver(read)?))).collect();
        *lock(&self.messages.thread) = None;
        let mut state = self.lock();
        for (read, error) in failures {
            // A command that has failed for another reason keeps that error.
            if state.queue(read.slot).failures.of(read.stamp).is_none() {
                state.fail_queue(read.slot, read.stamp, error);
            }
        }
        drop(turn);
        // The wakers and the drops of the failed commands run without S.
        self.unlock(state);
        Some(self.lock())
    }

    /// Returns the value that each lane has reached. A driver may be called, so the caller does not hold S.
    fn completed_values(&self, lane: usize, reached: TimelineValue) -> Vec<TimelineValue> {
        // The caller detects the loss of the device itself.
        let completed = |of: &EngineLane| of.fence.completed().unwrap_or(TimelineValue(0));
        let value = |(at, of)| if at == lane { reached } else { completed(of) };
        self.lanes.iter().enumerate().map(value).collect()
    }

    /// Delivers the messages of one launch. Returns the error with which its queue fails.
    fn deliver(&self, read: &MessageRead) -> Option<Error> {
        // A launch that was not executed has no messages.
        let ReadState::Staged(staging) = &read.place else { return None };
        let mut bytes = vec![0; read.size as usize];
        staging.copy_out(&mut bytes).ok()?;
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        let report = read.source.messages.report(&words);
        let queue = self.lock().queue(read.slot).label.clone();
        let MessageSource { kernel, launch, messages } = &*read.source;
        let panic = (!report.lines.is_empty() || report.left_out > 0).then(|| {
            let to = lock(&self.messages.options).to.clone();
            let capacity = messages.capacity(bytes.len() as u32);
            let (lines, left_out) = (&*report.lines, report.left_out);
            print(&to, &Printed { kernel, queue: &queue, launch, lines, left_out, capacity })
        });
        let failed = report.failure.map(|failure| assertion_failed(&read.source, failure));
        failed.or_else(|| {
            Some(Kind::CallbackPanicked { queue: queue.to_string(), panic: panic.flatten()? }.into())
        })
    }
}

/// Passes lines on. Returns the text of a panic.
fn print(to: &PrintTo, printed: &Printed<'_>) -> Option<String> {
    let _inside = Inside::enter();
    let panic = catch_unwind(AssertUnwindSafe(|| to.print(printed))).err()?;
    Some(panic_text(&*panic).to_owned())
}

fn assertion_failed(source: &MessageSource, failure: AssertionFailure) -> Error {
    let AssertionFailure { invocation, place, condition, text, count } = failure;
    let (kernel, launch) = (source.kernel.to_string(), source.launch);
    Kind::AssertionFailed { kernel, launch, place, condition, text, invocation, count }.into()
}

impl State {
    /// Returns the steps that read messages, in the batches up to the completed value of each lane.
    fn message_steps(
        &self,
        completed: &[TimelineValue],
    ) -> impl Iterator<Item = (&Step, u64, &Arc<ReadSlot>)> {
        let lanes = self.lanes.iter().zip(completed);
        let batches = lanes
            .flat_map(|(lane, reached)| lane.submitted.iter().take_while(|batch| batch.value <= *reached));
        batches.flat_map(|batch| batch.steps.iter()).filter_map(|step| match &step.work {
            Work::Read { src, slot } if slot.messages().is_some() => Some((step, src.size, slot)),
            _ => None,
        })
    }

    /// Returns the reads of messages of completed batches that are not delivered, in the order of their launches.
    fn take_message_reads(&self, completed: &[TimelineValue]) -> Vec<MessageRead> {
        let read = |(step, size, slot): (&Step, u64, &Arc<ReadSlot>)| {
            let (place, source) = (slot.place(), slot.messages()?.clone());
            slot.set(ReadState::Dropped);
            Some(MessageRead { slot: step.slot, stamp: step.stamp, source, place, size })
        };
        let mut reads: Vec<MessageRead> = self.message_steps(completed).filter_map(read).collect();
        reads.sort_by_key(|read| read.stamp);
        reads
    }
}
