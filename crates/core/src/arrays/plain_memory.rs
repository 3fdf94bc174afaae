//! Ordinary memory of pinned arrays, for devices without pinned memory.

use crate::arrays::host_array::busy_error;
use crate::arrays::read::{OutputPlace, Reading, ReplayedDownload};
use crate::error::{Error, ErrorDetail, Result};
use crate::runtime::owner::Owner;
use crate::runtime::pending::{LateSteps, block_on};
use crate::scheduler::engine::Engine;
use crate::scheduler::wakers::Deadline;
use fencepost_kernels::Element;
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep_for};
use fencepost_sync::{Point, Stamp};
use std::panic::Location;
use std::sync::Arc;
use std::thread::ThreadId;

/// Ordinary memory that replays of graphs can download to.
pub(crate) type PlainMemory<T> = Mutex<Plain<T>>;

/// Elements of a pinned array in ordinary memory. Graphs share them with the array.
pub(crate) type SharedElements<T> = Arc<Mutex<PlainElements<T>>>;

/// Ordinary memory, for devices without pinned memory.
pub(crate) struct Plain<T> {
    pub(crate) data: SharedElements<T>,
    /// Last download to the array, until its elements are in `data`.
    coming: Option<ComingDownload<T>>,
    /// Stamp of the last download. Earlier downloads that are reported later are ignored.
    last: Stamp,
    /// Wait of a thread for `coming`, which the thread has taken out meanwhile.
    awaited: Option<AwaitedDownload>,
    /// Notified when that wait has ended.
    arrived: Arc<Condvar>,
    /// Last download by a replay. Graphs share it with the array.
    pub(crate) replayed: Arc<ReplayedDownload>,
}

impl<T: Element> Plain<T> {
    /// Allocates zeroed memory, within the limits of pinned memory. `label` names the array in an error.
    pub(crate) fn new(owner: &Owner, len: usize, label: &str) -> Result<Self> {
        let bytes = len as u64 * T::DTYPE.size() as u64;
        let limit = owner.device().caps().max_block;
        if bytes > limit {
            return Err(ErrorDetail::TooLarge { object: object(label), bytes, limit }.into());
        }
        Ok(Self::of(zeros(len, label)?))
    }

    fn of(elements: Vec<T>) -> Self {
        Self {
            data: Arc::new(Mutex::new(PlainElements::of(elements))),
            coming: None,
            last: Stamp::default(),
            awaited: None,
            arrived: Arc::new(Condvar::new()),
            replayed: Arc::default(),
        }
    }

    /// Records that a download to this memory has been enqueued at `at`.
    pub(crate) fn expect(&mut self, at: Stamp, coming: ComingDownload<T>) {
        if at >= self.last {
            self.last = at;
            self.coming = Some(coming);
        }
    }

    /// Takes the pending download to this memory, if there is one.
    fn take_coming(&mut self) -> Option<ComingDownload<T>> {
        if let Some(place) = self.replayed.take() {
            let len = lock(&self.data).len;
            self.expect(place.point.stamp, ComingDownload::of_replay(place, len));
        }
        self.coming.take()
    }
}

/// A thread's wait for a download.
#[derive(Clone)]
struct AwaitedDownload {
    thread: ThreadId,
    engine: Arc<Engine>,
    /// End of the command that copies the bytes.
    point: Point,
}

impl AwaitedDownload {
    /// Waits on a second thread until the command that copies the bytes has ended, even with an error. Only a wait on
    /// that thread finds that it could never end, for example inside a callback that comes before the command.
    ///
    /// # Errors
    /// The error of the wait; `Busy` at the deadline.
    fn wait_too(&self, deadline: Deadline, label: &str) -> Result<()> {
        match self.engine.wait(self.point, deadline) {
            Ok(false) => Err(busy_error(label)),
            Err(error) if !self.engine.is_outcome(self.point, &error) => Err(error),
            Ok(true) | Err(_) => Ok(()),
        }
    }
}

