//! A point in the work of a captured queue.

use crate::error::{Error, Kind};
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// A point of a capture: the end of a captured queue at the time of a marker.
#[derive(Clone)]
pub(crate) struct CapturedPoint {
    /// Number of the capture.
    pub(crate) tape: u64,
    pub(crate) queue: Arc<str>,
    /// Nodes that the point comes after.
    pub(crate) after: SmallVec<[u32; 2]>,
    /// For each captured queue, the number of its nodes that the point comes after.
    pub(crate) clock: Vec<u32>,
    /// Node whose time is the time of the point, if the point is timed.
    pub(crate) time: Option<u32>,
    pub(crate) fault: CaptureFault,
}

impl CapturedPoint {
    /// Returns the error of a host call that needs the point to complete, and makes the capture fail with it.
    #[cold]
    pub(crate) fn refuse(&self, call: &'static str, at: &'static Location<'static>) -> Error {
        let remedy = "a captured command runs in each replay: wait for the event of the replay, which `replay` returns, or for the marker's event in it, which `Replay::event_of` returns";
        let queue = self.queue.to_string();
        self.fault.raise(Kind::Captured { call, queue, location: at, remedy }.into())
    }
}

/// First error of a capture, which the capture returns even if the program drops the result of the call.
#[derive(Clone, Default)]
pub(crate) struct CaptureFault(Arc<OnceLock<Error>>);

impl CaptureFault {
    /// Records an error, unless an earlier one is recorded. Returns the error.
    pub(crate) fn raise(&self, error: Error) -> Error {
        self.0.get_or_init(|| error.clone());
        error
    }

    pub(crate) fn get(&self) -> Option<Error> {
        self.0.get().cloned()
    }
}
