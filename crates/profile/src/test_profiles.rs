//! Made-up profiles for tests.

use crate::profile::Profile;
use crate::row::{Activity, Awaited, Interval, Row, Unmeasured, WaitCause};
use std::panic::Location;

/// Returns a profile of rows that were all enqueued at 0. The label of a queue ends in its number.
pub(crate) fn profile(rows: Vec<Row>) -> Profile {
    Profile::new("made up".into(), rows, Vec::new(), 10.0, Some(0.0))
}

#[track_caller]
pub(crate) fn row(queue: usize, activity: Activity, name: &str, times: (f64, f64)) -> Row {
    let mut row = Row::new(format!("queue {queue}").into(), activity, name.into(), Location::caller());
    row.queue_number = queue;
    row.time = Ok(Interval { start: times.0, end: times.1 });
    row
}

pub(crate) fn unmeasured(row: Row) -> Row {
    Row { time: Err(Unmeasured::TooShort), ..row }
}

/// Returns a wait for the row with the index `awaited`.
#[track_caller]
pub(crate) fn wait(queue: usize, awaited: Option<usize>, times: (f64, f64)) -> Row {
    let awaited = Awaited::new(None, awaited, WaitCause::Queue);
    Row { awaited: Some(awaited), ..row(queue, Activity::Wait, "wait", times) }
}
