//! Arrays on wgpu buffers, which the program's own commands can use.

use crate::api::context::Context;
use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::arrays::storage::Storage;
use crate::device::wgpu_device::WgpuDevice;
use crate::error::{Kind, Result};
use crate::memory::shape::elements;
use crate::runtime::owner::Owner;
use fencepost_kernels::Element;
use std::panic::Location;
use std::sync::Arc;
use wgpu::BufferUsages as Usages;

/// What work may do with an array.
const NEEDED: Usages = Usages::STORAGE.union(Usages::COPY_SRC).union(Usages::COPY_DST);

impl Context {
    /// An array that lies on a wgpu buffer of the program's own, from its first byte on. Nothing is copied, and the
    /// bytes stay as they are.
    ///
    /// The buffer is of the context's device: the program's, if the context has [adopted](Self::adopt) that, or the one
    /// that [`wgpu`](Self::wgpu) shows. What the program submits with wgpu before a flush of the context, or puts with
    /// `write_buffer`, comes before what that flush starts; what it submits after work of the context was waited for
    /// comes after. All arrays on one buffer share its memory, and the context orders their uses as it does those of
    /// slices; an array that starts elsewhere in the buffer is a slice of one from its start.
    ///
    /// The array keeps the buffer, which the program may drop. It does not keep it from being mapped or destroyed: work
    /// that is submitted then fails.
    ///
    /// # Shape
    /// `[n0, n1, …]`, C order: `size_of::<T>() * n0 * n1 * …` bytes, rounded up to 4, lie in the buffer.
    ///
    /// # Errors
    /// [`Kind::Buffer`] if the buffer is too small, or lacks one of the usages `STORAGE`, `COPY_SRC`, `COPY_DST`;
    /// [`Kind::Device`] if the buffer is of another device of the same wgpu instance (of another instance's, wgpu cannot
    /// tell), or the context is on none; [`Kind::TooLarge`], [`Kind::DeviceLost`].
    ///
    /// # Panics
    /// As wgpu does where it is handed a buffer of another instance.
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
        let line = Location::caller().line();
        let label: Arc<str> = format!("{} {shape:?} on a buffer, line {line}", T::DTYPE).into();
        let len = elements::<T>(&format!("array `{label}`"), &shape)?;
        let device = device_of(&self.owner, || format!("array `{label}`"))?;
        let end = len as u64 * T::DTYPE.size() as u64;
        check(buffer, end.next_multiple_of(4), &label)?;
        let storage = lay(&self.owner, device, buffer, label)?;
        let array = ArrayRef { storage, offset: 0, len, dtype: T::DTYPE, followed: end < buffer.size() };
        Ok(DeviceArray::new(array, shape))
    }

    /// An array of zeros on a wgpu buffer of its own, before every later use on any queue: for commands of the program's
    /// own, which [`encode`](crate::CommandQueue::encode) puts into the order of a queue. Every verb takes it, too. It is
    /// no part of the memory pool, and work on it costs more than work on other arrays where a native recorder records.
    ///
    /// The buffer has the usages `STORAGE`, `COPY_SRC` and `COPY_DST`, and those in `usage`, such as `VERTEX`.
    ///
    /// # Errors
    /// [`Kind::Device`] if wgpu does not make such a buffer, or the context is on no wgpu device; [`Kind::TooLarge`],
    /// [`Kind::OutOfMemory`], [`Kind::DeviceLost`].
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
        let line = Location::caller().line();
        let label: Arc<str> = format!("{} {shape:?} shared with wgpu, line {line}", T::DTYPE).into();
        let len = elements::<T>(&format!("array `{label}`"), &shape)?;
        let device = device_of(&self.owner, || format!("array `{label}`"))?;
        let buffer = device.shared_buffer(len as u64 * T::DTYPE.size() as u64, NEEDED | usage, &label)?;
        let storage = lay(&self.owner, device, &buffer, label)?;
        Ok(DeviceArray::new(ArrayRef { storage, offset: 0, len, dtype: T::DTYPE, followed: false }, shape))
    }
}

/// The memory of arrays on a buffer.
fn lay(owner: &Owner, device: &WgpuDevice, buffer: &wgpu::Buffer, label: Arc<str>) -> Result<Arc<Storage>> {
    let engine = owner.engine();
    let block = engine.checked(device.block_on(buffer, &label))?;
    let state = engine.lock();
    state.lost()?;
    engine.release_external_blocks(state);
    Ok(Storage::new(block, label, owner.clone()))
}

/// # Errors
/// `Device`, naming what wants one, if the context is on none.
pub(crate) fn device_of(owner: &Owner, object: impl FnOnce() -> String) -> Result<&WgpuDevice> {
    let none = || Kind::Device { object: object(), message: "the CPU recorder has no wgpu device".into() };
    owner.wgpu().ok_or_else(|| none().into())
}

/// Fails unless work can do with `bytes` bytes of the buffer what it does with arrays.
fn check(buffer: &wgpu::Buffer, bytes: u64, label: &str) -> Result<()> {
    let refused = |found: String, needed: String| {
        let array = label.to_owned();
        Err(Kind::Buffer { array, found, needed }.into())
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

/// As in `STORAGE | COPY_SRC`.
fn names(usages: Usages) -> String {
    let names: Vec<_> = usages.iter_names().map(|(name, _)| name).collect();
    if names.is_empty() { "none".into() } else { names.join(" | ") }
}
