//! The kernel and the arrays of PageRank. All steps run on the device.

use fencepost::prelude::*;

use crate::DAMPING;
use crate::web::Web;

#[derive(KernelArgs)]
#[kernel(source = "../../examples/pagerank/step.wgsl", entry = "step_ranks")]
struct StepRanks<'a> {
    damping: f32,
    arriving: &'a DeviceArray<f32>,
    unlinked: &'a DeviceArray<f32>,
    rank: &'a mut DeviceArray<f32>,
    change: &'a mut DeviceArray<f32>,
}

/// The links, and the arrays of a step.
pub(crate) struct Ranks {
    sources: DeviceArray<u32>,
    offsets: DeviceArray<u32>,
    /// Part of a page's rank that each of its links carries; 0 without links.
    parts: DeviceArray<f32>,
    /// 1 for a page without links, else 0.
    has_no_links: DeviceArray<f32>,
    pub(crate) rank: DeviceArray<f32>,
    /// Rank that a link from each page carries.
    share: DeviceArray<f32>,
    /// Rank that each link carries.
    carried: DeviceArray<f32>,
    arriving: DeviceArray<f32>,
    unlinked: DeviceArray<f32>,
    change: DeviceArray<f32>,
    total: DeviceArray<f32>,
    /// 1 while the ranks change by more than the limit, then 0.
    pub(crate) go: DeviceArray<u32>,
    step: Kernel<StepRanks<'static>>,
}

impl Ranks {
    /// Starts with equal ranks, whose sum is 1.
    pub(crate) fn new(ctx: &Context, web: &Web) -> Result<Self> {
        let n = web.links.len();
        let part = |&links: &u32| if links == 0 { 0.0 } else { 1.0 / links as f32 };
        let parts: Vec<f32> = web.links.iter().map(part).collect();
        let has_no_links: Vec<f32> = web.links.iter().map(|&links| f32::from(links == 0)).collect();
        Ok(Self {
            sources: ctx.array(&web.sources)?,
            offsets: ctx.array(&web.offsets)?,
            parts: ctx.array(&parts)?,
            has_no_links: ctx.array(&has_no_links)?,
            rank: ctx.full([n], 1.0 / n as f32)?,
            share: ctx.zeros([n])?,
            carried: ctx.zeros([web.sources.len()])?,
            arriving: ctx.zeros([n])?,
            unlinked: ctx.zeros([1])?,
            change: ctx.zeros([n])?,
            total: ctx.zeros([1])?,
            go: ctx.full([1], 1)?,
            step: ctx.kernel::<StepRanks>()?,
        })
    }

    /// Enqueues a step. The loop goes on if the sum of all changes is over the limit.
    pub(crate) fn step(&mut self, queue: &CommandQueue, limit: f32) -> Result<()> {
        queue.zip(&self.rank, &self.parts, "x * y", &mut self.share)?;
        queue.gather(&self.share, &self.sources, Outside::Zero, &mut self.carried)?;
        queue.sum(self.carried.segments(&self.offsets), &mut self.arriving)?;
        queue.dot(&self.rank, &self.has_no_links, &mut self.unlinked)?;
        let Self { arriving, unlinked, rank, change, .. } = self;
        let pages = Grid::threads([rank.len()]);
        queue.launch(&self.step, pages, StepRanks { damping: DAMPING, arriving, unlinked, rank, change })?;
        queue.sum(&self.change, &mut self.total)?;
        queue.map(&self.total, &format!("select(0u, 1u, x > {limit:e})"), &mut self.go)
    }
}
