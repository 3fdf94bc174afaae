//! The steps in which a thread's own queue fails and works again after its error is taken.

use super::waits::{Done, Way, Wrong, compare};
use super::worker::Worker;
use fencepost::prelude::*;
use std::panic::resume_unwind;
use std::time::Duration;

impl Worker<'_> {
    /// Makes a queue fail by an abandoned event, or by a callback that panics. Work after the failure is not done.
    /// Other queues continue. The queue works again after its error is taken.
    pub fn fail(&mut self) -> Done {
        let home = self.some_home();
        let urgency = self.rng.i32(-1..=1);
        let lane = self.shared.queue(home, urgency);
        let words = self.some_words(64);
        let mut array = lane.queue.array(&words)?;
        let abandoned = self.rng.bool();
        if abandoned {
            self.abandon(&lane.queue, home)?;
        } else {
            // `resume_unwind` does not call the hook that prints panics.
            lane.queue.callback(|| resume_unwind(Box::new("a panic of the storm's")))?;
        }
        // The queue may have failed before this fill is enqueued.
        let late = lane.queue.fill(&mut array, 7).err();
        let failed = lane.queue.marker();
        self.release();
        self.say(|| "waits for a queue that fails".into());
        let way = self.way();
        let end = lane.queue.finish();
        let end = if matches!(way, Way::Await | Way::Select(_)) { self.awaited(end) } else { end.wait() };
        expect(abandoned, end.err())?;
        if late.is_some() {
            expect(abandoned, late)?;
        }
        expect(abandoned, lane.queue.take_error())?;
        // The wait orders the queue. It does not require success.
        let other = self.lane_at(home);
        other.queue.wait_for(&failed)?;
        let found = other.queue.read(&array).wait()?;
        compare(&found, &words, || "an array that a failed queue did not fill".into())?;
        lane.queue.wait_for(&other.queue)?;
        lane.queue.fill(&mut array, 8)?;
        compare(&lane.queue.read(&array).wait()?, &[8; 64], || "a queue whose error was taken".into())
    }

    /// Makes a queue wait for an event that is never signalled.
    fn abandon(&mut self, queue: &CommandQueue, home: usize) -> Done {
        let event = self.shared.homes[home].ctx.user_event("to be abandoned");
        queue.wait_for(&event.event())?;
        if self.rng.bool() {
            let after = Duration::from_micros(self.rng.u64(..1000));
            self.order_signal(event, after, true);
        }
        Ok(())
    }
}

/// Ignores an error of a planned failure in a wait for all queues of a context. The thread of the failed
/// queue takes that error later.
pub fn unless_planned(result: Result<()>) -> Result<()> {
    result.or_else(|error| match error.detail() {
        ErrorDetail::Abandoned { .. } | ErrorDetail::CallbackPanicked { .. } => Ok(()),
        _ => Err(error),
    })
}

fn expect(abandoned: bool, error: Option<Error>) -> Done {
    let right = error.as_ref().is_some_and(|error| match error.detail() {
        ErrorDetail::Abandoned { .. } => abandoned,
        ErrorDetail::CallbackPanicked { .. } => !abandoned,
        _ => false,
    });
    let reason = if abandoned { "an abandoned event" } else { "a callback's panic" };
    if right { Ok(()) } else { Err(Wrong(format!("{reason} gives {error:?}"))) }
}
