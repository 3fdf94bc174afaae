//! Starting and finishing a profile.

use crate::api::context::Context;
use crate::api::profile_report as report;
use crate::api::profile_report::NotesReader;
use crate::error::{Kind, Result};
use crate::runtime::pending::{Pending, WakerRegistration};
use crate::runtime::wait_mode::{LateSteps, WaitMode, late};
use fencepost_profile::Profile;
use fencepost_sync::Point;
use web_time::Instant;

/// A recorder of everything that is enqueued on the queues of a context, from [`Context::profile`] until the profiler
/// is finished or dropped.
#[must_use = "a profiler that is dropped at once records nothing"]
pub struct Profiler {
    /// `None` once the profiler is finished.
    notes: Option<NotesReader>,
}

/// The notes of a finished profiler, which are complete once the queues have reached `points`.
struct Finishing {
    registration: WakerRegistration,
    notes: NotesReader,
    /// Number of notes at the call of `finish`: the profile has no later ones.
    upto: usize,
    seconds: f64,
    points: Vec<Point>,
}

impl Context {
    /// Starts to record everything that is enqueued on the queues of this context, until the profiler is finished. All
    /// queues are timed meanwhile, with or without `timing` in their options. Each command needs a note of a few
    /// hundred bytes until the profile is made. Two profilers at once share the notes of the context. Without a
    /// profiler nothing is recorded, at no cost.
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
        Profiler { notes: Some(NotesReader { owner, epoch, from, looks }) }
    }
}

impl Profiler {
    /// *Flushes* all queues, and returns the profile once everything enqueued so far is complete. Later commands are
    /// not in the profile.
    ///
    /// # Errors
    /// [`Kind::DeviceLost`]. Failed work is in the profile, without times.
    pub fn finish(mut self) -> Pending<Profile> {
        let mut notes = self.notes.take().expect("bug: a profiler is finished twice");
        let (upto, mut points) = notes.engine().stop_notes();
        let seconds = notes.epoch.elapsed().as_secs_f64();
        // The first sample of the device's clock was taken at the start. The two show how the clocks drift apart.
        if let Some((point, look)) = notes.engine().sample_clock_behind(&points) {
            notes.looks.push(look);
            points.push(point);
        }
        late(Finishing { registration: WakerRegistration::default(), notes, upto, seconds, points })
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        if let Some(notes) = &self.notes {
            notes.engine().stop_notes();
        }
    }
}

impl Finishing {
    fn report(&self) -> Result<Profile> {
        let engine = self.notes.engine();
        engine.lock().lost()?;
        let notes = engine.notes(self.notes.from, self.upto);
        Ok(report::of(engine, &self.notes, &notes, self.seconds))
    }
}

/// Returns `Ok` if the awaited work has ended, even if the work has failed. A lost device, and a wait that can never
/// end, are errors.
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

impl LateSteps<Profile> for Finishing {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<Profile>> {
        while let Some(&point) = self.points.last() {
            let result = mode.for_point(self.notes.engine(), point, &mut self.registration)?;
            if let Err(error) = over(result) {
                return Some(Err(error));
            }
            self.points.pop();
        }
        Some(self.report())
    }
}
