//! Pinned host memory, which the device copies from or to directly.

use crate::arrays::device_array::ArrayRef;
use crate::arrays::read::ReplayedDownload;
use crate::arrays::storage::Storage;
use crate::error::{CommandKind, Error, ErrorDetail, Result};
use crate::memory::block::{Heap, Memory};
use crate::memory::host_access::{HostAccess, HostUseKind};
use crate::memory::region::{ArrayShape, PaddedShape, Shape, elements};
use crate::runtime::captured::check_host_access;
use crate::runtime::event::same_context;
use crate::runtime::owner::Owner;
use crate::runtime::pending::Pending;
use crate::scheduler::ordering::Admission;
use crate::scheduler::wakers::Deadline;
use fencepost_kernels::Element;
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep_for};
use fencepost_sync::{Slot, Stamp};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::thread::ThreadId;

/// Direction of memory that the host writes and uploads read.
#[derive(Clone, Copy, Debug)]
pub enum Upload {}
/// Direction of memory that downloads write and the host reads.
#[derive(Clone, Copy, Debug)]
pub enum Download {}

/// A host access: its deadline, and the name and source line of the call.
type HostCallSite = (Deadline, &'static str, &'static Location<'static>);

/// The direction of a [`HostArray`].
pub trait Direction: sealed::Direction + Send + Sync + 'static {}
impl Direction for Upload {}
impl Direction for Download {}

mod sealed {
    pub trait Direction {
        const UPLOADS: bool;
    }
    impl Direction for super::Upload {
        const UPLOADS: bool = true;
    }
    impl Direction for super::Download {
        const UPLOADS: bool = false;
    }
}

/// Pinned host memory: the device copies from it or to it while the program goes on.
///
/// Each access waits for the last use of the array by the device; the `try_` methods return [`ErrorDetail::Busy`]
/// instead. On devices without pinned memory (GL, browsers), the array is ordinary memory. The call that enqueues an
/// upload then copies it; for an upload in a graph, this call is [`replay`](crate::CommandQueue::replay).
///
/// # Example
/// ```
/// use fencepost::{Download, HostArray, Upload};
/// # let (ctx, queue) = fencepost::doctest();
/// let mut block: HostArray<f32, Upload> = ctx.pinned([4])?;
/// let mut result: HostArray<f32, Download> = ctx.pinned([4])?;
/// let mut x = ctx.zeros([4])?;
/// block.write(|host| host.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]))?;
/// queue.upload(&block, &mut x)?;
/// queue.download(&x, &mut result)?;
/// assert_eq!(result.read(|host| host.to_vec())?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), fencepost::Error>(())
/// ```
pub struct HostArray<T: Element, Dir: Direction, const D: usize = 1> {
    pub(crate) place: HostMemory<T>,
    /// Name of the array in messages.
    label: Arc<str>,
    shape: ArrayShape<[usize; D]>,
    direction: PhantomData<Dir>,
}

pub(crate) enum HostMemory<T> {
    /// Memory that both sides keep mapped.
    Pinned(ArrayRef),
    /// Ordinary memory, because the device has no pinned memory.
    Plain(Owner, Arc<PlainMemory<T>>),
}

/// Ordinary memory that replays of graphs can download to.
pub(crate) type PlainMemory<T> = Mutex<Plain<T>>;

/// Elements of a pinned array in ordinary memory. Graphs share them with the array.
pub(crate) type SharedElements<T> = Arc<Mutex<Arc<Vec<T>>>>;

/// Ordinary memory, for devices without pinned memory.
pub(crate) struct Plain<T> {
    pub(crate) data: SharedElements<T>,
    /// Last download to the array, until its elements are in `data`.
    coming: Option<Pending<Vec<T>>>,
    /// Stamp of the last download. Earlier downloads that are reported later are ignored.
    last: Stamp,
    /// Thread that waits for `coming`, which it has taken out meanwhile.
    awaited_by: Option<ThreadId>,
    /// Notified when that thread's wait has ended.
    arrived: Arc<Condvar>,
    /// Last download by a replay. Graphs share it with the array.
    pub(crate) replayed: Arc<ReplayedDownload>,
}

impl<T: Element, Dir: Direction, const D: usize> HostArray<T, Dir, D> {
    #[track_caller]
    pub(crate) fn new(owner: &Owner, shape: Shape<D>) -> Result<Self> {
        let Shape { shape, padded } = shape;
        let label: Arc<str> =
            format!("pinned {} {shape:?}, line {}", T::DTYPE, Location::caller().line()).into();
        let object = format!("array `{label}`");
        PaddedShape::new(&object, &shape, &padded)?;
        let len = elements::<T>(&object, &padded)?;
        owner.engine().lock().check_not_lost()?;
        let place = if owner.device().pinned() {
            let heap = if <Dir as sealed::Direction>::UPLOADS { Heap::Upload } else { Heap::Download };
            HostMemory::Pinned(pin::<T>(owner, heap, len, &label)?)
        } else {
            let data = Arc::new(Mutex::new(Arc::new(ordinary(owner, len, &object)?)));
            let plain = Plain {
                data,
                coming: None,
                last: Stamp::default(),
                awaited_by: None,
                arrived: Arc::new(Condvar::new()),
                replayed: Arc::default(),
            };
            HostMemory::Plain(owner.clone(), Arc::new(Mutex::new(plain)))
        };
        Ok(Self { place, label, shape: ArrayShape::new(shape, padded), direction: PhantomData })
    }

    /// Returns the number of elements in each dimension.
    pub fn shape(&self) -> [usize; D] {
        self.shape.shape
    }

    /// Returns the shape of the memory in C order, as
    /// [`DeviceArray::padded_shape`](crate::DeviceArray::padded_shape) does.
    pub fn padded_shape(&self) -> [usize; D] {
        self.shape.padded
    }

    pub(crate) fn array_shape(&self) -> ArrayShape<[usize; D]> {
        self.shape
    }

    pub(crate) fn frame(&self) -> PaddedShape<'_> {
        self.shape.frame()
    }

    /// Returns the number of elements, without padding.
    pub fn len(&self) -> usize {
        self.frame().len()
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits for the device's last write to the elements, then calls `f` with them, including the padding.
    ///
    /// # Errors
    /// The error of a download to the array; [`ErrorDetail::DeviceLost`].
    #[track_caller]
    pub fn read<R>(&self, f: impl FnOnce(&[T]) -> R) -> Result<R> {
        self.read_by((Deadline::after(None), "read", Location::caller()), f)
    }

    /// Calls `f` as [`read`](Self::read) does, without waiting.
    ///
    /// # Errors
    /// [`ErrorDetail::Busy`] if the device may still write to the array.
    #[track_caller]
    pub fn try_read<R>(&self, f: impl FnOnce(&[T]) -> R) -> Result<R> {
        self.read_by((Deadline::now(), "try_read", Location::caller()), f)
    }

    /// Waits for the device's last use of the elements, then calls `f`, which may change them.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    #[track_caller]
    pub fn write<R>(&mut self, f: impl FnOnce(&mut [T]) -> R) -> Result<R> {
        self.write_by((Deadline::after(None), "write", Location::caller()), f)
    }

    /// Calls `f` as [`write`](Self::write) does, without waiting.
    ///
    /// # Errors
    /// [`ErrorDetail::Busy`] if the device may still use the array.
    #[track_caller]
    pub fn try_write<R>(&mut self, f: impl FnOnce(&mut [T]) -> R) -> Result<R> {
        self.write_by((Deadline::now(), "try_write", Location::caller()), f)
    }

    fn read_by<R>(&self, (deadline, call, at): HostCallSite, f: impl FnOnce(&[T]) -> R) -> Result<R> {
        self.owner().engine().check_process()?;
        match &self.place {
            HostMemory::Pinned(array) => {
                check_host_access(array.storage.block().into(), call, at)?;
                let engine = array.storage.owner.engine();
                let access = engine.host_access(&array.span(), HostUseKind::Read, deadline)?;
                let access = access.ok_or_else(|| busy_error(&self.label))?;
                access.report_done(array.span().range());
                Ok(with(&access, array.offset, array.len, f))
            }
            HostMemory::Plain(_, plain) => {
                check_host_access(plain.into(), call, at)?;
                let elements = finish_download(plain, deadline, &self.label)?;
                let data = lock(&elements).clone();
                Ok(f(&data))
            }
        }
    }

    fn write_by<R>(
        &mut self,
        (deadline, call, at): HostCallSite,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R> {
        self.owner().engine().check_process()?;
        match &mut self.place {
            HostMemory::Pinned(array) => {
                check_host_access(array.storage.block().into(), call, at)?;
                let engine = array.storage.owner.engine();
                let access = engine.host_access(&array.span(), HostUseKind::Write, deadline)?;
                let mut access = access.ok_or_else(|| busy_error(&self.label))?;
                access.report_done(array.span().range());
                Ok(with_mut(&mut access, array.offset, array.len, f))
            }
            HostMemory::Plain(_, plain) => {
                check_host_access((&*plain).into(), call, at)?;
                // No lock is held while `f` runs. Meanwhile, replays of graphs may upload the old elements, so `f`
                // writes to a copy if the array is in a graph.
                let elements = finish_download(plain, deadline, &self.label)?;
                let is_shared = Arc::strong_count(&elements) > 2;
                let mut data = {
                    let mut elements = lock(&elements);
                    if is_shared { elements.clone() } else { std::mem::take(&mut *elements) }
                };
                let written = ElementsInWrite { elements: &elements, data: &mut data };
                Ok(f(Arc::make_mut(written.data).as_mut_slice()))
            }
        }
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Returns the label, for sharing.
    pub(crate) fn shared_label(&self) -> &Arc<str> {
        &self.label
    }

    /// Checks that the array belongs to a context.
    pub(crate) fn check_owner(&self, owner: &Owner) -> Result<()> {
        same_context(owner, self.owner(), || "a pinned array".into())
    }

    pub(crate) fn owner(&self) -> &Owner {
        match &self.place {
            HostMemory::Pinned(array) => &array.storage.owner,
            HostMemory::Plain(owner, _) => owner,
        }
    }
}

/// Elements of a pinned array while the program writes them. Its drop stores them, even after a panic.
struct ElementsInWrite<'a, T> {
    elements: &'a SharedElements<T>,
    data: &'a mut Arc<Vec<T>>,
}

impl<T> Drop for ElementsInWrite<'_, T> {
    fn drop(&mut self) {
        *lock(self.elements) = std::mem::take(self.data);
    }
}

impl<T: Element> Plain<T> {
    /// Records that a download to this memory has been enqueued at `at`.
    pub(crate) fn expect(&mut self, at: Stamp, coming: Pending<Vec<T>>) {
        if at >= self.last {
            self.last = at;
            self.coming = Some(coming);
        }
    }

    /// Takes the pending download to this memory, if there is one.
    fn take_coming(&mut self) -> Option<Pending<Vec<T>>> {
        if let Some(place) = self.replayed.take() {
            let len = lock(&self.data).len();
            self.expect(place.point.stamp, place.read(len, ()));
        }
        self.coming.take()
    }
}

/// Waits for the pending download to the memory, if any, stores its elements, and returns the memory's elements. No
/// lock is held during the wait, which may run user code. `label` names the array in an error.
fn finish_download<T: Element>(
    memory: &PlainMemory<T>,
    deadline: Deadline,
    label: &str,
) -> Result<SharedElements<T>> {
    let here = std::thread::current().id();
    let mut plain = lock(memory);
    while let Some(thread) = plain.awaited_by {
        // User code that runs during this thread's wait comes here if it also uses the array.
        if thread == here || deadline.has_passed() {
            return Err(busy_error(label));
        }
        let arrived = plain.arrived.clone();
        plain = sleep_for(&arrived, plain, deadline.slice());
    }
    let Some(coming) = plain.take_coming() else { return Ok(plain.data.clone()) };
    plain.awaited_by = Some(here);
    drop(plain);
    let mut wait = DownloadWait { memory, coming: Some(coming) };
    let data = wait.coming.as_mut().map(|coming| coming.wait_timeout(deadline.left()));
    match data.transpose() {
        Ok(None | Some(None)) => return Err(busy_error(label)), // dropping `wait` puts the download back
        Ok(Some(Some(data))) => {
            wait.coming = None;
            *lock(&lock(memory).data) = Arc::new(data);
        }
        Err(error) => {
            wait.coming = None;
            return Err(error);
        }
    }
    drop(wait);
    Ok(lock(memory).data.clone())
}

/// A thread's wait for a download. Its drop ends the wait, even after a panic.
struct DownloadWait<'a, T> {
    memory: &'a PlainMemory<T>,
    coming: Option<Pending<Vec<T>>>,
}

