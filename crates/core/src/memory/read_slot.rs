//! Where the bytes of a read are to be found.
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Lost, Seq};
use std::ops::Range;
use std::sync::Arc;

/// One read on its way. The scheduler decides where its bytes end up; whoever waits for it fetches them there.
pub(crate) struct ReadSlot {
    place: Mutex<ReadState>,
    /// The batch that copies the bytes to staging memory, if it is a later one than the read's own.
    late: Mutex<Option<Seq>>,
    /// Bytes that were saved before a writer came, each range of the block with a slot of its own.
    parts: Mutex<ReadParts>,
}

/// Ranges of a block and where a read of them is.
pub(crate) type ReadParts = Vec<(Range<u64>, Arc<ReadSlot>)>;

/// Staging memory that a recorder copied the bytes of a read to.
pub(crate) trait Readback: Send + Sync {
    /// Copies the bytes out. Only after the batch that filled the memory is complete.
    ///
    /// # Errors
    /// `Lost` if they are gone with their device.
    fn copy_out(&self, out: &mut [u8]) -> Result<(), Lost>;
}

/// Where a read is.
#[derive(Clone, Default)]
pub(crate) enum ReadState {
    /// Not planned yet.
    #[default]
    Queued,
    /// In the block itself, as long as nobody writes there, but for the parts that were saved.
    Lazy,
    /// A copy to staging memory is planned; a recorder will say where.
    Staging,
    /// In staging memory, once the batch that filled it is complete.
    Staged(Arc<dyn Readback>),
    /// Nobody wants them.
    Dropped,
    /// The host took them before it wrote there.
    Taken(Arc<[u8]>),
}

impl ReadSlot {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { place: Mutex::default(), late: Mutex::default(), parts: Mutex::default() })
    }

    pub(crate) fn place(&self) -> ReadState {
        lock(&self.place).clone()
    }

    pub(crate) fn late(&self) -> Option<Seq> {
        *lock(&self.late)
    }

    /// Notes that a later writer is planned: batch `seq` saves the bytes first.
    pub(crate) fn save_in(&self, seq: Seq) {
        *lock(&self.late) = Some(seq);
        self.set(ReadState::Staging);
    }

    /// A slot for bytes `range` of the block: they end up elsewhere than the rest.
    pub(crate) fn part(&self, range: Range<u64>) -> Arc<Self> {
        let part = Self::new();
        lock(&self.parts).push((range, part.clone()));
        part
    }

    pub(crate) fn parts(&self) -> ReadParts {
        lock(&self.parts).clone()
    }

    /// Whether `other` is this read or a part of it.
    pub(crate) fn owns(&self, other: &Arc<Self>) -> bool {
        std::ptr::eq(self, Arc::as_ptr(other)) || lock(&self.parts).iter().any(|(_, part)| part.owns(other))
    }

    /// The staging memory of a submission that was not made has nothing.
    pub(crate) fn unstage(&self) {
        let mut place = lock(&self.place);
        if matches!(*place, ReadState::Staged(_)) {
            *place = ReadState::Staging;
        }
    }

    pub(crate) fn set(&self, place: ReadState) {
        *lock(&self.place) = place;
    }
}
