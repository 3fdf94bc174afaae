//! Opens Vulkan devices that record what their driver compiles: the bytes of compiled kernels, and the code of shaders.
#![allow(unsafe_code, reason = "a device with a recording function table is made without wgpu")]

use super::subject::Place;
use super::{function_tables, raw};
use ash::vk;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The driver's own functions, and the calls that the driver received.
struct Noted {
    create_cache: vk::PFN_vkCreatePipelineCache,
    create_module: vk::PFN_vkCreateShaderModule,
    /// Bytes of each pipeline cache.
    bytes: Vec<usize>,
    /// Words of each shader.
    shaders: Vec<Vec<u32>>,
}

static NOTED: Mutex<BTreeMap<vk::Device, Noted>> = Mutex::new(BTreeMap::new());

/// Opens a device of `place` with its queue. Also returns the handle for [`given`] and [`shaders`].
pub fn open(place: &Place) -> (wgpu::Device, wgpu::Queue, vk::Device) {
    let mut name = vk::Device::null();
    let (device, queue) =
        function_tables::open(&raw::adapter(place), wgpu::Features::PIPELINE_CACHE, |device| {
            let mut table = device.fp_v1_0().clone();
            name = device.handle();
            let create_cache = table.create_pipeline_cache;
            let create_module = table.create_shader_module;
            let noted = Noted { create_cache, create_module, bytes: Vec::new(), shaders: Vec::new() };
            NOTED.lock().unwrap_or_else(PoisonError::into_inner).insert(name, noted);
            table.create_pipeline_cache = create_cache_noted;
            table.create_shader_module = create_module_noted;
            let v1 = device.fp_v1_1().clone();
            let v2 = device.fp_v1_2().clone();
            let v3 = device.fp_v1_3().clone();
            ash::Device::from_parts_1_3(name, table, v1, v2, v3)
        });
    (device, queue, name)
}

/// Returns the bytes that the driver received for each pipeline cache.
pub fn given(device: vk::Device) -> Vec<usize> {
    noted(device, |noted| noted.bytes.clone())
}

/// Returns the words of each shader that the driver received.
pub fn shaders(device: vk::Device) -> Vec<Vec<u32>> {
    noted(device, |noted| noted.shaders.clone())
}

fn noted<T>(device: vk::Device, use_of: impl FnOnce(&mut Noted) -> T) -> T {
    let mut all = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
    use_of(all.get_mut(&device).expect("a device of this module"))
}

unsafe extern "system" fn create_cache_noted(
    device: vk::Device,
    info: *const vk::PipelineCacheCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    cache: *mut vk::PipelineCache,
) -> vk::Result {
    // SAFETY: the caller passes a description that is valid during this call.
    let bytes = unsafe { (*info).initial_data_size };
    let own = noted(device, |noted| {
        noted.bytes.push(bytes);
        noted.create_cache
    });
    // SAFETY: the caller upholds the contract of this call, and the driver's function has the same contract.
    unsafe { own(device, info, allocator, cache) }
}

unsafe extern "system" fn create_module_noted(
    device: vk::Device,
    info: *const vk::ShaderModuleCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    module: *mut vk::ShaderModule,
) -> vk::Result {
    // SAFETY: the caller passes a description that is valid during this call.
    let description = unsafe { &*info };
    // SAFETY: the code has as many bytes as the description says.
    let words = unsafe { std::slice::from_raw_parts(description.p_code, description.code_size / 4) }.to_vec();
    let own = noted(device, |noted| {
        noted.shaders.push(words);
        noted.create_module
    });
    // SAFETY: the caller upholds the contract of this call, and the driver's function has the same contract.
    unsafe { own(device, info, allocator, module) }
}
