//! Marks that captures leave in events and arrays: points of captured queues, and the memory that a thread's open
//! captures write.
//!
//! A capture executes nothing, so the host cannot read the results of captured commands during the capture.

use crate::error::{Error, ErrorDetail, Result};
use crate::memory::block::{Block, BlockId};
use fencepost_sync::prim::{Mutex, lock, thread_local};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// A point of a capture: the end of a captured queue when a marker was made.
#[derive(Clone)]
pub(crate) struct CapturedPoint {
    /// Number of the capture.
    pub(crate) tape: u64,
    pub(crate) queue: Arc<str>,
    /// Nodes that come before the point.
    pub(crate) after: SmallVec<[u32; 2]>,
    /// For each captured queue, the number of its nodes that come before the point.
    pub(crate) clock: Vec<u32>,
    /// Node that takes the time of the point, if it is timed.
    pub(crate) time: Option<u32>,
    pub(crate) fault: CaptureFault,
}

impl CapturedPoint {
    /// Makes the capture fail because a host call needs the point to be complete, and returns the error.
    #[cold]
    pub(crate) fn refuse(&self, call: &'static str, at: &'static Location<'static>) -> Error {
        let remedy = "a captured command runs in each replay: wait for the event of the replay, which `replay` returns, or for the marker's event in it, which `Replay::event_of` returns";
        let queue = self.queue.to_string();
        self.fault.raise(ErrorDetail::Captured { call, queue, location: at, remedy }.into())
    }
}

/// First error of a capture. The capture returns it even if the program has ignored it.
#[derive(Clone, Default)]
pub(crate) struct CaptureFault(Arc<OnceLock<Error>>);

impl CaptureFault {
    /// Records an error, unless one is already recorded. Returns the recorded error.
    pub(crate) fn raise(&self, error: Error) -> Error {
        self.0.get_or_init(|| error.clone());
        error
    }

    pub(crate) fn get(&self) -> Option<Error> {
        self.0.get().cloned()
    }
}

/// Remedy for an access of the host to the results of captured commands.
const NOT_WRITTEN_YET: &str = "a capture executes nothing: declare an output with `Capture::read_as`, or access the array after a replay";

thread_local! {
    /// Open captures of this thread, innermost last.
    static OPEN: RefCell<Vec<Arc<CapturedWrites>>> = RefCell::default();
}

/// Memory that a captured command writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WrittenMemory {
    Block(BlockId),
    /// A pinned array that is ordinary memory, by its address.
    Plain(usize),
}

impl From<&Arc<Block>> for WrittenMemory {
    fn from(block: &Arc<Block>) -> Self {
        Self::Block(block.id)
    }
}

impl<T> From<&Arc<Mutex<T>>> for WrittenMemory {
    fn from(memory: &Arc<Mutex<T>>) -> Self {
        Self::Plain(Arc::as_ptr(memory) as usize)
    }
}

/// Memory that the commands of one capture write, and memory of arrays made in the capture.
pub(crate) struct CapturedWrites {
    queue: Arc<str>,
    fault: CaptureFault,
    memory: Mutex<FxHashSet<WrittenMemory>>,
}

/// Guard while a capture is open on this thread.
pub(crate) struct OpenCapture(());

impl Drop for OpenCapture {
    fn drop(&mut self) {
        let ended = OPEN.try_with(|open| open.borrow_mut().pop());
        drop(ended);
    }
}

impl CapturedWrites {
    pub(crate) fn new(queue: &str, fault: &CaptureFault) -> Arc<Self> {
        Arc::new(Self { queue: queue.into(), fault: fault.clone(), memory: Mutex::default() })
    }

    /// Adds memory that a captured command writes.
    pub(crate) fn add(&self, memory: WrittenMemory) {
        lock(&self.memory).insert(memory);
    }

    /// Opens the capture on this thread.
    pub(crate) fn open(self: &Arc<Self>) -> OpenCapture {
        // In a destructor at the end of a thread, the list may be gone; then the capture is not listed.
        let _ = OPEN.try_with(|open| open.borrow_mut().push(self.clone()));
        OpenCapture(())
    }
}

/// Checks that no open capture of this thread writes memory that the host accesses.
///
/// # Errors
/// Returns `Captured`. The capture fails with the same error.
#[inline]
pub(crate) fn check_host_access(
    memory: WrittenMemory,
    call: &'static str,
    at: &'static Location<'static>,
) -> Result<()> {
    let writer = OPEN.try_with(|open| {
        let open = open.borrow();
        open.iter().rev().find(|capture| lock(&capture.memory).contains(&memory)).cloned()
    });
    match writer {
        // At the end of a thread, there is no open capture.
        Err(_) | Ok(None) => Ok(()),
        Ok(Some(capture)) => {
            let queue = capture.queue.to_string();
            let remedy = NOT_WRITTEN_YET;
            Err(capture.fault.raise(ErrorDetail::Captured { call, queue, location: at, remedy }.into()))
        }
    }
}
