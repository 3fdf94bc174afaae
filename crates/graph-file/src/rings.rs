//! The chunked loops of a file.
//!
//! The gates of a chunked loop form its *ring*. The first gate comes before the part, and each other one follows the
//! body of an iteration. The last one sets the word of the first one, which the first body of the next part reads.

use crate::checks::{Checked, ensure};
use crate::contents::{Decoded, FileFault, FileNode, FileWork, GraphFile};
use crate::decode::DecodedFile;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Minimum number of iterations of a part: with fewer, a gate would read and write the same word.
const SHORTEST_PART: usize = 2;

/// Ring of a chunked loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Index of the loop in the file.
    pub index: u32,
    /// Maximum number of iterations of the loop.
    pub bound: u32,
    /// Numbers of the gates, each with its node.
    pub gates: Vec<(u32, u32)>,
}

impl Ring {
    /// Returns the nodes of the part. The ring has gates.
    pub fn nodes(&self) -> Range<u32> {
        self.first().1 + 1..self.last().1 + 1
    }

    /// Returns the number of iterations of the part.
    pub fn iterations(&self) -> u32 {
        self.gates.len() as u32 - 1
    }

    fn first(&self) -> (u32, u32) {
        self.gates[0]
    }

    fn last(&self) -> (u32, u32) {
        self.gates[self.gates.len() - 1]
    }
}

impl GraphFile {
    /// Returns the rings of the chunked loops, in the order of the loops.
    pub fn rings(&self) -> Vec<Ring> {
        let chunked = self.loops.iter().zip(0..).filter_map(|(of, index)| Some((index, of.chunks?)));
        let mut rings: Vec<Ring> =
            chunked.map(|(index, bound)| Ring { index, bound, gates: Vec::new() }).collect();
        for (number, (node, _, gate)) in self.gates().enumerate() {
            let index = gate.counter.map_or(u32::MAX, |counter| counter.index);
            if let Ok(at) = rings.binary_search_by_key(&index, |ring| ring.index) {
                rings[at].gates.push((number as u32, node as u32));
            }
        }
        rings
    }

    /// Returns for each gate the index of the word that it sets, and the number of words.
    pub fn words(&self) -> (Vec<u32>, u32) {
        let rings = self.rings();
        let shared: FxHashMap<u32, u32> = rings.iter().map(|ring| (ring.last().0, ring.first().0)).collect();
        let mut words = Vec::new();
        let mut count = 0;
        for gate in 0..self.gates().count() as u32 {
            match shared.get(&gate) {
                Some(&first) => words.push(words[first as usize]),
                None => {
                    words.push(count);
                    count += 1;
                }
            }
        }
        (words, count)
    }
}

/// Checks that each chunked loop has one part, whose nodes are gates of its ring and bodies of gates in the part.
///
/// # Errors
/// Returns the first fault.
pub(crate) fn check_chunked_loops(decoded: &DecodedFile) -> Decoded<()> {
    let graph = &decoded.graph;
    let rings = graph.rings();
    for ring in &rings {
        check_ring(graph, ring).map_err(|reason| FileFault { offset: 0, reason })?;
    }
    if rings.is_empty() {
        return Ok(());
    }
    let mut parts = LoopParts::new(&rings);
    for (at, (node, &offset)) in graph.nodes.iter().zip(&decoded.nodes).enumerate() {
        let is_gate = matches!(graph.work_of(node), FileWork::Gate(_));
        parts.add(at as u32, node, is_gate).map_err(|reason| FileFault { offset, reason })?;
    }
    Ok(())
}

/// Checks the gates of a ring.
fn check_ring(graph: &GraphFile, ring: &Ring) -> Checked {
    let index = ring.index;
    let gates = ring.gates.len();
    ensure(ring.bound > 0, || format!("loop {index}, which is in chunks, has at most 0 iterations"))?;
    ensure(gates > SHORTEST_PART, || format!("loop {index}, which is in chunks, has {gates} gates"))?;
    let mut previous = None;
    for &(gate, node) in &ring.gates {
        let of_file = &graph.nodes[node as usize];
        let is_next = of_file.previous == previous && of_file.gate.is_none();
        ensure(is_next, || format!("gate {gate} does not come after the gate of loop {index} before it"))?;
        previous = Some(gate);
    }
    Ok(())
}

/// State of a walk over a file's nodes, into and out of the parts of chunked loops.
struct LoopParts<'r> {
    rings: &'r [Ring],
    /// For each gate so far, the ring whose part contains it. The first gate of a ring counts as inside its part.
    of_gates: Vec<Option<usize>>,
    /// Ring whose part contains the next node.
    open: Option<usize>,
    /// Node of each gate in a ring, with the index of the ring.
    ring_of: FxHashMap<u32, usize>,
}

