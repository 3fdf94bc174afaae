//! Staged bytes: the user's bytes for the device, and the device's bytes for the user.

use crate::error::Result;
use crate::memory::byte_meter::MeteredVec;
use crate::memory::staging::StagingPiece;
use crate::memory::wgpu_memory::{WgpuMemory, refused};
use fencepost_sync::backend::Fence;
use fencepost_sync::{Lost, TimelineValue};
use std::sync::{Arc, OnceLock};

/// Bytes that were copied from user memory when a call was made.
pub(crate) enum Staged {
    /// The bytes are in ordinary memory, and the recorder copies them to the device.
    Host(MeteredVec),
    /// The bytes are in memory from which the device copies.
    Wgpu(Arc<StagingPiece<WgpuMemory>>),
}

/// The bytes of an upload.
pub(crate) enum Payload {
    Here(Staged),
    /// A graph keeps the bytes, because each replay copies them again.
    Kept(Arc<KeptBytes>),
    /// The bytes are set before the upload is submitted.
    Later(Arc<OnceLock<Staged>>),
    /// Each replay of a graph copies the bytes from user memory when it is enqueued. The replay holds them.
    PerReplay(Arc<dyn ReplaySource>),
}

/// User memory that each replay of a graph uploads.
pub(crate) trait ReplaySource: Send + Sync {
    /// Returns the name of the memory for messages.
    fn label(&self) -> &str;

    /// Counts the bytes of the upload.
    fn size(&self) -> u64;

    /// Copies the present bytes to the start of `to`, which has at least as many bytes.
    fn copy_to(&self, to: &mut [u8]);
}

/// The bytes of a captured upload.
pub(crate) struct KeptBytes {
    staged: Staged,
    /// The same bytes in ordinary memory, for a copy of the graph in a file.
    pub(crate) bytes: Arc<[u8]>,
}

impl KeptBytes {
    pub(crate) fn new(staged: Staged, bytes: &[u8]) -> Arc<Self> {
        Arc::new(Self { staged, bytes: bytes.into() })
    }
}

impl Payload {
    /// Returns the bytes of an upload that is being submitted.
    pub(crate) fn staged(&self) -> &Staged {
        match self {
            Payload::Here(staged) => staged,
            Payload::Kept(kept) => &kept.staged,
            Payload::Later(staged) => {
                staged.get().expect("bug: an upload is submitted before its bytes are set")
            }
            Payload::PerReplay(_) => unreachable!("bug: a replay holds the bytes of the upload"),
        }
    }
}

impl StagingPiece<WgpuMemory> {
    /// Calls `fill` to write the bytes. Memory that does not stay mapped is mapped for this call, and the caller has
    /// then entered the device's gate.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(crate) fn fill(&mut self, fill: &mut dyn FnMut(&mut [u8])) -> Result<()> {
        let (memory, claim) = self.claim_mut();
        match (memory.view(), memory.native()) {
            (Some(view), _) => fill(view.claimed_mut(claim)),
            (None, Some(native)) => {
                let filled = native.write_piece(claim, fill);
                filled.map_err(|error| refused(&error, "upload staging", 0))?;
            }
            (None, None) => unreachable!("bug: staging memory without native memory"),
        }
        Ok(())
    }

    /// Calls `read` with the bytes that the submission with the timeline value `value` has written. The caller has
    /// waited for that submission. If the memory does not stay mapped, the call waits for the device's gate on GL.
    ///
    /// # Errors
    /// Returns `Lost` if the device is lost.
    pub(crate) fn read(
        &self,
        fence: &dyn Fence,
        value: TimelineValue,
        read: &mut dyn FnMut(&[u8]),
    ) -> std::result::Result<(), Lost> {
        let (memory, claim) = self.claim();
        let Some(native) = memory.native() else { unreachable!("bug: staging memory without native memory") };
        let lost = |reason: &dyn std::fmt::Display| Lost { reason: reason.to_string() };
        if let Some(view) = memory.view() {
            let bytes = view.claimed(claim, fence, value)?;
            return bytes.map(read).ok_or_else(|| lost(&"bug: a read of bytes that are not written yet"));
        }
        let _inside = memory.gate().enter();
        native.read_piece(claim, (fence, value), read).map_err(|error| lost(&error))
    }

    /// Returns the bytes if the backend is GL, whose maps wait for the submissions before them. Returns `None` on other
    /// backends, and if the driver refuses the map.
    #[cfg(native)]
    pub(crate) fn fetch_on_gl(&self) -> Option<Box<[u8]>> {
        let (memory, claim) = self.claim();
        let _inside = memory.gate().enter()?;
        let mut fetched = None;
        memory.native()?.read_waiting(claim, &mut |bytes| fetched = Some(bytes.into())).ok()?;
        fetched
    }
}
