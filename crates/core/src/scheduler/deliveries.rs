//! The messages of launches that the host has not received.
//!
//! A *delivery* passes the messages of one launch to the program. It is a batch without commands, directly after the
//! read of the messages in the queue of the launch. So everything after the launch completes on the host after its
//! messages are delivered, and everything else completes without them. No work on the device waits for a delivery.

use crate::memory::read_slot::ReadSlot;
use crate::scheduler::thread_state::{ThreadId, this_thread};
use fencepost_sync::{Seq, Slot, Stamp};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::Duration;
use web_time::Instant;

/// Messages of one launch.
#[derive(Clone)]
pub(crate) struct Delivery {
    pub(crate) queue: Slot,
    /// Stamp of the read of the messages.
    pub(crate) stamp: Stamp,
    pub(crate) read: Arc<ReadSlot>,
    /// Bytes of the message buffer.
    pub(crate) size: u64,
}

/// The delivery that a thread has begun.
pub(crate) struct RunningDelivery {
    pub(crate) read: Arc<ReadSlot>,
    thread: ThreadId,
    since: Instant,
    /// `true` once the tasks of the context were woken because the delivery takes long.
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

/// Deliveries of a context.
#[derive(Default)]
pub(crate) struct Deliveries {
    /// Deliveries of the planned launches, by their batches.
    pub(crate) planned: FxHashMap<Seq, Delivery>,
    /// The delivery that a thread has begun. Only one runs at a time, so that the lines of different launches do not
    /// mix.
    pub(crate) running: Option<RunningDelivery>,
    /// `true` while the message thread is parked.
    pub(crate) idle: bool,
    /// `true` once the context has a message thread.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) has_thread: bool,
}

impl Deliveries {
    /// Removes and returns all deliveries. The device is lost.
    pub(crate) fn take(&mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.planned).into_values().collect()
    }
}
