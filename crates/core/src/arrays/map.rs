//! Guards through which the host accesses device memory.

use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::arrays::host_elements as bytes;
use crate::arrays::read::Reading;
use crate::error::site::CommandKind;
use crate::error::{Error, Result};
use crate::memory::host_access::HostUseKind;
use crate::memory::staged_bytes::Payload;
use crate::runtime::owner::Owner;
use crate::runtime::pending::{Pending, WakerRegistration, block};
use crate::scheduler::handle_points::PointHistory;
use crate::scheduler::host_guard::{HostClaim, HostGuard};
use crate::scheduler::ordering::admission::Admission;
use crate::work::step::Work;
use fencepost_kernels::Element;
use fencepost_sync::{Late, Slot};
use std::ops::{Deref, DerefMut, Range};
use std::panic::Location;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A guard that gives read access to the elements of a mapped array. The array cannot be enqueued until the guard is
/// dropped.
pub struct ReadMap<T: Element>(MapGuard<T>);

/// A guard that gives write access to the elements of a mapped array. Dropping the guard makes the changes visible to
/// the device. The array cannot be enqueued until then.
pub struct WriteMap<T: Element>(MapGuard<T>);

/// Mapped elements: the memory itself, or a copy. The drop of a guard with write access copies a copy back.
struct MapGuard<T: Element> {
    array: ArrayRef,
    /// Is `None` only while the guard is dropped.
    access: Option<HostGuard>,
    copy: Option<Vec<T>>,
    write: bool,
}

impl<T: Element, const D: usize> DeviceArray<T, D> {
    /// Maps the array for reading, after the last command enqueued so far that writes it. The map waits for no other
    /// command. If the host cannot access the memory, the result is a copy.
    ///
    /// Until the guard is dropped, no array that shares the memory can be enqueued, even if only a slice is mapped.
    ///
    /// # Errors
    /// [`Kind::Mapped`](crate::Kind::Mapped) if the array is already mapped; the error of the awaited work.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = queue.array(&[1_u32, 2, 3])?;
    /// assert_eq!(*x.map_read().wait()?, [1, 2, 3]);
    /// x.map_write().wait()?[0] = 7;
    /// assert_eq!(queue.read(&x).wait()?, [7, 2, 3]);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn map_read(&self) -> Pending<ReadMap<T>> {
        Pending::late(Mapping { map: Mapper::new(self.array_ref(), false), guard: ReadMap })
    }

    /// Maps the array for writing, after the last commands enqueued so far that use it. The map waits for no other
    /// command.
    ///
    /// # Errors
    /// The errors of [`map_read`](Self::map_read).
    #[track_caller]
    pub fn map_write(&self) -> Pending<WriteMap<T>> {
        Pending::late(Mapping { map: Mapper::new(self.array_ref(), true), guard: WriteMap })
    }
}

/// The pending result of a map call.
struct Mapping<T: Element, G> {
    map: Mapper<T>,
    guard: fn(MapGuard<T>) -> G,
}

struct Mapper<T: Element> {
    array: ArrayRef,
    write: bool,
    at: &'static Location<'static>,
    /// Holds the host access, and the read that copies memory which the host cannot access directly.
    copying: Option<(HostGuard, Reading<T>)>,
    registration: WakerRegistration,
    #[expect(
        dead_code,
        reason = "held, not read: while it exists, the scheduler reports the end of each use before the map"
    )]
    past: Arc<PointHistory>,
}

impl<T: Element> Mapper<T> {
    #[track_caller]
    fn new(array: ArrayRef, write: bool) -> Self {
        let past = array.storage.owner.engine().await_uses(&array.span(), write);
        Self {
            array,
            write,
            at: Location::caller(),
            copying: None,
            registration: WakerRegistration::default(),
            past,
        }
    }

    fn owner(&self) -> &Owner {
        &self.array.storage.owner
    }

    fn want(&self) -> HostUseKind {
        HostUseKind::Map { write: self.write }
    }

    fn mapped(&self, access: HostGuard, copy: Option<Vec<T>>) -> MapGuard<T> {
        access.report_done(self.array.span().range());
        MapGuard { array: self.array.clone(), access: Some(access), copy, write: self.write }
    }

