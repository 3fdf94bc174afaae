//! Barriers and submissions that wgpu-hal does not offer, and native commands in wgpu command encoders.
//!
//! In wgpu-hal, barriers are per buffer, and each submission waits for the previous one.
#![allow(
    unsafe_code,
    reason = "barriers that name no buffer, submissions past the chain of wgpu-hal, and commands in wgpu's encoders"
)]

use fencepost_sync::TimelineValue;
#[cfg(vulkan)]
pub(crate) use vulkan::of_vulkan;
use wgpu::hal::DeviceError;
use wgpu::{BufferUses, hal};

/// A queue below wgpu-hal. Encoders passed to it must be open; for [`end_batch`](Self::end_batch), with no open pass.
///
/// Only Vulkan has one. It is a trait because the recorder is generic over the API, and other APIs have no queue.
pub(crate) trait NativeQueue<A: hal::Api>: Send + Sync {
    /// Ends a batch with a barrier. After it, the host, and copies and indirect launches of later batches, come after
    /// all earlier commands of the queue and see their writes.
    fn end_batch(&self, encoder: &mut A::CommandEncoder);

    /// Records a barrier. After it, commands with one of the uses `to` come after all earlier commands of the queue and
    /// see their writes.
    fn order_all(&self, encoder: &mut A::CommandEncoder, to: BufferUses);

    /// Returns the number that identifies the encoder's current commands for [`submit`](Self::submit).
    fn handle(&self, encoder: &A::CommandEncoder) -> u64;

    /// Returns `true` if submissions can signal the fence.
    fn signals(&self, fence: &A::Fence) -> bool;

    /// Submits commands by their handles. They start once the fence has passed `after`; if that is `None`, they may
    /// start before earlier submissions end. When they and all earlier submissions have completed, the fence reaches
    /// `signal`.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The commands must be recorded. They, and everything that they use, must be kept until the fence has passed
    /// `signal`. The values of the fence must grow. No other thread may use the queue.
    unsafe fn submit(
        &self,
        commands: &[u64],
        after: Option<TimelineValue>,
        fence: (&A::Fence, TimelineValue),
    ) -> Result<(), DeviceError>;

    /// Makes the next submission of wgpu or wgpu-hal start only once the fence has passed `value`.
    fn hold_next(&self, queue: &A::Queue, fence: (&A::Fence, TimelineValue));
}

#[cfg(vulkan)]
mod vulkan {
    use super::NativeQueue;
    use ash::vk;
    use ash::vk::{AccessFlags, Handle as _, PipelineStageFlags as Stages};
    use fencepost_sync::TimelineValue;
    use smallvec::SmallVec;
    use std::ptr::null;
    use wgpu::BufferUses as Uses;
    use wgpu::hal::DeviceError;
    use wgpu::hal::api::Vulkan;
    use wgpu::hal::vulkan::{CommandEncoder, Fence, Queue};

    /// All pipeline stages in which the commands of a batch access memory.
    const STAGES: Stages = Stages::from_raw(
        Stages::COMPUTE_SHADER.as_raw() | Stages::TRANSFER.as_raw() | Stages::DRAW_INDIRECT.as_raw(),
    );

    struct VulkanQueue {
        queue: vk::Queue,
        barrier: vk::PFN_vkCmdPipelineBarrier,
        submit: vk::PFN_vkQueueSubmit,
    }

