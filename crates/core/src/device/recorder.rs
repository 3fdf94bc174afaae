//! The contract of a recorder, which turns a batch into calls of a graphics interface or into operations on host bytes.

use crate::error::Error;
use crate::work::step::Step;
use fencepost_sync::{Slot, Stamp, TimelineValue};
use std::sync::Arc;

/// Records and submits the batches of one lane.
///
/// The caller holds the lane's token, so calls for one lane never overlap. Calls for other lanes may run at the same
/// time.
pub(crate) trait Recorder: Send {
    /// Encodes `steps` and submits them as one submission that signals `signal` on the lane's fence.
    ///
    /// The caller guarantees:
    /// - The calling thread does not hold the state lock S.
    /// - `steps` is a whole batch, and the bytes of each upload in it are staged.
    /// - `waits` names values that were submitted on other lanes before this call, at most one for each lane. So no
    ///   cycle of waits exists.
    /// - `signal` is larger than each value that this lane has signalled. The value of a refused call is used again.
    /// - The caller keeps `steps`, and so the blocks and kernels in them, until the fence has passed `signal`. If the
    ///   device is lost first, the caller leaks them.
    /// - After `OutOfMemory` the caller frees memory and may call again with the same arguments.
    ///
    /// The implementer guarantees:
    /// - A step executes after all steps of lower levels. Steps of one level are independent and may execute in any
    ///   order, except that the steps of one stamp execute in the order of `steps`.
    /// - A recorder may ignore the levels and use a weaker order. A step then executes after the earlier steps of its
    ///   queue, the earlier steps of the context's own queue, and the steps in `Step::after`.
    /// - The device starts the submission after the other lanes have passed their values in `waits`, and after the
    ///   earlier submissions of this lane where the steps depend on them.
    /// - The writes of the submission are visible to each later submission.
    /// - For `Work::Read` the slot is set to `ReadState::Staged` before the submission completes. The bytes are valid
    ///   once the fence has passed `signal`.
    /// - For `Work::Start` and `Work::End` the time slot holds the ticks, or their place, once the fence has passed
    ///   `signal`.
    /// - The host sees all writes of the submission once the fence has passed `signal`.
    /// - The device executes the submission at the latest once `Fence::start` or `Fence::wait` is called with `signal`.
    /// - The fence passes `signal` even if no step needs the device.
    ///
    /// # Errors
    /// Returns a [`Failure`] if nothing was submitted. The implementer then keeps no clone of `steps` and signals
    /// nothing. If [`Failure::lost`] is `true`, the submission may have reached the device, so the implementer leaks
    /// the objects that it uses.
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        waits: &[LaneValue],
        signal: TimelineValue,
    ) -> Result<Keep, Failure>;
}

/// Objects that a submission uses besides its steps, such as staging memory and bind groups. The scheduler drops them,
/// without the state lock S, after the fence has passed the submission's value. On a lost device the scheduler leaks
/// them.
pub(crate) type Keep = Option<Box<dyn KeepAlive>>;

/// A type that a submission can keep alive.
pub(crate) trait KeepAlive: Send {}
impl<T: Send> KeepAlive for T {}

/// A value of a lane's fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneValue {
    pub(crate) lane: usize,
    pub(crate) value: TimelineValue,
}

/// A command that the device began to execute and could not finish.
pub(crate) struct ExecutionFailure {
    /// Queue of the command. The queue fails.
    pub(crate) slot: Slot,
    /// Stamp of the command. The device executes no work of the queue from this command on.
    pub(crate) first: Stamp,
    pub(crate) error: Error,
}

/// Reason for a refused batch.
pub(crate) struct Failure {
    /// Index of the step that could not be encoded; `None` if no single step caused the failure.
    pub(crate) step: Option<usize>,
    pub(crate) error: Error,
    /// `true` if the device is lost. The caller then gives up the device and leaks the batch.
    pub(crate) lost: bool,
}
