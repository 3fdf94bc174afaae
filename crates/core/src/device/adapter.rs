//! The adapters of this machine: their descriptions, the choice of one, and advice if there are none.

use crate::device::open;
use crate::device::open::{backends, has_interface, instance};
use crate::driver::caps::MAX_COUNTED;
use crate::error::{Error, ErrorDetail, Result};
use std::str::FromStr;
use std::{env, fmt};
use wgpu::{Backend, DeviceType, Features};

/// Environment variable that chooses an adapter, by a part of its name and backend or by its index in [`adapters`].
/// `lavapipe` stands for Mesa's software driver for Vulkan.
const CHOICE: &str = "FENCEPOST_ADAPTER";

/// The adapter that a context opens.
pub(crate) enum ChosenAdapter {
    Wgpu(wgpu::Adapter),
    /// The CPU, without a driver.
    #[cfg(cpu)]
    Cpu,
}

/// Returns the adapters of this machine, in this order: discrete, integrated, virtual, unknown, software, and last the
/// CPU, which needs no driver. Among adapters of one kind, Vulkan, Metal and DX12 come before GL. `Auto` picks the
/// first adapter other than a software driver.
///
/// In a browser the list is empty, because browsers do not enumerate adapters; `Auto` and `Cpu` choose there. Without the
/// feature `cpu`, the CPU is not in the list.
#[cfg(not(target_arch = "wasm32"))]
pub fn adapters() -> Vec<AdapterInfo> {
    crate::device::open::one_at_a_time(|| described(&pollster::block_on(sorted())))
}

/// Describes the wgpu adapters, followed by the CPU.
fn described(found: &[wgpu::Adapter]) -> Vec<AdapterInfo> {
    let known = found.iter().map(describe);
    #[cfg(cpu)]
    let known = known.chain([AdapterInfo::cpu()]);
    known.collect()
}

/// Returns an empty list, because browsers do not enumerate adapters. `AdapterChoice::Cpu` opens the CPU all the same.
#[cfg(target_arch = "wasm32")]
pub fn adapters() -> Vec<AdapterInfo> {
    Vec::new()
}

/// Returns the chosen adapter. For `Auto`, the environment variable may choose. If `needs_driver` is `true`, `Auto`
/// takes the CPU only if there is no wgpu adapter.
///
/// # Errors
/// Returns `NoAdapter`, which lists the adapters of this machine, and names the variable if it chose.
pub(crate) async fn choose(choice: &AdapterChoice, needs_driver: bool) -> Result<ChosenAdapter> {
    let variable = env::var(CHOICE).ok().filter(|_| *choice == AdapterChoice::Auto);
    let choice =
        variable.as_deref().map_or_else(|| choice.clone(), |value| value.parse().unwrap_or_default());
    let wanted = wanted(&choice, variable.is_some());
    #[cfg(not(target_arch = "wasm32"))]
    return crate::device::open::one_at_a_time(|| {
        pollster::block_on(async {
            Ok(match find(&choice, &wanted, needs_driver).await? {
                ChosenAdapter::Wgpu(adapter) => {
                    ChosenAdapter::Wgpu(crate::device::open::with_own_gl_context(adapter).await)
                }
                #[cfg(cpu)]
                ChosenAdapter::Cpu => ChosenAdapter::Cpu,
            })
        })
    });
    #[cfg(target_arch = "wasm32")]
    match choice {
        AdapterChoice::Auto => any().await,
        _ => find(&choice, &wanted, needs_driver).await,
    }
}

