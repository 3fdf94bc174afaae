//! Opens Vulkan devices that record how many bytes of compiled kernels their driver receives.
#![allow(unsafe_code, reason = "a device with a counting function table is made without wgpu")]

use super::subject::Place;
use super::{function_tables, raw};
use ash::vk;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Holds the driver's own function, and the bytes of each call.
type Noted = (vk::PFN_vkCreatePipelineCache, Vec<usize>);

static NOTED: Mutex<BTreeMap<vk::Device, Noted>> = Mutex::new(BTreeMap::new());

/// Opens a device of `place` with its queue. Returns also the handle that [`given`] takes.
pub fn open(place: &Place) -> (wgpu::Device, wgpu::Queue, vk::Device) {
    let mut name = vk::Device::null();
    let (device, queue) =
        function_tables::open(&raw::adapter(place), wgpu::Features::PIPELINE_CACHE, |device| {
            let mut table = device.fp_v1_0().clone();
            name = device.handle();
            let noted = (table.create_pipeline_cache, Vec::new());
            NOTED.lock().unwrap_or_else(PoisonError::into_inner).insert(name, noted);
            table.create_pipeline_cache = create;
            let (v1, v2, v3) = (device.fp_v1_1().clone(), device.fp_v1_2().clone(), device.fp_v1_3().clone());
            ash::Device::from_parts_1_3(name, table, v1, v2, v3)
        });
    (device, queue, name)
}

/// Returns the bytes that the driver received for each pipeline cache.
pub fn given(device: vk::Device) -> Vec<usize> {
    let noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
    noted.get(&device).map(|(_, bytes)| bytes.clone()).unwrap_or_default()
}

unsafe extern "system" fn create(
    device: vk::Device,
    info: *const vk::PipelineCacheCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    cache: *mut vk::PipelineCache,
) -> vk::Result {
    let own = {
        let mut noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
        let (own, bytes) = noted.get_mut(&device).expect("a device of this module");
        // SAFETY: the caller passes a description that is valid during this call.
        bytes.push(unsafe { (*info).initial_data_size });
        *own
    };
    // SAFETY: the caller upholds the contract of this call, and the driver's function has the same contract.
    unsafe { own(device, info, allocator, cache) }
}
