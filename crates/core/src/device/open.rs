//! Opening of a device, and adoption of a user's device. Also the process's wgpu instance.
//!
//! Two threads must not use GL adapters of one instance at the same time. Old versions of desktop GL have no compute
//! shaders, so the driver's version is checked.

use crate::device::CostModel;
use crate::device::adapter::adapter_name;
use crate::device::checks::all_checked;
use crate::device::kernel_folder::KernelFolder;
use crate::device::native_backend::{NativeBackend, native_backend};
use crate::device::wgpu_device::{DeviceParts, SubmitPath, WgpuDevice};
use crate::driver::caps::{Caps, MAX_COUNTED};
use crate::driver::error_scopes::reasons;
use crate::driver::gl_gate::{GlGate, HostReach};
use crate::error::{ErrorDetail, Result};
use crate::memory::block::{BufferRequest, Heap};
use fencepost_kernels::{ShaderLanguage, report};
use fencepost_sync::backend::LostFlag;
use std::env;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
#[cfg(not(target_arch = "wasm32"))]
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use wgpu::Features;
#[cfg(not(target_arch = "wasm32"))]
use wgpu::{Backend, Backends};

/// Device properties that never affect the results of work. Tests change them.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSwitches {
    /// `true` to pass small parameters as immediates where the device has them; otherwise a uniform buffer holds them.
    pub immediates: bool,
    /// `true` to use native fences, native recorders and mapped memory where the device has them; otherwise wgpu alone.
    pub native: bool,
    /// `true` to place arrays in host-accessible memory if device and host share their memory; otherwise the context
    /// copies, as for a discrete device.
    pub shared_memory: bool,
    /// Minimum number of launches in a stretch of a graph that is recorded once and submitted many times, where the
    /// device supports that. Shorter stretches are recorded at each replay.
    pub native_replay_from: usize,
    /// `true` to compile trusted kernels without redundant runtime checks; otherwise all kernels have all checks.
    pub trusted_kernels: bool,
    /// `true` to take the errors of wgpu's recorder, and of the allocation of wgpu's buffers, as late as a browser reports
    /// them, after the submission. In a browser they are always late.
    pub late_errors: bool,
}

impl Default for DeviceSwitches {
    fn default() -> Self {
        Self {
            immediates: true,
            native: true,
            shared_memory: true,
            native_replay_from: 100,
            trusted_kernels: true,
            late_errors: cfg!(target_arch = "wasm32"),
        }
    }
}

impl DeviceSwitches {
    /// Returns the switches, without trusted kernels if the environment variable demands all checks.
    ///
    /// # Errors
    /// Returns `Setting` if the variable has an unknown value.
    pub(crate) fn or_variable(self) -> Result<Self> {
        let all_checked = all_checked()?;
        Ok(Self { trusted_kernels: self.trusted_kernels && !all_checked, ..self })
    }
}

/// Options for opening a device.
#[derive(Clone, Debug)]
pub(crate) struct OpenOptions {
    pub(crate) switches: DeviceSwitches,
    /// Requested path of batches to the device.
    pub(crate) submit_path: SubmitPath,
    /// `true` if only the context submits to the queue.
    pub(crate) exclusive: bool,
    /// Longest delay of a result, in device time, because of later commands in its batch.
    pub(crate) lateness: Duration,
    /// Folder that keeps compiled kernels for the next run, if there is one.
    pub(crate) kernel_folder: Option<PathBuf>,
}

impl WgpuDevice {
    /// Opens an adapter with one lane.
    ///
    /// # Errors
    /// Returns `Device` if the driver refuses.
    pub(crate) async fn open(adapter: &wgpu::Adapter, options: OpenOptions) -> Result<Arc<Self>> {
        let info = adapter.get_info();
        let requested = adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("fencepost"),
            required_features: features(adapter.features(), options.kernel_folder.is_some()),
            required_limits: limits(adapter.limits()),
            // By default, wgpu allocates hundreds of megabytes at once. Here it needs little, because this crate
            // allocates the memory of most arrays itself.
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..Default::default()
        });
        let refused = |error: wgpu::RequestDeviceError| ErrorDetail::Device {
            object: format!("opening adapter `{}`", info.name),
            message: reasons(&error),
        };
        let (device, queue) = requested.await.map_err(refused)?;
        // Without a handler, wgpu panics on errors outside error scopes, and in a browser all errors arrive outside of them.
        device.on_uncaptured_error(Arc::new(|error| report!(Error, "wgpu: {}", reasons(&error))));
        let lost = listen(&device);
        Ok(assemble((device, queue, Some(adapter.clone())), &info, Some(lost), options))
    }

    /// Adopts the caller's device and queue. Leaves its handlers alone.
    pub(crate) fn adopt(device: wgpu::Device, queue: wgpu::Queue, options: OpenOptions) -> Arc<Self> {
        let info = device.adapter_info();
        // In a browser, this handler replaces no other one, and a lost device still makes mapped buffers, so that a probe
        // would not find the loss.
        let lost = (info.backend == wgpu::Backend::BrowserWebGpu).then(|| listen(&device));
        assemble((device, queue, None), &info, lost, options)
    }
}

