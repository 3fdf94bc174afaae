use anyhow::{Result, bail};
use serde::Serialize;
use wgpu::{Adapter, Backends, DeviceType, Instance, InstanceDescriptor, InstanceFlags};

/// The adapter that all implementations run on.
pub(crate) struct Chosen {
    pub(crate) adapter: Adapter,
    pub(crate) info: wgpu::AdapterInfo,
}

/// Description of the adapter for a reader of the report.
#[derive(Clone, Serialize)]
pub(crate) struct About {
    pub(crate) adapter: String,
    pub(crate) backend: String,
    pub(crate) driver: String,
    pub(crate) device_type: String,
}

impl Chosen {
    /// Finds the first adapter with `name` in its name, driver or back end. Hardware comes before software, and native
    /// interfaces before GL.
    pub(crate) fn find(name: &str) -> Result<Self> {
        let mut adapters = adapters();
        let names: Vec<String> = adapters.iter().map(|adapter| describe(&adapter.get_info())).collect();
        adapters
            .retain(|adapter| describe(&adapter.get_info()).to_lowercase().contains(&name.to_lowercase()));
        let Some(adapter) = adapters.into_iter().next() else {
            bail!("no adapter with `{name}` in its name; this machine has: [{}]", names.join("], ["));
        };
        let info = adapter.get_info();
        Ok(Self { adapter, info })
    }

    pub(crate) fn about(&self) -> About {
        About {
            adapter: self.info.name.clone(),
            backend: self.info.backend.to_string(),
            driver: format!("{} {}", self.info.driver, self.info.driver_info).trim().to_owned(),
            device_type: format!("{:?}", self.info.device_type),
        }
    }
}

/// Returns `true` if this machine has an adapter that the rows can run on.
#[must_use]
pub fn has_adapter() -> bool {
    !adapters().is_empty()
}

/// Returns the usable adapters, best first. Validation is off in every build, because the rows do not measure it.
fn adapters() -> Vec<Adapter> {
    let instance = Instance::new(InstanceDescriptor {
        flags: InstanceFlags::empty(),
        ..InstanceDescriptor::new_without_display_handle()
    });
    let mut adapters = pollster::block_on(instance.enumerate_adapters(Backends::all()));
    adapters.retain(|adapter| adapter.features().contains(wgpu::Features::IMMEDIATES));
    adapters.sort_by_key(|adapter| rank(&adapter.get_info()));
    adapters
}

fn rank(info: &wgpu::AdapterInfo) -> (u8, bool) {
    let kind = match info.device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Cpu => 3,
        DeviceType::Other => 4,
    };
    (kind, info.backend == wgpu::Backend::Gl)
}

fn describe(info: &wgpu::AdapterInfo) -> String {
    format!("{} ({}, {} {})", info.name, info.backend, info.driver, info.driver_info)
}
