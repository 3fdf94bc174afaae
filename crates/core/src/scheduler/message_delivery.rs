//! Delivers the messages of completed launches: printed lines and failed assertions. S is the state lock.
//!
//! A context with threads has a message thread, so that neither a poll nor a wait with a limit calls the user code that
//! receives the lines. Without threads, a call that makes progress delivers them.

use crate::error::panic_text::panic_text;
use crate::error::{Error, Kind};
use crate::memory::message_source::MessageSource;
use crate::memory::read_slot::ReadState;
use crate::scheduler::callbacks::Inside;
use crate::scheduler::deliveries::Delivery;
use crate::scheduler::engine::Engine;
use crate::scheduler::print_options::{PrintTo, Printed};
use crate::scheduler::state::State;
#[cfg(not(target_arch = "wasm32"))]
use crate::scheduler::thread_posts::is_replaced;
use crate::scheduler::user_code::catch_panic;
use fencepost_kernels::AssertionFailure;
use fencepost_kernels::report;
use fencepost_sync::Seq;
#[cfg(not(target_arch = "wasm32"))]
use fencepost_sync::prim::sleep;
use fencepost_sync::prim::{MutexGuard, assert_unlocked, lock};
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Engine {
    /// Runs the message thread: it delivers messages as they become due, until the context ends.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn message_thread(&self) {
        let mut state = self.lock();
        loop {
            while !is_replaced()
                && let Some(next) = state.begin_delivery()
            {
                state = self.run_delivery(state, next);
            }
            if is_replaced() || state.finished() {
                return;
            }
            state.deliveries.idle = true;
            state = sleep(&self.messages, state);
            state.deliveries.idle = false;
        }
    }

    /// Delivers the messages that are due, on this thread.
    pub(crate) fn deliver_due(&self) {
        let mut state = self.lock();
        while let Some(next) = state.begin_delivery() {
            state = self.run_delivery(state, next);
        }
    }

    /// Delivers the messages of one launch without S, and then completes the work that waited for them.
    fn run_delivery<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        (seq, delivery): (Seq, Delivery),
    ) -> MutexGuard<'a, State> {
        drop(state);
        let error = self.deliver(&delivery);
        let mut state = self.lock();
        if let Some(error) = error {
            let queue = state.queue(delivery.queue);
            if state.lost.is_none() && queue.failures.of(delivery.stamp).is_none() {
                state.fail_queue(delivery.queue, delivery.stamp, error);
            } else {
                // A command that failed before keeps its first error.
                report!(Error, "queue `{}`, which has failed before: {error}", queue.label);
            }
        }
        state.end_delivery(seq);
        if !self.threads {
            state.wake_all_waiters(); // only polling makes progress here, perhaps on another thread
        }
        // The wakers and the drops of failed commands run without S.
        self.unlock(state);
        self.lock()
    }

    /// Delivers the messages of one launch. Returns the error with which its queue fails.
    fn deliver(&self, delivery: &Delivery) -> Option<Error> {
        let source = delivery.read.messages()?;
        // A launch that was not executed has no messages.
        let ReadState::Staged(staging) = delivery.read.place() else { return None };
        let mut bytes = vec![0; delivery.size as usize];
        staging.copy_out(&mut bytes).ok()?;
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        let report = source.messages.report(&words);
        let queue = self.lock().queue(delivery.queue).label.clone();
        let MessageSource { kernel, launch, messages } = &**source;
        let panic = (!report.lines.is_empty() || report.left_out > 0).then(|| {
            let to = lock(&self.print_options).to.clone();
            let capacity = messages.capacity(bytes.len() as u32);
            let (lines, left_out) = (&*report.lines, report.left_out);
            let panic = print(&to, &Printed { kernel, queue: &queue, launch, lines, left_out, capacity });
            catch_panic("a destructor", || drop(to)); // perhaps the last handle of a function
            panic
        });
        let failed = report.failure.map(|failure| assertion_failed(source, failure));
        failed.or_else(|| {
            Some(Kind::CallbackPanicked { queue: queue.to_string(), panic: panic.flatten()? }.into())
        })
    }
}

