//! A batch becomes calls of a graphics interface, or steps on host bytes.

use crate::error::Error;
use crate::work::step::Step;
use fencepost_sync::Value;
use std::sync::Arc;

/// Records and submits the batches of one lane. Whoever holds the lane's token has it to himself.
pub(crate) trait Recorder: Send {
    /// Encodes `steps` in the order of their levels and submits them as one submission that signals `signal`.
    ///
    /// The device starts it only after the other lanes have passed their values in `waits`; all of those were
    /// submitted before. On failure nothing was submitted.
    fn submit(&mut self, steps: &Arc<Vec<Step>>, waits: &[LaneValue], signal: Value)
    -> Result<Keep, Failure>;
}

/// What must live until the device has passed a submission; dropping it gives the pieces back.
pub(crate) type Keep = Option<Box<dyn KeepAlive>>;

/// Anything that can be kept.
pub(crate) trait KeepAlive: Send {}
impl<T: Send> KeepAlive for T {}

/// A value of another lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneValue {
    pub(crate) lane: usize,
    pub(crate) value: Value,
}

/// Why a batch was not submitted.
pub(crate) struct Failure {
    /// The step that could not be encoded, if it was one.
    pub(crate) step: Option<usize>,
    pub(crate) error: Error,
    /// Whether the device is gone.
    pub(crate) lost: bool,
}
