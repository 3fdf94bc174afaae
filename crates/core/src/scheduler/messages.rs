//! Messages of kernels (printed lines and failed assertions), and their delivery to the host in order. S is the state
//! lock.
//!
//! A *delivery* passes the messages of one launch to the program. In the launch's queue, it is a batch without commands
//! directly after the read of the messages. So on the host, everything after the launch completes only after the
//! delivery, and nothing else waits for it. No device work waits for a delivery.
//!
//! A context with threads has a message thread, so that polls and waits with a time limit do not call the user code
//! that receives the lines. Without threads, calls that make progress deliver the messages.

use crate::error::{Error, ErrorDetail, panic_text};
use crate::memory::read_slot::{MessageSource, ReadSlot, ReadState};
use crate::scheduler::batch::Command;
use crate::scheduler::callbacks::{CallbackMark, catch_panic};
use crate::scheduler::engine::Engine;
use crate::scheduler::queues::Queues;
use crate::scheduler::state::State;
#[cfg(not(target_arch = "wasm32"))]
use crate::scheduler::threads::is_replaced;
use crate::scheduler::threads::{ThreadId, this_thread};
use fencepost_kernels::{AssertionFailure, PrintedLine, log_here, report};
#[cfg(not(target_arch = "wasm32"))]
use fencepost_sync::prim::sleep;
use fencepost_sync::prim::{MutexGuard, assert_unlocked, lock};
use fencepost_sync::{Seq, Slot, Stamp};
use rustc_hash::FxHashMap;
use std::fmt;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use web_time::Instant;

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

    /// Delivers the messages that are due, on this thread. Returns `true` if there were any.
    pub(crate) fn deliver_due(&self) -> bool {
        let mut any = false;
        let mut state = self.lock();
        while let Some(next) = state.begin_delivery() {
            state = self.run_delivery(state, next);
            any = true;
        }
        any
    }

    /// Delivers the messages of one launch outside S, and then completes the work that waited for them.
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
            if state.lost.is_none() && queue.failures.error_of(delivery.stamp).is_none() {
                state.fail_queue(delivery.queue, delivery.stamp, error);
            } else {
                // If the command failed before, its first error remains.
                report!(Error, "queue `{}`, which has failed before: {error}", queue.label);
            }
        }
        state.end_delivery(seq);
        if !self.threads {
            state.wake_all_waiters(); // without threads, only polls make progress, perhaps on another thread
        }
        // The wakers and the drops of failed commands run outside S.
        self.unlock(state);
        self.lock()
    }

    /// Delivers the messages of one launch. Returns the error with which its queue fails.
    fn deliver(&self, delivery: &Delivery) -> Option<Error> {
        let source = delivery.read.messages()?;
        // A launch that was not executed has no messages.
        let ReadState::Staged(staging) = delivery.read.state() else { return None };
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
            let lines = &*report.lines;
            let left_out = report.left_out;
            let panic = print(&to, &Printed { kernel, queue: &queue, launch, lines, left_out, capacity });
            catch_panic("a destructor", || drop(to)); // this may be the last handle of the program's function
            panic
        });
        let failed = report.failure.map(|failure| assertion_failed(source, failure));
        failed.or_else(|| {
            Some(ErrorDetail::CallbackPanicked { queue: queue.to_string(), panic: panic.flatten()? }.into())
        })
    }
}

/// Passes lines to the program. Returns the message of a panic, if there was one.
fn print(to: &PrintTo, printed: &Printed<'_>) -> Option<String> {
    let _inside = CallbackMark::enter();
    assert_unlocked("a function for printed lines");
    catch_unwind(AssertUnwindSafe(|| to.print(printed))).err().map(panic_text)
}

fn assertion_failed(source: &MessageSource, failure: AssertionFailure) -> Error {
    let AssertionFailure { invocation, place, condition, text, count } = failure;
    let kernel = source.kernel.to_string();
    let launch = source.launch;
    ErrorDetail::AssertionFailed { kernel, launch, place, condition, text, invocation, count }.into()
}

/// Messages of one launch.
#[derive(Clone)]
pub(crate) struct Delivery {
    pub(crate) queue: Slot,
    /// Stamp of the read of the messages.
    pub(crate) stamp: Stamp,
    pub(crate) read: Arc<ReadSlot>,
    /// Bytes of the message buffer.
    pub(crate) size: u64,
}

