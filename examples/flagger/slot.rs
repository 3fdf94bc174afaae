//! The buffers of a dump.

use crate::flag;
use crate::plain::CHANNELS;
use anyhow::Result;
use fencepost::prelude::*;

/// One of the two buffers, with the graph that flags the dump in it, and events for the uses of the dump.
pub(crate) struct Slot {
    pub(crate) staging: HostArray<[f32; 2], Upload>,
    pub(crate) vis: DeviceArray<[f32; 2]>,
    pub(crate) flags: DeviceArray<u32, 2>,
    pub(crate) graph: Graph,
    pub(crate) uploaded: Event,
    pub(crate) used: Event,
}

impl Slot {
    pub(crate) fn new(
        ctx: &Context,
        queue: &CommandQueue,
        known: &DeviceArray<u32, 2>,
        baselines: usize,
    ) -> Result<Self> {
        let vis = ctx.empty([CHANNELS * baselines])?;
        let mut flags = ctx.empty([CHANNELS, baselines])?;
        let samples = vis.reshape([CHANNELS, baselines])?;
        let (graph, ()) = queue.capture(|c| flag(c, &samples, known, &mut flags))?;
        let staging = ctx.pinned([CHANNELS * baselines])?;
        Ok(Self { staging, vis, flags, graph, uploaded: ctx.event(), used: ctx.event() })
    }
}
