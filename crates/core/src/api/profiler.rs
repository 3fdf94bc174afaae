//! Starting and finishing a profile.

use crate::api::context::Context;
use crate::api::profile_report as report;
use crate::api::profile_report::NotesReader;
use crate::error::{Kind, Result};
use crate::profile::Profile;
use crate::runtime::pending::{Pending, may_block};
use crate::scheduler::deadline::Deadline;
use fencepost_sync::{Late, Point};
use std::task::Poll;
use std::time::Duration;
use web_time::Instant;

/// Notes what every queue of a context does, from [`Context::profile`] until it is finished or dropped.
#[must_use = "dropped at once it notes nothing"]
pub struct Profiler {
    notes: NotesReader,
    /// Whether it still notes.
    running: bool,
}

/// The notes of a profiler, complete once these points are reached.
struct Finishing {
    notes: NotesReader,
    upto: usize,
    seconds: f64,
    points: Vec<Point>,
    /// Whether the clock has been looked at once more.
    looked: bool,
}

impl Context {
    /// Starts to note what every queue of this context does: all that is enqueued from now on, until the profiler is
    /// finished. All queues are timed meanwhile, whether or not they were made with `timing`; two profilers at once have
    /// their parts of the same notes. Every command takes a note of a few hundred bytes until then; without a profiler
    /// nothing is noted, and that costs nothing.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([1024])?;
    /// let profiler = ctx.profile();
    /// queue.fill(&mut x, 7)?;
    /// let profile = profiler.finish().wait()?;
    /// assert_eq!(profile.rows.len(), 1);
    /// assert!(profile.rows[0].time.is_ok());
    /// assert!(profile.summary().to_string().contains("fill"));       // a table by kernel and kind
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn profile(&self) -> Profiler {
        let (owner, epoch) = (self.owner.clone(), Instant::now());
        let engine = owner.engine();
        let from = engine.start_notes();
        let looks = engine.sample_clock().map(|(_, look)| look).into_iter().collect();
        Profiler { notes: NotesReader { owner, epoch, from, looks }, running: true }
    }
}

impl Profiler {
    /// *Flushes* all queues; the profile comes when everything that was enqueued so far is done. What is enqueued from
    /// now on is in no row.
    ///
    /// # Errors
    /// [`Kind::DeviceLost`]. Work that failed is in the profile, without times.
    pub fn finish(mut self) -> Pending<Profile> {
        self.running = false;
        let notes = self.notes.share();
        let (upto, points) = notes.engine().stop_notes();
        let seconds = notes.epoch.elapsed().as_secs_f64();
        Pending::late(Finishing { notes, upto, seconds, points, looked: false })
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        if self.running {
            self.notes.engine().stop_notes();
        }
    }
}

impl Finishing {
    /// The next point that has to be reached. Behind the last one the device looks at its clock, as it did at the start.
    fn next(&mut self) -> Option<Point> {
        if self.points.is_empty() && !std::mem::replace(&mut self.looked, true) {
            let (point, look) = self.notes.engine().sample_clock()?;
            self.notes.looks.push(look);
            self.points.push(point);
        }
        self.points.last().copied()
    }

    fn report(&self) -> Result<Profile> {
        let engine = self.notes.engine();
        engine.lock().lost()?;
        let notes = engine.notes(self.notes.from, self.upto);
        Ok(report::of(engine, &self.notes, &notes, self.seconds))
    }
}

/// Whether a wait ended: work that failed is over, but a lost device and a wait that could never end are errors.
fn over(result: Result<()>) -> Result<()> {
    match result {
        Err(error)
            if matches!(
                error.kind(),
                Kind::DeviceLost { .. } | Kind::WouldDeadlock { .. } | Kind::Pending(_)
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

impl Late<Profile, crate::error::Error> for Finishing {
    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Result<Profile>> {
        while let Some(point) = self.next() {
            match self.notes.engine().poll(point, cx.waker()) {
                None => return Poll::Pending,
                Some(result) => over(result)?,
            }
            self.points.pop();
        }
        Poll::Ready(self.report())
    }

    fn wait(&mut self, limit: Option<Duration>) -> Option<Result<Profile>> {
        if let Err(error) = may_block() {
            return Some(Err(error));
        }
        let deadline = Deadline::after(limit);
        while let Some(point) = self.next() {
            match self.notes.engine().wait(point, deadline) {
                Ok(false) => return None,
                result => {
                    if let Err(error) = over(result.map(|_| ())) {
                        return Some(Err(error));
                    }
                }
            }
            self.points.pop();
        }
        Some(self.report())
    }
}