/// Elements of a pinned array in ordinary memory.
pub(crate) struct PlainElements<T> {
    len: usize,
    place: ElementsPlace<T>,
}

/// Place of the elements.
enum ElementsPlace<T> {
    /// Memory that readers share.
    Shared(Arc<Vec<T>>),
    /// A guard with write access, which returns the elements, and the source line that opened it.
    Lent(&'static Location<'static>),
    /// No place, because the program has leaked the guard that had the elements. They count as zeros.
    Leaked,
}

impl<T: Element> PlainElements<T> {
    fn of(elements: Vec<T>) -> Self {
        Self { len: elements.len(), place: ElementsPlace::Shared(Arc::new(elements)) }
    }

    /// Returns the elements for reading. The caller borrows the array, so there is no guard with write access.
    ///
    /// # Errors
    /// `OutOfMemory`, which is possible only after a leak.
    pub(crate) fn share(&mut self, label: &str) -> Result<Arc<Vec<T>>> {
        if let ElementsPlace::Shared(elements) = &self.place {
            return Ok(elements.clone());
        }
        let elements = Arc::new(zeros(self.len, label)?);
        self.place = ElementsPlace::Shared(elements.clone());
        Ok(elements)
    }

    /// Returns the elements for reading by a replay, which does not borrow the array.
    ///
    /// # Errors
    /// `OpenGuard`, or the error of [`share`](Self::share).
    pub(crate) fn share_with_replay(&mut self, label: &str) -> Result<Arc<Vec<T>>> {
        match self.place {
            ElementsPlace::Lent(opened) => Err(ErrorDetail::OpenGuard { array: label.into(), opened }.into()),
            ElementsPlace::Shared(_) | ElementsPlace::Leaked => self.share(label),
        }
    }

    /// Takes the elements for a guard with write access, which `opened` opens. They are copied only if a reader still
    /// has them: a leaked guard, or a replay on another thread.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn lend(&mut self, label: &str, opened: &'static Location<'static>) -> Result<Vec<T>> {
        let shared = self.share(label)?;
        self.place = ElementsPlace::Lent(opened);
        let read = match Arc::try_unwrap(shared) {
            Ok(elements) => return Ok(elements),
            Err(read) => read,
        };
        let copy = reserved::<T>(read.len(), label).map(|mut copy| {
            copy.extend_from_slice(&read);
            copy
        });
        if copy.is_err() {
            self.place = ElementsPlace::Shared(read);
        }
        copy
    }

    /// Stores the elements that a guard returns, or those of a download.
    pub(crate) fn store(&mut self, elements: Vec<T>) {
        self.place = ElementsPlace::Shared(Arc::new(elements));
    }

    /// Ends the guard with write access, if there is one. The caller borrows the array, so the program has leaked it.
    pub(crate) fn end_leaked_guard(&mut self) {
        if let ElementsPlace::Lent(_) = self.place {
            self.place = ElementsPlace::Leaked;
        }
    }
}

/// A download to ordinary memory that the device may not have completed.
pub(crate) struct ComingDownload<T> {
    engine: Arc<Engine>,
    /// End of the command that copies the bytes.
    point: Point,
    steps: Box<dyn LateSteps<Vec<T>>>,
}

impl<T: Element> ComingDownload<T> {
    pub(crate) fn of_read(reading: Reading<T>) -> Self {
        Self { engine: reading.engine.clone(), point: reading.point, steps: Box::new(reading) }
    }

    fn of_replay(place: OutputPlace, len: usize) -> Self {
        let engine = place.owner.engine().clone();
        let point = place.point;
        Self { engine, point, steps: Box::new(place.steps::<T>(len, ())) }
    }

    /// Waits for the elements. Returns `None` if they are not there in time.
    fn wait(&mut self, deadline: Deadline) -> Option<Result<Vec<T>>> {
        block_on(deadline, |mode| self.steps.advance(mode)).transpose()
    }

