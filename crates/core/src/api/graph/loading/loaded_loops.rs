//! The chunked loops of a loaded graph.

use crate::work::graph_data::chunked_checks::Ring;
use crate::work::graph_data::chunked_loop::ChunkedLoop;
use crate::work::graph_data::control_table::ControlTable;
use crate::work::graph_data::graph_file::GraphFile;

/// Returns the chunked loops of a file, in the order of their nodes.
pub(super) fn chunked_loops(file: &GraphFile, table: Option<&ControlTable>) -> Vec<ChunkedLoop> {
    let Some(table) = table else { return Vec::new() };
    let (words, _) = file.words();
    let of_ring = |ring: Ring| {
        let (nodes, word) = (ring.nodes(), words[ring.gates[0].0 as usize]);
        let ends = [ring.gates[0].0, ring.gates[ring.gates.len() - 1].0];
        // The last gate of the ring sets the word of the first one, which is not in the part.
        let gates = ends[0]..ends[1];
        let dispatches = gates.map(|gate| 1 + table.layout.places(words[gate as usize]).len() as u64).sum();
        ChunkedLoop { nodes, iterations: ring.iterations(), dispatches, bound: ring.bound, word }
    };
    let mut loops: Vec<ChunkedLoop> = file.rings().into_iter().map(of_ring).collect();
    loops.sort_by_key(|chunked| chunked.nodes.start);
    loops
}
