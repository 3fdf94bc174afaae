//! The adapters of this machine, and the choice of one.

use crate::device::adapter_choice::{AdapterChoice, no_adapter};
use crate::device::adapter_info::{AdapterInfo, describe, kind};
use crate::device::gl_version;
use crate::device::instance::{backends, has_interface, instance};
use crate::error::Result;
use std::env;
use wgpu::Backend;

/// Environment variable that chooses an adapter, by a part of its name and backend or by its index in [`adapters`].
/// `lavapipe` stands for the driver of Mesa for Vulkan.
const CHOICE: &str = "FENCEPOST_ADAPTER";

/// The adapter that a context opens.
pub(crate) enum Chosen {
    Wgpu(wgpu::Adapter),
    /// The CPU, without a driver.
    #[cfg(cpu_code)]
    Cpu,
}

/// Returns the adapters of this machine: discrete, integrated, virtual, unknown, software, and last the CPU, which
/// needs no driver. Among adapters of one kind, Vulkan, Metal and DX12 come before GL. `Auto` picks the first adapter
/// that is not a software driver.
///
/// In the browser the list is empty, because a browser does not enumerate adapters. Without the feature `cpu`, the CPU
/// is not in the list.
#[cfg(not(target_arch = "wasm32"))]
pub fn adapters() -> Vec<AdapterInfo> {
    crate::device::gl_instance::one_at_a_time(|| described(&pollster::block_on(sorted())))
}

/// Describes the adapters of wgpu, and the CPU after them.
fn described(found: &[wgpu::Adapter]) -> Vec<AdapterInfo> {
    let known = found.iter().map(describe);
    #[cfg(cpu_code)]
    let known = known.chain([AdapterInfo::cpu()]);
    known.collect()
}

/// Returns an empty list: a browser does not enumerate adapters.
#[cfg(target_arch = "wasm32")]
pub fn adapters() -> Vec<AdapterInfo> {
    Vec::new()
}

/// Returns the adapter that `choice` names. For `Auto`, the environment variable can name another. If `needs_driver` is
/// `true`, `Auto` takes the CPU only if there is no adapter of wgpu.
///
/// # Errors
/// Returns `NoAdapter`, which lists the adapters of this machine.
pub(crate) async fn choose(choice: &AdapterChoice, needs_driver: bool) -> Result<Chosen> {
    let choice = match (choice, env::var(CHOICE)) {
        (AdapterChoice::Auto, Ok(value)) => value.parse().unwrap_or_default(),
        _ => choice.clone(),
    };
    #[cfg(not(target_arch = "wasm32"))]
    return crate::device::gl_instance::one_at_a_time(|| {
        pollster::block_on(async {
            Ok(match find(&choice, needs_driver).await? {
                Chosen::Wgpu(adapter) => Chosen::Wgpu(crate::device::gl_instance::own(adapter).await),
                #[cfg(cpu_code)]
                Chosen::Cpu => Chosen::Cpu,
            })
        })
    });
    #[cfg(target_arch = "wasm32")]
    match choice {
        AdapterChoice::Auto => any().await.map(Chosen::Wgpu),
        _ => find(&choice, needs_driver).await,
    }
}

async fn find(choice: &AdapterChoice, needs_driver: bool) -> Result<Chosen> {
    #[cfg(cpu_code)]
    if *choice == AdapterChoice::Cpu {
        return Ok(Chosen::Cpu); // no driver is asked
    }
    let mut found = sorted().await;
    let known = described(&found);
    let is_any_driver = needs_driver && *choice == AdapterChoice::Auto && !found.is_empty();
    match choice.find(if is_any_driver { &known[..found.len()] } else { &known }) {
        Some(at) if at < found.len() => Ok(Chosen::Wgpu(found.swap_remove(at))),
        #[cfg(cpu_code)]
        Some(_) => Ok(Chosen::Cpu),
        _ => Err(no_adapter(choice, &known)),
    }
}

/// Returns the adapter that the browser chooses.
#[cfg(target_arch = "wasm32")]
async fn any() -> Result<wgpu::Adapter> {
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..Default::default()
    };
    instance().request_adapter(&options).await.map_err(|_| no_adapter(&AdapterChoice::Auto, &[]))
}

/// Returns all adapters that can compute, the preferred ones first.
async fn sorted() -> Vec<wgpu::Adapter> {
    if !has_interface() {
        return Vec::new(); // wgpu panics without a backend
    }
    let mut adapters = instance().enumerate_adapters(backends()).await;
    let computes = wgpu::DownlevelFlags::COMPUTE_SHADERS;
    adapters.retain(|adapter| {
        let info = adapter.get_info();
        adapter.get_downlevel_capabilities().flags.contains(computes)
            && (info.backend != Backend::Gl || gl_version::can_compute(&info.driver_info))
    });
    adapters.sort_by_key(|adapter| {
        let info = adapter.get_info();
        (kind(info.device_type), info.backend == Backend::Gl)
    });
    adapters
}