/// Returns the chosen adapter. `wanted` is the choice in the words of an error.
async fn find(choice: &AdapterChoice, wanted: &str, needs_driver: bool) -> Result<ChosenAdapter> {
    #[cfg(cpu)]
    if *choice == AdapterChoice::Cpu {
        return Ok(ChosenAdapter::Cpu); // without asking any driver
    }
    let mut found = sorted().await;
    let known = described(&found);
    let is_any_driver = needs_driver && *choice == AdapterChoice::Auto && !found.is_empty();
    match choice.find(if is_any_driver { &known[..found.len()] } else { &known }) {
        Some(at) if at < found.len() => Ok(ChosenAdapter::Wgpu(found.swap_remove(at))),
        #[cfg(cpu)]
        Some(_) => Ok(ChosenAdapter::Cpu),
        _ => Err(no_adapter(wanted, &known)),
    }
}

/// Returns the adapter chosen by the browser, or the CPU if the browser has none. Even a software adapter comes before
/// the CPU here, because the browser compiles kernels, and the CPU interprets them.
///
/// # Errors
/// Returns `NoAdapter` without the feature `cpu`.
#[cfg(target_arch = "wasm32")]
async fn any() -> Result<ChosenAdapter> {
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..Default::default()
    };
    match instance().request_adapter(&options).await {
        Ok(adapter) => Ok(ChosenAdapter::Wgpu(adapter)),
        #[cfg(cpu)]
        Err(_) => Ok(ChosenAdapter::Cpu),
        #[cfg(not(cpu))]
        Err(_) => Err(no_adapter(&wanted(&AdapterChoice::Auto, false), &[])),
    }
}

/// Returns all adapters that can compute, the preferred ones first.
async fn sorted() -> Vec<wgpu::Adapter> {
    if !has_interface() {
        return Vec::new(); // wgpu panics if it has no backend
    }
    let mut adapters = instance().enumerate_adapters(backends()).await;
    let computes = wgpu::DownlevelFlags::COMPUTE_SHADERS;
    adapters.retain(|adapter| {
        let info = adapter.get_info();
        adapter.get_downlevel_capabilities().flags.contains(computes)
            && (info.backend != Backend::Gl || open::can_compute(&info.driver_info))
    });
    adapters.sort_by_key(|adapter| {
        let info = adapter.get_info();
        (kind(info.device_type), info.backend == Backend::Gl)
    });
    adapters
}

/// The adapter to open.
///
/// # Example
/// ```
/// use fencepost::AdapterChoice;
/// assert_eq!("1".parse(), Ok(AdapterChoice::Index(1)));
/// assert_eq!("llvmpipe".parse(), Ok(AdapterChoice::Name("llvmpipe".into())));
///
/// // A closure checks any other property of an adapter:
/// let fits = |adapter: &fencepost::AdapterInfo| adapter.max_array >= 1 << 30;
/// let choice = fencepost::adapters().iter().position(fits).map(AdapterChoice::Index);
/// # drop(choice);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AdapterChoice {
    /// The adapter that `FENCEPOST_ADAPTER` names. Without that variable, the first of [`adapters`](crate::adapters)
    /// that is not a software driver; the CPU is preferred to those. Software drivers are considered only without the
    /// feature `cpu`, or if a recorder is chosen, because the CPU has none. In a browser, the adapter that the browser
    /// chooses; if it has none, the CPU.
    #[default]
    Auto,
    /// The first adapter whose name and backend, joined by a space, contain this text, ignoring case. `lavapipe` stands
    /// for Mesa's software driver for Vulkan, which reports itself as `llvmpipe`.
    Name(String),
    /// The adapter at this index of [`adapters`](crate::adapters).
    Index(usize),
    /// The first adapter of this kind. The text form is `discrete`, `integrated`, `virtual` or `software`.
    Kind(AdapterKind),
    /// The CPU, which needs no driver. In a browser, it interprets kernels on the thread of the page. The text form is
    /// `cpu`.
    Cpu,
}

