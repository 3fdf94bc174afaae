//! Staging memory between user memory and a device.

use crate::error::Result;
use crate::memory::allocations::{ByteMeter, MeteredBytes, MeteredVec};
use crate::memory::pool::{FreeMemory, is_unshared};
use crate::memory::wgpu_memory::{WgpuMemory, refused};
use fencepost_sync::backend::Fence;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Lost, TimelineValue};
use std::ops::Range;
use std::sync::{Arc, OnceLock, Weak};

/// Alignment of pieces in bytes, so that no two pieces share a cache line.
const PIECE_ALIGNMENT: u64 = 256;

/// Chunks of staging memory. Pieces are cut from a chunk from front to back. A chunk is reused once all its pieces are
/// dropped.
pub(crate) struct Arena<T> {
    /// Size of an ordinary chunk in bytes. A larger piece gets a separate chunk.
    chunk: u64,
    meter: Arc<ByteMeter>,
    open: Mutex<Option<OpenChunk<T>>>,
    free: Arc<FreeMemory<T>>,
}

/// The chunk from which small pieces are cut. The bytes from `used` on are free, and `used <= chunk.size`.
struct OpenChunk<T> {
    chunk: Arc<Chunk<T>>,
    used: u64,
}

/// One allocation of staging memory. When its last piece is dropped, the memory returns to the arena.
struct Chunk<T> {
    size: u64,
    /// `Some` until the drop.
    memory: Option<(MeteredBytes, T)>,
    free: Weak<FreeMemory<T>>,
}

/// Permission to access a range of a chunk. No two claims on one chunk overlap.
pub(crate) struct StagingClaim(Range<u64>);

/// A range of a chunk, reserved until the piece is dropped.
pub(crate) struct StagingPiece<T> {
    chunk: Arc<Chunk<T>>,
    claim: StagingClaim,
}

impl<T> Arena<T> {
    pub(crate) fn new(chunk: u64, cache: u64, meter: &Arc<ByteMeter>) -> Self {
        let free = Arc::new(FreeMemory::new(cache));
        Self { chunk, meter: meter.clone(), open: Mutex::new(None), free }
    }

    /// Returns a piece of at least `size` bytes. `make` makes a new chunk of a given size.
    ///
    /// # Errors
    /// Returns the error of `make`.
    pub(crate) fn take(&self, size: u64, make: impl FnOnce(u64) -> Result<T>) -> Result<StagingPiece<T>> {
        let size = size.max(1).next_multiple_of(PIECE_ALIGNMENT);
        if let Some(piece) = lock(&self.open).as_mut().and_then(|open| open.cut(size)) {
            return Ok(piece);
        }
        let rounded = self.chunk_for(size);
        let (count, memory) = match self.free.take(rounded..=rounded.saturating_mul(2)) {
            Some(free) => free,
            None => {
                let memory = make(rounded)?;
                (self.meter.count(rounded), memory)
            }
        };
        let free = Arc::downgrade(&self.free);
        let chunk = Arc::new(Chunk { size: count.bytes, memory: Some((count, memory)), free });
        if size <= self.chunk / 2 {
            let before = lock(&self.open).replace(OpenChunk { chunk: chunk.clone(), used: size });
            drop(before); // without the lock, because this may free memory of the device
        }
        Ok(StagingPiece { chunk, claim: StagingClaim(0..size) })
    }

    /// Returns the size of the open chunk if it has no pieces, and 0 otherwise.
    pub(crate) fn open(&self) -> u64 {
        lock(&self.open).as_ref().filter(|open| open.has_no_pieces()).map_or(0, |open| open.chunk.size)
    }

    /// Drops the memory that no piece uses, and returns its size in bytes.
    pub(crate) fn trim(&self) -> u64 {
        let open = lock(&self.open).take_if(|open| open.has_no_pieces());
        drop(open); // this makes its memory free
        self.free.drain().1
    }

    /// Returns the chunk size for a piece: its size rounded up in steps of an eighth of a power of two, and at least
    /// that of an ordinary chunk.
    fn chunk_for(&self, size: u64) -> u64 {
        let step = (size.next_power_of_two() / 8).max(PIECE_ALIGNMENT);
        size.next_multiple_of(step).max(self.chunk)
    }
}

impl<T> OpenChunk<T> {
    /// Returns a piece of the chunk, if there is room.
    fn cut(&mut self, size: u64) -> Option<StagingPiece<T>> {
        if self.has_no_pieces() {
            self.used = 0;
        }
        let start = self.used;
        if self.chunk.size - start < size {
            return None;
        }
        self.used += size;
        debug_assert!(self.used <= self.chunk.size, "bug: a piece ends after its chunk");
        Some(StagingPiece { chunk: self.chunk.clone(), claim: StagingClaim(start..start + size) })
    }

    fn has_no_pieces(&self) -> bool {
        is_unshared(&self.chunk)
    }
}

impl<T> StagingPiece<T> {
    /// Returns the memory of the chunk.
    pub(crate) fn memory(&self) -> &T {
        self.chunk.memory()
    }

    /// Returns the offset of the piece in the memory of the chunk.
    pub(crate) fn offset(&self) -> u64 {
        self.claim.range().start
    }

    /// Returns the memory of the chunk, and the claim of this piece to its range.
    pub(crate) fn claim(&self) -> (&T, &StagingClaim) {
        (self.memory(), &self.claim)
    }

