//! Pinned host memory, which the device copies from or to directly.

use crate::arrays::device_array::ArrayRef;
use crate::arrays::host_elements::HostElements;
use crate::arrays::read::ReplayedDownload;
use crate::arrays::storage::Storage;
use crate::error::{CommandKind, Error, ErrorDetail, Result};
use crate::memory::block::Heap;
use crate::memory::host_access::HostUseKind;
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
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::Arc;
use std::thread::ThreadId;

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
/// `try_` methods return [`ErrorDetail::Busy`] instead. On devices without pinned memory (GL, browsers), the array is
/// ordinary memory. The call that enqueues an upload then copies it; for an upload in a graph, this call is
/// [`replay`](crate::CommandQueue::replay).
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

    /// Waits for the device's last write to the elements, and returns a guard that gives read access to them, including
    /// the padding. Several guards may be open at once, and stay open during later calls.
    ///
    /// A replay of a graph that writes the array waits until its guards are dropped. A guard stays on its thread, so a
    /// wait of that thread for such a replay can never end, and is an error. The program should not await such a replay
    /// while it holds the guard. A guard that the program leaks ends with the next download to the array, with the next
    /// [`host_mut`](Self::host_mut), or with the drop of the array.
    ///
    /// # Errors
    /// The error of a download to the array; [`ErrorDetail::DeviceLost`].
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
    /// the padding. A replay of a graph that uses the array waits until the guard is dropped.
    ///
    /// A guard that the program leaks ends with the next use of the array; the elements may then be the old or the new
    /// ones. [`host`](Self::host) describes the other effects of a guard.
    ///
    /// # Errors
    /// The errors of [`host`](Self::host).
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
                let access = engine.host_access(&array.span(), want, deadline)?;
                let mut access = access.ok_or_else(|| busy_error(&self.label))?;
                access.report_done(array.span().range());
                access.hold_on_this_thread(&self.label, at);
                let elements = HostElements::new(Cow::Borrowed(array), access, want.writes());
                Ok(GuardedElements::Pinned(elements))
            }
            HostMemory::Plain(_, plain) => {
                check_host_access(plain.into(), call, at)?;
                let memory = finish_download(plain, deadline, &self.label)?;
                let elements = lock(&memory).clone();
                Ok(GuardedElements::Plain(elements, want.writes().then_some(memory)))
            }
        }
    }

    /// Ends the guards of the array that the program has leaked, so that they hold back no command. `exclusive` means
    /// that the caller borrows the array mutably.
    pub(crate) fn end_leaked_guards(&self, exclusive: bool) {
        if let HostMemory::Pinned(array) = &self.place {
            array.storage.owner.engine().end_leaked_guards(array.storage.block(), exclusive);
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
    /// Elements of ordinary memory. With write access, also their place, to which they return.
    Plain(Arc<Vec<T>>, Option<SharedElements<T>>),
}

impl<T: Element> GuardedElements<'_, T> {
    fn as_slice(&self) -> &[T] {
        match self {
            Self::Pinned(elements) => elements.as_slice(),
            Self::Plain(elements, _) => elements,
        }
    }

    /// Returns the elements for changes. In ordinary memory, the first call copies them: no lock is held while the
    /// program changes them, and meanwhile replays of graphs may upload the old elements.
    fn as_mut_slice(&mut self) -> &mut [T] {
        match self {
            Self::Pinned(elements) => elements.as_mut_slice(),
            Self::Plain(elements, _) => Arc::make_mut(elements).as_mut_slice(),
        }
    }
}

impl<T: Element> Drop for GuardedElements<'_, T> {
    fn drop(&mut self) {
        if let Self::Plain(elements, Some(memory)) = self {
            *lock(memory) = std::mem::take(elements);
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