/// Makes the device of a context. `lost` is the loss flag that a callback raises; `None` if there is no callback. The
/// adapter of a user's device is `None`.
fn assemble(
    (device, queue, adapter): (wgpu::Device, wgpu::Queue, Option<wgpu::Adapter>),
    info: &wgpu::AdapterInfo,
    lost: Option<LostFlag>,
    options: OpenOptions,
) -> Arc<WgpuDevice> {
    let reports_loss = lost.is_some();
    let lost = lost.unwrap_or_default();
    let gate = GlGate::new(info.backend);
    let native = native_backend(info.backend);
    let hardware = native.and_then(|native| native.address(&device));
    let native = native.filter(|_| options.switches.native);
    let submit_path = submit_path(&options, native.is_some());
    let reach = native.map_or(HostReach::Nothing, |native| reach(native, &device, info, submit_path));
    let reach = if options.switches.shared_memory { reach } else { reach.min(HostReach::Staging) };
    let caps = caps(&device, info, options.switches);
    let shared = !options.exclusive;
    let kernel_folder = kernel_folder(&device, info, submit_path, options.kernel_folder);
    let has_late_errors = options.switches.late_errors || cfg!(target_arch = "wasm32");
    // GL executes submissions inside the submit call. On an adopted queue, user work may come first, and then some
    // drivers block the call.
    let async_submit = options.exclusive && options.switches.native && info.backend != wgpu::Backend::Gl;
    let cost_model = match info.backend {
        _ if options.lateness == Duration::MAX => CostModel::Unknown,
        wgpu::Backend::Noop => CostModel::Instant,
        _ => CostModel::Measured(options.lateness),
    };
    WgpuDevice::with_parts(DeviceParts {
        device,
        queue,
        caps,
        lost,
        reports_loss,
        gate,
        reach,
        native,
        submit_path,
        shared,
        hardware,
        kernel_folder,
        async_submit,
        cost_model,
        adapter,
        native_replay_from: options.switches.native_replay_from,
        late_errors: has_late_errors && submit_path == SubmitPath::Wgpu,
    })
}

/// Returns the folder of compiled kernels, if the driver can return compiled kernels.
fn kernel_folder(
    device: &wgpu::Device,
    info: &wgpu::AdapterInfo,
    submit_path: SubmitPath,
    path: Option<PathBuf>,
) -> Option<Arc<KernelFolder>> {
    let path = path.filter(|_| device.features().contains(Features::PIPELINE_CACHE))?;
    let driver = native_backend(info.backend)?.driver_key(device)?;
    // The wgpu recorder and the native recorder have different files, because data of the former begin with a header of
    // wgpu. The version of this crate determines that of wgpu, and another version of wgpu may compile a kernel to
    // other code.
    let past_wgpu = submit_path != SubmitPath::Wgpu;
    let version = env!("CARGO_PKG_VERSION");
    let device =
        format!("{}|{:x}|{:x}|{driver:x?}|{past_wgpu}|{version}", info.name, info.vendor, info.device);
    Some(Arc::new(KernelFolder::new(path, device)))
}

/// Returns the submit path in the options, or the closest one that the device supports.
fn submit_path(options: &OpenOptions, native: bool) -> SubmitPath {
    match options.submit_path {
        _ if !native => SubmitPath::Wgpu,
        SubmitPath::Direct if !options.exclusive => SubmitPath::Hal,
        submit_path => submit_path,
    }
}

/// Returns a flag that the loss of the device raises.
fn listen(device: &wgpu::Device) -> LostFlag {
    let lost = LostFlag::default();
    let raised = lost.clone();
    device.set_device_lost_callback(move |reason, message| raised.raise(&format!("{reason:?}: {message}")));
    lost
}

