//! Checks that `fencepost-algorithms` makes before a call on the queues of several contexts, so that a refused call
//! enqueues nothing on any of them. Any version of the crate may change or remove the functions.

use crate::api::queue::CommandQueue;
use crate::arrays::device_array::DeviceArray;
use crate::error::{CommandKind, Result};
use crate::memory::block::overlap;
use crate::memory::read_slot::ReadSlot;
use crate::scheduler::ordering::Admission;
use crate::work::step::{Pattern, Work};
use fencepost_kernels::Element;
use std::panic::Location;
use std::sync::Arc;

/// Remedy for a call on several contexts in a capture.
const ON_SEVERAL_CONTEXTS: &str = "it uses queues of several contexts: call it before or after the replay";

/// Returns `true` if both queues belong to one context.
pub fn share_a_context(a: &CommandQueue, b: &CommandQueue) -> bool {
    a.owner().is(b.owner())
}

/// Returns `true` if an array belongs to the context of a queue.
pub fn is_own<T: Element, const D: usize>(queue: &CommandQueue, array: &DeviceArray<T, D>) -> bool {
    queue.owner().is(&array.array.storage.owner)
}

/// Returns `true` if two arrays share bytes. Arrays of two contexts may be on one buffer of the program.
pub fn share_bytes<T: Element, const D: usize>(a: &DeviceArray<T, D>, b: &DeviceArray<T, D>) -> bool {
    let [a, b] = [a, b].map(|array| array.array.span());
    let buffer = a.block.shared_buffer();
    let on_one_buffer = buffer.is_some() && buffer == b.block.shared_buffer();
    (Arc::ptr_eq(&a.block, &b.block) || on_one_buffer) && overlap(&a.range(), &b.range())
}

/// Checks that a queue accepts commands now.
///
/// # Errors
/// Returns the queue's own error; [`ErrorDetail::Captured`](crate::ErrorDetail::Captured) for a captured queue, which
/// names `call`.
#[track_caller]
pub fn check_queue(queue: &CommandQueue, call: &'static str) -> Result<()> {
    queue.not_captured(call, ON_SEVERAL_CONTEXTS)?;
    let slot = queue.slot()?;
    queue.owner().engine().lock().check(slot)
}

/// Checks that a copy on a queue may now use an array of the same context: write it if `writes`, otherwise read it.
///
/// # Errors
/// Returns [`ErrorDetail::Alignment`](crate::ErrorDetail::Alignment),
/// [`ErrorDetail::Mapped`](crate::ErrorDetail::Mapped), [`ErrorDetail::Hazard`](crate::ErrorDetail::Hazard) under
/// `Checked`, or the queue's own error.
#[track_caller]
pub fn check_copy<T: Element, const D: usize>(
    queue: &CommandQueue,
    array: &DeviceArray<T, D>,
    writes: bool,
) -> Result<()> {
    let by = Admission { slot: queue.slot()?, what: CommandKind::Copy, at: Location::caller() };
    let span = array.array.words()?;
    let work = match writes {
        true => Work::Fill { dst: span, pattern: Pattern::ZERO },
        false => Work::Read { src: span, slot: ReadSlot::new() },
    };
    queue.owner().engine().check_only(by, &work)
}