impl<T> Drop for DownloadWait<'_, T> {
    fn drop(&mut self) {
        let mut plain = lock(self.memory);
        plain.awaited_by = None;
        if plain.coming.is_none() {
            plain.coming = self.coming.take();
        }
        plain.arrived.notify_all();
    }
}

fn busy_error(label: &str) -> Error {
    ErrorDetail::Busy { array: label.into() }.into()
}

/// Allocates zeroed ordinary memory, within the limits of pinned memory.
fn ordinary<T: Element>(owner: &Owner, len: usize, object: &str) -> Result<Vec<T>> {
    let bytes = len as u64 * T::DTYPE.size() as u64;
    let limit = owner.device().caps().max_block;
    if bytes > limit {
        return Err(ErrorDetail::TooLarge { object: object.into(), bytes, limit }.into());
    }
    let mut data = Vec::new();
    data.try_reserve_exact(len).map_err(|_| ErrorDetail::OutOfMemory {
        object: object.into(),
        bytes,
        limit: None,
    })?;
    data.resize(len, T::zeroed());
    Ok(data)
}

#[track_caller]
fn pin<T: Element>(owner: &Owner, heap: Heap, len: usize, label: &Arc<str>) -> Result<ArrayRef> {
    let bytes = len as u64 * T::DTYPE.size() as u64;
    let by = Admission { slot: Slot::CONTEXT, what: CommandKind::Fill, at: Location::caller() };
    let storage = Storage::allocate(owner, heap, bytes, label, by)?;
    let array = ArrayRef { storage, offset: 0, len, dtype: T::DTYPE, followed: false };
    clear::<T>(&array)?;
    Ok(array)
}

