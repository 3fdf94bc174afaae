//! Commands that the program records itself, in the order of a queue.

use crate::api::context::wgpu_arrays::device_of;
use crate::api::queue::CommandQueue;
use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::driver::error_scopes::Operation;
use crate::error::{CommandKind, ErrorDetail, Result};
use crate::runtime::event::same_context;
use crate::scheduler::ordering::Admission;
use crate::work::kernel_launch::BoundArray;
use crate::work::step::{WgpuCommands, Work};
use fencepost_kernels::{Access, Element};
use std::fmt;
use std::panic::Location;

/// Arrays that the program's own commands read and write, for [`CommandQueue::encode`] and
/// [`CommandQueue::submit_foreign`].
///
/// The policy uses this list to order the commands, as it uses the arguments to order a launch. The context does not
/// check that the list fits the commands.
pub struct AccessList<'q> {
    queue: &'q CommandQueue,
    uses: Vec<BoundArray>,
}

impl AccessList<'_> {
    /// Declares that the commands read an array, and returns the part of the wgpu buffer that the array occupies.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::NotShared`] unless the array was made by [`shared_array`](crate::Context::shared_array)
    /// or [`array_on`](crate::Context::array_on); [`ErrorDetail::Alignment`] for a slice that starts or ends inside a
    /// word of 4 bytes; [`ErrorDetail::ForeignContext`].
    pub fn read<'a, T: Element, const D: usize>(
        &mut self,
        array: &'a DeviceArray<T, D>,
    ) -> Result<wgpu::BufferSlice<'a>> {
        self.add(&array.array, Access::Read)
    }

    /// Declares that the commands write an array, and perhaps also read it. Returns the part of the wgpu buffer that
    /// the array occupies.
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read).
    pub fn write<'a, T: Element, const D: usize>(
        &mut self,
        array: &'a mut DeviceArray<T, D>,
    ) -> Result<wgpu::BufferSlice<'a>> {
        self.add(&array.array, Access::ReadWrite)
    }

    fn add<'a>(&mut self, array: &'a ArrayRef, access: Access) -> Result<wgpu::BufferSlice<'a>> {
        same_context(self.queue.owner(), &array.storage.owner, || {
            format!("array `{}`", array.storage.label())
        })?;
        let shared = array.storage.block().shared_buffer();
        let buffer = shared.ok_or_else(|| ErrorDetail::NotShared { array: array.label() })?;
        let span = array.words()?;
        let range = span.range();
        let offset = span.offset;
        let size = span.size;
        self.uses.push(BoundArray { at: 0, block: span.block, offset, size, used: Some(access) });
        Ok(buffer.slice(range))
    }
}

impl fmt::Debug for AccessList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessList of {} uses for {:?}", self.uses.len(), self.queue)
    }
}

impl CommandQueue {
    /// *Enqueues* the commands that `record` records with wgpu, in the order of this queue.
    ///
    /// `record` runs at once. The device runs the commands after everything enqueued before on this queue, and after
    /// earlier uses of the declared arrays on other queues, as the policy orders them. Events, waits and errors cover
    /// the commands as they cover a launch.
    ///
    /// The call returns the value of `record`. If `record` returns an error, the call enqueues nothing.
    ///
    /// # Errors
    /// Returns the errors of `record`; [`ErrorDetail::Device`] if wgpu refuses the commands, or if the context is not
    /// on a wgpu device; [`ErrorDetail::Mapped`]; [`ErrorDetail::Hazard`] under `Checked`; the queue's own error, and
    /// then `record` does not run.
    ///
    /// # Example
    /// ```no_run
    /// use fencepost::Context;
    /// use wgpu::BufferUsages as Usages;
    /// let ctx = Context::new().wait()?;
    /// let queue = ctx.queue("main");
    /// let mut x = ctx.shared_array::<u32, 1>([4], Usages::empty())?;
    /// let mut y = ctx.shared_array::<u32, 1>([4], Usages::empty())?;
    /// queue.fill(&mut x, 7)?;
    /// queue.encode(|encoder, access| {
    ///     let (from, to) = (access.read(&x)?, access.write(&mut y)?);
    ///     encoder.copy_buffer_to_buffer(from.buffer(), from.offset(), to.buffer(), to.offset(), from.size());
    ///     Ok(())
    /// })?;
    /// assert_eq!(queue.read(&y).wait()?, [7; 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn encode<T>(
        &self,
        record: impl FnOnce(&mut wgpu::CommandEncoder, &mut AccessList<'_>) -> Result<T>,
    ) -> Result<T> {
        let by = self.admission("encode")?;
        let device = device_of(self.owner(), || self.commands())?;
        let desc = wgpu::CommandEncoderDescriptor { label: Some(self.label()) };
        let mut encoder = device.raw().create_command_encoder(&desc);
        let mut access = AccessList { queue: self, uses: Vec::new() };
        let recorded = record(&mut encoder, &mut access)?;
        let operation = Operation { object: &self.commands(), bytes: 0 };
        let commands = operation.run(device.raw(), || encoder.finish())?;
        self.enqueue_encoded(by, vec![commands], access.uses)?;
        Ok(recorded)
    }

    /// *Enqueues* finished wgpu command buffers, in the order of this queue. `declare` lists the arrays that they read
    /// and write.
    ///
    /// # Errors
    /// Returns the errors of [`encode`](Self::encode). wgpu validates the command buffers when they are submitted, and
    /// an error of that validation becomes the queue's error.
    ///
    /// # Example
    /// ```no_run
    /// use fencepost::Context;
    /// # let (buffer, frame): (wgpu::Buffer, wgpu::CommandBuffer) = panic!("not run");
    /// # let ctx = Context::new().wait()?;
    /// let queue = ctx.queue("main");
    /// let mut points = ctx.array_on::<[f32; 4], 1>(&buffer, [1000])?;
    /// queue.fill(&mut points, [0.0; 4])?;
    /// queue.submit_foreign([frame], |access| access.read(&points).map(drop))?;
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn submit_foreign(
        &self,
        commands: impl IntoIterator<Item = wgpu::CommandBuffer>,
        declare: impl FnOnce(&mut AccessList<'_>) -> Result<()>,
    ) -> Result<()> {
        let by = self.admission("submit_foreign")?;
        device_of(self.owner(), || self.commands())?;
        let mut access = AccessList { queue: self, uses: Vec::new() };
        declare(&mut access)?;
        self.enqueue_encoded(by, commands.into_iter().collect(), access.uses)
    }

    #[track_caller]
    fn admission(&self, call: &'static str) -> Result<Admission> {
        let remedy =
            "wgpu submits a command buffer only once: enqueue the commands before or after the replay";
        self.not_captured(call, remedy)?;
        let slot = self.slot()?;
        self.owner().engine().lock().check(slot)?;
        Ok(Admission { slot, what: CommandKind::Encode, at: Location::caller() })
    }

    fn enqueue_encoded(
        &self,
        by: Admission,
        commands: Vec<wgpu::CommandBuffer>,
        uses: Vec<BoundArray>,
    ) -> Result<()> {
        let work = Work::WgpuCommands(Box::new(WgpuCommands::new(commands, uses)));
        self.owner().engine().enqueue(by, work).map(|_| ())
    }

    /// Returns the name of the program's commands in messages.
    fn commands(&self) -> String {
        format!("commands for queue `{}`", self.label())
    }
}