    /// Returns `true` if the download itself has ended with `error`. Any other error is that of a wait, and says nothing
    /// about the download.
    fn has_ended_with(&self, error: &Error) -> bool {
        self.engine.is_outcome(self.point, error)
    }
}

/// Waits for the pending download to the memory, if any, stores its elements, and returns the memory's elements. No
/// lock is held during the wait, which may run user code. `label` names the array in an error.
///
/// # Errors
/// The error of the download, once; the error of a wait, after which a later call waits again; `Busy` at the deadline.
pub(crate) fn finish_download<T: Element>(
    memory: &PlainMemory<T>,
    deadline: Deadline,
    label: &str,
) -> Result<SharedElements<T>> {
    let here = std::thread::current().id();
    let mut plain = lock(memory);
    while let Some(awaited) = plain.awaited.clone() {
        // User code that runs during this thread's wait comes here if it also uses the array.
        if awaited.thread == here || deadline.has_passed() {
            return Err(busy_error(label));
        }
        drop(plain);
        awaited.wait_too(deadline, label)?;
        plain = lock(memory);
        if plain.awaited.is_some() {
            let arrived = plain.arrived.clone();
            plain = sleep_for(&arrived, plain, deadline.slice());
        }
    }
    let Some(coming) = plain.take_coming() else { return Ok(plain.data.clone()) };
    plain.awaited =
        Some(AwaitedDownload { thread: here, engine: coming.engine.clone(), point: coming.point });
    drop(plain);
    // Dropping `wait` puts a download back that has not ended.
    let mut wait = DownloadWait { memory, coming: Some(coming) };
    match wait.coming.as_mut().and_then(|coming| coming.wait(deadline)) {
        None => return Err(busy_error(label)),
        Some(Ok(elements)) => {
            wait.coming = None;
            lock(&lock(memory).data).store(elements);
        }
        Some(Err(error)) => {
            wait.coming = wait.coming.take().filter(|coming| !coming.has_ended_with(&error));
            return Err(error);
        }
    }
    drop(wait);
    Ok(lock(memory).data.clone())
}

/// A thread's wait for a download. Its drop ends the wait, even after a panic.
struct DownloadWait<'a, T> {
    memory: &'a PlainMemory<T>,
    coming: Option<ComingDownload<T>>,
}

impl<T> Drop for DownloadWait<'_, T> {
    fn drop(&mut self) {
        let mut plain = lock(self.memory);
        plain.awaited = None;
        if plain.coming.is_none() {
            plain.coming = self.coming.take();
        }
        plain.arrived.notify_all();
    }
}

/// Returns the name of an array in an error.
fn object(label: &str) -> String {
    format!("array `{label}`")
}

/// Allocates memory for elements.
fn reserved<T: Element>(len: usize, label: &str) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(len).map_err(|_| ErrorDetail::OutOfMemory {
        object: object(label),
        bytes: len as u64 * T::DTYPE.size() as u64,
        limit: None,
    })?;
    Ok(elements)
}

