//! Maps of arrays: guards through which the host accesses device memory.

use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::arrays::host_elements::{HostElements, granted};
use crate::arrays::read::Reading;
use crate::error::Result;
use crate::memory::host_access::HostUseKind;
use crate::runtime::captured::check_host_access;
use crate::runtime::pending::{LateSteps, Pending, WaitMode, WakerRegistration, late};
use crate::scheduler::host_guard::HostGuard;
use fencepost_kernels::Element;
use fencepost_sync::MaybeSend;
use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

/// A guard that gives read access to the elements of a mapped array. Until the guard is dropped, no command can use the
/// array.
pub struct ReadMap<T: Element>(HostElements<'static, T>);

/// A guard that gives write access to the elements of a mapped array. Dropping the guard makes the changes visible to
/// the device. Until then, no command can use the array.
pub struct WriteMap<T: Element>(HostElements<'static, T>);

impl<T: Element, const D: usize> DeviceArray<T, D> {
    /// Maps the array for reading, after all writes to it enqueued so far. The map waits for no other command. If the
    /// host cannot access the memory, or if it is not aligned for `T`, the result is a copy.
    ///
    /// Until the guard is dropped, no command can use any array that shares the memory, even if only a slice is mapped.
    ///
    /// # Errors
    /// [`ErrorDetail::Mapped`](crate::ErrorDetail::Mapped) if the array is already mapped; the error of the last command that writes
    /// the elements, if it has failed, until the program [takes](crate::CommandQueue::take_error) that error.
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
        self.mapping(false, ReadMap, "map_read", Location::caller())
    }

    /// Maps the array for writing, after all uses of it enqueued so far. The map waits for no other command.
    ///
    /// # Errors
    /// The errors of [`map_read`](Self::map_read).
    #[track_caller]
    pub fn map_write(&self) -> Pending<WriteMap<T>> {
        self.mapping(true, WriteMap, "map_write", Location::caller())
    }

    fn mapping<G: MaybeSend + 'static>(
        &self,
        write: bool,
        guard: fn(HostElements<'static, T>) -> G,
        call: &'static str,
        at: &'static Location<'static>,
    ) -> Pending<G> {
        match check_host_access(self.array.storage.block().into(), call, at) {
            Ok(()) => late(Mapping::new(self.array.clone(), write, guard, at)),
            Err(refused) => Pending::ready(Err(refused)),
        }
    }
}

/// The pending result of a map call.
struct Mapping<T: Element, G> {
    array: ArrayRef,
    write: bool,
    guard: fn(HostElements<'static, T>) -> G,
    at: &'static Location<'static>,
    /// `Some` while a read copies memory that the host cannot access directly. Meanwhile the host access keeps other
    /// commands out.
    copying: Option<(HostGuard, Reading<T>)>,
    registration: WakerRegistration,
}

impl<T: Element, G> Mapping<T, G> {
    fn new(
        array: ArrayRef,
        write: bool,
        guard: fn(HostElements<'static, T>) -> G,
        at: &'static Location<'static>,
    ) -> Self {
        Self { array, write, guard, at, copying: None, registration: WakerRegistration::default() }
    }

    /// Returns the guard. If the host cannot access the memory, `copy` contains the elements.
    fn make_guard(&self, access: HostGuard, copy: Option<Vec<T>>) -> G {
        access.report_done(self.array.span().range());
        let array = Cow::Owned(self.array.clone());
        (self.guard)(match copy {
            Some(copy) => HostElements::of_copy(array, access, copy, self.write),
            None => HostElements::new(array, access, self.write),
        })
    }

    /// Returns the host access to the memory once it is granted. Returns `None` as [`LateSteps::advance`] does.
    fn access(&mut self, mode: &WaitMode<'_>) -> Option<Result<HostGuard>> {
        let want = HostUseKind::Map { write: self.write };
        let engine = self.array.storage.owner.engine();
        granted(engine, (&self.array.span(), want), None, mode, &mut self.registration)
    }

    /// Returns the guard if the host can access the memory. Otherwise enqueues a read of a copy, and returns `None`.
    fn guard_or_copy(&mut self, access: HostGuard) -> Result<Option<G>> {
        self.array.words()?;
        if access.block().direct() {
            return Ok(Some(self.make_guard(access, None)));
        }
        let reading = self.array.storage.owner.read_for_context(&self.array, self.at)?;
        self.copying = Some((access, reading));
        Ok(None)
    }
}

impl<T: Element, G> LateSteps<G> for Mapping<T, G> {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<G>> {
        if self.copying.is_none() {
            let given = self.access(mode)?.and_then(|access| self.guard_or_copy(access));
            if let Some(given) = given.transpose() {
                return Some(given);
            }
        }
        let (_, reading) = self.copying.as_mut()?;
        let copy = reading.advance(mode)?;
        let (access, _) = self.copying.take()?;
        Some(copy.map(|copy| self.make_guard(access, Some(copy))))
    }
}

impl<T: Element> Deref for ReadMap<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_slice()
    }
}

impl<T: Element> Deref for WriteMap<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_slice()
    }
}

impl<T: Element> DerefMut for WriteMap<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.0.as_mut_slice()
    }
}
