//! The threads that compile the kernels of a context.

use crate::runtime::context_threads::ContextThreads;
use crate::scheduler::engine::Engine;
use crate::scheduler::thread_posts::{is_replaced, set_post};
use fencepost_kernels::report;
use fencepost_kernels::report::drop_payload;
use fencepost_sync::prim::{Mutex, lock};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Most threads that compile at once, because a driver's compiler is often parallel itself.
const MOST_COMPILER_THREADS: usize = 4;

/// The compilation of one kernel.
pub(crate) type CompileTask = Box<dyn FnOnce(&Engine) + Send>;

/// A queue of kernels to compile, with its threads. A thread starts when work arrives and ends when no work is left.
#[derive(Clone, Default)]
pub(crate) struct CompilerThreads(Arc<Mutex<CompileQueue>>);

/// Tasks that no thread has started, and the number of threads: `threads <= MOST_COMPILER_THREADS`.
#[derive(Default)]
struct CompileQueue {
    tasks: VecDeque<CompileTask>,
    threads: usize,
}

impl CompilerThreads {
    /// Queues a task for a thread of the context. Tasks start in the order of these calls. If the system refuses a
    /// thread, the calling thread runs the queued tasks.
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

    /// Starts a thread. Before it runs user code that may wait for a kernel, such as a waker, another thread replaces
    /// it.
    fn start(&self, threads: &ContextThreads, engine: &Arc<Engine>) -> io::Result<()> {
        let (compilers, replaced) = (self.clone(), self.clone());
        let threads_again = threads.clone();
        let engine_again = Arc::downgrade(engine);
        let replace = move || {
            let started = engine_again.upgrade().map(|engine| replaced.start(&threads_again, &engine));
            if !matches!(started, Some(Ok(()))) {
                lock(&replaced.0).threads -= 1;
            }
        };
        threads.add("fencepost compiler".into(), engine, move |engine| {
            set_post(replace);
            compilers.work(engine);
        })
    }

    /// Runs queued tasks until none is left, or until a task has another thread replace this one.
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
    use crate::record::cpu::cpu_recorder::CpuOptions;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Barrier, mpsc};

    #[test]
    fn four_threads_run_all_tasks_and_survive_a_panic() {
        let ctx = Context::on_cpu(CpuOptions::default());
        let (now, most, together) =
            (AtomicUsize::new(0), AtomicUsize::new(0), Barrier::new(MOST_COMPILER_THREADS));
        let counts = Arc::new((now, most, together));
        let (done, all_done) = mpsc::channel();
        for number in 0..5 * MOST_COMPILER_THREADS {
            let (counts, done) = (counts.clone(), done.clone());
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
