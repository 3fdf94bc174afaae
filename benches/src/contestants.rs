use ::fencepost::testing::{self, DeviceSwitches};
use ::fencepost::{AdapterChoice, Context, ContextOptions, RecorderChoice};
use anyhow::{Result, ensure};

use crate::{
    adapter::Chosen, expert::Expert, fencepost::Fencepost, implementation::Implementation,
    mapped::ExpertMapped, memcpy::Memcpy, naive::Naive, recorders::RECORDERS, vulkan::Vulkan,
};

/// Implementations that replay graphs, each with the number of launches from which a graph is recorded once.
const REPLAYS: [(&str, usize); 2] = [("replay, encoded", usize::MAX), ("replay, native", 100)];

/// Implementations that run on the chosen adapter, in the order of the report.
pub(crate) struct Contestants {
    pub(crate) implementations: Vec<Box<dyn Implementation>>,
    /// Names of the implementations that do not run on it, each with the reason.
    pub(crate) absent: Vec<String>,
}

/// Opens every implementation on the adapter, each with its own device.
pub(crate) fn open(chosen: &Chosen) -> Result<Contestants> {
    let mut all: Vec<Box<dyn Implementation>> =
        vec![Box::new(Naive::open(&chosen.adapter)?), Box::new(Expert::open(&chosen.adapter)?)];
    all.push(Box::new(Fencepost::open(|| context(chosen, RecorderChoice::default()))?));
    let mut absent = Vec::new();
    for recorder in RECORDERS {
        match Fencepost::with_recorder(&recorder, |choice| context(chosen, choice))? {
            Some(contestant) => all.push(Box::new(contestant)),
            None => {
                absent.push(format!("{}: the adapter does not support this recorder", recorder.contestant))
            }
        }
    }
    for (name, native_replay_from) in REPLAYS {
        let direct = RECORDERS[2].called(name);
        let switches = DeviceSwitches { native_replay_from, ..DeviceSwitches::default() };
        let open = |choice| context_with(chosen, choice, switches);
        match Fencepost::with_replays(&direct, open)? {
            Some(contestant) => all.push(Box::new(contestant)),
            None => absent.push(format!("{name}: the adapter does not support this recorder")),
        }
    }
    if chosen.adapter.features().contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) {
        all.push(Box::new(ExpertMapped::open(&chosen.adapter)?));
    } else {
        absent.push("expert-mapped: the adapter cannot map its own buffers".to_owned());
    }
    if chosen.info.backend == wgpu::Backend::Vulkan {
        all.push(Box::new(Vulkan::open(&chosen.info)?));
        all.push(Box::new(Vulkan::with_replays(&chosen.info)?));
    } else {
        absent.push(format!("vulkan: the adapter is used through {}", chosen.info.backend));
    }
    all.push(Box::new(Memcpy::default()));
    Ok(Contestants { implementations: all, absent })
}

/// Opens a context on the chosen adapter. It has this recorder if the adapter supports it.
fn context(chosen: &Chosen, recorder: RecorderChoice) -> Result<Context> {
    context_with(chosen, recorder, DeviceSwitches::default())
}

/// Opens a context as [`context`] does, without the features that `switches` turns off.
fn context_with(chosen: &Chosen, recorder: RecorderChoice, switches: DeviceSwitches) -> Result<Context> {
    let adapter = AdapterChoice::Name(format!("{} {}", chosen.info.name, chosen.info.backend));
    let options = ContextOptions::default().adapter(adapter).recorder(recorder);
    let context = testing::open(options, switches).wait()?;
    let info = context.info();
    ensure!(info.name == chosen.info.name, "Fencepost has opened `{info}`");
    Ok(context)
}
