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

/// An implementation with Fencepost: its recorder under its name, and the number of launches from which a graph is
/// recorded once, if it replays graphs.
struct Contestant {
    recorder: Recorder,
    policy: Policy,
    native_replay_from: Option<usize>,
}

impl Contestant {
    /// Returns every recorder under the default policy, then the direct recorder without ordering and with replays.
    fn all() -> Vec<Self> {
        let of = |recorder| Self { recorder, policy: Policy::Ordered, native_replay_from: None };
        let mut all: Vec<Self> = RECORDERS.map(of).into();
        for direct in RECORDERS.into_iter().filter(|recorder| recorder.choice == RecorderChoice::Direct) {
            all.push(Self { policy: Policy::Unchecked, ..of(direct.called(UNCHECKED)) });
            let replay = |(name, from)| Self { native_replay_from: Some(from), ..of(direct.called(name)) };
            all.extend(REPLAYS.map(replay));
        }
        all
    }

    /// Opens the implementation, or returns `None` if the back end does not support it.
    fn open(&self) -> Result<Option<Fencepost>> {
        let Some(native_replay_from) = self.native_replay_from else {
            let open = |choice| context(choice, self.policy, DeviceSwitches::default());
            return Fencepost::with_recorder(&self.recorder, open);
        };
        let switches = DeviceSwitches { native_replay_from, ..DeviceSwitches::default() };
        Fencepost::with_replays(&self.recorder, |choice| context(choice, self.policy, switches))
    }
}

/// Returns the names of the implementations that the back end supports.
///
/// # Errors
/// Fails if a context on the back end cannot be opened.
pub fn noop_contestants() -> Result<Vec<&'static str>> {
    let mut names = vec![EXPERT];
    for contestant in Contestant::all() {
        names.extend(contestant.open()?.map(|_| contestant.recorder.contestant));
    }
    names.push(VERBS);
    Ok(names)
}

/// Opens a context with the cheapest recorder.
pub(crate) fn direct() -> Result<Context> {
    context(RecorderChoice::Direct, Policy::Ordered, DeviceSwitches::default())
}

/// Opens the implementation with this name.
///
/// # Errors
/// Fails if there is none, or the back end does not support it.
pub(crate) fn open(name: &str) -> Result<Box<dyn Handover>> {
    if name == EXPERT {
        return Ok(Box::new(Expert::open(&adapter()?)?));
    }
    let found = Contestant::all().into_iter().find(|known| known.recorder.contestant == name);
    let opened = found.with_context(|| format!("`{name}` is not a contestant"))?.open()?;
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

/// Opens a context on a new device, without threads: the calling thread does all its work. The context lacks the
/// features that `switches` turns off.
fn context(recorder: RecorderChoice, policy: Policy, switches: DeviceSwitches) -> Result<Context> {
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
