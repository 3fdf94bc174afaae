//! Arrays on wgpu buffers, so that programs can use them in commands that they record themselves.

use crate::api::context::Context;
use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::arrays::storage::{Storage, at_line};
use crate::device::wgpu_device::WgpuDevice;
use crate::error::{ErrorDetail, Result};
use crate::memory::region::elements;
use crate::runtime::owner::Owner;
use fencepost_kernels::Element;
use std::panic::Location;
use std::sync::Arc;
use wgpu::BufferUsages as Usages;

/// Buffer usages that the commands of a context need.
const NEEDED: Usages = Usages::STORAGE.union(Usages::COPY_SRC).union(Usages::COPY_DST);

impl Context {
    /// Returns an array on a wgpu buffer of the program. The array starts at the first byte of the buffer. The call
    /// copies nothing, and the buffer keeps its contents.
    ///
    /// The buffer belongs to the context's device: the program's device if the context has [adopted](Self::adopt) it,
    /// else the device that [`wgpu`](Self::wgpu) returns. All arrays on one buffer share its memory, and the context
    /// orders their uses as it orders the uses of slices. For an array that starts elsewhere in the buffer, take a
    /// slice of an array that starts at its first byte.
    ///
    /// Work that the context flushes executes after everything that the program submitted with wgpu, or wrote with
    /// `write_buffer`, before the flush. To run its own wgpu work after work of the context, a program first waits until
    /// that work is [submitted](crate::Event::submitted), as in `queue.marker().submitted().wait()?` (rule Q17). It need
    /// not wait for the end of the work.
    ///
    /// The array retains the buffer, so the program may drop its own handle. If the program maps or destroys the
    /// buffer, later work on the array fails.
    ///
    /// # Shape
    /// `[n0, n1, …]`, C order: `size_of::<T>() * n0 * n1 * …` bytes, rounded up to 4, lie in the buffer.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Buffer`] if the buffer is too small, or lacks one of the usages `STORAGE`, `COPY_SRC`,
    /// `COPY_DST`. Returns [`ErrorDetail::Device`] if the context is not on a wgpu device, or if the buffer belongs to
    /// another device of the same wgpu instance; wgpu cannot detect a buffer of another instance. In a browser, the first
    /// work on the array fails instead. Also returns [`ErrorDetail::TooLarge`] and [`ErrorDetail::DeviceLost`].
    ///
    /// # Panics
    /// Panics as wgpu does for a buffer of another wgpu instance.
    ///
    /// # Example
    /// ```no_run
    /// use fencepost::Context;
    /// use wgpu::BufferUsages as Usages;
    /// let ctx = Context::new().wait()?;
    /// let (device, queue) = ctx.wgpu().expect("a real device");
    /// let (label, usage) = (Some("mine"), Usages::STORAGE | Usages::COPY_SRC | Usages::COPY_DST);
    /// let desc = wgpu::BufferDescriptor { label, size: 16, usage, mapped_at_creation: false };
    /// let buffer = device.create_buffer(&desc);
    /// queue.write_buffer(&buffer, 0, &[7; 16]);
    /// let x = ctx.array_on::<u32, 1>(&buffer, [4])?;
    /// assert_eq!(ctx.queue("main").read(&x).wait()?, [0x0707_0707; 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn array_on<T: Element, const D: usize>(
        &self,
        buffer: &wgpu::Buffer,
        shape: [usize; D],
    ) -> Result<DeviceArray<T, D>> {
        self.external(shape, "on a buffer", |_, bytes, label| {
            check(buffer, bytes.next_multiple_of(4), label)?;
            Ok((buffer.clone(), bytes < buffer.size()))
        })
    }

    /// Returns an array of zeros on a new wgpu buffer. Every later use on any queue sees the zeros.
    ///
    /// The array is meant for commands that the program records itself and enqueues with
    /// [`encode`](crate::CommandQueue::encode), but every other verb takes it too. Its memory is not part of the memory
    /// pool. With a native recorder, work on this array costs more than work on other arrays: a program that mostly works
    /// on such arrays should choose [`RecorderChoice::Wgpu`](crate::RecorderChoice::Wgpu).
    ///
    /// The buffer has the usages `STORAGE`, `COPY_SRC` and `COPY_DST`, and those in `usage`, such as `VERTEX`.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Device`] if wgpu refuses the buffer, or if the context is not on a wgpu device. Also
    /// returns [`ErrorDetail::TooLarge`], [`ErrorDetail::OutOfMemory`] or [`ErrorDetail::DeviceLost`].
    ///
    /// # Example
    /// ```no_run
    /// use fencepost::Context;
    /// let ctx = Context::new().wait()?;
    /// let corners = ctx.shared_array::<[f32; 2], 1>([3], wgpu::BufferUsages::VERTEX)?;
    /// assert_eq!(ctx.current_queue().read(&corners).wait()?, [[0.0; 2]; 3]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn shared_array<T: Element, const D: usize>(
        &self,
        shape: [usize; D],
        usage: Usages,
    ) -> Result<DeviceArray<T, D>> {
        self.external(shape, "shared with wgpu", |device, bytes, label| {
            Ok((device.shared_buffer(bytes, NEEDED | usage, label)?, false))
        })
    }

    /// Returns an array on an external buffer. `buffer` returns that buffer for a size in bytes and a label, and `true`
    /// if the buffer is longer than the array.
    #[track_caller]
    fn external<T: Element, const D: usize>(
        &self,
        shape: [usize; D],
        place: &str,
        buffer: impl FnOnce(&WgpuDevice, u64, &str) -> Result<(wgpu::Buffer, bool)>,
    ) -> Result<DeviceArray<T, D>> {
        self.owner.engine().check_process()?;
        let line = at_line(Location::caller());
        let label: Arc<str> = format!("{} {shape:?} {place}{line}", T::DTYPE).into();
        let len = elements::<T>(&format!("array `{label}`"), &shape)?;
        let device = device_of(&self.owner, || format!("array `{label}`"))?;
        let (buffer, followed) = buffer(device, len as u64 * T::DTYPE.size() as u64, &label)?;
        let engine = self.owner.engine();
        let block = engine.checked(device.block_on(&buffer, &label))?;
        let state = engine.lock();
        state.check_not_lost()?;
        engine.release_external_blocks(state);
        let storage = Storage::new(block, label, self.owner.clone());
        Ok(DeviceArray::new(ArrayRef { storage, offset: 0, len, dtype: T::DTYPE, followed }, shape))
    }
}

