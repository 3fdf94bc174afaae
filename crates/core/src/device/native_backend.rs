//! What the rest of a context needs of a graphics interface below wgpu.

use crate::device::recorder::Recorder;
use crate::device::wgpu_device::{Reach, WgpuDevice};
use crate::error::Result;
use crate::memory::native_memory::{NativeMemory, Refused};
use crate::memory::wgpu_memory::Wanted;
use crate::record::lane_fence::LaneFence;
use crate::work::compiled_kernel::{Pipeline, Recipe};
use fencepost_sync::backend::Fence;
use std::sync::Arc;

/// What a lane past wgpu consists of.
pub(crate) type Direct = (Box<dyn Recorder>, Arc<dyn Fence>);

/// A backend behind a trait object.
pub(crate) trait Bare: Send + Sync {
    /// The most of a device's memory that the host can reach for good.
    fn reach(&self) -> Reach;

    /// Memory that wgpu does not know; `None` if there is none of the sort.
    ///
    /// # Errors
    /// The driver's.
    fn allocate(&self, device: &wgpu::Device, wanted: Wanted<'_>) -> Result<Option<NativeMemory>, Refused>;

    /// Compiles one entry point.
    ///
    /// # Errors
    /// As the wgpu recorder's pipelines.
    fn compile(&self, device: &WgpuDevice, recipe: &Recipe<'_>) -> Result<Pipeline>;

    /// Whether wgpu still records for the device: one that is gone takes what is submitted, and says nothing.
    fn knows(&self, device: &wgpu::Device) -> bool;

    /// Where the device below wgpu is, as long as that is there.
    fn address(&self, device: &wgpu::Device) -> Option<usize>;

    /// What names the driver's build, if the driver gives out what it has compiled.
    fn driver_key(&self, device: &wgpu::Device) -> Option<[u8; 16]>;

    /// Records for a lane and submits through wgpu's queue.
    fn recorder(&self, device: Arc<WgpuDevice>, fence: LaneFence) -> Box<dyn Recorder>;

    /// Records for a lane and submits past wgpu: for who is alone with the queue.
    ///
    /// # Errors
    /// The driver's.
    fn direct(&self, device: Arc<WgpuDevice>) -> Result<Direct>;
}
