//! The memory that the open captures of a thread write. The host cannot read the results of captured commands during
//! the capture, because a capture executes nothing.

use crate::error::{Kind, Result};
use crate::memory::block::Block;
use crate::memory::heap::BlockId;
use crate::runtime::captured_point::CaptureFault;
use fencepost_sync::prim::{Mutex, lock, thread_local};
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;

/// Remedy for an access of the host to the results of captured commands.
const NOT_WRITTEN_YET: &str = "a capture executes nothing: declare an output with `Capture::read_as`, or access the array behind a replay";

thread_local! {
    /// Captures that are open on this thread, the innermost one at the end.
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

/// Memory that the commands of one capture write, and memory of the arrays that it makes.
pub(crate) struct CapturedWrites {
    queue: Arc<str>,
    fault: CaptureFault,
    memory: Mutex<FxHashSet<WrittenMemory>>,
}

/// A guard for the time in which a capture is open on this thread. The drop ends it.
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
        // In a destructor at the end of a thread, the list may be gone already, and no capture is noted.
        let _ = OPEN.try_with(|open| open.borrow_mut().push(self.clone()));
        OpenCapture(())
    }
}

/// Checks that no capture of this thread writes the memory that the host accesses.
///
/// # Errors
/// Returns `Captured`, which is the error of the capture too.
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
        // At the end of a thread, no capture is open.
        Err(_) | Ok(None) => Ok(()),
        Ok(Some(capture)) => {
            let (queue, remedy) = (capture.queue.to_string(), NOT_WRITTEN_YET);
            Err(capture.fault.raise(Kind::Captured { call, queue, location: at, remedy }.into()))
        }
    }
}
