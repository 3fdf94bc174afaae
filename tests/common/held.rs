//! Holds a hardware queue until the test releases it.
#![allow(unsafe_code, reason = "wgpu has no call that makes a device wait for the host")]

use super::validation;
use ash::vk;
use std::time::Duration;
use wgpu::hal::api::Vulkan;

/// The held hardware queue of a Vulkan device. The queue waits for a semaphore that only the host signals, so later
/// submissions wait too.
pub struct HeldLane {
    device: wgpu::Device,
    semaphore: vk::Semaphore,
}

/// Semaphore value that the queue waits for. The queue signals `GONE` after the wait.
const GO: u64 = 1;
const GONE: u64 = 2;

impl HeldLane {
    /// Holds the queue of a device. No other thread may submit to the device during this call. Returns `None` on
    /// other backends, and below Vulkan 1.2.
    pub fn new(device: &wgpu::Device) -> Option<Self> {
        // SAFETY: the handles are only used for a semaphore and one submission.
        let raw = unsafe { device.as_hal::<Vulkan>() }?;
        if raw.shared_instance().instance_api_version() < vk::API_VERSION_1_2 {
            return None;
        }
        let mut timeline = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut timeline);
        // SAFETY: wgpu enables timeline semaphores on every device that has them, and every Vulkan 1.2 device has them.
        let semaphore = unsafe { raw.raw_device().create_semaphore(&info, None) }.expect("a semaphore");
        let waits = [GO];
        let signals = [GONE];
        let all = [vk::PipelineStageFlags::ALL_COMMANDS];
        let mut values = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&waits)
            .signal_semaphore_values(&signals);
        let semaphores = [semaphore];
        let info = vk::SubmitInfo::default()
            .wait_semaphores(&semaphores)
            .wait_dst_stage_mask(&all)
            .signal_semaphores(&semaphores)
            .push_next(&mut values);
        validation::hold();
        // SAFETY: no other thread uses the queue, and `Drop` waits before it destroys the semaphore.
        let submitted = unsafe { raw.raw_device().queue_submit(raw.raw_queue(), &[info], vk::Fence::null()) };
        submitted.expect("a submission");
        Some(Self { device: device.clone(), semaphore })
    }

    /// Releases the queue.
    pub fn let_go(&self) {
        // SAFETY: the handle is only used for the semaphore.
        let raw = unsafe { self.device.as_hal::<Vulkan>() }.expect("a Vulkan device");
        let info = vk::SemaphoreSignalInfo::default().semaphore(self.semaphore).value(GO);
        // SAFETY: the semaphore belongs to this device.
        if unsafe { raw.raw_device().get_semaphore_counter_value(self.semaphore) } == Ok(0) {
            // SAFETY: the semaphore belongs to this device, and no other code signals it.
            unsafe { raw.raw_device().signal_semaphore(&info) }.expect("a signal");
        }
    }
}

impl Drop for HeldLane {
    fn drop(&mut self) {
        self.let_go();
        // SAFETY: the handle is only used for the semaphore.
        let Some(raw) = (unsafe { self.device.as_hal::<Vulkan>() }) else { return };
        let semaphores = [self.semaphore];
        let values = [GONE];
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        let limit = Duration::from_secs(30).as_nanos() as u64;
        // SAFETY: the semaphore belongs to this device.
        let passed = unsafe { raw.raw_device().wait_semaphores(&info, limit) };
        if passed.is_ok() {
            // SAFETY: the submission that used the semaphore has completed.
            unsafe { raw.raw_device().destroy_semaphore(self.semaphore, None) };
        }
    }
}
