//! Bytes of the program on their way to the device, and bytes of the device on their way to the program.

use crate::error::Result;
use crate::memory::byte_meter::MeteredVec;
use crate::memory::staging::StagingPiece;
use crate::memory::wgpu_memory::{WgpuMemory, refused};
use fencepost_sync::backend::Fence;
use fencepost_sync::{Lost, Value};
use std::sync::{Arc, OnceLock};

/// Bytes that were copied from the program when a call was made.
pub(crate) enum Staged {
    /// On the heap: the recorder moves them on.
    Host(MeteredVec),
    /// In memory that the device copies from.
    Wgpu(Arc<StagingPiece<WgpuMemory>>),
}

/// What an upload moves.
pub(crate) enum Payload {
    Here(Staged),
    /// There by the time that the upload is submitted.
    Later(Arc<OnceLock<Staged>>),
}

impl Payload {
    /// The bytes of an upload that is submitted.
    pub(crate) fn staged(&self) -> &Staged {
        match self {
            Payload::Here(staged) => staged,
            Payload::Later(staged) => {
                staged.get().expect("bug: an upload is submitted before its bytes are there")
            }
        }
    }
}

impl StagingPiece<WgpuMemory> {
    /// Has `fill` write the bytes. Memory that is not mapped for good is mapped for that moment: only for who is inside
    /// the device's gate.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn fill(&mut self, fill: &mut dyn FnMut(&mut [u8])) -> Result<()> {
        let (memory, claim) = self.claim_mut();
        match (memory.view(), memory.native()) {
            (Some(view), _) => fill(view.claimed_mut(claim)),
            (None, Some(native)) => {
                let filled = native.write_piece(claim, fill);
                filled.map_err(|error| refused(&error, "upload staging", 0))?;
            }
            (None, None) => unreachable!("bug: staging memory of wgpu's own"),
        }
        Ok(())
    }

    /// Has `read` look at the bytes that the submission of `value` has written, which is complete. Waits for a turn
    /// where calls take turns.
    ///
    /// # Errors
    /// `Lost` if the device is gone.
    pub(crate) fn read(
        &self,
        fence: &dyn Fence,
        value: Value,
        read: &mut dyn FnMut(&[u8]),
    ) -> std::result::Result<(), Lost> {
        let (memory, claim) = self.claim();
        let Some(native) = memory.native() else { unreachable!("bug: staging memory of wgpu's own") };
        let lost = |reason: &dyn std::fmt::Display| Lost { reason: reason.to_string() };
        if let Some(view) = memory.view() {
            let bytes = view.claimed(claim, fence, value)?;
            return bytes.map(read).ok_or_else(|| lost(&"bug: a read of what is not written yet"));
        }
        let _inside = memory.gate().enter();
        native.read_piece(claim, (fence, value), read).map_err(|error| lost(&error))
    }
}