/// A delivery that is running on a thread.
pub(crate) struct RunningDelivery {
    pub(crate) read: Arc<ReadSlot>,
    thread: ThreadId,
    since: Instant,
    /// `true` once the context's tasks were woken because the delivery has taken too long.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) announced: bool,
}

impl RunningDelivery {
    /// Begins a delivery on this thread.
    pub(crate) fn begin(read: Arc<ReadSlot>) -> Self {
        Self {
            read,
            thread: this_thread(),
            since: Instant::now(),
            #[cfg(not(target_arch = "wasm32"))]
            announced: false,
        }
    }

    /// Returns `true` if the delivery began more than `limit` ago.
    pub(crate) fn is_older_than(&self, limit: Duration) -> bool {
        self.since.elapsed() > limit
    }
}

/// Deliveries of a context.
#[derive(Default)]
pub(crate) struct Deliveries {
    /// Deliveries of the planned launches, by their batches.
    pub(crate) planned: FxHashMap<Seq, Delivery>,
    /// The running delivery. There is at most one, so that the lines of different launches do not mix.
    pub(crate) running: Option<RunningDelivery>,
    /// `true` while the message thread is parked.
    pub(crate) idle: bool,
    /// `true` once the context has a message thread.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) has_thread: bool,
}

impl Deliveries {
    /// Removes and returns all deliveries after the loss of the device.
    pub(crate) fn take(&mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.planned).into_values().collect()
    }

    /// Returns the earliest delivery whose launch, and everything before it in its queue, is complete.
    fn first_due(&self, queues: &Queues) -> Option<Seq> {
        if self.planned.is_empty() {
            return None;
        }
        let due =
            self.planned.iter().filter(|(seq, delivery)| queues[delivery.queue].first_batch() == Some(**seq));
        let due = due.map(|(&seq, delivery)| (delivery.stamp, seq));
        due.min().map(|(_, seq)| seq)
    }

    /// Returns `true` if messages can be delivered now.
    pub(crate) fn are_due(&self, queues: &Queues) -> bool {
        self.running.is_none() && self.first_due(queues).is_some()
    }

    /// Returns `true` if a delivery is running on this thread.
    pub(crate) fn are_here(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.thread == this_thread())
    }

    /// Returns `true` if the message thread is parked and must be notified, and marks it as awake. It must be notified
    /// if messages are due, or if `over` says that the context has ended.
    pub(crate) fn wake_thread(&mut self, over: bool, queues: &Queues) -> bool {
        let wakes = self.idle && (over || self.are_due(queues));
        self.idle &= !wakes;
        wakes
    }
}

impl State {
    /// Removes the front command of a queue, which is work in batch `seq`. If it is a read of messages, it completes
    /// with its delivery.
    pub(crate) fn pop_work(&mut self, slot: Slot, seq: Seq) -> Option<Command> {
        let messages = self.queue(slot).pending.front().and_then(|front| front.op.messages());
        let Some((read, size)) = messages else { return self.queue_mut(slot).pop_work(seq) };
        let read = read.clone();
        let delivery = self.batches.open_delivery();
        self.batches.watch(delivery, slot);
        let command = self.queue_mut(slot).pop_delivered(seq, delivery)?;
        let queue = slot;
        let stamp = command.stamp;
        self.deliveries.planned.insert(delivery, Delivery { queue, stamp, read, size });
        Some(command)
    }

    /// Begins the next delivery on this thread. Returns `None` if there is none, or if another one is running.
    pub(crate) fn begin_delivery(&mut self) -> Option<(Seq, Delivery)> {
        if self.deliveries.running.is_some() || self.lost.is_some() {
            return None;
        }
        let seq = self.deliveries.first_due(&self.queues)?;
        let delivery = self.deliveries.planned.get(&seq)?.clone();
        self.deliveries.running = Some(RunningDelivery::begin(delivery.read.clone()));
        Some((seq, delivery))
    }

    /// Ends a delivery. Everything that waited only for this delivery is complete now.
    pub(crate) fn end_delivery(&mut self, seq: Seq) {
        self.deliveries.running = None;
        if self.deliveries.planned.remove(&seq).is_some() {
            let wakers = self.complete_batch(seq);
            self.after.wakers.extend(wakers);
        }
    }

    /// Wakes all tasks, once, if the running delivery began more than `limit` ago. Tasks that wait for messages then
    /// get an error.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn announce_overdue(&mut self, limit: Duration) {
        let Some(running) = &mut self.deliveries.running else { return };
        if running.is_older_than(limit) && !std::mem::replace(&mut running.announced, true) {
            self.wake_all_waiters();
        }
    }
}