impl AdapterChoice {
    /// Returns the index of the chosen adapter.
    pub(crate) fn find(&self, known: &[AdapterInfo]) -> Option<usize> {
        match self {
            Self::Auto => {
                let preferred = known.iter().position(|adapter| !is_software_driver(adapter));
                preferred.or((!known.is_empty()).then_some(0))
            }
            Self::Cpu => known.iter().position(|adapter| adapter.backend == AdapterInfo::CPU_BACKEND),
            Self::Index(at) => (*at < known.len()).then_some(*at),
            Self::Kind(kind) => known.iter().position(|adapter| adapter.kind == *kind),
            Self::Name(part) => {
                let part = part.to_lowercase();
                known.iter().position(|adapter| names(adapter).contains(&part))
            }
        }
    }
}

/// Returns `true` if the adapter is a software driver, which computes on the processor.
fn is_software_driver(adapter: &AdapterInfo) -> bool {
    adapter.kind == AdapterKind::Software && adapter.backend != AdapterInfo::CPU_BACKEND
}

/// Returns the text in which a chosen name is searched. It includes `lavapipe` for Mesa's software driver for Vulkan,
/// which reports itself as `llvmpipe`.
fn names(adapter: &AdapterInfo) -> String {
    let names = format!("{} {}", adapter.name, adapter.backend).to_lowercase();
    let is_lavapipe = adapter.backend == "Vulkan" && names.starts_with("llvmpipe");
    if is_lavapipe { names + " lavapipe" } else { names }
}

impl FromStr for AdapterChoice {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.trim() {
            "" => Self::Auto,
            "discrete" => Self::Kind(AdapterKind::Discrete),
            "integrated" => Self::Kind(AdapterKind::Integrated),
            "virtual" => Self::Kind(AdapterKind::Virtual),
            "software" => Self::Kind(AdapterKind::Software),
            "cpu" => Self::Cpu,
            text => text.parse().map_or_else(|_| Self::Name(text.into()), Self::Index),
        })
    }
}

impl fmt::Display for AdapterChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("any"),
            Self::Cpu => f.write_str("the CPU, for which the feature `cpu` is needed"),
            Self::Name(part) => write!(f, "`{part}`"),
            Self::Index(at) => write!(f, "number {at}"),
            Self::Kind(kind) => write!(f, "any that is {kind}"),
        }
    }
}

/// Returns a choice in the words of an error. The program's author may not know that a variable made the choice.
fn wanted(choice: &AdapterChoice, by_variable: bool) -> String {
    if by_variable { format!("{choice} (from {CHOICE})") } else { choice.to_string() }
}

/// Returns the error for a choice that fits no adapter. It lists the adapters or, if there are none, the package and
/// the feature that add one.
fn no_adapter(wanted: &str, known: &[AdapterInfo]) -> Error {
    let list: Vec<String> =
        known.iter().enumerate().map(|(at, adapter)| format!("{at}: {adapter}")).collect();
    let found = if list.is_empty() { format!("none; {}", remedy()) } else { list.join("; ") };
    ErrorDetail::NoAdapter { wanted: wanted.into(), found }.into()
}

