//! wgpu's noop back end, on which nothing executes: what is left of a launch is the work of the host.

use anyhow::{Context as _, Result};
use fencepost::{AdoptOptions, Context, RecorderChoice};
use wgpu::{
    Adapter, BackendOptions, Backends, DeviceDescriptor, Features, Instance, InstanceDescriptor, Limits,
    NoopBackendOptions,
};

use crate::{expert::Expert, fencepost::Fencepost, implementation::Handover, recorders::RECORDERS};

/// The contestant that is no recorder of ours.
const EXPERT: &str = "expert";

/// Names of the implementations that take the back end.
///
/// # Errors
/// A context on the back end cannot be opened.
pub fn noop_contestants() -> Result<Vec<&'static str>> {
    let mut names = vec![EXPERT];
    for recorder in RECORDERS {
        names.extend(Fencepost::with_recorder(&recorder, context)?.map(|_| recorder.contestant));
    }
    Ok(names)
}

/// Opens the implementation of this name.
///
/// # Errors
/// There is none, or the back end does not take it.
pub(crate) fn open(name: &str) -> Result<Box<dyn Handover>> {
    if name == EXPERT {
        return Ok(Box::new(Expert::open(&adapter()?)?));
    }
    let recorder = RECORDERS.iter().find(|recorder| recorder.contestant == name);
    let recorder = recorder.with_context(|| format!("`{name}` is no contestant"))?;
    let opened = Fencepost::with_recorder(recorder, context)?;
    Ok(Box::new(opened.with_context(|| format!("the noop back end does not take `{name}`"))?))
}

fn adapter() -> Result<Adapter> {
    let noop = NoopBackendOptions { enable: true, ..NoopBackendOptions::default() };
    let instance = Instance::new(InstanceDescriptor {
        backends: Backends::NOOP,
        backend_options: BackendOptions { noop, ..BackendOptions::default() },
        ..InstanceDescriptor::new_without_display_handle()
    });
    let adapters = pollster::block_on(instance.enumerate_adapters(Backends::NOOP));
    adapters.into_iter().next().context("wgpu was built without its noop back end")
}

/// A context on a device of its own, without threads: all that it does is done by whoever calls.
fn context(recorder: RecorderChoice) -> Result<Context> {
    let (device, queue) = pollster::block_on(adapter()?.request_device(&DeviceDescriptor {
        required_features: Features::IMMEDIATES,
        required_limits: Limits { max_immediate_size: 64, ..Limits::default() },
        ..DeviceDescriptor::default()
    }))?;
    let options = AdoptOptions { recorder, alone: true, threads: false, ..AdoptOptions::default() };
    Ok(Context::adopt(device, queue, options)?)
}