/// Passes lines to the program. Returns the text of a panic.
fn print(to: &PrintTo, printed: &Printed<'_>) -> Option<String> {
    let _inside = Inside::enter();
    assert_unlocked("a function for printed lines");
    catch_unwind(AssertUnwindSafe(|| to.print(printed))).err().map(panic_text)
}

fn assertion_failed(source: &MessageSource, failure: AssertionFailure) -> Error {
    let AssertionFailure { invocation, place, condition, text, count } = failure;
    let (kernel, launch) = (source.kernel.to_string(), source.launch);
    Kind::AssertionFailed { kernel, launch, place, condition, text, invocation, count }.into()
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;
    use crate::memory::read_slot::ReadSlot;
    use crate::record::cpu::cpu_recorder as cpu;
    use crate::record::cpu::cpu_recorder::CpuOptions;
    use crate::scheduler::ordering::policy::Policy;
    use crate::scheduler::print_options::PrintOptions;
    use crate::scheduler::priority::Priority;
    use crate::scheduler::queue_state::PointProgress;
    use crate::scheduler::test_engine::{
        block, engine, enqueue, enqueue_wait, enqueue_work, finish, here, queue, queues, span,
    };
    use crate::work::span::Pattern;
    use crate::work::step::Work;
    use fencepost_kernels::{Module, ShaderSource};
    use fencepost_sync::prim::Mutex;
    use fencepost_sync::{Point, Slot, TimelineValue};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    /// Text of a kernel that has failed assertions, and prints.
    const TEXT: &str =
        "@compute @workgroup_size(1) fn k() { assert(1 == 0); print(\"a\"); assert(1 == 2, \"b\"); }";

    const PRINTS: &str = "@compute @workgroup_size(1) fn k() { print(\"a\"); }";

    /// Enqueues the read of a message buffer whose words are 1: one line did not fit and, if the kernel has assertions, one
    /// of them failed.
    fn enqueue_messages(engine: &Engine, text: &str, queue: Slot) -> Point {
        let module = Module::parse(&ShaderSource::text("k", text.to_owned())).expect("the text is valid");
        let messages =
            module.interface("k", &[]).expect("it has the entry point").messages.expect("it prints");
        let kernel = format!("kernel {}", queue.0).into();
        let source = Arc::new(MessageSource { kernel, launch: here(), messages });
        let buffer = span(&block());
        let pattern = Pattern::of(&1_u32.to_ne_bytes()).expect("it is one word");
        enqueue_work(engine, queue, Work::Fill { dst: buffer.clone(), pattern });
        enqueue_work(engine, queue, Work::Read { src: buffer, slot: ReadSlot::of_messages(source) })
    }

    /// Executes everything up to the points in one batch of a lane, which is the lane's submission `value`. The context
    /// does not know yet that the batch is complete.
    fn execute<const N: usize>(engine: &Engine, lane: usize, value: u64, points: [Point; N]) {
        engine.lock().plan(points, Priority::Normal);
        assert!(engine.submit_one(lane));
        let reached = engine.lanes[lane].fence.wait(TimelineValue(value), Duration::from_secs(60));
        assert!(reached.is_ok_and(|reached| reached.0 >= value));
    }

    fn is_done(engine: &Engine, point: Point) -> bool {
        engine.lock().reached(point) == PointProgress::Done
    }

    fn print_to(engine: &Engine, print: impl Fn(&Printed<'_>) + Send + Sync + 'static) {
        let to = PrintTo::Function(Arc::new(print));
        *lock(&engine.print_options) = PrintOptions { to, ..PrintOptions::default() };
    }

    #[test]
    fn k06_a_batch_that_completes_during_a_delivery_is_delivered_before_its_points_are_reached() {
        let engine = engine(false);
        let (slot, weak, calls) = (queue(&engine), Arc::downgrade(&engine), Arc::<AtomicU32>::default());
        let counter = calls.clone();
        print_to(&engine, move |printed| {
            assert_eq!(printed.left_out, 1);
            if counter.fetch_add(1, Ordering::Relaxed) == 0 {
                let engine = weak.upgrade().expect("the test holds the engine");
                let second = enqueue_messages(&engine, PRINTS, slot);
                execute(&engine, 0, 2, [second]);
                engine.poll_lane(0);
                engine.deliver_due();
                assert!(!is_done(&engine, second));
            }
        });
        let first = enqueue_messages(&engine, PRINTS, slot);
        execute(&engine, 0, 1, [first]);
        engine.poll_lane(0);
        engine.deliver_due();
        let state = engine.lock();
        let (end, failed) = (state.queue(slot).end(slot), state.queue(slot).error.is_some());
        drop(state);
        assert!(!failed && is_done(&engine, end));
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn k06_the_messages_of_a_launch_come_after_those_of_the_launches_that_its_queue_waits_for() {
        let (device, lanes) = cpu::open(&CpuOptions { lanes: 2, ..CpuOptions::default() });
        let engine = Engine::new(device, lanes, Policy::Unchecked, false);
        let [one, two] = queues(&engine);
        let found = Arc::<Mutex<Vec<String>>>::default();
        let copy = found.clone();
        print_to(&engine, move |printed| lock(&copy).push(printed.kernel.to_owned()));
        let first = enqueue_messages(&engine, PRINTS, one);
        enqueue_wait(&engine, two, first);
        let second = enqueue_messages(&engine, PRINTS, two);
        execute(&engine, 0, 1, [first]);
        execute(&engine, 1, 1, [second]);
        engine.poll_lane(1);
        engine.deliver_due();
        assert!(lock(&found).is_empty());
        engine.poll_lane(0);
        engine.deliver_due();
        assert_eq!(*lock(&found), [one, two].map(|queue| format!("kernel {}", queue.0)));
    }

    #[test]
    fn k06_messages_delay_only_the_points_that_come_after_them() {
        let engine = engine(false);
        let [prints, other, behind] = queues(&engine);
        print_to(&engine, |_| ());
        let printed = enqueue_messages(&engine, PRINTS, prints);
        let apart = enqueue(&engine, other);
        enqueue_wait(&engine, behind, printed);
        let after = enqueue(&engine, behind);
        execute(&engine, 0, 1, [printed, apart, after]);
        engine.poll_lane(0);
        assert_eq!([printed, apart, after].map(|point| is_done(&engine, point)), [false, true, false]);
        // The device goes on meanwhile.
        let later = enqueue(&engine, prints);
        execute(&engine, 0, 2, [later]);
        finish(&engine, later);
        assert!([printed, after].iter().all(|&point| is_done(&engine, point)));
    }

    #[test]
    fn k06_a_launch_that_failed_with_its_queue_does_not_fail_the_queue_again() {
        for fails_before in [false, true] {
            let engine = engine(false);
            let slot = queue(&engine);
            print_to(&engine, |_| ());
            let point = enqueue_messages(&engine, TEXT, slot);
            execute(&engine, 0, 1, [point]);
            if fails_before {
                engine.lock().fail_queue(slot, point.stamp, Kind::Busy { array: "x".into() }.into());
                engine.take_queue_error(slot).expect("the queue has failed");
            }
            engine.poll_lane(0);
            engine.deliver_due();
            let error = engine.lock().queue(slot).error.clone();
            let failed =
                |error: &Error| matches!(error.kind(), Kind::AssertionFailed { text, .. } if text.is_empty());
            assert_eq!(error.as_ref().map(failed), (!fails_before).then_some(true), "{error:?}");
        }
    }
}