impl<'r> LoopParts<'r> {
    fn new(rings: &'r [Ring]) -> Self {
        let nodes =
            |(at, ring): (usize, &Ring)| ring.gates.clone().into_iter().map(move |(_, node)| (node, at));
        let ring_of = rings.iter().enumerate().flat_map(nodes).collect();
        Self { rings, of_gates: Vec::new(), open: None, ring_of }
    }

    /// Checks the next node.
    fn add(&mut self, at: u32, node: &FileNode, is_gate: bool) -> Checked {
        let own = self.ring_of.get(&at).copied();
        let of = |gate: Option<u32>| gate.and_then(|gate| self.of_gates[gate as usize]);
        match self.open {
            Some(ring) => ensure(own == Some(ring) || of(node.gate) == Some(ring), || {
                let index = self.rings[ring].index;
                format!("node {at} is in the part of loop {index} and in no body of the part")
            })?,
            None => ensure(of(node.gate).or(of(node.previous)).is_none(), || {
                format!("node {at} names a gate of a loop in chunks and is not in the part of the loop")
            })?,
        }
        let part = self.open.or(own);
        if is_gate {
            self.of_gates.push(part);
        }
        let ends = part.is_some_and(|ring| self.rings[ring].last().1 == at);
        self.open = part.filter(|_| !ends);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::FileLoop;
    use crate::decode::decode;
    use crate::encode::encode;
    use crate::file_tests::{chunked_example, refused_in};
    use crate::order::check_gate_order;

    fn refused(change: impl FnOnce(&mut GraphFile)) -> String {
        refused_in(chunked_example(), change)
    }

    #[test]
    fn the_last_gate_of_a_ring_sets_the_word_of_the_first_one() {
        let graph = chunked_example();
        let file = encode(&graph);
        let decoded = decode(&file).expect("the file is valid");
        assert_eq!((&decoded.graph, encode(&decoded.graph)), (&graph, file));
        assert_eq!(check_gate_order(&decoded), Ok(()));
        let rings = graph.rings();
        assert_eq!((rings.len(), rings[0].index, rings[0].bound), (1, 1, 1000));
        assert_eq!((rings[0].iterations(), rings[0].nodes()), (2, 3..11));
        // The reset of the inner counter, the gates of the ring with an inner gate in each body, and a gate after the
        // loop.
        assert_eq!(graph.words(), (vec![0, 1, 2, 3, 4, 1, 5], 6));
        assert_eq!(graph.past_iterations(), [0; 7]);
    }

    #[test]
    fn a_ring_with_other_gates_is_an_error() {
        assert!(refused(|graph| graph.loops[1].chunks = Some(0)).contains("at most 0 iterations"));
        let inner = |graph: &mut GraphFile| graph.loops[0].chunks = Some(9);
        assert!(refused(inner).contains("gate 2 does not come after the gate of loop 0"));
        let without = |graph: &mut GraphFile| graph.loops.push(FileLoop { chunks: Some(9), label: None });
        assert!(refused(without).contains("loop 2, which is in chunks, has 0 gates"));
        assert!(refused(|graph| graph.nodes.truncate(7)).contains("has 2 gates"));
        let apart = |graph: &mut GraphFile| graph.nodes[10].previous = Some(1);
        assert!(refused(apart).contains("gate 5 does not come after the gate of loop 1"));
        let first = |graph: &mut GraphFile| graph.nodes[2].previous = Some(0);
        assert!(refused(first).contains("gate 1 does not come after"));
        let in_body = |graph: &mut GraphFile| graph.nodes[10].gate = Some(2);
        assert!(refused(in_body).contains("gate 5 does not come after"));
    }

    #[test]
    fn a_part_with_nodes_outside_of_its_bodies_is_an_error() {
        let expected = "node 5 is in the part of loop 1 and in no body";
        assert!(refused(|graph| graph.nodes[5].gate = None).contains(expected));
        assert!(refused(|graph| graph.nodes[5].gate = Some(0)).contains(expected));
        for gate in [1, 3, 5] {
            let after = |graph: &mut GraphFile| graph.nodes[12].gate = Some(gate);
            assert!(refused(after).contains("node 12 names a gate of a loop in chunks"), "gate {gate}");
        }
        assert!(refused(|graph| graph.nodes[11].previous = Some(5)).contains("node 11 names a gate"));
    }

    #[test]
    fn a_part_whose_end_does_not_come_after_all_its_nodes_is_an_error() {
        let order = |change: fn(&mut GraphFile)| {
            let mut graph = chunked_example();
            change(&mut graph);
            let decoded = decode(&encode(&graph)).expect("the file is valid but for its order");
            check_gate_order(&decoded).err().map(|fault| fault.reason)
        };
        let late = order(|graph| graph.nodes[10].after.clear());
        assert!(
            late.is_some_and(|reason| reason.contains("gate 10 ends a part and does not come after node 9"))
        );
        assert_eq!(order(|graph| graph.nodes[6].after.clear()), None, "the last gate comes after node 5 too");
    }
}
