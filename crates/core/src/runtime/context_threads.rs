//! The threads of a context: two for each lane, one for host callbacks, one for messages of kernels, and those that
//! compile kernels.

use crate::device::checks::is_any_set;
use crate::error::{Error, Result};
use crate::scheduler::engine::Engine;
use crate::scheduler::threads::{belong_to_a_context, is_needed, is_replaced, set_post};
use fencepost_kernels::report;
use fencepost_kernels::report::drop_payload;
use fencepost_sync::loader::{holds_loader_lock, wait_for_start};
use fencepost_sync::prim::{Mutex, lock};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

/// Longest time for which the end of a context waits for the program's logger, which may itself be waiting for the
/// caller.
const LOG_LIMIT: Duration = Duration::from_millis(200);

/// Threads of a context, which [`end`](Self::end) joins.
#[derive(Clone, Default)]
pub(crate) struct ContextThreads(Arc<Mutex<Vec<JoinHandle<()>>>>);

/// Task of a lane's thread.
#[derive(Clone, Copy)]
enum LaneThread {
    Submits,
    Completes,
}

/// Returns the reason for the loss of a context because the system refused it a thread.
fn refused(error: &io::Error) -> String {
    format!("the system refuses a thread for a context: {error}")
}

impl ContextThreads {
    /// Starts the threads, unless the engine works without threads. If the system refuses a thread, the context is
    /// lost.
    pub(crate) fn start(engine: &Arc<Engine>) -> Self {
        let started = Self::default();
        if let Err(error) = started.start_all(engine) {
            engine.lose(&refused(&error));
        }
        started
    }

    fn start_all(&self, engine: &Arc<Engine>) -> io::Result<()> {
        if !engine.threads {
            return Ok(());
        }
        if holds_loader_lock() {
            return Err(io::Error::other(
                "this thread holds the lock of the system's loader, so no thread starts",
            ));
        }
        let mut started = Vec::new();
        for lane in 0..engine.lanes.len() {
            started.push(self.add_to_lane(engine, lane, LaneThread::Submits)?);
            started.push(self.add_to_lane(engine, lane, LaneThread::Completes)?);
        }
        started.push(self.add("fencepost callbacks".into(), engine, Engine::callback_thread)?);
        started.iter().for_each(wait_for_start);
        Ok(())
    }

    /// Starts the thread that delivers messages, unless it is running or the engine works without threads. If the
    /// system refuses the thread, the context is lost.
    ///
    /// # Errors
    /// Returns `Device` if the new thread could not start before this one has ended.
    pub(crate) fn start_messages(&self, engine: &Arc<Engine>) -> Result<()> {
        let mut state = engine.lock();
        if !engine.threads || state.deliveries.has_thread {
            return Ok(());
        }
        if holds_loader_lock() {
            return Err(Error::no_thread_starts("the delivery of messages"));
        }
        state.deliveries.has_thread = true;
        drop(state);
        match self.add_for_messages(engine) {
            Ok(started) => wait_for_start(&started),
            Err(error) => engine.lose(&refused(&error)),
        }
        Ok(())
    }

    fn add_for_messages(&self, engine: &Arc<Engine>) -> io::Result<Receiver<()>> {
        let replace = self.replacement(engine, Self::add_for_messages);
        self.add("fencepost messages".into(), engine, move |engine| {
            set_post(replace);
            engine.message_thread();
        })
    }

    fn add_to_lane(&self, engine: &Arc<Engine>, lane: usize, role: LaneThread) -> io::Result<Receiver<()>> {
        let replace =
            self.replacement(engine, move |threads, engine| threads.add_to_lane(engine, lane, role));
        let name = match role {
            LaneThread::Submits => format!("fencepost lane {lane}"),
            LaneThread::Completes => format!("fencepost completer {lane}"),
        };
        self.add(name, engine, move |engine| {
            set_post(replace);
            match role {
                LaneThread::Submits => engine.lane_thread(lane),
                LaneThread::Completes => engine.completer(lane),
            }
        })
    }

    /// Returns a function that starts another thread for the same task with `add`. Lane threads and the message thread
    /// call it before they run user code that may wait for their task. If the system refuses the thread, the context is
    /// lost.
    fn replacement(
        &self,
        engine: &Arc<Engine>,
        add: impl FnOnce(&Self, &Arc<Engine>) -> io::Result<Receiver<()>> + Send + 'static,
    ) -> impl FnOnce() + Send + 'static {
        let engine = Arc::downgrade(engine);
        let threads = Arc::downgrade(&self.0);
        move || {
            let (Some(engine), Some(threads)) = (engine.upgrade(), threads.upgrade()) else { return };
            if let Err(error) = add(&ContextThreads(threads), &engine) {
                engine.lose(&refused(&error));
            }
        }
    }

    /// Starts a thread that will be joined at the end of the context. The thread drops the other end of the returned
    /// channel once it runs.
    fn add(
        &self,
        name: String,
        engine: &Arc<Engine>,
        run: impl FnOnce(&Engine) + Send + 'static,
    ) -> io::Result<Receiver<()>> {
        let engine = engine.clone();
        let (runs, started) = channel();
        let thread = thread::Builder::new().name(name).spawn(move || {
            drop(runs);
            belong_to_a_context();
            run(&engine);
        })?;
        let mut threads = lock(&self.0);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(started)
    }

    fn take(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *lock(&self.0))
    }

    /// Flushes, waits for the work unless the device is lost, and joins the threads.
    ///
    /// A separate thread does this in three cases. The first is that user code run by a context (a callback, a waker, a
    /// destructor or a host function) drops the last handle, because a thread cannot join itself. The second is that
    /// the work waits for another context, because two contexts that end may wait for each other. The third is that
    /// this thread holds the lock of the system's loader, because no other thread ends before it releases the lock. The
    /// separate thread drops `alive` after the device.
    pub(crate) fn end(&self, engine: &Arc<Engine>, alive: &Arc<()>) {
        let threads = self.clone();
        if is_needed() || is_any_set() || engine.waits_for_other_context() || holds_loader_lock() {
            let engine = engine.clone();
            let alive = alive.clone();
            let ended = thread::Builder::new().spawn(move || {
                threads.finish(&engine);
                drop(engine); // this also drops the device
                drop(alive);
            });
            if let Err(error) = ended {
                report!(Error, "a context is leaked: the system refuses a thread to end it: {error}");
            }
        } else {
            threads.finish(engine);
        }
    }

    /// Closes the engine and joins all threads, including replacement threads. By then the program's logger has
    /// received the messages of the context, unless it takes too long.
    fn finish(&self, engine: &Engine) {
        engine.close();
        loop {
            let threads = self.take();
            if threads.is_empty() {
                break;
            }
            for thread in threads {
                if thread.join().is_err() {
                    report!(Error, "a thread of a context panicked");
                }
            }
        }
        report::settle(LOG_LIMIT);
    }
}