/// Fills reused memory with zeros. The context's queue reuses only blocks without running work, so the host need not
/// wait.
fn clear<T: Element>(array: &ArrayRef) -> Result<()> {
    let engine = array.storage.owner.engine();
    let fresh = {
        let _state = engine.lock();
        array.storage.block().order().fresh
    };
    if fresh {
        array.storage.owner.device().host_writes(array.storage.block(), array.span().range());
    } else if let Some(mut access) = engine.try_overwrite(&array.span())? {
        access.writes(array.span().range());
        with_mut(&mut access, array.offset, array.len, |host: &mut [T]| host.fill(T::zeroed()));
    }
    Ok(())
}

impl<T: Element, Dir: Direction, const D: usize> fmt::Debug for HostArray<T, Dir, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostArray of {} {:?}", T::DTYPE, self.shape())
    }
}

/// Returns `len` elements that start at byte `offset` of the block. Returns `None` if the host has no view of the
/// block, or if the memory is not aligned for `T`.
pub(crate) fn in_place<T: Element>(access: &HostAccess, offset: u64, len: usize) -> Option<&[T]> {
    let view = access.block().view()?;
    bytemuck::try_cast_slice(view.slice(offset..offset + size::<T>(len), access.right())).ok()
}

/// Calls `f` with `len` elements that start at byte `offset` of the block: in place if possible, otherwise in a copy.
pub(crate) fn with<T: Element, R>(
    access: &HostAccess,
    offset: u64,
    len: usize,
    f: impl FnOnce(&[T]) -> R,
) -> R {
    match in_place(access, offset, len) {
        Some(elements) => f(elements),
        None => f(&copied(access, offset, len)),
    }
}

/// Calls `f` as [`with`] does, with elements that `f` may change. A changed copy is written back.
pub(crate) fn with_mut<T: Element, R>(
    access: &mut HostAccess,
    offset: u64,
    len: usize,
    f: impl FnOnce(&mut [T]) -> R,
) -> R {
    let block = access.block().clone();
    if let Some(view) = block.view()
        && in_place::<T>(access, offset, len).is_some()
    {
        let range = offset..offset + size::<T>(len);
        return f(bytemuck::cast_slice_mut(view.slice_mut(range, access.right_mut())));
    }
    let mut elements = copied(access, offset, len);
    let result = f(&mut elements);
    access.write(offset, bytemuck::cast_slice(&elements));
    result
}

/// Copies the elements out of the block.
pub(crate) fn copied<T: Element>(access: &HostAccess, offset: u64, len: usize) -> Vec<T> {
    debug_assert!(matches!(access.block().memory, Memory::Host(_)) || access.block().direct());
    let mut elements = vec![T::zeroed(); len];
    access.read(offset, bytemuck::cast_slice_mut(&mut elements));
    elements
}

fn size<T: Element>(len: usize) -> u64 {
    len as u64 * T::DTYPE.size() as u64
}
