//! The packing of nodes: a repeated run of nodes is in the file once.
//!
//! In a file, a node refers to other nodes and gates by their distance. So the nodes of all iterations of a loop are
//! equal, and a single entry can repeat earlier nodes.

use crate::contents::FileNode;
use rustc_hash::FxHashMap;

/// Maximum number of repeated nodes, plus the earlier nodes to which they refer, so that a short file cannot become a
/// long list. The limit exceeds the number of nodes allowed in bodies.
pub(crate) const MOST_REPEATED: u64 = 1 << 18;

/// A node that refers to others by distance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RelativeNode {
    pub(crate) command: u32,
    pub(crate) queue: u32,
    /// Distance to the gate of the node: 0 if the node is in no body, 1 for the last gate before it.
    pub(crate) gate: u32,
    /// Distance to the gate of the previous iteration: 0 if there is none, 1 for the last gate before this one.
    pub(crate) previous: u32,
    /// Distances to earlier nodes: 1 for the node before this one.
    pub(crate) after: Vec<u32>,
}

/// An entry of the list of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeEntry {
    One(RelativeNode),
    /// `count` nodes, each equal to the node `distance` nodes before it.
    Again {
        distance: u32,
        count: u32,
    },
}

/// Returns 1 for the node, plus the number of earlier nodes to which it refers.
pub(crate) fn weight(node: &RelativeNode) -> u64 {
    1 + node.after.len() as u64
}

/// Returns the nodes with distances. `is_gate` says which commands are gates.
pub(crate) fn relative(nodes: &[FileNode], is_gate: impl Fn(u32) -> bool) -> Vec<RelativeNode> {
    let mut gates = 0;
    let of_node = |(at, node): (usize, &FileNode)| {
        let back = |gate: Option<u32>| gate.map_or(0, |gate| gates - gate);
        let found = RelativeNode {
            command: node.command,
            queue: node.queue,
            gate: back(node.gate),
            previous: back(node.previous),
            after: node.after.iter().map(|after| at as u32 - after).collect(),
        };
        gates += u32::from(is_gate(node.command));
        found
    };
    nodes.iter().enumerate().map(of_node).collect()
}

/// Packs nodes with a simple search: a run of nodes that equals the run at the latest occurrence of its first node
/// becomes one entry.
pub(crate) fn packed(nodes: &[RelativeNode]) -> Vec<NodeEntry> {
    let mut latest: FxHashMap<&RelativeNode, usize> = FxHashMap::default();
    let mut entries = Vec::new();
    let mut repeated = 0;
    let mut at = 0;
    while at < nodes.len() {
        let earlier = latest.get(&nodes[at]).copied();
        let most = MOST_REPEATED - repeated;
        let (equal, weight) = earlier.map_or((0, 0), |earlier| equal_nodes(nodes, earlier, at, most));
        let count = match earlier {
            Some(earlier) if equal > 1 => {
                let distance = (at - earlier) as u32;
                let count = equal as u32;
                entries.push(NodeEntry::Again { distance, count });
                repeated += weight;
                equal
            }
            _ => {
                entries.push(NodeEntry::One(nodes[at].clone()));
                1
            }
        };
        (at..at + count).for_each(|node| _ = latest.insert(&nodes[node], node));
        at += count;
    }
    entries
}

/// Returns the number of nodes from `at` on that equal those from `earlier` on, and their weight, limited to `most`.
fn equal_nodes(nodes: &[RelativeNode], earlier: usize, at: usize, most: u64) -> (usize, u64) {
    let mut count = 0;
    let mut all = 0;
    for (node, before) in nodes[at..].iter().zip(&nodes[earlier..]) {
        if node != before || all + weight(node) > most {
            break;
        }
        count += 1;
        all += weight(node);
    }
    (count, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(command: u32) -> RelativeNode {
        RelativeNode { command, ..RelativeNode::default() }
    }

    /// Unpacks entries to nodes.
    fn unpacked(entries: &[NodeEntry]) -> Vec<RelativeNode> {
        let mut nodes: Vec<RelativeNode> = Vec::new();
        for entry in entries {
            match entry {
                NodeEntry::One(node) => nodes.push(node.clone()),
                NodeEntry::Again { distance, count } => {
                    for _ in 0..*count {
                        nodes.push(nodes[nodes.len() - *distance as usize].clone());
                    }
                }
            }
        }
        nodes
    }

    #[test]
    fn entries_stand_for_the_same_nodes() {
        let mut rng = fastrand::Rng::with_seed(4);
        for _ in 0..200 {
            let kinds = rng.u32(1..6);
            let mut nodes = Vec::new();
            for _ in 0..rng.usize(0..6) {
                let stretch: Vec<_> = (0..rng.usize(1..8)).map(|_| node(rng.u32(0..kinds))).collect();
                (0..rng.usize(1..9)).for_each(|_| nodes.extend(stretch.iter().cloned()));
            }
            assert_eq!(unpacked(&packed(&nodes)), nodes);
        }
    }

    #[test]
    fn many_iterations_are_few_entries() {
        // Three nested loops of ten iterations: the first iteration of each is written, and the others are repeated.
        let inner: Vec<_> = (0..10).flat_map(|_| [2, 3, 4].map(node)).collect();
        let middle: Vec<_> = (0..10).flat_map(|_| [vec![node(1)], inner.clone()].concat()).collect();
        let outer: Vec<_> = (0..10).flat_map(|_| [vec![node(0)], middle.clone()].concat()).collect();
        assert_eq!(outer.len(), 3110);
        let entries = packed(&outer);
        assert!(entries.len() <= 10, "{entries:?}");
        assert_eq!(unpacked(&entries), outer);
    }

    #[test]
    fn a_file_repeats_no_more_nodes_than_a_reader_accepts() {
        let nodes = vec![node(0); 300_000];
        let entries = packed(&nodes);
        assert_eq!(entries[1], NodeEntry::Again { distance: 1, count: MOST_REPEATED as u32 });
        assert_eq!(entries.len(), 2 + 300_000 - 1 - MOST_REPEATED as usize);
        assert_eq!(unpacked(&entries), nodes);
    }

    #[test]
    fn distances_count_nodes_and_gates() {
        let file = |command, gate, previous, after: &[u32]| FileNode {
            queue: 1,
            after: after.to_vec(),
            command,
            gate,
            previous,
        };
        let nodes = [
            file(9, None, None, &[]),
            file(0, Some(0), None, &[0]),
            file(9, None, Some(0), &[]),
            file(0, Some(0), None, &[1, 2]),
        ];
        let found: Vec<_> = relative(&nodes, |command| command == 9)
            .into_iter()
            .map(|node| (node.gate, node.previous, node.after))
            .collect();
        let expected = [(0, 0, vec![]), (1, 0, vec![1]), (0, 1, vec![]), (2, 0, vec![2, 1])];
        assert_eq!(found, expected);
    }
}