    /// Returns the memory and the claim for a caller with exclusive access to the piece.
    pub(crate) fn claim_mut(&mut self) -> (&T, &mut StagingClaim) {
        (self.chunk.memory(), &mut self.claim)
    }
}

impl StagingClaim {
    /// Returns the range in the chunk.
    pub(crate) fn range(&self) -> Range<u64> {
        self.0.clone()
    }
}

impl<T> Chunk<T> {
    fn memory(&self) -> &T {
        &self.memory.as_ref().expect("bug: a chunk was dropped before its pieces").1
    }
}

impl<T> Drop for Chunk<T> {
    fn drop(&mut self) {
        if let (Some(free), Some((count, memory))) = (self.free.upgrade(), self.memory.take()) {
            drop(free.keep(count, memory));
        }
    }
}

/// Bytes that were copied from user memory during a call.
pub(crate) enum Staged {
    /// The bytes are in ordinary memory, and the recorder copies them to the device.
    Host(MeteredVec),
    /// The bytes are in memory from which the device copies.
    Wgpu(Arc<StagingPiece<WgpuMemory>>),
}

/// The bytes of an upload.
pub(crate) enum Payload {
    Here(Staged),
    /// Bytes that a graph keeps, because each replay copies them again.
    Kept(Arc<KeptBytes>),
    /// Bytes that are set before the upload is submitted.
    Later(Arc<OnceLock<Staged>>),
    /// Bytes that each replay of a graph copies from user memory when it is enqueued. The replay holds them.
    PerReplay(Arc<dyn ReplaySource>),
}

/// User memory that each replay of a graph uploads.
pub(crate) trait ReplaySource: Send + Sync {
    /// Returns the name of the memory for messages.
    fn label(&self) -> &str;

    /// Returns the size of the upload in bytes.
    fn size(&self) -> u64;

    /// Copies the current bytes to the start of `to`, which has at least that size.
    ///
    /// # Errors
    /// `OpenGuard` while the program may change the bytes.
    fn copy_to(&self, to: &mut [u8]) -> Result<()>;
}

/// The bytes of a captured upload.
pub(crate) struct KeptBytes {
    staged: Staged,
    /// The same bytes in ordinary memory, for saving the graph to a file.
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
    /// Calls `fill` to write the bytes. If the memory does not stay mapped, it is mapped just for this call, and the
    /// caller must have entered the device's gate.
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

    /// Calls `read` with the bytes that the submission with the timeline value `value` has written. The caller must
    /// have waited for that submission. If the memory does not stay mapped, the call waits for the device's gate on GL.
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

    /// Returns the bytes on GL, where a map waits for earlier submissions. Returns `None` on other backends, and if the
    /// driver refuses the map.
    #[cfg(native)]
    pub(crate) fn fetch_on_gl(&self) -> Option<Box<[u8]>> {
        let (memory, claim) = self.claim();
        let _inside = memory.gate().enter()?;
        let mut fetched = None;
        memory.native()?.read_waiting(claim, &mut |bytes| fetched = Some(bytes.into())).ok()?;
        fetched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const KIB: u64 = 1024;

    fn arena() -> (Arena<u32>, Cell<u32>) {
        (Arena::new(64 * KIB, 256 * KIB, &Arc::default()), Cell::new(0))
    }

    fn take(arena: &Arena<u32>, made: &Cell<u32>, size: u64) -> StagingPiece<u32> {
        let make = |_| {
            made.set(made.get() + 1);
            Ok(made.get())
        };
        arena.take(size, make).expect("making a chunk cannot fail here")
    }

    #[test]
    fn pieces_of_one_chunk_do_not_overlap() {
        let (arena, made) = arena();
        let pieces: Vec<_> = (0..64).map(|_| take(&arena, &made, 300)).collect();
        assert_eq!(made.get(), 1);
        for pair in pieces.windows(2) {
            assert!(pair[0].claim.0.end <= pair[1].claim.0.start);
        }
    }

    #[test]
    fn a_chunk_is_reused_only_after_its_last_piece_is_dropped() {
        let (arena, made) = arena();
        let first = take(&arena, &made, 48 * KIB);
        let second = take(&arena, &made, 48 * KIB);
        assert_ne!(first.memory(), second.memory());
        let kept = *second.memory();
        drop(first);
        let third = take(&arena, &made, 48 * KIB);
        assert_ne!(*third.memory(), kept);
        assert_eq!(made.get(), 2, "the first chunk is used twice");
    }

    #[test]
    fn a_large_piece_has_a_chunk_of_its_own() {
        let (arena, made) = arena();
        let large = take(&arena, &made, 100 * KIB);
        let small = take(&arena, &made, KIB);
        assert_ne!(large.memory(), small.memory());
        assert_eq!(large.chunk.size, 112 * KIB);
    }

    #[test]
    fn the_bytes_kept_for_later_use_are_bounded() {
        let (arena, made) = arena();
        let pieces: Vec<_> = (0..6).map(|_| take(&arena, &made, 64 * KIB)).collect();
        drop(pieces);
        assert_eq!(arena.free.len(), 4);
    }

    #[test]
    fn an_emptied_open_chunk_starts_again_from_its_front() {
        let (arena, made) = arena();
        for _ in 0..1000 {
            assert_eq!(take(&arena, &made, 20 * KIB).offset(), 0);
        }
        assert_eq!(made.get(), 1);
    }
}
