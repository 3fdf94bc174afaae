//! Starting and finishing a profile.

use crate::api::context::Context;
use crate::api::profile_report as report;
use crate::api::profile_report::NotesReader;
use crate::error::{Kind, Result};
use crate::profile::Profile;
use crate::runtime::pending::{Pending, block};
use fencepost_sync::{Late, Point};
use std::task::Poll;
use std::time::Duration;
use web_time::Instant;

/// A recorder of everything that is enqueued on the queues of a context, from [`Context::profile`] until the profiler
/// is finished or dropped.
#[must_use = "a profiler that is dropped at once records nothing"]
pub struct Profiler {
    notes: NotesReader,
    /// Is true until the profiler is finished.
    running: bool,
}

/// The notes of a finished profiler, which are complete once the queues have reached `points`.
struct Finishing {
    notes: NotesReader,
    upto: usize,
    seconds: f64,
    points: Vec<Point>,
    /// Is true once the second sample of the device's clock is enqueued.
    looked: bool,
}

impl Context {
    /// Starts to record everything that is enqueued on the queues of this context, until the profiler is finished. All
    /// queues are timed meanwhile, with or without `timing` in their options. Two profilers at once share the notes of
    /// the context. Each command needs a note of a few hundred bytes until then. Without a profiler nothing is
    /// recorded, at no cost.
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
    /// *Flushes* all queues, and returns the profile once everything enqueued so far is complete. Later commands are
    /// not in the profile.
    ///
    /// # Errors
    /// [`Kind::DeviceLost`]. Failed work is in the profile, without times.
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
    /// Returns the next point that a queue must reach. After the last one, a second sample of the device's clock is
    /// enqueued, as at the start.
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

/// Returns `Ok` if a wait has ended: failed work has ended too. A lost device, and a wait that can never end, are
/// errors.
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
        block(limit, |deadline| {
            while let Some(point) = self.next() {
                match self.notes.engine().wait(point, deadline) {
                    Ok(false) => return Ok(None),
                    result => over(result.map(|_| ()))?,
                }
                self.points.pop();
            }
            self.report().map(Some)
        })
    }
}
