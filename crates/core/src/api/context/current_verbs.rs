//! Verbs without a queue: they go to the current one.

use crate::api::context::Context;
use crate::api::grid::Grid;
use crate::api::kernel::{DynKernel, Kernel};
use crate::api::queue::launch::SameKernel;
use crate::api::queue::transfer::same_shape;
use crate::arrays::device_array::DeviceArray;
use crate::arrays::host_array::{Download, HostArray, Upload};
use crate::arrays::upload_source::Source;
use crate::error::Result;
use crate::memory::region::Region;
use crate::runtime::event::{Event, Events};
use crate::runtime::pending::{Pending, then};
use fencepost_kernels::{Element, KernelArgs, NamedArg};
use std::ops::Range;
use std::panic::Location;

/// Verbs on the [current queue](Context::current_queue) of this thread. Whoever has a queue in hand calls the queue's own.
/// [`zeros`](Context::zeros) and the like are none of these: what the context makes is before every later use on any
/// queue.
impl Context {
    /// *Enqueues* a launch on the current queue: [`CommandQueue::launch`](crate::CommandQueue::launch).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn launch<F: KernelArgs>(
        &self,
        kernel: &Kernel<F>,
        grid: Grid<'_>,
        args: impl KernelArgs<Family: SameKernel<F>>,
    ) -> Result<()> {
        self.current_queue().launch(kernel, grid, args)
    }

    /// *Enqueues* a launch of a kernel made from a text on the current queue:
    /// [`CommandQueue::launch_dyn`](crate::CommandQueue::launch_dyn).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn launch_dyn<'a>(
        &self,
        kernel: &DynKernel,
        grid: Grid<'_>,
        args: impl AsRef<[NamedArg<'a>]>,
    ) -> Result<()> {
        self.current_queue().launch_dyn(kernel, grid, args)
    }

    /// *Enqueues* a copy of host elements into device memory on the current queue:
    /// [`CommandQueue::upload`](crate::CommandQueue::upload).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn upload<T: Element, const D: usize>(
        &self,
        src: &(impl Source<T> + ?Sized),
        dst: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        self.current_queue().upload(src, dst)
    }

    /// *Enqueues* a copy of a pinned part on the current queue:
    /// [`CommandQueue::upload_range`](crate::CommandQueue::upload_range).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn upload_range<T: Element, const D: usize, const E: usize>(
        &self,
        src: &HostArray<T, Upload, D>,
        range: Range<usize>,
        dst: &mut DeviceArray<T, E>,
    ) -> Result<()> {
        self.current_queue().upload_range(src, range, dst)
    }

    /// *Enqueues* a copy of device memory into a pinned host array on the current queue:
    /// [`CommandQueue::download`](crate::CommandQueue::download).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn download<T: Element, const D: usize, const E: usize>(
        &self,
        src: &DeviceArray<T, D>,
        dst: &mut HostArray<T, Download, E>,
    ) -> Result<()> {
        self.current_queue().download(src, dst)
    }

    /// *Enqueues* a copy from one array to another on the current queue:
    /// [`CommandQueue::copy`](crate::CommandQueue::copy).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn copy<T: Element, const D: usize>(
        &self,
        src: &DeviceArray<T, D>,
        dst: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        self.current_queue().copy(src, dst)
    }

    /// *Enqueues* a fill on the current queue: [`CommandQueue::fill`](crate::CommandQueue::fill).
    ///
    /// # Errors
    /// As there.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// queue.make_current();
    /// ctx.fill(&mut x, 7)?;                              // on `queue`
    /// assert_eq!(queue.read(&x).wait()?, [7; 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn fill<T: Element, const D: usize>(&self, array: &mut DeviceArray<T, D>, value: T) -> Result<()> {
        self.current_queue().fill(array, value)
    }

    /// *Flushes* the current queue; the elements come when everything enqueued so far on it is done:
    /// [`CommandQueue::read`](crate::CommandQueue::read).
    ///
    /// On a thread without a current queue, under [`Policy::Unchecked`](crate::Policy::Unchecked), the default queue first
    /// waits for everything enqueued so far on every queue (rule P05). So it is with `read_with`, `read_into` and `get`.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn read<T: Element, const D: usize>(&self, array: &DeviceArray<T, D>) -> Pending<Vec<T>> {
        self.read_with(array, Vec::new())
    }

    /// As [`read`](Self::read), into the storage of a `Vec` that is used again.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn read_with<T: Element, const D: usize>(
        &self,
        array: &DeviceArray<T, D>,
        storage: Vec<T>,
    ) -> Pending<Vec<T>> {
        match self.reading_queue() {
            Some(queue) => queue.read_with(array, storage),
            None => {
                let reading = self.read_behind_all(array, &array.all(), storage, Location::caller());
                reading.map_or_else(|error| Pending::ready(Err(error)), Pending::late)
            }
        }
    }

    /// Blocks until the elements are in `out`: [`CommandQueue::read_into`](crate::CommandQueue::read_into) of the current
    /// queue.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn read_into<T: Element, const D: usize>(
        &self,
        array: &DeviceArray<T, D>,
        out: &mut [T],
    ) -> Result<()> {
        match self.reading_queue() {
            Some(queue) => queue.read_into(array, out),
            None => {
                same_shape("the target of a read", &[out.len()], &[array.len()])?;
                self.read_behind_all(array, &array.all(), Vec::new(), Location::caller())?.wait_into(out)
            }
        }
    }

    /// *Returns* the event of everything enqueued so far on the current queue:
    /// [`CommandQueue::marker`](crate::CommandQueue::marker).
    pub fn marker(&self) -> Event {
        self.current_queue().marker()
    }

    /// *Returns* nothing, and makes `event` stand for everything enqueued so far on the current queue:
    /// [`CommandQueue::record`](crate::CommandQueue::record).
    ///
    /// # Errors
    /// As there.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.current_queue().record(event)
    }

    /// *Enqueues* a wait for events on the current queue: [`CommandQueue::wait_for`](crate::CommandQueue::wait_for).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn wait_for(&self, events: &(impl Events + ?Sized)) -> Result<()> {
        self.current_queue().wait_for(events)
    }

    /// *Flushes* the current queue; one element comes: [`CommandQueue::get`](crate::CommandQueue::get).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn get<T: Element, const D: usize>(
        &self,
        array: &DeviceArray<T, D>,
        index: [usize; D],
    ) -> Pending<T> {
        match self.reading_queue() {
            Some(queue) => queue.get(array, index),
            None => {
                let part = array.part(Region::index(index));
                let reading =
                    part.and_then(|part| self.read_behind_all(array, &part, Vec::new(), Location::caller()));
                let reading = reading.map_or_else(|error| Pending::ready(Err(error)), Pending::late);
                then(reading, |elements: Vec<T>| Ok(elements[0]))
            }
        }
    }

    /// *Enqueues* a new value of one element on the current queue: [`CommandQueue::set`](crate::CommandQueue::set).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn set<T: Element, const D: usize>(
        &self,
        array: &mut DeviceArray<T, D>,
        index: [usize; D],
        value: T,
    ) -> Result<()> {
        self.current_queue().set(array, index, value)
    }
}
