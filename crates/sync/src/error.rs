//! The errors of waiting.

/// The device was lost, with all incomplete work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the device was lost: {reason}")]
pub struct Lost {
    /// Reason, from the driver or from the code that declared the device lost.
    pub reason: String,
}

/// Errors of a pending result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The result was already returned by an earlier wait or poll.
    #[error("the pending result was taken already by an earlier wait")]
    Taken,
    /// A blocking wait was called on a target that cannot block.
    #[error("a blocking wait is not possible in the browser; `.await` the pending result instead")]
    WouldBlock,
    /// The native fence could not be made.
    #[error("no native fence on this device: {reason}")]
    Fence {
        /// Message of the driver.
        reason: String,
    },
}
