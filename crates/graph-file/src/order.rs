//! Checks the order of the gates: nodes must come after the gates that they read, even on other queues.

use crate::contents::{FileFault, FileNode, FileWork};
use crate::decode::DecodedFile;
use rustc_hash::FxHashMap;

/// Checks that each node of a body comes after its gate, and each gate after the gate around it, after the gate of the
/// previous iteration, and after the earlier gates of its loop. The device writes and reads the words of gates in this
/// order. The last gate of a chunked loop writes the word that the first body reads, so it comes after all nodes of the
/// part.
///
/// # Errors
/// Returns the first node for which the file does not ensure this.
pub fn check_gate_order(decoded: &DecodedFile) -> Result<(), FileFault> {
    let graph = &decoded.graph;
    let queues = graph.queues.len();
    if queues < 2 || !graph.has_gates() {
        return Ok(()); // the nodes of one queue execute in its order
    }
    let mut clocks =
        Clocks { queues: vec![vec![0; queues]; queues], last: vec![0; queues], clocks_after: Vec::new() };
    let mut gates = Vec::new();
    let mut counted = vec![None; graph.loops.len()];
    let parts: FxHashMap<u32, u32> =
        graph.rings().iter().map(|ring| (ring.nodes().end - 1, ring.nodes().start)).collect();
    for (at, node) in graph.nodes.iter().enumerate() {
        clocks.enter(node);
        let mut needed: Vec<u32> = [node.gate, node.previous].into_iter().flatten().collect();
        if let FileWork::Gate(gate) = graph.work_of(node) {
            let number = gates.len() as u32;
            needed.extend(gate.counter.and_then(|of| counted[of.index as usize].replace(number)));
        }
        for gate in needed {
            let of_gate: u32 = gates[gate as usize];
            if !clocks.comes_after(node, of_gate, &graph.nodes[of_gate as usize]) {
                let reason = format!("node {at} does not come after the gate that is node {of_gate}");
                return Err(FileFault { offset: decoded.nodes[at], reason });
            }
        }
        if let FileWork::Gate(_) = graph.work_of(node) {
            gates.push(at as u32);
        }
        if let Some(&start) = parts.get(&(at as u32))
            && let Some(earlier) = clocks.not_before(node, start)
        {
            let reason = format!("gate {at} ends a part and does not come after node {earlier} of the part");
            return Err(FileFault { offset: decoded.nodes[at], reason });
        }
        clocks.leave(node, at as u32);
    }
    Ok(())
}

/// Order of the nodes so far, derived from their queues and lists of earlier nodes.
struct Clocks {
    /// Clock of each queue: for every queue, the index plus 1 of its last node that comes before the next node.
    queues: Vec<Vec<u32>>,
    /// Last node of each queue, as an index plus 1.
    last: Vec<u32>,
    /// Clock after each node.
    clocks_after: Vec<Vec<u32>>,
}

impl Clocks {
    /// Orders the next node of a queue after the nodes to which it refers.
    fn enter(&mut self, node: &FileNode) {
        let own = &mut self.queues[node.queue as usize];
        for &earlier in &node.after {
            for (own, &known) in own.iter_mut().zip(&self.clocks_after[earlier as usize]) {
                *own = (*own).max(known);
            }
        }
    }

    /// Returns `true` if the entered next node comes after the node `earlier`.
    fn comes_after(&self, node: &FileNode, earlier: u32, of: &FileNode) -> bool {
        node.queue == of.queue || self.queues[node.queue as usize][of.queue as usize] > earlier
    }

    /// Returns a node, from `start` on, after which the entered next node does not come.
    fn not_before(&self, node: &FileNode, start: u32) -> Option<u32> {
        let known = self.queues[node.queue as usize].iter().zip(&self.last).enumerate();
        let late = known.filter(|&(queue, (&known, &last))| queue as u32 != node.queue && known < last);
        late.map(|(_, (_, &last))| last - 1).find(|&last| last >= start)
    }

    fn leave(&mut self, node: &FileNode, at: u32) {
        self.last[node.queue as usize] = at + 1;
        let own = &mut self.queues[node.queue as usize];
        own[node.queue as usize] = at + 1;
        self.clocks_after.push(own.clone());
    }
}
