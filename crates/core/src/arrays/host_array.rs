//! Pinned host memory, which the device copies from or to directly.

use crate::arrays::device_array::ArrayRef;
use crate::arrays::host_elements::{HostElements, granted};
use crate::arrays::plain_memory::{Plain, PlainMemory, SharedElements, finish_download};
use crate::arrays::storage::{Storage, at_line};
use crate::error::{CommandKind, Error, ErrorDetail, Result};
use crate::memory::block::Heap;
use crate::memory::host_access::HostUseKind;
use crate::memory::region::{ArrayShape, PaddedShape, Shape, elements};
use crate::runtime::captured::check_host_access;
use crate::runtime::event::same_context;
use crate::runtime::owner::Owner;
use crate::runtime::pending::{WakerRegistration, block_on};
use crate::scheduler::host_guard::GuardOpening;
use crate::scheduler::ordering::Admission;
use crate::scheduler::wakers::Deadline;
use fencepost_kernels::Element;
use fencepost_sync::Slot;
use fencepost_sync::prim::{Mutex, lock};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::Arc;

/// Direction of memory that the host writes and uploads read.
#[derive(Clone, Copy, Debug)]
pub enum Upload {}
/// Direction of memory that downloads write and the host reads.
#[derive(Clone, Copy, Debug)]
pub enum Download {}

/// The call of a host access: its deadline, its name and its source line.
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
/// The host accesses the elements through guards. Each access waits for the last use of the array by the device; the
/// `try_` methods return [`ErrorDetail::Busy`] instead. On devices without memory that stays mapped (GL, WebGPU, and by
/// default adopted devices, Metal and DX12), the array is ordinary memory. The call that enqueues an upload then copies
/// it; for an upload in a graph, this call is [`replay`](crate::CommandQueue::replay).
///
/// # Example
/// ```
/// use fencepost::{Download, HostArray, Upload};
/// # let (ctx, queue) = fencepost::doctest();
/// let mut block: HostArray<f32, Upload> = ctx.pinned([4])?;
/// let mut result: HostArray<f32, Download> = ctx.pinned([4])?;
/// let mut x = ctx.zeros([4])?;
/// block.host_mut()?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
/// queue.upload(&block, &mut x)?;
/// queue.download(&x, &mut result)?;
/// assert_eq!(*result.host()?, [1.0, 2.0, 3.0, 4.0]);
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

impl<T: Element, Dir: Direction, const D: usize> HostArray<T, Dir, D> {
    #[track_caller]
    pub(crate) fn new(owner: &Owner, shape: Shape<D>) -> Result<Self> {
        let Shape { shape, padded } = shape;
        let label: Arc<str> = format!("pinned {} {shape:?}{}", T::DTYPE, at_line(Location::caller())).into();
        let object = format!("array `{label}`");
        PaddedShape::new(&object, &shape, &padded)?;
        let len = elements::<T>(&object, &padded)?;
        owner.engine().lock().check_not_lost()?;
        let place = if owner.device().pinned() {
            let heap = if <Dir as sealed::Direction>::UPLOADS { Heap::Upload } else { Heap::Download };
            HostMemory::Pinned(pin::<T>(owner, heap, len, &label)?)
        } else {
            HostMemory::Plain(owner.clone(), Arc::new(Mutex::new(Plain::new(owner, len, &label)?)))
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

    /// Waits for the device's last write to the elements, and returns a guard that gives read access to them, including
    /// the padding. Several guards may be open at once, and stay open during later calls.
    ///
    /// A replay of a graph that downloads to the array waits until its guards are dropped. A guard stays on its thread, so
    /// a wait of that thread for such a replay can never end, and is an error. The program should not await or poll such
    /// a replay while it holds the guard. A guard that the program leaks ends with the next download to the array, with
    /// the next [`host_mut`](Self::host_mut), or with the drop of the array.
    ///
    /// # Errors
    /// The error of a download to the array; [`ErrorDetail::DeviceLost`]. A refused wait, for example
    /// [`ErrorDetail::WouldDeadlock`] in a host callback, loses nothing: a later call returns the elements. A browser
    /// cannot wait: there, the error is [`ErrorDetail::Busy`] if the download has not arrived.
    ///
    /// # Example
    /// ```
    /// use fencepost::{Download, HostArray};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut sums: [HostArray<u32, Download>; 2] = [ctx.pinned([2])?, ctx.pinned([2])?];
    /// for (value, host) in (1..).zip(&mut sums) {
    ///     queue.download(&queue.full([2], value)?, host)?;
    /// }
    /// let first = sums[0].host()?;           // waits for the first download only
    /// let second = sums[1].host()?;
    /// assert_eq!((&*first, &*second), (&[1, 1][..], &[2, 2][..]));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn host(&self) -> Result<HostRead<'_, T>> {
        let call = (Deadline::after(None), "host", Location::caller());
        self.open(HostUseKind::Read, call).map(HostRead::new)
    }

    /// Returns a guard as [`host`](Self::host) does, without waiting.
    ///
    /// # Errors
    /// [`ErrorDetail::Busy`] if the device may still write to the array.
    ///
    /// # Example
    /// ```
    /// use fencepost::{Download, ErrorKind, HostArray};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut host: HostArray<u32, Download> = ctx.pinned([2])?;
    /// assert_eq!(*host.try_host()?, [0, 0]);     // no download is pending
    /// let gate = ctx.user_event("gate");
    /// queue.wait_for(&gate)?;
    /// queue.download(&ctx.full([2], 7)?, &mut host)?;
    /// assert_eq!(host.try_host().unwrap_err().kind(), ErrorKind::WouldBlock);
    /// # gate.signal();
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn try_host(&self) -> Result<HostRead<'_, T>> {
        let call = (Deadline::now(), "try_host", Location::caller());
        self.open(HostUseKind::Read, call).map(HostRead::new)
    }

