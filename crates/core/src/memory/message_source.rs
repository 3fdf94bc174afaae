//! The origin of the messages in a message buffer.

use fencepost_kernels::Messages;
use std::panic::Location;
use std::sync::Arc;

/// The launch whose messages a read copies to the host.
pub(crate) struct MessageSource {
    pub(crate) kernel: Arc<str>,
    /// Line of the launch.
    pub(crate) launch: &'static Location<'static>,
    pub(crate) messages: Messages,
}
