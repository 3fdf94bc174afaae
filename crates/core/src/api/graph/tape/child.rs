//! The replay of a graph inside a capture: the nodes of the graph become nodes of the capture.

use crate::api::graph::graph_handle::Graph;
use crate::api::graph::tape::{CapturedQueue, TapeState, raise};
use crate::error::Result;
use crate::scheduler::free_blocks::BlockLease;
use crate::work::graph_data::graph_plan::GraphPlan;
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::Arc;

impl CapturedQueue {
    /// Adds the nodes of `child` at the end of the queue, as `plan` has them.
    pub(crate) fn include(
        &self,
        child: &Graph,
        plan: &GraphPlan,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let engine = self.tape.owner.engine();
        self.with("replay", at, |state| {
            for (&id, lease) in child.leases.iter() {
                state.leases.entry(id).or_insert_with(|| lease.clone());
            }
            for node in plan.nodes.iter() {
                node.command.work.each_block(|block| {
                    let lease = || -> Arc<BlockLease> { Arc::new(engine.lease(block)) };
                    state.leases.entry(block.id).or_insert_with(lease);
                });
            }
            state.include(self.index, child, plan, at);
        })
    }
}

impl TapeState {
    /// Copies the nodes of a graph to the end of `queue`. The first queue of the graph continues `queue`; the others
    /// become forks of it, and `queue` waits for them behind the graph. A graph that owns memory also comes after its
    /// previous copy.
    fn include(&mut self, queue: u32, child: &Graph, plan: &GraphPlan, at: &'static Location<'static>) {
        if plan.owns_memory
            && let Some(last) = self.children.get(&child.inner.id).cloned()
        {
            self.wait_for_nodes(queue, &last);
        }
        self.owns_memory |= plan.owns_memory;
        self.made.extend(child.inner.made.iter().copied());
        let outputs = self.outputs.len() as u32;
        self.outputs.extend(child.inner.outputs.iter().cloned());
        let mut queues: Vec<u32> = vec![queue];
        for label in plan.queues.iter().skip(1) {
            let (frontier, clock) = self.end_of(queue);
            queues.push(self.add_queue(label, at, frontier, clock));
        }
        let first = self.nodes.len() as u32;
        let mut calls = child.inner.calls.iter().peekable();
        for (number, node) in plan.nodes.iter().enumerate() {
            while let Some((_, call)) = calls.next_if(|(before, _)| *before as usize <= number) {
                self.calls.push((self.nodes.len() as u32, call.clone()));
            }
            let to = queues[node.queue as usize];
            let after: SmallVec<[u32; 2]> = node.after.iter().map(|&after| after + first).collect();
            self.wait_for_nodes(to, &after);
            let command = match node.command.output {
                Some(output) => Arc::new(node.command.with_output(output + outputs)),
                None => node.command.clone(),
            };
            self.push(to, command);
        }
        self.calls.extend(calls.map(|(_, call)| (self.nodes.len() as u32, call.clone())));
        for &other in &queues[1..] {
            let (frontier, clock) = self.end_of(other);
            self.wait(queue, &frontier, &clock);
        }
        let end = self.end_of(queue).0;
        self.children.insert(child.inner.id, end);
    }

    /// Returns the nodes at the end of a queue, and the queue's clock.
    fn end_of(&self, queue: u32) -> (SmallVec<[u32; 2]>, Vec<u32>) {
        let of = &self.queues[queue as usize];
        (of.frontier.clone(), of.clock.clone())
    }

    /// Orders the next node of `queue` after `nodes` and everything before them.
    fn wait_for_nodes(&mut self, queue: u32, nodes: &[u32]) {
        if nodes.is_empty() {
            return;
        }
        let mut clock = Vec::new();
        let mut open: Vec<u32> = nodes.to_vec();
        while let Some(at) = open.pop() {
            let node = &self.nodes[at as usize];
            if clock.get(node.queue as usize).copied().unwrap_or(0) > at {
                continue;
            }
            raise(&mut clock, node.queue, at + 1);
            let before = self.nodes[..at as usize].iter().rposition(|other| other.queue == node.queue);
            open.extend(before.map(|before| before as u32));
            open.extend(node.after.iter().copied());
        }
        self.wait(queue, nodes, &clock);
    }
}
