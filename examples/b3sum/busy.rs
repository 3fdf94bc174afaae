//! How busy a queue was, as far as its events tell.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fencepost::prelude::*;

use super::report::QueueReport;

/// Adds up the time in which a queue had work that nothing held up, on a thread that waits for the queue's events.
///
/// That is from when the work's last prerequisite was over to when it was over itself, as the host learns of both:
/// an upper bound of the time in which the device worked on it. Waiting for events disturbs no queue.
pub(crate) struct Watch {
    name: &'static str,
    jobs: Sender<Job>,
    thread: JoinHandle<Duration>,
}

// A part of a queue's work, which may begin after an event, and all of which another event covers.
struct Job {
    after: Pending<()>,
    done: Pending<()>,
}

impl Watch {
    /// Starts to watch a queue that has nothing to do yet.
    pub(crate) fn start(name: &'static str) -> Self {
        let (jobs, received) = channel();
        Self { name, jobs, thread: std::thread::spawn(move || add_up(received)) }
    }

    /// Watches the next part of the queue's work.
    pub(crate) fn follow(&self, after: &Event, done: &Event) {
        let job = Job { after: after.done(), done: done.done() };
        // The thread is gone only if it panicked, which `stop` reports.
        let _ = self.jobs.send(job);
    }

    /// Waits for the end of the work, and returns how much of the time it took.
    pub(crate) fn stop(self) -> QueueReport {
        drop(self.jobs);
        let busy = self.thread.join().expect("bug: the watch panicked");
        QueueReport { name: self.name, had_work_seconds: busy.as_secs_f64() }
    }
}

fn add_up(jobs: Receiver<Job>) -> Duration {
    let mut busy = Duration::ZERO;
    for Job { after, done } in jobs {
        // Whoever hashes is told of an error; here it only ends a wait.
        let _ = after.wait();
        let start = Instant::now();
        let _ = done.wait();
        busy += start.elapsed();
    }
    busy
}

#[cfg(test)]
mod tests {
    use fencepost::CpuOptions;

    use super::*;

    #[test]
    fn work_counts_only_once_nothing_holds_it_up() {
        let ctx = Context::on_cpu(CpuOptions::default());
        let (held, start, end) = (ctx.user_event("held"), ctx.user_event("start"), ctx.user_event("end"));
        let watch = Watch::start("queue");
        watch.follow(&held.event(), &ctx.event());
        watch.follow(&start.event(), &end.event());
        std::thread::sleep(Duration::from_millis(20));
        let before = Instant::now();
        held.signal();
        start.signal();
        end.signal();
        let busy = watch.stop().had_work_seconds;
        assert!(busy <= before.elapsed().as_secs_f64(), "{busy} s, before anything could begin");
    }
}
