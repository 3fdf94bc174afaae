//! The adapters of this machine, and the choice of one.

use crate::device::adapter_choice::{AdapterChoice, no_adapter};
use crate::device::adapter_info::{AdapterInfo, describe, kind};
use crate::device::instance::{backends, has_interface, instance};
use crate::error::Result;
use std::env;
use wgpu::Backend;

/// Names the environment variable that chooses an adapter, by a part of its name and backend or by its index in
/// [`adapters`].
const CHOICE: &str = "FENCEPOST_ADAPTER";

/// Returns the adapters of this machine, in the order in which `Auto` prefers them: discrete, integrated, virtual,
/// unknown, software. Among adapters of one kind, those of Vulkan, Metal and DX12 come before those of GL.
///
/// In the browser the list is empty, because a browser does not enumerate adapters.
#[cfg(not(target_arch = "wasm32"))]
pub fn adapters() -> Vec<AdapterInfo> {
    crate::device::gl_instance::one_at_a_time(|| pollster::block_on(sorted()).iter().map(describe).collect())
}

/// Returns an empty list: a browser does not enumerate adapters.
#[cfg(target_arch = "wasm32")]
pub fn adapters() -> Vec<AdapterInfo> {
    Vec::new()
}

/// Returns the adapter that `choice` names. For `Auto`, the environment variable can name another.
///
/// # Errors
/// Returns `NoAdapter`, which lists the adapters of this machine.
pub(crate) async fn choose(choice: &AdapterChoice) -> Result<wgpu::Adapter> {
    let choice = match (choice, env::var(CHOICE)) {
        (AdapterChoice::Auto, Ok(value)) => value.parse().unwrap_or_default(),
        _ => choice.clone(),
    };
    #[cfg(not(target_arch = "wasm32"))]
    return crate::device::gl_instance::one_at_a_time(|| {
        pollster::block_on(async { Ok(crate::device::gl_instance::own(find(&choice).await?).await) })
    });
    #[cfg(target_arch = "wasm32")]
    match choice {
        AdapterChoice::Auto => any().await,
        _ => find(&choice).await,
    }
}

async fn find(choice: &AdapterChoice) -> Result<wgpu::Adapter> {
    let mut found = sorted().await;
    let known: Vec<AdapterInfo> = found.iter().map(describe).collect();
    match choice.find(&known) {
        Some(at) => Ok(found.swap_remove(at)),
        None => Err(no_adapter(choice, &known)),
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
    adapters.retain(|adapter| adapter.get_downlevel_capabilities().flags.contains(computes));
    adapters.sort_by_key(|adapter| {
        let info = adapter.get_info();
        (kind(info.device_type), info.backend == Backend::Gl)
    });
    adapters
}
