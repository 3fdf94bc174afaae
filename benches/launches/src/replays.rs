use anyhow::{Context as _, Result};
use fencepost::{CommandQueue, Graph, Replay};

use crate::{
    fencepost::Side,
    job::{Job, Variant},
};

/// Graphs of the jobs that one side replays, one for each job.
#[derive(Default)]
pub(crate) struct Replays {
    graphs: Vec<(Job, Graph)>,
}

impl Replays {
    /// Replays the graph of a job. The first call captures it.
    pub(crate) fn start(&mut self, side: &mut Side, job: &Job) -> Result<Replay> {
        let known = self.graphs.iter().position(|(known, _)| same(known, job));
        let at = match known {
            Some(at) => at,
            None => {
                self.graphs.push((*job, capture(side, job)?));
                self.graphs.len() - 1
            }
        };
        Ok(side.queue().replay(&self.graphs[at].1)?)
    }
}

/// Captures the launches of a job.
pub(crate) fn capture(side: &mut Side, job: &Job) -> Result<Graph> {
    let queue = side.queue().clone();
    let mut failed = None;
    let (graph, ()) = queue.capture(|captured| {
        let on: &CommandQueue = captured;
        failed = side.enqueue_on(|_| on, job).err();
        Ok(())
    })?;
    failed.map_or(Ok(graph), Err).context("a capture")
}

fn same(one: &Job, other: &Job) -> bool {
    let parts = |job: &Job| (job.variant == Variant::Chain, job.launches, job.queues);
    parts(one) == parts(other)
}