/// Tries to map a few bytes of each kind of memory, and returns which memory the host can keep mapped. With the wgpu
/// recorder, there is such memory only on Vulkan, because wgpu takes native buffers only from Vulkan.
fn reach(
    native: &dyn NativeBackend,
    device: &wgpu::Device,
    info: &wgpu::AdapterInfo,
    submit_path: SubmitPath,
) -> HostReach {
    let probe = |heap| BufferRequest { heap, mapped: true, size: 256, label: "probe" };
    let reaches = |heap| matches!(native.allocate(device, probe(heap)), Ok(Some(_)));
    let used = submit_path != SubmitPath::Wgpu || info.backend == wgpu::Backend::Vulkan;
    let most = if used { native.reach() } else { HostReach::Nothing };
    if most == HostReach::Nothing || !reaches(Heap::Upload) || !reaches(Heap::Download) {
        return HostReach::Nothing;
    }
    let one_memory = matches!(info.device_type, wgpu::DeviceType::Cpu | wgpu::DeviceType::IntegratedGpu)
        || info.backend == wgpu::Backend::Noop;
    if one_memory && reaches(Heap::Device) { most } else { HostReach::Staging }
}

/// Returns the features that this crate uses and the adapter has. `keeps` is `true` if compiled kernels are kept.
fn features(has: Features, keeps: bool) -> Features {
    let caches = if keeps { Features::PIPELINE_CACHE } else { Features::empty() };
    let timing = Features::TIMESTAMP_QUERY
        | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS
        | Features::TIMESTAMP_QUERY_INSIDE_PASSES;
    let numbers = Features::SHADER_F16
        | Features::SHADER_F64
        | Features::SHADER_INT64
        | Features::SHADER_INT64_ATOMIC_MIN_MAX
        | Features::SHADER_INT64_ATOMIC_ALL_OPS
        | Features::SHADER_FLOAT32_ATOMIC;
    let groups = Features::SUBGROUP | Features::SUBGROUP_BARRIER;
    has & (timing | numbers | groups | caches | Features::IMMEDIATES)
}

/// Returns all limits of the adapter, but at most eight bind groups: wgpu fails with more, and this crate uses one.
fn limits(has: wgpu::Limits) -> wgpu::Limits {
    wgpu::Limits { max_bind_groups: has.max_bind_groups.min(8), ..has }
}

/// Maximum size of a binding on a device that trusts kernels: sums of indices below 2^30 do not wrap.
const MOST_TRUSTED: u64 = u32::MAX as u64;

/// Returns the language into which naga translates kernels for a graphics interface.
fn shader_language(backend: wgpu::Backend) -> Option<ShaderLanguage> {
    match backend {
        wgpu::Backend::Vulkan => Some(ShaderLanguage::Spirv),
        wgpu::Backend::Gl => Some(ShaderLanguage::Glsl),
        wgpu::Backend::Dx12 => Some(ShaderLanguage::Hlsl),
        wgpu::Backend::Metal => Some(ShaderLanguage::Msl),
        wgpu::Backend::BrowserWebGpu => Some(ShaderLanguage::Wgsl),
        wgpu::Backend::Noop => None,
    }
}

/// Returns `true` in a browser whose compiler takes only pointers to whole variables as arguments.
fn takes_whole_pointers() -> bool {
    #[cfg(target_arch = "wasm32")]
    let takes = crate::driver::page::contains_naga();
    #[cfg(not(target_arch = "wasm32"))]
    let takes = false;
    takes
}

fn caps(device: &wgpu::Device, info: &wgpu::AdapterInfo, switches: DeviceSwitches) -> Caps {
    let limits = device.limits();
    let features = device.features();
    let immediates = switches.immediates && features.contains(Features::IMMEDIATES);
    Caps {
        adapter: adapter_name(info).into(),
        software: info.device_type == wgpu::DeviceType::Cpu,
        max_block: (limits.max_buffer_size / 16 * 16).min(MAX_COUNTED),
        max_binding: limits.max_storage_buffer_binding_size,
        binding_alignment: u64::from(limits.min_storage_buffer_offset_alignment),
        max_bindings: limits.max_storage_buffers_per_shader_stage,
        // Some drivers report billions, and then allocate memory for that many.
        max_binding_index: limits.max_bindings_per_bind_group.min(1000),
        max_groups: limits.max_compute_workgroups_per_dimension,
        max_workgroup: [
            limits.max_compute_workgroup_size_x,
            limits.max_compute_workgroup_size_y,
            limits.max_compute_workgroup_size_z,
        ],
        max_invocations: limits.max_compute_invocations_per_workgroup,
        max_workgroup_memory: u64::from(limits.max_compute_workgroup_storage_size),
        max_immediates: if immediates { limits.max_immediate_size } else { 0 },
        f16: features.contains(Features::SHADER_F16),
        f64: features.contains(Features::SHADER_F64),
        int64: features.contains(Features::SHADER_INT64),
        subgroups: features.contains(Features::SUBGROUP),
        float32_atomics: features.contains(Features::SHADER_FLOAT32_ATOMIC),
        shader_language: shader_language(info.backend),
        trusts: switches.trusted_kernels && limits.max_storage_buffer_binding_size <= MOST_TRUSTED,
        timestamps: features.contains(Features::TIMESTAMP_QUERY),
        whole_pointers: takes_whole_pointers(),
    }
}

