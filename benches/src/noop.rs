//! wgpu's noop back end, on which nothing executes: what is left of a launch is the work of the host.

use anyhow::{Context as _, Result};
use fencepost::{AdoptOptions, Context, Policy, RecorderChoice};
use wgpu::{
    Adapter, BackendOptions, Backends, DeviceDescriptor, Features, Instance, InstanceDescriptor, Limits,
    NoopBackendOptions,
};

use crate::{
    expert::Expert,
    fencepost::Fencepost,
    implementation::Handover,
    recorders::{RECORDERS, Recorder},
};

/// The contestant that is no recorder of ours.
const EXPERT: &str = "expert";
/// The cheapest recorder, on contexts that order nothing: its rows with one queue show what the default policy costs.
const UNCHECKED: &str = "fencepost direct unchecked";

/// Names of the implementations that take the back end.
///
/// # Errors
/// A context on the back end cannot be opened.
pub fn noop_contestants() -> Result<Vec<&'static str>> {
    let mut names = vec![EXPERT];
    for (recorder, policy) in contestants() {
        let opened = Fencepost::with_recorder(&recorder, |choice| context(choice, policy))?;
        names.extend(opened.map(|_| recorder.contestant));
    }
    Ok(names)
}

/// Every recorder under the default policy, and one that orders nothing.
fn contestants() -> impl Iterator<Item = (Recorder, Policy)> {
    let ordered = RECORDERS.into_iter().map(|recorder| (recorder, Policy::Ordered));
    let direct = RECORDERS.into_iter().filter(|recorder| recorder.choice == RecorderChoice::Direct);
    ordered.chain(direct.map(|recorder| (recorder.called(UNCHECKED), Policy::Unchecked)))
}

/// Opens the implementation of this name.
///
/// # Errors
/// There is none, or the back end does not take it.
pub(crate) fn open(name: &str) -> Result<Box<dyn Handover>> {
    if name == EXPERT {
        return Ok(Box::new(Expert::open(&adapter()?)?));
    }
    let found = contestants().find(|(recorder, _)| recorder.contestant == name);
    let (recorder, policy) = found.with_context(|| format!("`{name}` is no contestant"))?;
    let opened = Fencepost::with_recorder(&recorder, |choice| context(choice, policy))?;
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
fn context(recorder: RecorderChoice, policy: Policy) -> Result<Context> {
    let (device, queue) = pollster::block_on(adapter()?.request_device(&DeviceDescriptor {
        required_features: Features::IMMEDIATES,
        required_limits: Limits { max_immediate_size: 64, ..Limits::default() },
        ..DeviceDescriptor::default()
    }))?;
    let options = AdoptOptions { recorder, policy, alone: true, threads: false, ..AdoptOptions::default() };
    Ok(Context::adopt(device, queue, options)?)
}

#[cfg(test)]
mod tests {
    use fencepost::{Kind, QueueOptions};

    use super::*;

    /// The back end has timestamps, and they stay zero.
    #[test]
    fn t03_a_driver_that_writes_no_time_gives_no_number() {
        for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct] {
            let descriptor = DeviceDescriptor {
                required_features: Features::TIMESTAMP_QUERY,
                ..DeviceDescriptor::default()
            };
            let opened = pollster::block_on(adapter().expect("an adapter").request_device(&descriptor));
            let (device, queue) = opened.expect("a device");
            let options = AdoptOptions { recorder, alone: true, ..AdoptOptions::default() };
            let ctx = Context::adopt(device, queue, options).expect("a context");
            let queue = ctx.queue_with(QueueOptions { timing: true, ..QueueOptions::default() });
            assert!(queue.is_timed());
            let start = queue.marker();
            queue.full([4], 1_u32).expect("an array");
            let error = queue.marker().seconds_since(&start).wait().expect_err("there is no time");
            assert!(matches!(error.kind(), Kind::NotMeasured { .. }), "{recorder:?}: {error}");
            assert!(error.to_string().contains("no valid time"), "{recorder:?}: {error}");
        }
    }
}