/// Returns the wgpu device of a context.
///
/// # Errors
/// Returns `Device`, which names `object`, if the context is not on a wgpu device.
pub(crate) fn device_of(owner: &Owner, object: impl FnOnce() -> String) -> Result<&WgpuDevice> {
    let none = || ErrorDetail::Device {
        object: object(),
        message: "a context on the CPU has no wgpu device".into(),
    };
    owner.wgpu().ok_or_else(|| none().into())
}

/// Checks that the buffer has at least `bytes` bytes and the usages that the commands of a context need.
fn check(buffer: &wgpu::Buffer, bytes: u64, label: &str) -> Result<()> {
    let refused = |found: String, needed: String| {
        let array = label.to_owned();
        Err(ErrorDetail::Buffer { array, found, needed }.into())
    };
    let missing = NEEDED - buffer.usage();
    if !missing.is_empty() {
        return refused(format!("usages {}", names(buffer.usage())), names(missing));
    }
    if buffer.size() < bytes {
        return refused(format!("{} bytes", buffer.size()), format!("{bytes} bytes"));
    }
    Ok(())
}

/// Returns the names of usages, as in `STORAGE | COPY_SRC`.
fn names(usages: Usages) -> String {
    let names: Vec<_> = usages.iter_names().map(|(name, _)| name).collect();
    if names.is_empty() { "none".into() } else { names.join(" | ") }
}
