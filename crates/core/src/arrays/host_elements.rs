//! Elements of a block that the host accesses: the memory itself, or a copy.

use crate::arrays::device_array::ArrayRef;
use crate::error::{CommandKind, Result};
use crate::memory::block::Memory;
use crate::memory::host_access::{HostAccess, HostUseKind};
use crate::memory::staging::Payload;
use crate::runtime::pending::{WaitMode, WakerRegistration};
use crate::scheduler::engine::Engine;
use crate::scheduler::host_guard::{GuardOpening, HostClaim, HostGuard};
use crate::scheduler::ordering::Admission;
use crate::work::step::{Span, Work};
use fencepost_kernels::Element;
use fencepost_sync::Slot;
use std::borrow::Cow;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;

/// Returns the host's access to `span` once it is granted. Returns `None` as
/// [`LateSteps::advance`](crate::runtime::pending::LateSteps::advance) does. With an `opening`, the program holds the
/// guard.
///
/// # Errors
/// The errors of [`Engine::host_access`].
pub(crate) fn granted(
    engine: &Arc<Engine>,
    (span, want): (&Span, HostUseKind),
    opening: Option<GuardOpening<'_>>,
    mode: &WaitMode<'_>,
    registration: &mut WakerRegistration,
) -> Option<Result<HostGuard>> {
    let task = match mode {
        WaitMode::Block(deadline) => {
            return engine.host_access(span, want, *deadline, opening).transpose();
        }
        WaitMode::Poll(task) => task,
    };
    loop {
        match engine.claim(span, want, opening) {
            Err(error) => return Some(Err(error)),
            Ok(HostClaim::Granted(access)) => return Some(Ok(access)),
            Ok(HostClaim::After(point)) => {
                if let Err(error) = mode.for_point(engine, point, registration)?
                    && !engine.is_outcome(point, &error)
                {
                    return Some(Err(error));
                }
            }
            Ok(HostClaim::Shared) => {
                wake_again(task);
                return None;
            }
        }
    }
}

/// Wakes a task that waits for the end of another host access, which may not wake it. In a browser, the page first
/// handles its events, because that access may end in one of them.
fn wake_again(task: &Waker) {
    #[cfg(not(target_arch = "wasm32"))]
    task.wake_by_ref();
    #[cfg(target_arch = "wasm32")]
    crate::driver::page::after_the_event_loop({
        let task = task.clone();
        move || task.wake()
    });
}

/// Elements of an array while the host accesses them. The drop ends the access; with write access, it first writes a
/// copy to the array.
pub(crate) struct HostElements<'a, T: Element> {
    array: Cow<'a, ArrayRef>,
    /// `None` only while the elements are dropped.
    access: Option<HostGuard>,
    /// `None` if the host accesses the memory in place.
    copy: Option<Vec<T>>,
    write: bool,
}

impl<'a, T: Element> HostElements<'a, T> {
    /// Returns the elements of `array`, which the host can access: in place if the host has a view of the memory, and
    /// the memory is aligned for `T`.
    pub(crate) fn new(array: Cow<'a, ArrayRef>, access: HostGuard, write: bool) -> Self {
        let is_in_place = in_place::<T>(&access, &array).is_some();
        let copy = (!is_in_place).then(|| copied(&access, &array));
        Self { array, access: Some(access), copy, write }
    }

    /// Returns the elements of `array`, which the host cannot access. `copy` contains them.
    pub(crate) fn of_copy(array: Cow<'a, ArrayRef>, access: HostGuard, copy: Vec<T>, write: bool) -> Self {
        Self { array, access: Some(access), copy: Some(copy), write }
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        match (&self.copy, &self.access) {
            (Some(copy), _) => copy,
            (None, Some(access)) => bytemuck::cast_slice(access.bytes(range(&self.array))),
            (None, None) => &[],
        }
    }

    /// Returns the elements for changes. The caller has write access.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        debug_assert!(self.write, "bug: the host has no write access");
        let range = range(&self.array);
        let view = self.array.storage.block().view();
        match (&mut self.copy, &mut self.access, view) {
            (Some(copy), ..) => copy,
            (None, Some(access), Some(view)) => {
                bytemuck::cast_slice_mut(view.slice_mut(range, access.right_mut()))
            }
            _ => &mut [],
        }
    }

    /// Writes a changed copy to the array. While the array is mapped, there are no other commands on it, so the
    /// context's own queue may upload the copy.
    fn write_back(&self) -> Result<()> {
        let (Some(copy), Some(access)) = (&self.copy, &self.access) else { return Ok(()) };
        let source: &[u8] = bytemuck::cast_slice(copy);
        if access.block().direct() {
            access.write(self.array.offset, source);
            return Ok(());
        }
        let owner = &self.array.storage.owner;
        let dst = self.array.words()?;
        let src =
            owner.engine().stage(dst.size, &mut |bytes| bytes[..source.len()].copy_from_slice(source))?;
        let by = Admission { slot: Slot::CONTEXT, what: CommandKind::Map, at: Location::caller() };
        owner.engine().enqueue_mapped(by, Work::Upload { src: Payload::Here(src), dst }).map(|_| ())
    }
}

impl<T: Element> Drop for HostElements<'_, T> {
    fn drop(&mut self) {
        if self.write
            && let Err(error) = self.write_back()
        {
            self.array.storage.owner.engine().note_drop_error(error);
        }
        self.access = None;
    }
}

fn range(array: &ArrayRef) -> Range<u64> {
    array.offset..array.offset + array.bytes()
}

/// Returns the elements of an array in place. Returns `None` if the host has no view of the block, or if the memory is
/// not aligned for `T`.
fn in_place<'a, T: Element>(access: &'a HostAccess, array: &ArrayRef) -> Option<&'a [T]> {
    let view = access.block().view()?;
    bytemuck::try_cast_slice(view.slice(range(array), access.right())).ok()
}

/// Copies the elements out of the block.
fn copied<T: Element>(access: &HostAccess, array: &ArrayRef) -> Vec<T> {
    debug_assert!(matches!(access.block().memory, Memory::Host(_)) || access.block().direct());
    let mut elements = vec![T::zeroed(); array.len];
    access.read(array.offset, bytemuck::cast_slice_mut(&mut elements));
    elements
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::test_engine::{
        TestTask, block, engine, enqueue_work, fill, here, hold, queue, span,
    };

    /// In a page, a blocking call polls, and polls again only after it was woken.
    #[test]
    fn m03_a_polled_access_wakes_its_task_once_the_earlier_work_is_done() {
        let engine = engine(false);
        let block = block();
        let slot = queue(&engine);
        let gate = hold(&engine, slot);
        enqueue_work(&engine, slot, fill(&block));
        let (task, waker) = TestTask::new();
        let span = span(&block);
        let opening = GuardOpening { array: &"array".into(), at: here() };
        let mut registration = WakerRegistration::default();
        let mut poll = || {
            let mode = WaitMode::Poll(&waker);
            granted(&engine, (&span, HostUseKind::Read), Some(opening), &mode, &mut registration)
        };
        assert!(poll().is_none(), "the fill is held back");
        task.woken();
        gate.signal();
        let access = loop {
            assert!(task.woken() > 0, "the task is never woken");
            if let Some(access) = poll() {
                break access;
            }
        };
        drop(access.expect("nothing has failed"));
    }
}