/// Default of [`PrintOptions::capacity`].
const CAPACITY: u32 = 64 << 10;

/// Default of [`PrintOptions::limit`].
const LIMIT: Duration = Duration::from_secs(10);

/// Options for the lines that `print` writes in kernels, set by [`Context::set_print`](crate::Context::set_print).
///
/// # Example
/// ```
/// use fencepost::PrintOptions;
/// use fencepost::print::PrintTo;
/// let options = PrintOptions::default().to(PrintTo::Log);
/// assert_eq!(options.capacity, 65_536);
/// ```
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct PrintOptions {
    /// Receiver of the lines.
    pub to: PrintTo,
    /// Bytes of device memory for the lines of one launch. Lines that do not fit are only counted. A line takes 16
    /// bytes, plus 4 bytes for each number in it. The default is 64 KiB.
    pub capacity: u32,
    /// Longest time that an unlimited wait tolerates one call of the function that receives lines. After that, the wait
    /// returns [`PrintOverdue`](crate::ErrorDetail::PrintOverdue), because the function may itself be waiting for that
    /// thread. The default is 10 seconds.
    pub limit: Duration,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self { to: PrintTo::default(), capacity: CAPACITY, limit: LIMIT }
    }
}

impl PrintOptions {
    /// Sets the receiver of the lines.
    #[must_use]
    pub fn to(mut self, to: PrintTo) -> Self {
        self.to = to;
        self
    }

    /// Sets the bytes of device memory for the lines of one launch.
    #[must_use]
    pub fn capacity(mut self, capacity: u32) -> Self {
        self.capacity = capacity;
        self
    }

    /// Sets the longest wait for one call of the function that receives lines.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }
}

/// Receiver of the lines that kernels print.
#[derive(Clone, Default)]
pub enum PrintTo {
    /// The standard output of the program. On Unix, printing does not take the lock of [`stdout`](std::io::stdout), so
    /// a program may hold it while it waits for the lines. They are written before an unfinished line of the program.
    /// In a browser, which has no standard output, the lines go to the log.
    #[default]
    StandardOutput,
    /// The log, with the level `info`.
    Log,
    /// A function, called once for each launch that has printed: on a thread of the context or, without threads, during
    /// a call that makes progress. Its calls never overlap. Inside the function, a wait for the same context returns
    /// [`WaitInPrint`](crate::ErrorDetail::WaitInPrint). Waits of other threads for the lines end after
    /// [`PrintOptions::limit`]. If the function panics, the queue of the launch fails with
    /// [`CallbackPanicked`](crate::ErrorDetail::CallbackPanicked).
    Function(Arc<dyn Fn(&Printed<'_>) + Send + Sync>),
}

impl fmt::Debug for PrintTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StandardOutput => "StandardOutput",
            Self::Log => "Log",
            Self::Function(_) => "Function",
        })
    }
}

impl PrintTo {
    /// Returns a description of the receiver, and why it may be blocked, for the message of a wait that gives up.
    pub(crate) fn receiver(&self) -> (&'static str, &'static str) {
        match self {
            Self::StandardOutput if cfg!(unix) => {
                ("the standard output", "it takes no more bytes until its reader takes some")
            }
            Self::StandardOutput => (
                "the standard output",
                "do not hold `stdout().lock()` while you wait, and let the program that reads the output continue",
            ),
            Self::Log => (
                "the logger of the program",
                "let it wait for no thread that waits for the context; a logger to the standard error waits for a thread that \
                 holds `stderr().lock()`",
            ),
            Self::Function(_) => {
                ("the function for printed lines", "let it wait for no thread that waits for the context")
            }
        }
    }

    /// Passes the lines of a launch to the receiver.
    pub(crate) fn print(&self, printed: &Printed<'_>) {
        match self {
            Self::StandardOutput if cfg!(not(target_arch = "wasm32")) => {
                write_to_standard_output(printed.to_string().as_bytes());
            }
            Self::StandardOutput | Self::Log => {
                log_here!(Info, "kernel `{}`, launched at {}:\n{printed}", printed.kernel, printed.launch);
            }
            Self::Function(function) => function(printed),
        }
    }
}

/// Writes to the standard output without the lock of `std`, because a thread that holds that lock may be waiting for
/// the lines.
#[cfg(unix)]
fn write_to_standard_output(bytes: &[u8]) {
    use std::os::fd::AsFd as _;
    // Nothing can be done about a closed standard output.
    if let Ok(own) = std::io::stdout().as_fd().try_clone_to_owned() {
        let _ = std::fs::File::from(own).write_all(bytes);
    }
}

