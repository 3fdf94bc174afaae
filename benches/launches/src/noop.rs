//! Opens implementations on wgpu's noop back end, which executes nothing: a launch costs only the work of the host.

use anyhow::{Context as _, Result};
use fencepost::testing::{self, DeviceSwitches};
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
    verbs::VERBS,
};

/// The only contestant that is not Fencepost.
const EXPERT: &str = "expert";
/// The cheapest recorder on contexts that order nothing. Its rows on one queue show the cost of the default policy.
const UNCHECKED: &str = "fencepost direct unchecked";
/// The cheapest recorder where each row replays one graph of its launches: recorded at each replay, or once from 100
/// launches on.
const REPLAYS: [(&str, usize); 2] =
    [("fencepost direct replay", usize::MAX), ("fencepost direct replay native", 100)];

/// Returns the names of the implementations that the back end supports.
///
/// # Errors
/// Fails if a context on the back end cannot be opened.
pub fn noop_contestants() -> Result<Vec<&'static str>> {
    let mut names = vec![EXPERT];
    for (recorder, policy) in contestants() {
        let opened = Fencepost::with_recorder(&recorder, |choice| context(choice, policy))?;
        names.extend(opened.map(|_| recorder.contestant));
    }
    for (name, native_from) in REPLAYS {
        names.extend(replays(name, native_from)?.map(|_| name));
    }
    names.push(VERBS);
    Ok(names)
}

/// Opens a context with the cheapest recorder.
pub(crate) fn direct() -> Result<Context> {
    context(RecorderChoice::Direct, Policy::Ordered)
}

/// Returns every recorder under the default policy, and the direct recorder without ordering.
fn contestants() -> impl Iterator<Item = (Recorder, Policy)> {
    let ordered = RECORDERS.into_iter().map(|recorder| (recorder, Policy::Ordered));
    let direct = RECORDERS.into_iter().filter(|recorder| recorder.choice == RecorderChoice::Direct);
    ordered.chain(direct.map(|recorder| (recorder.called(UNCHECKED), Policy::Unchecked)))
}

/// Opens an implementation that replays graphs. Runs of at least `native_replay_from` launches are recorded once.
fn replays(name: &'static str, native_replay_from: usize) -> Result<Option<Fencepost>> {
    let direct = RECORDERS.into_iter().find(|recorder| recorder.choice == RecorderChoice::Direct);
    let direct = direct.context("there is no direct recorder")?.called(name);
    let switches = DeviceSwitches { native_replay_from, ..DeviceSwitches::default() };
    Fencepost::with_replays(&direct, |choice| context_with(choice, Policy::Ordered, switches))
}

/// Opens the implementation with this name.
///
/// # Errors
/// Fails if there is none, or the back end does not support it.
pub(crate) fn open(name: &str) -> Result<Box<dyn Handover>> {
    if name == EXPERT {
        return Ok(Box::new(Expert::open(&adapter()?)?));
    }
    if let Some((name, native_from)) = REPLAYS.into_iter().find(|(known, _)| *known == name) {
        return Ok(Box::new(
            replays(name, native_from)?
                .with_context(|| format!("the noop back end does not take `{name}`"))?,
        ));
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

/// Opens a context on a new device, without threads: the calling thread does all its work.
fn context(recorder: RecorderChoice, policy: Policy) -> Result<Context> {
    context_with(recorder, policy, DeviceSwitches::default())
}

/// Opens a context without the features that `switches` turns off.
fn context_with(recorder: RecorderChoice, policy: Policy, switches: DeviceSwitches) -> Result<Context> {
    let (device, queue) = pollster::block_on(adapter()?.request_device(&DeviceDescriptor {
        required_features: Features::IMMEDIATES,
        required_limits: Limits { max_immediate_size: 64, ..Limits::default() },
        ..DeviceDescriptor::default()
    }))?;
    let options = AdoptOptions::default().recorder(recorder).policy(policy).exclusive(true).threads(false);
    Ok(testing::adopt(device, queue, options, switches)?)
}

#[cfg(test)]
mod tests {
    use fencepost::{ErrorDetail, QueueOptions};

    use super::*;

    /// Checks that zero timestamps give an error. The back end has timestamps, and they stay zero.
    #[test]
    fn t03_a_driver_that_writes_no_timestamp_gives_an_error() {
        for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct] {
            let descriptor = DeviceDescriptor {
                required_features: Features::TIMESTAMP_QUERY,
                ..DeviceDescriptor::default()
            };
            let opened = pollster::block_on(adapter().expect("an adapter").request_device(&descriptor));
            let (device, queue) = opened.expect("a device");
            let options = AdoptOptions::default().recorder(recorder).exclusive(true);
            let ctx = Context::adopt(device, queue, options).expect("a context");
            let queue = ctx.queue_with(QueueOptions::default().timing(true));
            assert!(queue.options().timing);
            let start = queue.marker();
            queue.full([4], 1_u32).expect("an array");
            let error = queue.marker().seconds_since(&start).wait().expect_err("the driver writes no time");
            assert!(matches!(error.detail(), ErrorDetail::NotMeasured { .. }), "{recorder:?}: {error}");
            assert!(error.to_string().contains("no valid time"), "{recorder:?}: {error}");
        }
    }
}
