//! Made-up profiles for tests.

use crate::profile::Profile;
use crate::profile::row::{Activity, Awaited, Interval, Row, Unmeasured, WaitCause};
use std::panic::Location;

/// Returns a profile of rows that were all enqueued at 0. The label of a queue ends in its number.
pub(crate) fn profile(rows: Vec<Row>) -> Profile {
    let batches = Vec::new();
    Profile { adapter: "made up".into(), rows, batches, seconds: 10.0, clock_error: Some(0.0) }
}

#[track_caller]
pub(crate) fn row(queue: usize, activity: Activity, name: &str, times: (f64, f64)) -> Row {
    Row {
        queue: format!("queue {queue}").into(),
        by_context: false,
        queue_number: queue,
        lane: 0,
        activity,
        name: name.into(),
        bytes: None,
        location: Location::caller(),
        enqueued: 0.0,
        submitted: None,
        batch: None,
        level_peers: 0,
        time: Ok(Interval { start: times.0, end: times.1 }),
        awaited: None,
    }
}

pub(crate) fn unmeasured(row: Row) -> Row {
    Row { time: Err(Unmeasured::TooShort), ..row }
}

/// Returns a wait for the row with the index `awaited`.
#[track_caller]
pub(crate) fn wait(queue: usize, awaited: Option<usize>, times: (f64, f64)) -> Row {
    let awaited = Awaited { label: None, row: awaited, cause: WaitCause::Queue };
    Row { awaited: Some(awaited), ..row(queue, Activity::Wait, "wait", times) }
}
