//! What can go wrong with waiting.

/// The device is gone, and with it everything that was still to come.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the device was lost: {reason}")]
pub struct Lost {
    /// What the driver, or whoever gave the device up, said.
    pub reason: String,
}

/// What can go wrong with a late result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The result was handed out by an earlier wait or poll.
    #[error("the pending result was taken already by an earlier wait")]
    Taken,
    /// A blocking wait on a target that may not block.
    #[error("a blocking wait is not possible in the browser; `.await` the pending result instead")]
    WouldBlock,
    /// A native fence could not be made.
    #[error("no native fence on this device: {reason}")]
    Fence {
        /// What the driver said.
        reason: String,
    },
}
