//! The error of two captured commands that nothing orders.

use crate::error::{Error, Kind};
use crate::work::graph_data::graph_node::GraphNode;
use crate::work::graph_data::graph_order::UnorderedNodes;
use std::sync::Arc;

/// Returns the error of two captured commands that nothing orders.
pub(crate) fn hazard(nodes: &[GraphNode], queues: &[Arc<str>], pair: &UnorderedNodes) -> Error {
    let site = |at: u32| {
        let node = &nodes[at as usize];
        Box::new(node.command.site(&queues[node.queue as usize]))
    };
    let access = |write: bool| if write { "write" } else { "read" };
    let (earlier, later) = (site(pair.earlier), site(pair.later));
    let touched = nodes[pair.later as usize].touches().find(|touch| touch.block.id == pair.block);
    let array = touched.map(|touch| touch.block.order().label.to_string()).unwrap_or_default();
    let wait = format!("{}.wait_for_queue(&{})?", later.queue, earlier.queue);
    let (access, later_access) = (access(pair.earlier_writes), access(pair.later_writes));
    let range = pair.range.clone();
    Kind::Hazard { array, range, earlier, later, access, later_access, wait, gone: false }.into()
}
