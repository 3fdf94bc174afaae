//! Vulkan: a timeline semaphore beside wgpu's own, on wgpu's device.
#![allow(unsafe_code, reason = "native semaphores on the device that wgpu opened")]

use super::{Fence, LostFlag};
use crate::{Error, Lost, Value};
use ash::vk;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wgpu::hal::api::Vulkan;

/// The longest native wait in one piece; between pieces the lost flag is looked at.
const SLICE: Duration = Duration::from_millis(100);
/// How long a fence that is dropped waits for its last signal before it leaves its semaphore to the driver.
const PATIENCE: Duration = Duration::from_secs(5);

/// A [`Fence`] on a Vulkan timeline semaphore. Waits hold no lock of wgpu's.
///
/// A submission signals it when the value was staged before: [`stage_signal`](Self::stage_signal), then submit, with
/// nothing else reaching that queue in between.
pub struct VulkanFence {
    raw: ash::Device,
    semaphore: vk::Semaphore,
    /// The largest value that was staged and not taken back.
    staged: AtomicU64,
    lost: LostFlag,
    /// Keeps the raw device; dropped after the semaphore is gone.
    device: wgpu::Device,
}

impl VulkanFence {
    /// Makes a fence on `device`, if it is a Vulkan device whose driver has timeline semaphores in its core.
    ///
    /// # Errors
    /// [`Error::Fence`] otherwise.
    pub fn new(device: &wgpu::Device, lost: LostFlag) -> Result<Self, Error> {
        let raw = raw_device(device)?;
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the device is alive, as `device` is, and has Vulkan 1.2, of which timeline semaphores are a part.
        let made = unsafe { raw.create_semaphore(&info, None) };
        let semaphore = made.map_err(|code| refused(format!("vkCreateSemaphore: {code}")))?;
        Ok(Self { raw, semaphore, staged: AtomicU64::new(0), lost, device: device.clone() })
    }

    /// Makes the next submission to `queue` signal `value`; `false` if that is not a Vulkan queue.
    pub fn stage_signal(&self, queue: &wgpu::Queue, value: Value) -> bool {
        // SAFETY: the handle is only read; nothing of the queue is destroyed through it.
        let Some(queue) = (unsafe { queue.as_hal::<Vulkan>() }) else { return false };
        queue.add_signal_semaphore(self.semaphore, Some(value.0));
        self.staged.store(value.0, Ordering::Relaxed);
        true
    }

    /// Takes the staged signal of `value` back; `false` if a submission took it first.
    pub fn unstage_signal(&self, queue: &wgpu::Queue, value: Value) -> bool {
        // SAFETY: as in `stage_signal`.
        let Some(queue) = (unsafe { queue.as_hal::<Vulkan>() }) else { return false };
        let removed = queue.remove_signal_semaphore(self.semaphore);
        if removed {
            self.staged.store(value.0 - 1, Ordering::Relaxed);
        }
        removed
    }

    /// Makes the next submission to `queue` start only after this fence has passed `value`, which was submitted;
    /// `false` if that is not a Vulkan queue.
    pub fn stage_wait(&self, queue: &wgpu::Queue, value: Value) -> bool {
        // SAFETY: as in `stage_signal`.
        let Some(queue) = (unsafe { queue.as_hal::<Vulkan>() }) else { return false };
        queue.add_wait_semaphore(self.semaphore, Some(value.0), vk::PipelineStageFlags::ALL_COMMANDS);
        true
    }

    /// Takes a staged wait back.
    pub fn unstage_wait(&self, queue: &wgpu::Queue) {
        // SAFETY: as in `stage_signal`.
        if let Some(queue) = unsafe { queue.as_hal::<Vulkan>() } {
            queue.remove_wait_semaphore(self.semaphore);
        }
    }

    fn wait_slice(&self, value: Value, slice: Duration) -> Result<(), Lost> {
        let (semaphores, values) = ([self.semaphore], [value.0]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: the semaphore is a timeline of this device and lives as long as `self`.
        match unsafe { self.raw.wait_semaphores(&info, slice.as_nanos() as u64) } {
            Ok(()) | Err(vk::Result::TIMEOUT) => self.lost.check(),
            Err(code) => Err(self.lose("vkWaitSemaphores", code)),
        }
    }

    fn lose(&self, call: &str, code: vk::Result) -> Lost {
        let reason = format!("{call}: {code}");
        self.lost.raise(&reason);
        self.lost.check().err().unwrap_or(Lost { reason })
    }
}

impl Fence for VulkanFence {
    fn completed(&self) -> Result<Value, Lost> {
        self.lost.check()?;
        // SAFETY: the semaphore is a timeline of this device and lives as long as `self`.
        let counter = unsafe { self.raw.get_semaphore_counter_value(self.semaphore) };
        counter.map(Value).map_err(|code| self.lose("vkGetSemaphoreCounterValue", code))
    }

    fn wait(&self, value: Value, limit: Duration) -> Result<Value, Lost> {
        let start = Instant::now();
        loop {
            let completed = self.completed()?;
            let left = limit.saturating_sub(start.elapsed());
            if completed >= value || left.is_zero() {
                return Ok(completed);
            }
            self.wait_slice(value, left.min(SLICE))?;
        }
    }
}

impl Drop for VulkanFence {
    /// A semaphore may not go before its last signal; after a loss nothing of the device is touched, and it stays.
    fn drop(&mut self) {
        let last = Value(self.staged.load(Ordering::Relaxed));
        if self.wait(last, PATIENCE).is_ok_and(|completed| completed >= last) {
            // SAFETY: every submission that signals the semaphore is done, and nobody else has its handle.
            unsafe { self.raw.destroy_semaphore(self.semaphore, None) };
        } else {
            std::mem::forget(self.device.clone());
        }
    }
}

/// The function table of a Vulkan 1.2 device.
fn raw_device(device: &wgpu::Device) -> Result<ash::Device, Error> {
    // SAFETY: the handle is only read; nothing of the device is destroyed through it.
    let hal = unsafe { device.as_hal::<Vulkan>() }.ok_or_else(|| refused("not a Vulkan device".into()))?;
    let instance = hal.shared_instance();
    // SAFETY: the physical device belongs to this instance, and the device keeps both.
    let properties =
        unsafe { instance.raw_instance().get_physical_device_properties(hal.raw_physical_device()) };
    let version = properties.api_version.min(instance.instance_api_version());
    if version < vk::API_VERSION_1_2 {
        let (major, minor) = (vk::api_version_major(version), vk::api_version_minor(version));
        return Err(refused(format!("Vulkan {major}.{minor}; timeline semaphores need 1.2")));
    }
    Ok(hal.raw_device().clone())
}

fn refused(reason: String) -> Error {
    Error::Fence { reason }
}