    /// Maps the memory if the host can access it; otherwise enqueues a read and returns `None`.
    fn given(&mut self, access: HostGuard) -> Result<Option<MapGuard<T>>> {
        self.array.words()?;
        let block = access.block().clone();
        if block.view().is_some() {
            return Ok(Some(self.mapped(access, None)));
        }
        if block.direct() {
            let copy = bytes::copied(&access, self.array.offset, self.array.len);
            return Ok(Some(self.mapped(access, Some(copy))));
        }
        let reading = self.owner().read_for_context(&self.array, self.at)?;
        self.copying = Some((access, reading));
        Ok(None)
    }

    /// Returns the guard for the elements that the read has copied.
    fn copied(&mut self, copy: Vec<T>) -> Option<MapGuard<T>> {
        let (access, _) = self.copying.take()?;
        Some(self.mapped(access, Some(copy)))
    }
}

impl<T: Element, G> Late<G, Error> for Mapping<T, G> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<G>> {
        loop {
            if let Some((_, reading)) = &mut self.map.copying {
                let Poll::Ready(copy) = reading.poll(cx) else { return Poll::Pending };
                let mapped = copy.map(|copy| self.map.copied(copy).map(self.guard));
                return Poll::Ready(mapped.and_then(|guard| guard.ok_or_else(bug)));
            }
            let owner = self.map.owner().clone();
            let engine = owner.engine();
            match engine.claim(&self.map.array.span(), self.map.want()) {
                Err(error) => return Poll::Ready(Err(error)),
                Ok(HostClaim::Granted(access)) => match self.map.given(access) {
                    Err(error) => return Poll::Ready(Err(error)),
                    Ok(Some(mapped)) => return Poll::Ready(Ok((self.guard)(mapped))),
                    Ok(None) => {}
                },
                Ok(HostClaim::After(point)) => {
                    match engine.poll(point, self.map.registration.waker(engine, cx.waker())) {
                        None => return Poll::Pending,
                        Some(Err(error)) => return Poll::Ready(Err(error)),
                        Some(Ok(())) => {}
                    }
                }
                Ok(HostClaim::Shared) => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        }
    }

    fn wait(&mut self, limit: Option<Duration>) -> Option<Result<G>> {
        block(limit, |deadline| {
            if self.map.copying.is_none() {
                let owner = self.map.owner().clone();
                let access = owner.engine().host_access(&self.map.array.span(), self.map.want(), deadline)?;
                let Some(access) = access else { return Ok(None) };
                if let Some(mapped) = self.map.given(access)? {
                    return Ok(Some((self.guard)(mapped)));
                }
            }
            let Some((_, reading)) = &mut self.map.copying else { return Ok(None) };
            let copy = reading.wait(limit.map(|_| deadline.left())).transpose()?;
            copy.map(|copy| self.map.copied(copy).map(self.guard).ok_or_else(bug)).transpose()
        })
    }
}

fn bug() -> Error {
    unreachable!("bug: a map has no host access")
}

impl<T: Element> MapGuard<T> {
    fn elements(&self) -> &[T] {
        match (&self.copy, &self.access) {
            (Some(copy), _) => copy,
            (None, Some(access)) => bytemuck::cast_slice(access.bytes(self.range())),
            (None, None) => &[],
        }
    }

    fn range(&self) -> Range<u64> {
        self.array.offset..self.array.offset + self.array.bytes()
    }

    fn elements_mut(&mut self) -> &mut [T] {
        let range = self.range();
        let view = self.array.storage.block().view();
        match (&mut self.copy, &mut self.access, view) {
            (Some(copy), ..) => copy,
            (None, Some(access), Some(view)) => {
                bytemuck::cast_slice_mut(view.slice_mut(range, access.right_mut()))
            }
            _ => &mut [],
        }
    }

    /// Writes a changed copy to the array. No other command for the array can be enqueued while it is mapped, so the
    /// context's own queue may upload the copy.
    fn write_back(&mut self) -> Result<()> {
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

impl<T: Element> Drop for MapGuard<T> {
    fn drop(&mut self) {
        if self.write
            && let Err(error) = self.write_back()
        {
            self.array.storage.owner.engine().note_drop_error(error);
        }
        self.access = None;
    }
}

impl<T: Element> Deref for ReadMap<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.elements()
    }
}

impl<T: Element> Deref for WriteMap<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.elements()
    }
}

impl<T: Element> DerefMut for WriteMap<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.0.elements_mut()
    }
}
