//! The arrays of PageRank, and a step of it. All steps run on the device.

use fencepost::prelude::*;

use crate::DAMPING;
use crate::web::Web;

/// The links, and the arrays of a step.
pub(crate) struct Ranks {
    sources: DeviceArray<u32>,
    offsets: DeviceArray<u32>,
    /// Part of the rank of its source that each link carries.
    parts: DeviceArray<f32>,
    /// 1 for a page without links, else 0.
    has_no_links: DeviceArray<f32>,
    pub(crate) rank: DeviceArray<f32>,
    /// Ranks after the step.
    next: DeviceArray<f32>,
    unlinked: DeviceArray<f32>,
    change: DeviceArray<f32>,
    total: DeviceArray<f32>,
    /// 1 while the ranks change by more than the limit, then 0.
    pub(crate) go: DeviceArray<u32>,
}

impl Ranks {
    /// Starts with equal ranks, whose sum is 1.
    pub(crate) fn new(ctx: &Context, web: &Web) -> Result<Self> {
        let n = web.links.len();
        let part = |&source: &u32| 1.0 / web.links[source as usize] as f32;
        let parts: Vec<f32> = web.sources.iter().map(part).collect();
        let has_no_links: Vec<f32> = web.links.iter().map(|&links| f32::from(links == 0)).collect();
        Ok(Self {
            sources: ctx.array(&web.sources)?,
            offsets: ctx.array(&web.offsets)?,
            parts: ctx.array(&parts)?,
            has_no_links: ctx.array(&has_no_links)?,
            rank: ctx.full([n], 1.0 / n as f32)?,
            next: ctx.zeros([n])?,
            unlinked: ctx.zeros([1])?,
            change: ctx.zeros([n])?,
            total: ctx.zeros([1])?,
            go: ctx.full([1], 1)?,
        })
    }

    /// Enqueues a step. The loop goes on if the sum of all changes is over the limit.
    pub(crate) fn step(&mut self, queue: &CommandQueue, limit: f32) -> Result<()> {
        let n = self.rank.len();
        queue.dot(&self.rank, &self.has_no_links, &mut self.unlinked)?;
        // The pages without links give all pages equal parts of their ranks.
        let without_links = format!("({:e} + {DAMPING:e} * x) / {n}.0", 1.0 - DAMPING);
        queue.map(&self.unlinked, &without_links, &mut self.next)?;
        let links = Csr::new([n, n], &self.offsets, &self.sources, &self.parts);
        let damped = MatmulSparse::default().alpha(DAMPING).beta(1.0);
        queue.matmul_sparse(links, &self.rank, &mut self.next, damped)?;
        queue.zip(&self.next, &self.rank, "abs(x - y)", &mut self.change)?;
        queue.copy(&self.next, &mut self.rank)?;
        queue.sum(&self.change, &mut self.total)?;
        queue.map(&self.total, &format!("select(0u, 1u, x > {limit:e})"), &mut self.go)
    }
}
