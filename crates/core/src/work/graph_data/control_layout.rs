//! The layout of a control table: which bytes belong to which node.

use crate::work::graph_data::control_table::{COUNTS, ControlLayout};
use crate::work::graph_data::graph_node::GraphNode;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// Alignment of each upload's bytes in the table. No device needs a larger alignment of a binding.
const ALIGNMENT: u64 = 256;

/// A layout, with the initial contents of the table.
pub(crate) struct ControlContents {
    pub(crate) layout: ControlLayout,
    /// Initial contents of the table's words.
    pub(crate) bytes: Vec<u8>,
}

/// Group counts of each dispatch of a node, if the node is in a body.
type NodeCounts = Option<Arc<[[u32; 3]]>>;

/// Lays out the table of the nodes. `dispatches` returns the group counts of each dispatch of a node in a body, and
/// `contents` the bytes and the size of an upload.
pub(crate) fn lay_out(
    nodes: &[GraphNode],
    (gates, loops): (u32, Vec<u64>),
    mut dispatches: impl FnMut(&GraphNode) -> Arc<[[u32; 3]]>,
    contents: impl Fn(&GraphNode) -> Option<(Arc<[u8]>, u64)>,
) -> ControlContents {
    let of_nodes: Vec<NodeCounts> = nodes.iter().map(|node| node.gate.map(|_| dispatches(node))).collect();
    let places = places(nodes, &of_nodes, gates);
    let mut layout = ControlLayout { gates, loops, places, ..ControlLayout::default() };
    let mut bytes = vec![0; layout.head() as usize];
    add_wanted(&mut layout, nodes, &of_nodes, &mut bytes);
    add_uploads(&mut layout, nodes, contents, &mut bytes);
    bytes.resize(bytes.len().next_multiple_of(16).max(16), 0);
    ControlContents { layout, bytes }
}

/// Returns for each gate the places of the dispatches of its nodes, one gate after the other.
fn places(nodes: &[GraphNode], of_nodes: &[NodeCounts], gates: u32) -> Vec<Range<u32>> {
    let mut counts = vec![0; gates as usize];
    for (node, of_node) in nodes.iter().zip(of_nodes) {
        if let (Some(gate), Some(of_node)) = (node.gate, of_node) {
            counts[gate as usize] += of_node.len() as u32;
        }
    }
    let mut end = 0;
    let place = |count| {
        end += count;
        end - count..end
    };
    counts.into_iter().map(place).collect()
}

/// Gives each node in a body its places, and stores the group counts that its gate allows there.
fn add_wanted(layout: &mut ControlLayout, nodes: &[GraphNode], of_nodes: &[NodeCounts], bytes: &mut [u8]) {
    let mut next: Vec<u32> = layout.places.iter().map(|place| place.start).collect();
    for (node, of_node) in nodes.iter().zip(of_nodes) {
        let (Some(gate), Some(of_node)) = (node.gate, of_node) else {
            layout.first.push(0);
            continue;
        };
        let first = next[gate as usize];
        layout.first.push(first);
        next[gate as usize] += of_node.len() as u32;
        let at = 4 * (layout.wanted_at() + COUNTS * first) as usize;
        let wanted: &[u8] = bytemuck::cast_slice(of_node);
        bytes[at..at + wanted.len()].copy_from_slice(wanted);
    }
}

/// Adds the bytes of each upload in a body. The nodes of all iterations share the bytes of their command.
fn add_uploads(
    layout: &mut ControlLayout,
    nodes: &[GraphNode],
    contents: impl Fn(&GraphNode) -> Option<(Arc<[u8]>, u64)>,
    bytes: &mut Vec<u8>,
) {
    let mut known = FxHashMap::default();
    for (at, node) in nodes.iter().enumerate().filter(|(_, node)| node.gate.is_some()) {
        let Some((upload, size)) = contents(node) else { continue };
        let offset = *known.entry(Arc::as_ptr(&node.command)).or_insert_with(|| {
            let offset = (bytes.len() as u64).next_multiple_of(ALIGNMENT);
            bytes.resize(offset as usize, 0);
            bytes.extend_from_slice(&upload);
            bytes.resize((offset + size) as usize, 0);
            offset
        });
        layout.uploads.insert(at as u32, offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::site::CommandKind;
    use crate::work::graph_data::graph_node::NodeCommand;
    use crate::work::step::Work;
    use smallvec::SmallVec;
    use std::panic::Location;

    fn node(gate: Option<u32>) -> GraphNode {
        let (what, at) = (CommandKind::Fill, Location::caller());
        let command =
            NodeCommand { work: Work::Nothing, what, at, label: None, output: None, values: <_>::default() };
        GraphNode { queue: 0, after: SmallVec::new(), command: Arc::new(command), gate }
    }

    #[test]
    fn the_dispatches_of_a_gate_follow_each_other() {
        let nodes = [None, Some(1), Some(0), None, Some(1), Some(2)].map(node);
        let mut made = 0;
        let counts = |_: &GraphNode| -> Arc<[[u32; 3]]> {
            made += 1;
            (0..made).map(|at| [made, at, 1]).collect()
        };
        let contents = |node: &GraphNode| node.gate.filter(|&gate| gate == 1).map(|_| ([7; 5].into(), 8));
        let ControlContents { layout, bytes } = lay_out(&nodes, (3, vec![9, 8]), counts, contents);
        assert_eq!(layout.places, [0..2, 2..6, 6..10]);
        assert_eq!(layout.first, [0, 2, 0, 0, 3, 6]);
        assert_eq!((layout.counters(), layout.wanted_at(), layout.all_dispatches()), (12..28, 7, 13));
        let words: &[u32] = bytemuck::cast_slice(&bytes[..layout.head() as usize]);
        assert_eq!(words[7..16], [2, 0, 1, 2, 1, 1, 1, 0, 1]);
        assert_eq!(layout.uploads, FxHashMap::from_iter([(1, 256), (4, 512)]));
        assert_eq!(bytes[512..], [7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
