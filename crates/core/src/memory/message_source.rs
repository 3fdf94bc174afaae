//! The origin of the messages in a message buffer.

use fencepost_kernels::Messages;
use std::panic::Location;
use std::sync::Arc;

/// Names the launch whose messages a read copies to the host.
pub(crate) struct MessageSource {
    pub(crate) kernel: Arc<str>,
    /// Is the line of the launch.
    pub(crate) launch: &'static Location<'static>,
    pub(crate) messages: Messages,
}