/// Writes to the standard output. Takes the lock of `std`, because only `std` converts the characters for a Windows
/// console.
#[cfg(not(unix))]
fn write_to_standard_output(bytes: &[u8]) {
    // Nothing can be done about a closed standard output.
    let _ = std::io::stdout().lock().write_all(bytes);
}

/// Lines that one launch has printed. [`Display`](fmt::Display) writes each on its own line.
#[derive(Debug)]
#[non_exhaustive]
pub struct Printed<'a> {
    /// Name of the kernel.
    pub kernel: &'a str,
    /// Label of the queue.
    pub queue: &'a str,
    /// Source line of the program that enqueued the launch.
    pub launch: &'static Location<'static>,
    /// Lines, ordered by invocation.
    pub lines: &'a [PrintedLine],
    /// Number of lines that did not fit into the capacity.
    pub left_out: u32,
    /// Capacity in bytes.
    pub capacity: u32,
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.lines {
            writeln!(f, "{}", line.text)?;
        }
        let Self { kernel, launch, left_out, capacity, .. } = self;
        match left_out {
            0 => Ok(()),
            count => writeln!(
                f,
                "... and {count} further line{} of kernel `{kernel}`, launched at {launch}, did not fit in {capacity} bytes: \
                 raise `PrintOptions::capacity`",
                if *count == 1 { "" } else { "s" }
            ),
        }
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;
    use crate::memory::read_slot::ReadSlot;
    use crate::memory::uses::Policy;
    use crate::record::cpu::cpu_recorder as cpu;
    use crate::record::cpu::cpu_recorder::SimulatorOptions;
    use crate::scheduler::messages::PrintOptions;
    use crate::scheduler::queue::PointProgress;
    use crate::scheduler::queues::Priority;
    use crate::scheduler::test_engine::{
        block, engine, enqueue, enqueue_wait, enqueue_work, finish, here, queue, queues, span,
    };
    use crate::work::step::{Pattern, Work};
    use fencepost_kernels::{Module, ShaderSource};
    use fencepost_sync::prim::Mutex;
    use fencepost_sync::{Point, Slot, TimelineValue};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    /// Text of a kernel that fails assertions and prints.
    const TEXT: &str =
        "@compute @workgroup_size(1) fn k() { assert(1 == 0); print(\"a\"); assert(1 == 2, \"b\"); }";

    const PRINTS: &str = "@compute @workgroup_size(1) fn k() { print(\"a\"); }";

    /// Enqueues the read of a message buffer whose words are all 1: one line did not fit and, if the kernel has
    /// assertions, one failed.
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

    /// Executes everything up to the points in one batch, which is the lane's submission `value`. Afterwards the
    /// context does not yet know that the batch is complete.
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
        let slot = queue(&engine);
        let weak = Arc::downgrade(&engine);
        let calls = Arc::<AtomicU32>::default();
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
        let end = state.queue(slot).end(slot);
        let failed = state.queue(slot).error.is_some();
        drop(state);
        assert!(!failed && is_done(&engine, end));
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn k06_the_messages_of_a_launch_come_after_those_of_the_launches_that_its_queue_waits_for() {
        let (device, lanes) = cpu::open(&SimulatorOptions { lanes: 2, ..SimulatorOptions::default() });
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
        let [prints, other, waiting] = queues(&engine);
        print_to(&engine, |_| ());
        let printed = enqueue_messages(&engine, PRINTS, prints);
        let apart = enqueue(&engine, other);
        enqueue_wait(&engine, waiting, printed);
        let after = enqueue(&engine, waiting);
        execute(&engine, 0, 1, [printed, apart, after]);
        engine.poll_lane(0);
        assert_eq!([printed, apart, after].map(|point| is_done(&engine, point)), [false, true, false]);
        // Meanwhile the device goes on.
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
                engine.lock().fail_queue(slot, point.stamp, ErrorDetail::Busy { array: "x".into() }.into());
                engine.take_queue_error(slot).expect("the queue has failed");
            }
            engine.poll_lane(0);
            engine.deliver_due();
            let error = engine.lock().queue(slot).error.clone();
            let failed = |error: &Error| matches!(error.detail(), ErrorDetail::AssertionFailed { text, .. } if text.is_empty());
            assert_eq!(error.as_ref().map(failed), (!fails_before).then_some(true), "{error:?}");
        }
    }
}
