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
    queue: Slot,
    stamp: Stamp,
    source: Arc<MessageSource>,
    slot: Arc<ReadSlot>,
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
        loop {
            let state = self.lock();
            if state.message_steps(&completed).next().is_none() {
                return Some(state);
            }
            drop(state);
            if self.messages.is_delivered_here() {
                return None;
            }
            // A batch that the device has completed may become one of the submitted batches meanwhile.
            self.deliver_all(&completed);
        }
    }

    /// Delivers the messages of the batches up to the completed value of each lane.
    fn deliver_all(&self, completed: &[TimelineValue]) {
        let turn = lock(&self.messages.turn);
        let reads = self.lock().message_reads(completed);
        *lock(&self.messages.thread) = Some(this_thread());
        let failures: Vec<_> = reads.iter().filter_map(|read| Some((read, self.deliver(read)?))).collect();
        *lock(&self.messages.thread) = None;
        let mut state = self.lock();
        // The state of a read whose messages are delivered.
        reads.iter().for_each(|read| read.slot.set(ReadState::Dropped));
        for (read, error) in failures {
            // A command that has failed for another reason keeps that error.
            if state.queue(read.queue).failures.of(read.stamp).is_none() {
                state.fail_queue(read.queue, read.stamp, error);
            }
        }
        drop(turn);
        // The wakers and the drops of the failed commands run without S.
        self.unlock(state);
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
        let ReadState::Staged(staging) = read.slot.place() else { return None };
        let mut bytes = vec![0; read.size as usize];
        staging.copy_out(&mut bytes).ok()?;
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        let report = read.source.messages.report(&words);
        let queue = self.lock().queue(read.queue).label.clone();
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
    /// Returns the steps whose messages are not delivered, in the batches up to the completed value of each lane.
    fn message_steps(
        &self,
        completed: &[TimelineValue],
    ) -> impl Iterator<Item = (&Step, u64, &Arc<ReadSlot>)> {
        let lanes = self.lanes.iter().zip(completed);
        let batches = lanes
            .flat_map(|(lane, reached)| lane.submitted.iter().take_while(|batch| batch.value <= *reached));
        let is_due =
            |slot: &ReadSlot| slot.messages().is_some() && !matches!(slot.place(), ReadState::Dropped);
        batches.flat_map(|batch| batch.steps.iter()).filter_map(move |step| match &step.work {
            Work::Read { src, slot } if is_due(slot) => Some((step, src.size, slot)),
            _ => None,
        })
    }

    /// Returns the reads whose messages are not delivered, in the order of their launches.
    fn message_reads(&self, completed: &[TimelineValue]) -> Vec<MessageRead> {
        let read = |(step, size, slot): (&Step, u64, &Arc<ReadSlot>)| {
            let (queue, stamp, source) = (step.slot, step.stamp, slot.messages()?.clone());
            Some(MessageRead { queue, stamp, source, slot: slot.clone(), size })
        };
        let mut reads: Vec<MessageRead> = self.message_steps(completed).filter_map(read).collect();
        reads.sort_by_key(|read| read.stamp);
        reads
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;
    use crate::record::cpu::cpu_recorder as cpu;
    use crate::record::cpu::cpu_recorder::CpuOptions;
    use crate::scheduler::ordering::policy::Policy;
    use crate::scheduler::print_options::PrintOptions;
    use crate::scheduler::priority::Priority;
    use crate::scheduler::test_engine::{block, engine, enqueue_work, here, queue, queues, span};
    use crate::work::span::Pattern;
    use fencepost_kernels::{Module, ShaderSource};
    use fencepost_sync::Point;
    use fencepost_sync::prim::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    /// Has failed assertions, and prints.
    const TEXT: &str =
        "@compute @workgroup_size(1) fn k() { assert(1 == 0); print(\"a\"); assert(1 == 2, \"b\"); }";

    /// Submits the read of a message buffer whose words are 1, and executes the read on a lane: one line did not fit and, if
    /// the kernel has assertions, one of them failed. `value` is the value of the submission.
    fn execute_messages(engine: &Engine, text: &str, (lane, queue): (usize, Slot), value: u64) -> Point {
        let module = Module::parse(&ShaderSource::text("k", text.to_owned())).expect("the text is valid");
        let messages =
            module.interface("k", &[]).expect("it has the entry point").messages.expect("it prints");
        let kernel = format!("kernel {}", queue.0).into();
        let source = Arc::new(MessageSource { kernel, launch: here(), messages });
        let buffer = span(&block());
        let pattern = Pattern::of(&1_u32.to_ne_bytes()).expect("it is one word");
        enqueue_work(engine, queue, Work::Fill { dst: buffer.clone(), pattern });
        let read = Work::Read { src: buffer, slot: ReadSlot::of_messages(source) };
        let point = enqueue_work(engine, queue, read);
        engine.lock().plan([point], Priority::Normal);
        assert!(engine.submit_one(lane));
        let reached = engine.lanes[lane].fence.wait(TimelineValue(value), Duration::from_secs(60));
        assert!(reached.is_ok_and(|reached| reached.0 >= value));
        point
    }

    const PRINTS: &str = "@compute @workgroup_size(1) fn k() { print(\"a\"); }";

    fn print_to(engine: &Engine, print: impl Fn(&Printed<'_>) + Send + Sync + 'static) {
        let to = PrintTo::Function(Arc::new(print));
        *lock(&engine.messages.options) = PrintOptions { to, ..PrintOptions::default() };
    }

    #[test]
    fn k06_messages_of_a_batch_that_is_submitted_during_a_delivery_are_delivered_before_it_completes() {
        let engine = engine(false);
        let (slot, weak, calls) = (queue(&engine), Arc::downgrade(&engine), Arc::<AtomicU32>::default());
        let counter = calls.clone();
        print_to(&engine, move |printed| {
            assert_eq!(printed.left_out, 1);
            if counter.fetch_add(1, Ordering::Relaxed) == 0 {
                execute_messages(&weak.upgrade().expect("the test holds the engine"), PRINTS, (0, slot), 2);
            }
        });
        execute_messages(&engine, PRINTS, (0, slot), 1);
        let state = engine.deliver_messages(engine.lock(), 0, TimelineValue(2)).expect("this is no function");
        let error = state.queue(slot).error.clone();
        drop(state);
        assert_eq!((calls.load(Ordering::Relaxed), error.is_none()), (2, true));
    }

    #[test]
    fn k06_a_lane_delivers_the_earlier_messages_of_other_lanes_first() {
        let (device, lanes) = cpu::open(&CpuOptions { lanes: 2, ..CpuOptions::default() });
        let engine = Engine::new(device, lanes, Policy::Unchecked, false);
        let [one, two] = queues(&engine);
        let found = Arc::<Mutex<Vec<String>>>::default();
        let copy = found.clone();
        print_to(&engine, move |printed| lock(&copy).push(printed.kernel.to_owned()));
        execute_messages(&engine, PRINTS, (0, one), 1);
        execute_messages(&engine, PRINTS, (1, two), 1);
        drop(engine.deliver_messages(engine.lock(), 1, TimelineValue(1)).expect("this is no function"));
        assert_eq!(*lock(&found), [one, two].map(|queue| format!("kernel {}", queue.0)));
    }

    #[test]
    fn k06_a_launch_that_failed_with_its_queue_does_not_fail_the_queue_again() {
        for fails_before in [false, true] {
            let engine = engine(false);
            let slot = queue(&engine);
            print_to(&engine, |_| ());
            let point = execute_messages(&engine, TEXT, (0, slot), 1);
            if fails_before {
                engine.lock().fail_queue(slot, point.stamp, Kind::Busy { array: "x".into() }.into());
                engine.take_queue_error(slot).expect("the queue has failed");
            }
            let state =
                engine.deliver_messages(engine.lock(), 0, TimelineValue(1)).expect("this is no function");
            let error = state.queue(slot).error.clone();
            drop(state);
            let failed =
                |error: &Error| matches!(error.kind(), Kind::AssertionFailed { text, .. } if text.is_empty());
            assert_eq!(error.as_ref().map(failed), (!fails_before).then_some(true), "{error:?}");
        }
    }
}