/// Environment variable that switches the drivers' validation layers on if its value is 1.
const VALIDATION: &str = "FENCEPOST_VALIDATION";

/// Returns `true` if the program was built with a graphics interface that this system has.
pub(crate) fn has_interface() -> bool {
    wgpu::Instance::enabled_backend_features().intersects(backends())
}

pub(crate) fn backends() -> wgpu::Backends {
    use wgpu::Backends as B;
    B::VULKAN | B::METAL | B::DX12 | B::GL | B::BROWSER_WEBGPU
}

/// Returns the process's only instance.
pub(crate) fn instance() -> &'static wgpu::Instance {
    static INSTANCE: OnceLock<wgpu::Instance> = OnceLock::new();
    INSTANCE.get_or_init(|| make_instance(backends()))
}

/// Makes an instance. wgpu passes on messages of the validation layers only if debug names are on. Without
/// `FENCEPOST_VALIDATION=1` the names are off, because layers from before 2024 report errors about the names
/// themselves.
pub(crate) fn make_instance(backends: wgpu::Backends) -> wgpu::Instance {
    let mut flags = wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL;
    if env::var(VALIDATION).is_ok_and(|value| value == "1") {
        flags |= wgpu::InstanceFlags::VALIDATION | wgpu::InstanceFlags::DEBUG;
    }
    let descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    wgpu::Instance::new(wgpu::InstanceDescriptor { backends, flags, ..descriptor })
}

/// Returns the messages of the validation layers since the last call. This needs the feature `validation`, a debug
/// build of wgpu-hal, and `FENCEPOST_VALIDATION=1`.
#[cfg(feature = "validation")]
#[doc(hidden)]
pub fn validation_messages() -> Vec<String> {
    wgpu_hal::VALIDATION_CANARY.get_and_reset()
}

/// Runs `f` while no other thread enumerates adapters.
///
/// All GL adapters of the process's instance share one GL context, which can be current on only one thread. Even
/// enumerating or dropping makes it current for a moment.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn one_at_a_time<R>(f: impl FnOnce() -> R) -> R {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    f()
}

/// Returns the same adapter. A GL adapter is looked up again in a separate instance, so that its device does not share
/// its GL context with another device.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) async fn with_own_gl_context(adapter: wgpu::Adapter) -> wgpu::Adapter {
    let info = adapter.get_info();
    if info.backend != Backend::Gl {
        return adapter;
    }
    let found = crate::device::open::make_instance(Backends::GL).enumerate_adapters(Backends::GL).await;
    found.into_iter().find(|other| other.get_info().name == info.name).unwrap_or(adapter)
}
/// First version of desktop GL whose shading language has compute shaders.
const FIRST_WITH_COMPUTE: (u32, u32) = (4, 3);

/// Returns `true` unless the version string of a desktop GL driver shows that there are no compute shaders.
///
/// Such a driver may still report compute shaders as an extension. Then wgpu lists the adapter but cannot open it.
pub(crate) fn can_compute(version: &str) -> bool {
    let mut numbers = version.split(|letter: char| !letter.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= FIRST_WITH_COMPUTE,
        _ => true, // such as `OpenGL ES 3.2`
    }
}

#[cfg(test)]
mod tests {
    use crate::device::open::can_compute;

    #[test]
    fn desktop_gl_computes_from_version_4_3_on_and_other_texts_decide_nothing() {
        for version in ["4.3.0 NVIDIA 580.159.04", "4.5 (Core Profile) Mesa 22.3.6", "4.10", "5.0"] {
            assert!(can_compute(version), "{version}");
        }
        for version in ["3.3.0 NVIDIA 580.159.04", "4.2 (Core Profile) Mesa 22.3.6", "2.1"] {
            assert!(!can_compute(version), "{version}");
        }
        for version in ["OpenGL ES 3.1 Mesa 22.3.6", "WebGL 2.0", ""] {
            assert!(can_compute(version), "{version}");
        }
    }
}
