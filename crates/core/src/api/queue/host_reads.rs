//! Reads by the host during a capture.

use crate::api::queue::transfer::ArrayOps;
use crate::error::Result;
use crate::error::site::CommandKind;
use crate::memory::block::Block;
use crate::runtime::captured_writes::check_host_access;
use std::sync::Arc;

impl ArrayOps<'_> {
    /// Checks that no open capture of this thread writes memory that the host reads. The call of a map has made this
    /// check itself, and a read may follow it later.
    ///
    /// # Errors
    /// Returns `Captured`, which is the error of the capture too.
    pub(crate) fn check_host_read(&self, block: &Arc<Block>) -> Result<()> {
        if self.captured.is_some() || self.by.what == CommandKind::Map {
            return Ok(());
        }
        check_host_access(block.into(), self.by.what.verb(), self.by.at)
    }
}
