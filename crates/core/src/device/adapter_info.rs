//! The description of an adapter.

use std::fmt;
use wgpu::{Backend, DeviceType, Features};

/// An adapter and its limits. Errors name the same limits.
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
    /// Name that the driver reports.
    pub name: String,
    /// Graphics interface: `Vulkan`, `Metal`, `DX12`, `GL` or `WebGPU`; `native code` for the CPU, which needs none.
    pub backend: &'static str,
    /// Kind of device.
    pub kind: AdapterKind,
    /// Name of the driver, with its version if the driver reports one.
    pub driver: String,
    /// Optional abilities of kernels that the adapter supports.
    pub abilities: Vec<&'static str>,
    /// Most bytes of an array.
    pub max_array: u64,
    /// Most bytes of an argument. A launch takes a larger array in slices.
    pub max_binding: u64,
    /// Alignment of an argument: its offset in bytes is a multiple of this number.
    pub binding_alignment: u64,
    /// Most arrays that one launch binds.
    pub max_bindings: u32,
    /// Most workgroups of a grid in each dimension.
    pub max_groups: u32,
    /// Most invocations of a workgroup.
    pub max_invocations: u32,
    /// Most invocations of a workgroup in each dimension.
    pub max_workgroup: [u32; 3],
    /// Most bytes of workgroup memory.
    pub max_workgroup_memory: u64,
    /// Invocations of the smallest and of the largest subgroup; `None` if the driver does not report them.
    pub subgroup: Option<[u32; 2]>,
    /// Most bytes of parameters that a launch passes without a buffer; 0 if the adapter has no immediates.
    pub max_immediates: u32,
    /// Bytes of the device's own memory, which Vulkan drivers report and others do not. For an adapter that shares the
    /// host's memory, bytes of that memory.
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

    /// Describes a device that the user made.
    pub(crate) fn of_device(device: &wgpu::Device) -> Self {
        from_parts(device.adapter_info(), device.features(), &device.limits())
    }

    /// Backend of the CPU as a device.
    pub(crate) const CPU_BACKEND: &'static str = "native code";

    /// Describes the CPU as a device.
    #[cfg(cpu_code)]
    pub(crate) fn cpu() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            name: "Fencepost CPU".into(),
            backend: Self::CPU_BACKEND,
            driver: format!("{}, {threads} threads", env!("CARGO_PKG_VERSION")),
            ..Self::cpu_recorder()
        }
    }

    /// Describes the CPU recorder.
    #[cfg(cpu)]
    pub(crate) fn cpu_recorder() -> Self {
        Self {
            name: "CPU recorder".into(),
            backend: "host",
            kind: AdapterKind::Software,
            driver: String::new(),
            abilities: vec!["f16", "f64", "int64", "subgroups", "f32 atomics", "timestamps"],
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

/// The kind of an adapter. The kinds are ordered by expected speed, the fastest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum AdapterKind {
    /// The adapter is a card with its own memory.
    Discrete,
    /// The adapter is a part of the processor and shares its memory.
    Integrated,
    /// The adapter is passed through to this virtual machine.
    Virtual,
    /// The driver does not report the kind.
    Unknown,
    /// The adapter is software on the processor.
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
