use ::fencepost::testing::DeviceSwitches;
use anyhow::Result;

use crate::{
    adapter::Chosen,
    expert::Expert,
    fencepost::{self, Fencepost},
    implementation::Implementation,
    mapped::ExpertMapped,
    memcpy::Memcpy,
    naive::Naive,
    recorders::RECORDERS,
    vulkan::Vulkan,
};

/// Names the implementations that replay graphs, each with the number of launches from which on a graph is recorded
/// once.
const REPLAYS: [(&str, usize); 2] = [("replay, encoded", usize::MAX), ("replay, native", 100)];

/// Holds the implementations that run on the chosen adapter, in the order of the report.
pub(crate) struct Contestants {
    pub(crate) implementations: Vec<Box<dyn Implementation>>,
    /// Names the implementations that do not run on it, each with the reason.
    pub(crate) absent: Vec<String>,
}

/// Opens every implementation on the adapter, each with its own device.
pub(crate) fn open(chosen: &Chosen) -> Result<Contestants> {
    let mut all: Vec<Box<dyn Implementation>> =
        vec![Box::new(Naive::open(&chosen.adapter)?), Box::new(Expert::open(&chosen.adapter)?)];
    all.push(Box::new(Fencepost::open(chosen)?));
    let mut absent = Vec::new();
    for recorder in RECORDERS {
        match Fencepost::with_recorder(&recorder, |choice| fencepost::context(chosen, choice))? {
            Some(contestant) => all.push(Box::new(contestant)),
            None => {
                absent.push(format!("{}: the adapter does not support this recorder", recorder.contestant))
            }
        }
    }
    for (name, native_replay_from) in REPLAYS {
        let direct = RECORDERS[2].called(name);
        let switches = DeviceSwitches { native_replay_from, ..DeviceSwitches::default() };
        let open = |choice| fencepost::context_with(chosen, choice, switches);
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