    /// Waits for the device's last use of the elements, and returns a guard that gives write access to them, including
    /// the padding. Until the guard is dropped, [`replay`](crate::CommandQueue::replay) of a graph that uploads the array
    /// returns [`ErrorDetail::OpenGuard`].
    ///
    /// A guard that the program leaks ends with the next use of the array; the elements are then the old ones, the new
    /// ones or zeros. [`host`](Self::host) describes the other effects of a guard.
    ///
    /// # Errors
    /// The errors of [`host`](Self::host); [`ErrorDetail::OutOfMemory`] if the array is ordinary memory and a leaked
    /// guard still has its elements.
    ///
    /// # Example
    /// ```
    /// use fencepost::{HostArray, Upload};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut block: HostArray<u32, Upload> = ctx.pinned([4])?;
    /// let mut elements = block.host_mut()?;
    /// elements.fill(7);
    /// elements[3] = 8;
    /// drop(elements);
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// queue.upload(&block, &mut x)?;
    /// assert_eq!(queue.read(&x).wait()?, [7, 7, 7, 8]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn host_mut(&mut self) -> Result<HostWrite<'_, T>> {
        let call = (Deadline::after(None), "host_mut", Location::caller());
        self.open(HostUseKind::Write, call).map(HostWrite::new)
    }

    /// Returns a guard as [`host_mut`](Self::host_mut) does, without waiting.
    ///
    /// # Errors
    /// [`ErrorDetail::Busy`] if the device may still use the array.
    ///
    /// # Example
    /// See [`try_host`](Self::try_host).
    #[track_caller]
    pub fn try_host_mut(&mut self) -> Result<HostWrite<'_, T>> {
        let call = (Deadline::now(), "try_host_mut", Location::caller());
        self.open(HostUseKind::Write, call).map(HostWrite::new)
    }

    /// Opens a guard. A caller that wants write access borrows the array mutably.
    fn open(&self, want: HostUseKind, (deadline, call, at): HostCallSite) -> Result<GuardedElements<'_, T>> {
        self.owner().engine().check_process()?;
        self.end_leaked_guards(want.writes());
        match &self.place {
            HostMemory::Pinned(array) => {
                check_host_access(array.storage.block().into(), call, at)?;
                let engine = array.storage.owner.engine();
                let span = array.span();
                let opening = GuardOpening { array: &self.label, at };
                let mut registration = WakerRegistration::default();
                let access = block_on(deadline, |mode| {
                    granted(engine, (&span, want), Some(opening), mode, &mut registration)
                })?;
                let access = access.ok_or_else(|| busy_error(&self.label))?;
                access.report_done(span.range());
                let elements = HostElements::new(Cow::Borrowed(array), access, want.writes());
                Ok(GuardedElements::Pinned(elements))
            }
            HostMemory::Plain(_, plain) => {
                check_host_access(plain.into(), call, at)?;
                self.owner().engine().check_device()?;
                let memory = finish_download(plain, deadline, &self.label)?;
                if want.writes() {
                    let elements = lock(&memory).lend(&self.label, at)?;
                    return Ok(GuardedElements::Lent(elements, memory));
                }
                let elements = lock(&memory).share(&self.label)?;
                Ok(GuardedElements::Shared(elements))
            }
        }
    }

    /// Ends the guards of the array that the program has leaked, so that they hold back no command. `exclusive` means
    /// that the caller borrows the array mutably.
    pub(crate) fn end_leaked_guards(&self, exclusive: bool) {
        let engine = self.owner().engine();
        match &self.place {
            HostMemory::Pinned(array) => engine.end_leaked_guards(array.storage.block(), exclusive),
            // In a child of fork(2), a thread of the parent may hold the locks.
            HostMemory::Plain(..) if engine.is_in_child() => {}
            HostMemory::Plain(_, plain) => lock(&lock(plain).data).end_leaked_guard(),
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

impl<T: Element, Dir: Direction, const D: usize> Drop for HostArray<T, Dir, D> {
    /// Graphs may still use the memory, so leaked guards must not hold back their replays.
    fn drop(&mut self) {
        self.end_leaked_guards(true);
    }
}

/// A guard that gives read access to the elements of a pinned array, including the padding: see [`HostArray::host`].
///
/// It may be shared between threads, and is dropped on the thread that opened it.
#[must_use = "the access ends when the guard is dropped"]
pub struct HostRead<'a, T: Element> {
    elements: GuardedElements<'a, T>,
    thread: OnItsThread,
}

/// A guard that gives write access to the elements of a pinned array, including the padding: see
/// [`HostArray::host_mut`].
///
/// It is dropped on the thread that opened it.
#[must_use = "the access ends when the guard is dropped"]
pub struct HostWrite<'a, T: Element> {
    elements: GuardedElements<'a, T>,
    thread: OnItsThread,
}

