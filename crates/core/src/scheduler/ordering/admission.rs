//! The origin of a command that is about to be enqueued.

use crate::error::site::CommandKind;
use fencepost_sync::Slot;
use std::panic::Location;

/// Queue, kind and source line of a command that is about to be enqueued.
#[derive(Clone, Copy)]
pub(crate) struct Admission {
    pub(crate) slot: Slot,
    pub(crate) what: CommandKind,
    pub(crate) at: &'static Location<'static>,
}
