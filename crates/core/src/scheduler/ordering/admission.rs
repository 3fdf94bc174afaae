//! A command that asks to be enqueued.

use crate::error::site::CommandKind;
use fencepost_sync::Slot;
use std::panic::Location;

/// A command that asks to be let in.
#[derive(Clone, Copy)]
pub(crate) struct Admission {
    pub(crate) slot: Slot,
    pub(crate) what: CommandKind,
    pub(crate) at: &'static Location<'static>,
}
