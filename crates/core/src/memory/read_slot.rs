//! The state of a read: the place of its bytes. If the bytes are messages, also the launch that wrote them.

use fencepost_kernels::Messages;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Lost, Seq};
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// The state of one read. The scheduler decides where the bytes of the read are placed, and the thread that waits for
/// the read fetches them from there.
#[derive(Default)]
pub(crate) struct ReadSlot {
    place: Mutex<ReadState>,
    /// Number of the batch that copies the bytes to staging memory, if that batch is later than the batch of the read.
    late: Mutex<Option<Seq>>,
    /// Ranges of the block that were copied out before a writer overwrote them, each with its own slot.
    parts: Mutex<ReadParts>,
    /// Launch of the bytes, if they are messages of a kernel.
    messages: Option<Arc<MessageSource>>,
}

/// Ranges of a block, each with the slot of a read of the range.
pub(crate) type ReadParts = Vec<(Range<u64>, Arc<ReadSlot>)>;

/// Staging memory to which a recorder copied the bytes of a read.
pub(crate) trait Readback: Send + Sync {
    /// Copies the bytes into `out`. The caller calls this only after the batch that filled the memory is complete.
    ///
    /// # Errors
    /// Returns `Lost` if the bytes are lost with their device.
    fn copy_out(&self, out: &mut [u8]) -> Result<(), Lost>;
}

/// The place of the bytes of a read.
#[derive(Clone, Default)]
pub(crate) enum ReadState {
    /// The read is not planned yet.
    #[default]
    Queued,
    /// The read is lazy: the bytes are in the block itself until a writer is planned, except the parts that were copied
    /// out.
    Lazy,
    /// A copy to staging memory is planned. The recorder replaces this state with `Staged`.
    Staging,
    /// The bytes are in this staging memory as soon as the batch that fills the memory is complete.
    Staged(Arc<dyn Readback>),
    /// The pending read was dropped, and nothing copies the bytes.
    Dropped,
    /// The host copied the bytes out before a write of the host to the block.
    Taken(Arc<[u8]>),
}

impl ReadSlot {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Returns the slot of a read of messages, which copies the bytes to staging memory on every device.
    pub(crate) fn of_messages(source: Arc<MessageSource>) -> Arc<Self> {
        Arc::new(Self { messages: Some(source), ..Self::default() })
    }

    /// Returns the launch of the bytes, if they are messages.
    pub(crate) fn messages(&self) -> Option<&Arc<MessageSource>> {
        self.messages.as_ref()
    }

    pub(crate) fn place(&self) -> ReadState {
        lock(&self.place).clone()
    }

    pub(crate) fn late(&self) -> Option<Seq> {
        *lock(&self.late)
    }

    /// Records that batch `seq` copies the bytes out, because a later writer is planned.
    pub(crate) fn save_in(&self, seq: Seq) {
        *lock(&self.late) = Some(seq);
        self.set(ReadState::Staging);
    }

    /// Returns a new slot for the bytes `range` of the block, which are copied out separately from the rest.
    pub(crate) fn part(&self, range: Range<u64>) -> Arc<Self> {
        let part = Self::new();
        lock(&self.parts).push((range, part.clone()));
        part
    }

    pub(crate) fn parts(&self) -> ReadParts {
        lock(&self.parts).clone()
    }

    /// Returns `true` if `other` is this read or a part of it.
    pub(crate) fn owns(&self, other: &Arc<Self>) -> bool {
        std::ptr::eq(self, Arc::as_ptr(other)) || lock(&self.parts).iter().any(|(_, part)| part.owns(other))
    }

    /// Replaces `Staged` by `Staging`. The submission that set the place was refused, so its staging memory has no
    /// bytes.
    pub(crate) fn unstage(&self) {
        let mut place = lock(&self.place);
        if matches!(*place, ReadState::Staged(_)) {
            *place = ReadState::Staging;
        }
    }

    /// Marks a read that no batch has copied yet as dropped, so that no batch copies it.
    pub(crate) fn drop_queued(&self) {
        let mut place = lock(&self.place);
        if matches!(*place, ReadState::Queued) {
            *place = ReadState::Dropped;
        }
    }

    pub(crate) fn set(&self, place: ReadState) {
        *lock(&self.place) = place;
    }
}

/// The launch whose messages a read copies to the host.
pub(crate) struct MessageSource {
    pub(crate) kernel: Arc<str>,
    /// Line of the launch.
    pub(crate) launch: &'static Location<'static>,
    pub(crate) messages: Messages,
}
