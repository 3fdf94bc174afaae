//! An adapter, and its abilities.

use std::fmt;
use wgpu::{Backend, DeviceType, Features};

/// What an adapter is and can do. The limits are those that errors speak of.
///
/// # Example
/// ```
/// let largest = fencepost::adapters().into_iter().max_by_key(|adapter| adapter.max_array);
/// if let Some(adapter) = largest {
///     assert!(adapter.to_string().contains(&adapter.name));
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdapterInfo {
    /// As its driver calls it.
    pub name: String,
    /// The graphics interface: `Vulkan`, `Metal`, `DX12`, `GL` or `WebGPU`.
    pub backend: &'static str,
    /// What sort of device it is.
    pub kind: AdapterKind,
    /// The driver, with its version where it tells.
    pub driver: String,
    /// The optional abilities of kernels that it has.
    pub abilities: Vec<&'static str>,
    /// Bytes of the largest array.
    pub max_array: u64,
    /// Bytes of the largest argument: a larger array is given in slices.
    pub max_binding: u64,
    /// Bytes on a multiple of which an argument must start.
    pub binding_alignment: u64,
    /// Arrays that one launch binds, at most.
    pub max_bindings: u32,
    /// Workgroups in each dimension of a grid, at most.
    pub max_groups: u32,
    /// Invocations in a workgroup, at most.
    pub max_invocations: u32,
    /// Invocations in a workgroup in each dimension, at most.
    pub max_workgroup: [u32; 3],
    /// Bytes of workgroup memory, at most.
    pub max_workgroup_memory: u64,
    /// Invocations of the smallest and of the largest subgroup; `None` where the driver does not say.
    pub subgroup: Option<[u32; 2]>,
    /// Bytes of values that a launch carries without a buffer; 0 where there are none.
    pub max_immediates: u32,
    /// Bytes of memory of the device itself, where the driver says: Vulkan's do. An adapter that shares the host's memory counts
    /// that.
    pub memory: Option<u64>,
    /// The vendor's number on the bus, or 0.
    pub vendor_id: u32,
    /// The device's number among those of its vendor, or 0.
    pub device_id: u32,
}

impl AdapterInfo {
    pub(crate) fn of(adapter: &wgpu::Adapter) -> Self {
        describe(adapter)
    }

    /// What a device of the program's own tells.
    pub(crate) fn of_device(device: &wgpu::Device) -> Self {
        from_parts(device.adapter_info(), device.features(), &device.limits())
    }

    /// The CPU recorder's.
    #[cfg(cpu)]
    pub(crate) fn cpu_recorder() -> Self {
        Self {
            name: "CPU recorder".into(),
            backend: "host",
            kind: AdapterKind::Software,
            driver: String::new(),
            abilities: Vec::new(),
            max_array: 1 << 31,
            max_binding: 1 << 31,
            binding_alignment: 32,
            max_bindings: 32,
            max_groups: 65535,
            max_invocations: 1024,
            max_workgroup: [1024; 3],
            max_workgroup_memory: 32 << 10,
            subgroup: None,
            max_immediates: 0,
            memory: None,
            vendor_id: 0,
            device_id: 0,
        }
    }
}

/// What sort of device an adapter is, the likely fastest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum AdapterKind {
    /// A card with memory of its own.
    Discrete,
    /// A part of the processor, with the same memory.
    Integrated,
    /// One that is handed through to this virtual machine.
    Virtual,
    /// The driver does not say.
    Unknown,
    /// The processor itself.
    Software,
}

pub(crate) fn describe(adapter: &wgpu::Adapter) -> AdapterInfo {
    let info = from_parts(adapter.get_info(), adapter.features(), &adapter.limits());
    AdapterInfo { memory: crate::memory::native_memory::device_memory(adapter), ..info }
}

fn from_parts(info: wgpu::AdapterInfo, features: Features, limits: &wgpu::Limits) -> AdapterInfo {
    let driver = format!("{} {}", info.driver, info.driver_info);
    let subgroup = [info.subgroup_min_size, info.subgroup_max_size];
    AdapterInfo {
        name: info.name,
        backend: backend(info.backend),
        kind: kind(info.device_type),
        driver: driver.trim().into(),
        abilities: abilities(features),
        max_array: limits.max_buffer_size / 16 * 16,
        max_binding: limits.max_storage_buffer_binding_size,
        binding_alignment: u64::from(limits.min_storage_buffer_offset_alignment),
        max_bindings: limits.max_storage_buffers_per_shader_stage,
        max_groups: limits.max_compute_workgroups_per_dimension,
        max_invocations: limits.max_compute_invocations_per_workgroup,
        max_workgroup: [
            limits.max_compute_workgroup_size_x,
            limits.max_compute_workgroup_size_y,
            limits.max_compute_workgroup_size_z,
        ],
        max_workgroup_memory: u64::from(limits.max_compute_workgroup_storage_size),
        subgroup: Some(subgroup).filter(|_| features.contains(Features::SUBGROUP) && subgroup[1] > 0),
        max_immediates: limits.max_immediate_size,
        memory: None,
        vendor_id: info.vendor,
        device_id: info.device,
    }
}

fn backend(backend: Backend) -> &'static str {
    match backend {
        Backend::Vulkan => "Vulkan",
        Backend::Metal => "Metal",
        Backend::Dx12 => "DX12",
        Backend::Gl => "GL",
        Backend::BrowserWebGpu => "WebGPU",
        Backend::Noop => "Noop",
    }
}

pub(crate) fn kind(kind: DeviceType) -> AdapterKind {
    match kind {
        DeviceType::DiscreteGpu => AdapterKind::Discrete,
        DeviceType::IntegratedGpu => AdapterKind::Integrated,
        DeviceType::VirtualGpu => AdapterKind::Virtual,
        DeviceType::Other => AdapterKind::Unknown,
        DeviceType::Cpu => AdapterKind::Software,
    }
}

fn abilities(has: Features) -> Vec<&'static str> {
    let named = [
        (Features::SHADER_F16, "f16"),
        (Features::SHADER_F64, "f64"),
        (Features::SHADER_INT64, "int64"),
        (Features::SUBGROUP, "subgroups"),
        (Features::SHADER_FLOAT32_ATOMIC, "f32 atomics"),
        (Features::TIMESTAMP_QUERY, "timestamps"),
    ];
    named.iter().filter(|(feature, _)| has.contains(*feature)).map(|&(_, name)| name).collect()
}

impl fmt::Display for AdapterInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {}, {})", self.name, self.backend, self.kind, self.driver)
    }
}

impl fmt::Display for AdapterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Unknown => "of unknown kind",
            Self::Software => "software",
        })
    }
}
