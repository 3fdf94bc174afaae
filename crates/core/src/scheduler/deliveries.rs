//! The messages of launches that the host has not received.
//!
//! A *delivery* stands for the messages of one launch. It is a batch without commands, directly behind the read of the
//! messages in the queue of the launch. So everything that comes after the launch completes on the host after its messages
//! are delivered, and everything else completes without them. The device waits for no delivery.

use crate::memory::read_slot::ReadSlot;
use crate::scheduler::thread_state::{ThreadId, this_thread};
use fencepost_sync::{Seq, Slot, Stamp};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::Duration;
use web_time::Instant;

/// Holds the messages of one launch.
#[derive(Clone)]
pub(crate) struct Delivery {
    pub(crate) queue: Slot,
    /// Is the stamp of the read of the messages.
    pub(crate) stamp: Stamp,
    pub(crate) read: Arc<ReadSlot>,
    /// Counts the bytes of the message buffer.
    pub(crate) size: u64,
}

/// Describes the delivery that a thread has begun.
pub(crate) struct RunningDelivery {
    pub(crate) read: Arc<ReadSlot>,
    thread: ThreadId,
    since: Instant,
    /// Is true once the tasks of the context were woken because the delivery takes long.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) announced: bool,
}

impl RunningDelivery {
    /// Begins a delivery on this thread.
    pub(crate) fn begin(read: Arc<ReadSlot>) -> Self {
        Self {
            read,
            thread: this_thread(),
            since: Instant::now(),
            #[cfg(not(target_arch = "wasm32"))]
            announced: false,
        }
    }

    /// Returns `true` if this thread delivers.
    pub(crate) fn is_here(&self) -> bool {
        self.thread == this_thread()
    }

    /// Returns `true` if the delivery began more than `limit` ago.
    pub(crate) fn is_older_than(&self, limit: Duration) -> bool {
        self.since.elapsed() > limit
    }
}

/// Holds the deliveries of a context.
#[derive(Default)]
pub(crate) struct Deliveries {
    /// Holds the deliveries of the planned launches by their batches.
    pub(crate) planned: FxHashMap<Seq, Delivery>,
    /// Names the delivery that a thread has begun: one at a time, so that the lines of launches are not mixed.
    pub(crate) running: Option<RunningDelivery>,
    /// Is true while the message thread is parked.
    pub(crate) idle: bool,
    /// Is true once the context has a message thread.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) has_thread: bool,
}

impl Deliveries {
    /// Removes and returns all deliveries. The device is lost.
    pub(crate) fn take(&mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.planned).into_values().collect()
    }
}