/// Properties and limits of an adapter. Errors refer to the same limits.
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
    /// Graphics interface: `Vulkan`, `Metal`, `DX12`, `GL` or `WebGPU`; `native code` for the CPU, which needs none, or
    /// `interpreter` for the CPU in a browser.
    pub backend: &'static str,
    /// Kind of device.
    pub kind: AdapterKind,
    /// Name of the driver, with its version if the driver reports one.
    pub driver: String,
    /// Optional kernel features that the adapter supports.
    pub abilities: Vec<&'static str>,
    /// Maximum size of an array in bytes.
    pub max_array: u64,
    /// Maximum size of a launch argument in bytes. A larger array must be passed in slices.
    pub max_binding: u64,
    /// Alignment of arguments: their offset in bytes must be a multiple of this number.
    pub binding_alignment: u64,
    /// Maximum number of arrays that one launch can bind.
    pub max_bindings: u32,
    /// Maximum number of workgroups of a grid in each dimension.
    pub max_groups: u32,
    /// Maximum number of invocations of a workgroup.
    pub max_invocations: u32,
    /// Maximum number of invocations of a workgroup in each dimension.
    pub max_workgroup: [u32; 3],
    /// Maximum size of workgroup memory in bytes.
    pub max_workgroup_memory: u64,
    /// Size of the smallest and of the largest subgroup; `None` if the driver does not report them.
    pub subgroup: Option<[u32; 2]>,
    /// Maximum number of parameter bytes that a launch passes without a buffer; 0 if the adapter has no immediates.
    pub max_immediates: u32,
    /// Size of the device's memory in bytes, which only Vulkan drivers report. For an adapter that shares the host's
    /// memory, the size of that.
    pub memory: Option<u64>,
    /// The vendor's id on the bus, or 0.
    pub vendor_id: u32,
    /// The device's id among those of its vendor, or 0.
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

    /// Backend name of the CPU device.
    pub(crate) const CPU_BACKEND: &'static str =
        if cfg!(target_arch = "wasm32") { "interpreter" } else { "native code" };

    /// Describes the CPU device.
    #[cfg(cpu)]
    pub(crate) fn cpu() -> Self {
        let threads = if cfg!(target_arch = "wasm32") {
            "on the thread of the page".to_owned()
        } else {
            let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            format!("{threads} threads")
        };
        Self {
            name: "Fencepost CPU".into(),
            backend: Self::CPU_BACKEND,
            driver: format!("{}, {threads}", env!("CARGO_PKG_VERSION")),
            ..Self::cpu_recorder()
        }
    }

    /// Describes the simulator.
    #[cfg(cpu)]
    pub(crate) fn cpu_recorder() -> Self {
        Self {
            name: "Fencepost simulator".into(),
            backend: "host",
            kind: AdapterKind::Software,
            driver: String::new(),
            abilities: vec!["f16", "f64", "int64", "subgroups", "f32 atomics", "timestamps"],
            max_array: MAX_COUNTED.min(1 << 31),
            max_binding: MAX_COUNTED.min(1 << 31),
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
    /// A card with its own memory.
    Discrete,
    /// A part of the processor, which shares its memory.
    Integrated,
    /// A device passed through to this virtual machine.
    Virtual,
    /// A device of a kind that the driver does not report.
    Unknown,
    /// Software on the processor.
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
        max_array: (limits.max_buffer_size / 16 * 16).min(MAX_COUNTED),
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

/// Returns the name of an adapter in messages: that of its graphics interface in a browser, which hides the name.
pub(crate) fn adapter_name(info: &wgpu::AdapterInfo) -> &str {
    if info.name.is_empty() { backend(info.backend) } else { &info.name }
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
        // A browser hides the names of its adapters and drivers.
        let name = if self.name.is_empty() { "an adapter without a name" } else { &self.name };
        write!(f, "{name} ({}, {}", self.backend, self.kind)?;
        if !self.driver.is_empty() {
            write!(f, ", {}", self.driver)?;
        }
        f.write_str(")")
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
/// Linux packages of software adapters: a word in `ID` or `ID_LIKE` of /etc/os-release, and the install command.
const PACKAGES: [(&str, &str); 5] = [
    ("debian", "apt-get install mesa-vulkan-drivers"),
    ("fedora", "dnf install mesa-vulkan-drivers"),
    ("arch", "pacman -S vulkan-swrast"),
    ("suse", "zypper install libvulkan_lvp"),
    ("alpine", "apk add mesa-vulkan-swrast"),
];

/// End of the advice. Only a program without the feature `cpu` finds no adapter.
const ADD_THE_CPU: &str = if cfg!(target_arch = "wasm32") {
    ", or switch on the feature `cpu` of fencepost, which interprets kernels on the thread of the page"
} else {
    ", or switch on the feature `cpu` of fencepost, which compiles kernels for the processor and needs no driver"
};

/// Returns the advice for this machine.
pub(crate) fn remedy() -> String {
    if cfg!(target_arch = "wasm32") {
        return format!(
            "open the page over HTTPS or from this computer, in a browser with WebGPU{ADD_THE_CPU}"
        );
    }
    if !crate::device::open::has_interface() {
        return format!(
            "the program is built without a graphics interface of this system: switch on the feature `vulkan`, `metal`, \
             `dx12` or `gles` of fencepost{ADD_THE_CPU}"
        );
    }
    let release =
        if cfg!(target_os = "linux") { std::fs::read_to_string("/etc/os-release").ok() } else { None };
    advice_for(std::env::consts::OS, release.as_deref().unwrap_or_default())
}

/// Returns the advice for a system with this /etc/os-release.
fn advice_for(system: &str, release: &str) -> String {
    let driver = "the driver of its graphics card";
    let software = match system {
        "linux" => match package(release) {
            Some(command) => format!(", or a software one: `{command}`"),
            None => ", or a software one: Mesa's lavapipe".into(),
        },
        _ => String::new(),
    };
    format!("install {driver}{software}{ADD_THE_CPU}")
}

/// Returns the install command for a Linux distribution. Derived distributions name their base in `ID_LIKE`.
fn package(release: &str) -> Option<&'static str> {
    let value = |line: &str| {
        let value = line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE="));
        value.map(|value| value.trim_matches(['"', '\'']).to_owned())
    };
    let names: Vec<String> = release.lines().filter_map(value).collect();
    let is = |name: &str| names.iter().flat_map(|names| names.split(' ')).any(|word| word == name);
    PACKAGES.iter().find(|(name, _)| is(name)).map(|(_, command)| *command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(name: &str, backend: &'static str) -> AdapterInfo {
        AdapterInfo { name: name.into(), backend, ..AdapterInfo::cpu_recorder() }
    }

    fn found(text: &str) -> Option<usize> {
        let known =
            [adapter("llvmpipe (LLVM 15)", "Vulkan"), adapter("llvmpipe", "GL"), adapter("Swift", "Vulkan")];
        let choice: AdapterChoice = text.parse().expect("every text is a choice");
        choice.find(&known)
    }

    #[test]
    fn a_name_is_found_in_any_case_and_with_its_backend() {
        assert_eq!(found("LLVMpipe"), Some(0));
        assert_eq!(found("llvmpipe gl"), Some(1));
        assert_eq!(found("swift"), Some(2));
        assert_eq!(found("radeon"), None);
    }

    #[test]
    fn lavapipe_is_the_driver_of_vulkan_that_is_named_llvmpipe() {
        let known =
            [adapter("llvmpipe", "GL"), adapter("Swift", "Vulkan"), adapter("llvmpipe (LLVM 15)", "Vulkan")];
        let found = |text: &str| AdapterChoice::Name(text.into()).find(&known);
        assert_eq!((found("lavapipe"), found("Lavapipe")), (Some(2), Some(2)));
        assert_eq!(
            (found("llvmpipe"), AdapterChoice::Name("lavapipe".into()).find(&known[..2])),
            (Some(0), None)
        );
    }

    #[test]
    fn hidden_names_leave_no_gap_in_a_description() {
        let known = AdapterInfo { driver: "Mesa 25".into(), ..adapter("llvmpipe", "Vulkan") };
        assert!(known.to_string().starts_with("llvmpipe (Vulkan, "), "{known}");
        assert!(known.to_string().ends_with(", Mesa 25)"), "{known}");
        let hidden = AdapterInfo { driver: String::new(), ..adapter("", "WebGPU") };
        let expected = format!("an adapter without a name (WebGPU, {})", hidden.kind);
        assert_eq!(hidden.to_string(), expected);
    }

    #[test]
    fn a_number_is_an_index_and_is_checked() {
        assert_eq!(found("2"), Some(2));
        assert_eq!(found("3"), None);
        assert_eq!(found(" "), Some(0));
    }

    #[test]
    fn a_kind_chooses_the_first_adapter_of_that_kind() {
        assert_eq!((found("software"), found("discrete")), (Some(0), None));
    }

    #[test]
    fn the_cpu_is_found_by_its_choice_and_its_name_alone() {
        let known = [adapter("llvmpipe (CPU)", "Vulkan"), adapter("CPU", AdapterInfo::CPU_BACKEND)];
        let found = |choice: AdapterChoice| choice.find(&known);
        assert_eq!("cpu".parse(), Ok(AdapterChoice::Cpu));
        assert_eq!(found(AdapterChoice::Cpu), Some(1));
        assert_eq!(found(AdapterChoice::Kind(AdapterKind::Software)), Some(0));
    }

    #[test]
    fn the_cpu_comes_before_software_drivers_and_after_all_others() {
        let cpu = || adapter("CPU", AdapterInfo::CPU_BACKEND);
        let driver = |kind| AdapterInfo { kind, ..adapter("driver", "Vulkan") };
        let software = || driver(AdapterKind::Software);
        let found = |known: &[AdapterInfo]| AdapterChoice::Auto.find(known);
        assert_eq!(found(&[software(), software(), cpu()]), Some(2));
        assert_eq!(found(&[cpu()]), Some(0));
        assert_eq!(found(&[software(), software()]), Some(0), "without the feature `cpu`");
        assert_eq!(found(&[]), None);
        for kind in
            [AdapterKind::Discrete, AdapterKind::Integrated, AdapterKind::Virtual, AdapterKind::Unknown]
        {
            assert_eq!(found(&[driver(kind), software(), cpu()]), Some(0), "{kind}");
        }
    }

    #[test]
    fn the_error_for_an_unknown_adapter_lists_the_known_ones_and_names_the_variable_that_chose() {
        let found = "this machine has: 0: Swift (Vulkan, software)";
        for (by_variable, expected) in [(false, "`x`"), (true, "`x` (from FENCEPOST_ADAPTER)")] {
            let wanted = wanted(&AdapterChoice::Name("x".into()), by_variable);
            let error = no_adapter(&wanted, &[adapter("Swift", "Vulkan")]);
            assert_eq!(error.to_string(), format!("no adapter fits {expected}; {found}"));
        }
    }

    #[test]
    fn each_distribution_has_its_own_command() {
        for (release, command) in [
            ("NAME=\"Debian GNU/Linux\"\nID=debian\n", "apt-get install mesa-vulkan-drivers"),
            ("ID=ubuntu\nID_LIKE=debian\n", "apt-get install mesa-vulkan-drivers"),
            ("ID=rocky\nID_LIKE=\"rhel centos fedora\"\n", "dnf install mesa-vulkan-drivers"),
            ("ID=arch\n", "pacman -S vulkan-swrast"),
            ("ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n", "zypper install libvulkan_lvp"),
            ("ID=alpine\n", "apk add mesa-vulkan-swrast"),
        ] {
            assert_eq!(package(release), Some(command), "{release}");
            assert!(advice_for("linux", release).contains(command));
        }
    }

    #[test]
    fn the_advice_for_an_unknown_system_names_the_driver() {
        assert!(advice_for("linux", "VERSION_ID=debian\n").contains("lavapipe"));
        assert!(!advice_for("windows", "").contains("lavapipe"));
    }

    #[test]
    fn the_advice_names_the_feature_of_the_cpu_and_no_call_that_needs_it() {
        for (system, release) in [("linux", "ID=debian"), ("linux", ""), ("windows", "")] {
            let advice = advice_for(system, release);
            assert!(advice.contains("the feature `cpu` of fencepost"), "{advice}");
            assert!(!advice.contains("Context::simulated"), "{advice}");
        }
        assert!(remedy().ends_with(ADD_THE_CPU), "{}", remedy());
    }
}
