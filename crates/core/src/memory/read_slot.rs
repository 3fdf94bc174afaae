//! The state of a read: where its bytes are, and, if they are messages, which launch wrote them.

use fencepost_kernels::Messages;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Lost, Seq};
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// The state of one read. The scheduler decides where the bytes go, and the thread that waits for the read fetches them
/// from there.
#[derive(Default)]
pub(crate) struct ReadSlot {
    state: Mutex<ReadState>,
    /// Batch that saves the bytes to staging memory, if it is later than the batch of the read.
    saving_batch: Mutex<Option<Seq>>,
    /// Ranges of the block that were copied out before a writer overwrote them, each with its own slot.
    parts: Mutex<ReadParts>,
    /// Launch that wrote the bytes, if they are messages of a kernel.
    messages: Option<Arc<MessageSource>>,
}

/// Ranges of a block, each with the slot of a read of that range.
pub(crate) type ReadParts = Vec<(Range<u64>, Arc<ReadSlot>)>;

/// Staging memory that a recorder has copied the bytes of a read to.
pub(crate) trait Readback: Send + Sync {
    /// Copies the bytes into `out`. May be called only after the batch that fills the memory is complete.
    ///
    /// # Errors
    /// Returns `Lost` if the bytes are lost with their device.
    fn copy_out(&self, out: &mut [u8]) -> Result<(), Lost>;
}

/// Where the bytes of a read are.
#[derive(Clone, Default)]
pub(crate) enum ReadState {
    /// The read is not planned yet.
    #[default]
    Queued,
    /// The read is lazy: the bytes stay in the block until a writer is planned, except the parts that were already
    /// saved.
    Lazy,
    /// A copy to staging memory is planned. The recorder will replace this state by `Staged`.
    Staging,
    /// The bytes are in this staging memory once the batch that fills it is complete.
    Staged(Arc<dyn Readback>),
    /// The pending read was dropped, so nothing copies the bytes.
    Dropped,
    /// The host has saved these bytes before it wrote to the block.
    Taken(Arc<[u8]>),
}

impl ReadSlot {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Returns the slot of a read of messages. Such a read copies the bytes to staging memory on every device.
    pub(crate) fn of_messages(source: Arc<MessageSource>) -> Arc<Self> {
        Arc::new(Self { messages: Some(source), ..Self::default() })
    }

    /// Returns the launch that wrote the bytes, if they are messages.
    pub(crate) fn messages(&self) -> Option<&Arc<MessageSource>> {
        self.messages.as_ref()
    }

    pub(crate) fn state(&self) -> ReadState {
        lock(&self.state).clone()
    }

    pub(crate) fn saving_batch(&self) -> Option<Seq> {
        *lock(&self.saving_batch)
    }

    /// Records that batch `seq` saves the bytes, because a later writer is planned.
    pub(crate) fn save_in(&self, seq: Seq) {
        *lock(&self.saving_batch) = Some(seq);
        self.set(ReadState::Staging);
    }

    /// Returns a new slot for the bytes `range` of the block, which are saved separately from the rest.
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

    /// Replaces `Staged` by `Staging`. The submission that staged the bytes was refused, so they are not there.
    pub(crate) fn unstage(&self) {
        let mut state = lock(&self.state);
        if matches!(*state, ReadState::Staged(_)) {
            *state = ReadState::Staging;
        }
    }

    /// Marks a read that no batch has copied yet as dropped, so that no batch copies it.
    pub(crate) fn drop_queued(&self) {
        let mut state = lock(&self.state);
        if matches!(*state, ReadState::Queued) {
            *state = ReadState::Dropped;
        }
    }

    pub(crate) fn set(&self, state: ReadState) {
        *lock(&self.state) = state;
    }
}

/// The launch whose messages a read copies to the host.
pub(crate) struct MessageSource {
    pub(crate) kernel: Arc<str>,
    /// Source line of the launch.
    pub(crate) launch: &'static Location<'static>,
    pub(crate) messages: Messages,
}