/// Allocates zeroed elements.
fn zeros<T: Element>(len: usize, label: &str) -> Result<Vec<T>> {
    let mut elements = reserved(len, label)?;
    elements.resize(len, T::zeroed());
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::pending::WaitMode;
    use crate::scheduler::test_engine::{engine, enqueue, enqueue_callback, finish, here, queue};
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    /// Steps of a download that end in these ways, the last one first.
    struct Ends(Vec<Option<Result<Vec<u32>>>>);

    impl LateSteps<Vec<u32>> for Ends {
        fn advance(&mut self, _: &WaitMode<'_>) -> Option<Result<Vec<u32>>> {
            self.0.pop().expect("no call follows the end")
        }
    }

    /// Returns memory with a pending download.
    fn downloading(engine: &Arc<Engine>, point: Point, ends: Ends) -> PlainMemory<u32> {
        let mut plain = Plain::of(vec![7, 8]);
        let steps = Box::new(ends);
        plain.expect(point.stamp, ComingDownload { engine: engine.clone(), point, steps });
        Mutex::new(plain)
    }

    /// Returns the elements that the host finds, or its error.
    fn found(memory: &PlainMemory<u32>) -> Result<Vec<u32>> {
        let elements = finish_download(memory, Deadline::after(None), "x")?;
        let elements = lock(&elements).share("x")?;
        Ok(elements.to_vec())
    }

    #[test]
    fn m03_an_access_that_is_refused_leaves_the_download_to_the_next_access() {
        let engine = engine(false);
        let point = enqueue(&engine, queue(&engine));
        let refused = || -> Option<Result<Vec<u32>>> { Some(Err(fencepost_sync::Error::WouldBlock.into())) };
        let ends = Ends(vec![Some(Ok(vec![1, 2])), refused(), None, refused()]);
        let memory = downloading(&engine, point, ends);
        for refusal in ["a refusal", "a limit of time", "another refusal"] {
            assert!(found(&memory).is_err(), "{refusal}");
        }
        assert_eq!(found(&memory).expect("the download has arrived"), [1, 2]);
        assert_eq!(found(&memory).expect("no download is pending"), [1, 2]);
    }

    #[test]
    fn q11_an_access_in_a_callback_before_a_download_that_another_thread_awaits_is_refused() {
        let engine = engine(false);
        let slot = queue(&engine);
        let memory = Arc::new(Mutex::new(Plain::of(vec![7_u32, 8])));
        let inside = memory.clone();
        let (tell, told) = channel();
        enqueue_callback(&engine, slot, move || {
            let limit = Deadline::after(Some(Duration::from_secs(30)));
            tell.send(finish_download(&inside, limit, "x").map(drop)).expect("the test goes on");
        });
        let point = enqueue(&engine, slot);
        let other = thread::spawn(|| thread::current().id()).join().expect("the thread does not panic");
        lock(&memory).awaited = Some(AwaitedDownload { thread: other, engine: engine.clone(), point });
        finish(&engine, point);
        let error =
            told.recv().expect("the callback has run").expect_err("the access waits for its callback");
        assert!(matches!(error.detail(), ErrorDetail::WouldDeadlock { .. }), "{error}");
    }

    #[test]
    fn m03_the_error_of_a_download_is_returned_once() {
        let engine = engine(false);
        let slot = queue(&engine);
        let point = enqueue(&engine, slot);
        let error: Error = busy_error("y");
        engine.lock().fail_queue(slot, point.stamp, error.clone());
        let memory = downloading(&engine, point, Ends(vec![Some(Err(error.clone()))]));
        assert!(found(&memory).is_err_and(|found| found.is(&error)));
        assert_eq!(found(&memory).expect("the program has taken the error"), [7, 8]);
    }

    #[test]
    fn m03_a_guard_with_write_access_takes_the_elements_and_copies_them_only_beside_a_reader() {
        let mut elements = PlainElements::of(vec![7_u32, 8]);
        let place = elements.share("x").expect("they are there").as_ptr();
        let mut lent = elements.lend("x", here()).expect("there is memory");
        assert_eq!(lent.as_ptr(), place);
        lent[0] = 1;
        elements.store(lent);
        let read = elements.share("x").expect("they are there");
        let mut lent = elements.lend("x", here()).expect("there is memory");
        lent[1] = 2;
        elements.store(lent);
        assert_eq!((&**read, &**elements.share("x").expect("they are there")), (&[1, 8][..], &[1, 2][..]));
    }

    #[test]
    fn m03_a_replay_finds_no_elements_while_a_guard_may_write_them_and_zeros_after_a_leak() {
        let mut elements = PlainElements::of(vec![7_u32, 8]);
        std::mem::forget(elements.lend("x", here()).expect("there is memory"));
        let error = elements.share_with_replay("x").expect_err("the guard may still write");
        assert!(matches!(error.detail(), ErrorDetail::OpenGuard { array, .. } if array == "x"), "{error}");
        elements.end_leaked_guard();
        assert_eq!(*elements.share_with_replay("x").expect("the guard has ended"), [0, 0]);
    }
}