/// Marker of a type that is not `Send` but `Sync`, as the guard of a mutex.
type OnItsThread = PhantomData<std::sync::MutexGuard<'static, ()>>;

/// Elements to which a guard gives access. The drop ends the access.
enum GuardedElements<'a, T: Element> {
    /// Memory that the device accesses too.
    Pinned(HostElements<'a, T>),
    /// Elements of ordinary memory, with read access.
    Shared(Arc<Vec<T>>),
    /// Elements of ordinary memory, with write access, and their place, to which they return.
    Lent(Vec<T>, SharedElements<T>),
}

impl<T: Element> GuardedElements<'_, T> {
    fn as_slice(&self) -> &[T] {
        match self {
            Self::Pinned(elements) => elements.as_slice(),
            Self::Shared(elements) => elements,
            Self::Lent(elements, _) => elements,
        }
    }

    /// Returns the elements for changes. The guard has write access.
    fn as_mut_slice(&mut self) -> &mut [T] {
        match self {
            Self::Pinned(elements) => elements.as_mut_slice(),
            Self::Shared(_) => unreachable!("bug: the host has no write access"),
            Self::Lent(elements, _) => elements,
        }
    }
}

impl<T: Element> Drop for GuardedElements<'_, T> {
    fn drop(&mut self) {
        if let Self::Lent(elements, memory) = self {
            lock(memory).store(std::mem::take(elements));
        }
    }
}

impl<'a, T: Element> HostRead<'a, T> {
    fn new(elements: GuardedElements<'a, T>) -> Self {
        Self { elements, thread: PhantomData }
    }
}

impl<T: Element> Deref for HostRead<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.elements.as_slice()
    }
}

impl<T: Element> fmt::Debug for HostRead<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostRead of {} {}", self.len(), T::DTYPE)
    }
}

impl<'a, T: Element> HostWrite<'a, T> {
    fn new(elements: GuardedElements<'a, T>) -> Self {
        Self { elements, thread: PhantomData }
    }
}

impl<T: Element> Deref for HostWrite<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.elements.as_slice()
    }
}

impl<T: Element> DerefMut for HostWrite<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.elements.as_mut_slice()
    }
}

impl<T: Element> fmt::Debug for HostWrite<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostWrite of {} {}", self.len(), T::DTYPE)
    }
}

/// Returns the error of an access that would have to wait for the device.
pub(crate) fn busy_error(label: &str) -> Error {
    ErrorDetail::Busy { array: label.into() }.into()
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
    } else if let Some(access) = engine.try_overwrite(&array.span())? {
        access.writes(array.span().range());
        HostElements::<T>::new(Cow::Borrowed(array), access, true).as_mut_slice().fill(T::zeroed());
    }
    Ok(())
}

impl<T: Element, Dir: Direction, const D: usize> fmt::Debug for HostArray<T, Dir, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostArray of {} {:?}", T::DTYPE, self.shape())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trait with a second implementation for types that are `Send`: for those, a call without its parameter is
    /// ambiguous and does not compile.
    trait NotSend<Parameter> {
        fn check() {}
    }

    impl<T> NotSend<()> for T {}
    impl<T: Send> NotSend<u8> for T {}

    fn shared<T: Sync>() {}

    #[test]
    fn m03_a_guard_stays_on_its_thread_and_references_to_it_may_be_sent() {
        <HostRead<'_, f32> as NotSend<_>>::check();
        <HostWrite<'_, f32> as NotSend<_>>::check();
        shared::<HostRead<'_, f32>>();
        shared::<HostWrite<'_, f32>>();
    }
}