/// Maximum number of threads that compile at once, because a driver's compiler is often parallel itself.
const MOST_COMPILER_THREADS: usize = 4;

/// The compilation of one kernel.
pub(crate) type CompileTask = Box<dyn FnOnce(&Engine) + Send>;

/// A queue of kernels to compile, and its threads. Threads start when work arrives, and end when none is left.
#[derive(Clone, Default)]
pub(crate) struct CompilerThreads(Arc<Mutex<CompileQueue>>);

/// Tasks that are not started, and the number of threads: `threads <= MOST_COMPILER_THREADS`.
#[derive(Default)]
struct CompileQueue {
    tasks: VecDeque<CompileTask>,
    threads: usize,
}

impl CompilerThreads {
    /// Queues a task for a thread of the context. Tasks start in order. If the system refuses a thread, the calling
    /// thread runs the queued tasks.
    pub(crate) fn add(&self, threads: &ContextThreads, engine: &Arc<Engine>, task: CompileTask) {
        let mut waiting = lock(&self.0);
        waiting.tasks.push_back(task);
        if waiting.threads == MOST_COMPILER_THREADS {
            return;
        }
        waiting.threads += 1;
        debug_assert!(waiting.threads <= MOST_COMPILER_THREADS);
        drop(waiting);
        if self.start(threads, engine).is_err() {
            self.work(engine);
        }
    }

    /// Starts a thread. It is replaced by another thread before it runs user code that may wait for a kernel, such as a
    /// waker.
    fn start(&self, threads: &ContextThreads, engine: &Arc<Engine>) -> io::Result<()> {
        let compilers = self.clone();
        let replaced = self.clone();
        let threads_again = threads.clone();
        let engine_again = Arc::downgrade(engine);
        let replace = move || {
            let started = engine_again.upgrade().map(|engine| replaced.start(&threads_again, &engine));
            if !matches!(started, Some(Ok(()))) {
                lock(&replaced.0).threads -= 1;
            }
        };
        let started = threads.add("fencepost compiler".into(), engine, move |engine| {
            set_post(replace);
            compilers.work(engine);
        });
        started.map(drop)
    }

    /// Runs queued tasks until none is left, or until this thread has been replaced.
    fn work(&self, engine: &Engine) {
        let before = is_replaced();
        while is_replaced() == before {
            let mut waiting = lock(&self.0);
            let Some(task) = waiting.tasks.pop_front() else {
                waiting.threads -= 1;
                return;
            };
            drop(waiting);
            let task = AssertUnwindSafe(|| task(engine));
            if let Err(payload) = catch_unwind(task) {
                drop_payload(payload);
                report!(Error, "a waker panicked when a kernel was compiled");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::context::Context;
    use crate::record::cpu::cpu_recorder::SimulatorOptions;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Barrier, mpsc};

    #[test]
    fn four_threads_run_all_tasks_and_survive_a_panic() {
        let ctx = Context::simulated(SimulatorOptions::default());
        let now = AtomicUsize::new(0);
        let most = AtomicUsize::new(0);
        let together = Barrier::new(MOST_COMPILER_THREADS);
        let counts = Arc::new((now, most, together));
        let (done, all_done) = mpsc::channel();
        for number in 0..5 * MOST_COMPILER_THREADS {
            let counts = counts.clone();
            let done = done.clone();
            let task = move |_: &Engine| {
                let (now, most, together) = &*counts;
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                together.wait(); // the barrier opens for exactly `MOST_COMPILER_THREADS` tasks
                now.fetch_sub(1, Ordering::SeqCst);
                together.wait();
                done.send(number).expect("the test receives");
                assert!(number % MOST_COMPILER_THREADS != 0, "on purpose");
            };
            ctx.owner.compilers().add(ctx.owner.threads(), ctx.owner.engine(), Box::new(task));
        }
        drop(done);
        let mut done: Vec<_> = all_done.iter().collect();
        done.sort_unstable();
        assert_eq!(done, (0..5 * MOST_COMPILER_THREADS).collect::<Vec<_>>());
        assert_eq!(counts.1.load(Ordering::SeqCst), MOST_COMPILER_THREADS);
    }
}