    /// Returns the queue of a device, or `None` if wgpu has dropped the device.
    pub(crate) fn of_vulkan(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Option<Box<dyn NativeQueue<Vulkan>>> {
        // SAFETY: only functions are read, and only wgpu destroys the device.
        let device = unsafe { device.as_hal::<Vulkan>() }?;
        // SAFETY: the queue is only used to submit, and only wgpu destroys it.
        let queue = unsafe { queue.as_hal::<Vulkan>() }?;
        let functions = device.raw_device().fp_v1_0();
        Some(Box::new(VulkanQueue {
            queue: queue.as_raw(),
            barrier: functions.cmd_pipeline_barrier,
            submit: functions.queue_submit,
        }))
    }

    impl VulkanQueue {
        fn order(&self, encoder: &CommandEncoder, stages: Stages, accesses: AccessFlags) {
            let memory = vk::MemoryBarrier::default()
                .src_access_mask(AccessFlags::SHADER_WRITE | AccessFlags::TRANSFER_WRITE)
                .dst_access_mask(accesses);
            let flags = vk::DependencyFlags::empty();
            // SAFETY: the handle is only used to record.
            let commands = unsafe { encoder.raw_handle() };
            // SAFETY: the function belongs to the encoder's device, the encoder is open, and the pointer is valid
            // during the call.
            unsafe {
                (self.barrier)(commands, STAGES, stages, flags, 1, &raw const memory, 0, null(), 0, null())
            }
        }
    }

    impl NativeQueue<Vulkan> for VulkanQueue {
        fn end_batch(&self, encoder: &mut CommandEncoder) {
            let of_host = AccessFlags::HOST_READ | AccessFlags::HOST_WRITE;
            let of_copies = AccessFlags::TRANSFER_READ | AccessFlags::TRANSFER_WRITE;
            let stages = Stages::HOST | Stages::TRANSFER | Stages::DRAW_INDIRECT;
            self.order(encoder, stages, of_host | of_copies | AccessFlags::INDIRECT_COMMAND_READ);
        }

        fn order_all(&self, encoder: &mut CommandEncoder, to: Uses) {
            let kinds = [
                (
                    Uses::STORAGE_READ_ONLY | Uses::STORAGE_READ_WRITE | Uses::UNIFORM,
                    Stages::COMPUTE_SHADER,
                    AccessFlags::SHADER_READ | AccessFlags::SHADER_WRITE | AccessFlags::UNIFORM_READ,
                ),
                (
                    Uses::COPY_SRC | Uses::COPY_DST,
                    Stages::TRANSFER,
                    AccessFlags::TRANSFER_READ | AccessFlags::TRANSFER_WRITE,
                ),
                (Uses::INDIRECT, Stages::DRAW_INDIRECT, AccessFlags::INDIRECT_COMMAND_READ),
            ];
            let later = kinds.into_iter().filter(|(uses, ..)| to.intersects(*uses));
            let none = (Stages::empty(), AccessFlags::empty());
            let (stages, accesses) = later
                .fold(none, |(stages, accesses), (_, stage, access)| (stages | stage, accesses | access));
            self.order(encoder, stages, accesses);
        }

        fn handle(&self, encoder: &CommandEncoder) -> u64 {
            // SAFETY: the handle is only used to submit the commands.
            unsafe { encoder.raw_handle() }.as_raw()
        }

        fn signals(&self, fence: &Fence) -> bool {
            matches!(fence, Fence::TimelineSemaphore(_))
        }

        unsafe fn submit(
            &self,
            commands: &[u64],
            after: Option<TimelineValue>,
            (fence, signal): (&Fence, TimelineValue),
        ) -> Result<(), DeviceError> {
            let Fence::TimelineSemaphore(fence) = *fence else { return Err(DeviceError::Unexpected) };
            let commands: SmallVec<[vk::CommandBuffer; 4]> =
                commands.iter().map(|&handle| vk::CommandBuffer::from_raw(handle)).collect();
            let waits = usize::from(after.is_some());
            let after = [after.unwrap_or_default().0];
            let fences = [fence];
            let signals = [signal.0];
            let stages = [Stages::ALL_COMMANDS];
            let mut values = vk::TimelineSemaphoreSubmitInfo::default()
                .wait_semaphore_values(&after[..waits])
                .signal_semaphore_values(&signals);
            let info = vk::SubmitInfo::default()
                .wait_semaphores(&fences[..waits])
                .wait_dst_stage_mask(&stages[..waits])
                .command_buffers(&commands)
                .signal_semaphores(&fences)
                .push_next(&mut values);
            // SAFETY: the caller guarantees what the driver requires of the commands and the values, and `info` and all
            // that it names are valid during the call.
            match unsafe { (self.submit)(self.queue, 1, &raw const info, vk::Fence::null()) } {
                vk::Result::SUCCESS => Ok(()),
                vk::Result::ERROR_OUT_OF_HOST_MEMORY | vk::Result::ERROR_OUT_OF_DEVICE_MEMORY => {
                    Err(DeviceError::OutOfMemory)
                }
                vk::Result::ERROR_DEVICE_LOST => Err(DeviceError::Lost),
                _ => Err(DeviceError::Unexpected),
            }
        }

        fn hold_next(&self, queue: &Queue, (fence, value): (&Fence, TimelineValue)) {
            if let Fence::TimelineSemaphore(fence) = *fence {
                queue.add_wait_semaphore(fence, Some(value.0), Stages::ALL_COMMANDS);
            }
        }
    }
}

/// Records native commands into a new wgpu encoder. Then finishes the encoder, unless `check` returns an error. Returns
/// `None` if the device is lost.
pub(crate) fn record<A: hal::Api, T, E>(
    device: &wgpu::Device,
    commands: impl FnOnce(&mut A::CommandEncoder) -> Result<T, E>,
    check: impl FnOnce() -> Result<(), E>,
) -> Option<Result<(wgpu::CommandBuffer, T), E>> {
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("batch") });
    // SAFETY: wgpu's own calls record nothing into this encoder, and `commands` ends every pass that it begins.
    let outcome = unsafe { encoder.as_hal_mut::<A, _, _>(|raw| raw.map(commands)) }?;
    let checked = outcome.and_then(|outcome| check().map(|()| outcome));
    Some(checked.map(|outcome| (encoder.finish(), outcome)))
}

/// Returns `true` if wgpu still records commands for the device.
pub(crate) fn still_records<A: hal::Api>(device: &wgpu::Device) -> bool {
    crate::driver::native_queue::record::<A, _, ()>(device, |_| Ok(()), || Ok(())).is_some()
}
