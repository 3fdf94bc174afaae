//! The checks of a decoded graph that need no device: every index exists, every range is inside its block, and a body
//! has only work that can be in one.
//!
//! The gates that count a loop in chunks form its *ring*. The first one comes before the part, and each other one
//! follows the body of an iteration. The last one sets the word of the first one, which the first body of the next part
//! reads.

use crate::memory::block::overlap;
use crate::work::graph::control::MOST_DISPATCHES;
use crate::work::graph::file::contents::{
    ALIGNMENT, BlockContents, Decoded, FileBlock, FileFault, FileGate, FileInput, FileLaunch, FileNode,
    FileRange, FileRegion, FileWork, GraphFile,
};
use crate::work::graph::file::decode::DecodedFile;
use crate::work::region_copy::WORD;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Most axes of a region.
const MOST_AXES: usize = 64;
/// Size in bytes of the group counts of an indirect launch.
const GROUP_COUNTS: u64 = 12;

pub(crate) type Checked = Result<(), String>;

/// Returns the reason unless a condition holds.
pub(crate) fn ensure(holds: bool, reason: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(reason()) }
}

/// Checks the size of a block.
///
/// # Errors
/// Returns the reason why the block cannot exist.
pub(crate) fn check_block(block: &FileBlock) -> Checked {
    let FileBlock { label, size, contents } = block;
    ensure(size.is_multiple_of(WORD), || format!("block `{label}` of {size} bytes is not whole words"))?;
    match contents {
        BlockContents::Owned => Ok(()),
        BlockContents::Constant(bytes) => ensure(bytes.len() as u64 == *size, || {
            format!("block `{label}` of {size} bytes has {} constant bytes", bytes.len())
        }),
        BlockContents::Input(input) => check_input(input, *size),
    }
}

fn check_input(input: &FileInput, size: u64) -> Checked {
    let FileInput { name, element, offset, shape, padded } = input;
    let fits = shape.len() == padded.len() && shape.iter().zip(padded).all(|(axis, padded)| axis <= padded);
    ensure(fits, || format!("input `{name}` of shape {shape:?} has padded shape {padded:?}"))?;
    let end = input.bytes().map(|bytes| (offset.min(&ALIGNMENT) + bytes).next_multiple_of(WORD));
    ensure(element.size > 0 && *offset < ALIGNMENT && end == Some(size), || {
        format!("input `{name}` of padded shape {padded:?} from byte {offset} on does not have {size} bytes")
    })
}

/// Checks the command of a node.
///
/// # Errors
/// Returns the reason why the command cannot be executed.
pub(crate) fn check_work(graph: &GraphFile, work: &FileWork) -> Checked {
    match work {
        FileWork::Nothing => Ok(()),
        FileWork::Launch(launch) => check_launch(graph, launch),
        FileWork::Copy { src, dst } => {
            check_range(graph, src)?;
            check_range(graph, dst)?;
            ensure(src.size == dst.size, || format!("{} bytes are copied to {}", src.size, dst.size))
        }
        FileWork::Fill { dst, pattern } => {
            check_range(graph, dst)?;
            let len = pattern.bytes().len() as u64;
            ensure(dst.size.is_multiple_of(len), || format!("{len} bytes do not fill {} bytes", dst.size))
        }
        FileWork::Upload { dst, bytes } => {
            check_range(graph, dst)?;
            let found = bytes.len() as u64;
            ensure(found == dst.size, || format!("{found} bytes are uploaded to {}", dst.size))
        }
        FileWork::Region(region) => check_region(graph, region),
        FileWork::Read { src, output } => check_read(graph, src, *output),
        FileWork::Gate(gate) => check_gate(graph, gate),
    }
}

fn check_gate(graph: &GraphFile, gate: &FileGate) -> Checked {
    check_range(graph, &gate.condition)?;
    let size = gate.condition.size;
    ensure(size == WORD, || format!("the condition of a gate has {size} bytes"))?;
    let index = gate.counter.map_or(0, |counter| counter.index);
    let loops = graph.loops.len();
    let exists = gate.counter.is_none() || (index as usize) < loops;
    ensure(exists, || format!("loop {index} does not exist: there are {loops}"))
}

fn check_read(graph: &GraphFile, src: &FileRange, output: u32) -> Checked {
    check_place(graph, src)?;
    let of_input = matches!(graph.blocks[src.block as usize].contents, BlockContents::Input(_));
    ensure(src.size > 0 || !of_input, || "no bytes of an input are read".into())?;
    let Some(declared) = graph.outputs.get(output as usize) else {
        return Err(format!("output {output} does not exist: there are {}", graph.outputs.len()));
    };
    let bytes = declared.len.checked_mul(declared.element.size.into());
    let words = bytes.and_then(|bytes| bytes.checked_next_multiple_of(WORD));
    ensure(words == Some(src.size), || {
        format!("output `{}` of {} elements is read from {} bytes", declared.name, declared.len, src.size)
    })
}

/// Checks that each output is read exactly once.
///
/// # Errors
/// Returns the first output that is not.
pub(crate) fn check_outputs(graph: &GraphFile) -> Checked {
    let mut reads = vec![0_u32; graph.outputs.len()];
    for node in &graph.nodes {
        if let FileWork::Read { output, .. } = graph.work_of(node) {
            reads[*output as usize] += 1;
        }
    }
    let wrong = reads.iter().position(|&reads| reads != 1);
    wrong.map_or(Ok(()), |at| {
        let name = &graph.outputs[at].name;
        Err(format!("output `{name}` is read by {} nodes, and one is needed", reads[at]))
    })
}

/// Checks that no two inputs and no two values have one name.
///
/// # Errors
/// Returns the first name that is not unique.
pub(crate) fn check_names(graph: &GraphFile) -> Checked {
    let inputs = graph.blocks.iter().filter_map(|block| match &block.contents {
        BlockContents::Input(input) => Some(&*input.name),
        _ => None,
    });
    let mut known: FxHashSet<&str> = FxHashSet::default();
    for name in inputs {
        ensure(known.insert(name), || format!("two inputs have the name `{name}`"))?;
    }
    let mut known = FxHashSet::default();
    let twice = graph.values.iter().find(|value| !known.insert(&*value.name));
    twice.map_or(Ok(()), |value| Err(format!("two values have the name `{}`", value.name)))
}

/// Checks that a range of whole words is not empty and is inside its block.
fn check_range(graph: &GraphFile, range: &FileRange) -> Checked {
    ensure(range.size > 0, || {
        format!("the range at byte {} of block {} is empty", range.offset, range.block)
    })?;
    check_place(graph, range)
}

fn check_place(graph: &GraphFile, range: &FileRange) -> Checked {
    let FileRange { block, offset, size } = *range;
    let (start, of) = bounds(graph, block)?;
    let inside = offset.checked_add(size).is_some_and(|end| start <= offset && end <= of);
    ensure(inside, || format!("{size} bytes from byte {offset} are outside block {block} of {of} bytes"))?;
    ensure(offset.is_multiple_of(WORD) && size.is_multiple_of(WORD), || {
        format!("{size} bytes from byte {offset} of block {block} are not whole words")
    })
}

/// Returns the first byte of a block that nodes may use, and the end of the block.
fn bounds(graph: &GraphFile, block: u32) -> Result<(u64, u64), String> {
    let count = graph.blocks.len();
    let found = graph.blocks.get(block as usize).map(|block| (block.start(), block.size));
    found.ok_or_else(|| format!("block {block} does not exist: there are {count}"))
}

fn check_launch(graph: &GraphFile, launch: &FileLaunch) -> Checked {
    let kernels = graph.kernels.len();
    ensure((launch.kernel as usize) < kernels, || {
        format!("kernel {} does not exist: there are {kernels}", launch.kernel)
    })?;
    launch.bindings.iter().try_for_each(|range| check_range(graph, range))?;
    match &launch.indirect {
        Some(counts) => {
            check_range(graph, counts)?;
            let size = counts.size;
            ensure(size == GROUP_COUNTS, || format!("the group counts of a launch have {size} bytes"))?;
            ensure(launch.groups == [0; 3], || "a launch has two group counts".into())?;
        }
        // An edit may give a launch an empty grid.
        None => ensure(!launch.groups.contains(&0) || launch.groups == [0; 3], || {
            format!("a launch of {:?} workgroups does not exist", launch.groups)
        })?,
    }
    for bound in &launch.values {
        let Some(value) = graph.values.get(bound.value as usize) else {
            return Err(format!("value {} does not exist: there are {}", bound.value, graph.values.len()));
        };
        let end = u64::from(bound.offset) + value.default.len() as u64;
        ensure(end <= launch.params.len() as u64, || {
            format!(
                "value `{}` ends at byte {end} of {} bytes of parameters",
                value.name,
                launch.params.len()
            )
        })?;
    }
    Ok(())
}

/// Checks the rows of a region: they are inside their blocks, no two rows of the target share a byte, and source and
/// target share no word.
fn check_region(graph: &GraphFile, region: &FileRegion) -> Checked {
    ensure(region.row > 0 && region.axes.len() <= MOST_AXES, || {
        format!("a region of rows of {} bytes on {} axes does not exist", region.row, region.axes.len())
    })?;
    let mut extents = Some((region.row, region.row));
    for axis in region.axes.iter().rev() {
        let (inner_src, inner_dst) = extents.unwrap_or_default();
        ensure(axis.count > 0 && (axis.count == 1 || axis.dst >= inner_dst), || {
            format!("rows of the region overlap on an axis of {} rows", axis.count)
        })?;
        let longer = |inner: u64, stride: u64| (axis.count - 1).checked_mul(stride)?.checked_add(inner);
        extents = longer(inner_src, axis.src).zip(longer(inner_dst, axis.dst));
        ensure(extents.is_some(), || "the region is larger than any block".into())?;
    }
    let (src, dst) = extents.unwrap_or_default();
    let src = words(graph, region.src, region.from, src)?;
    let dst = words(graph, region.dst, region.to, dst)?;
    ensure(region.src != region.dst || !overlap(&src, &dst), || {
        "the source of a region shares words with its target".into()
    })
}

/// Returns the words of a block that contain `bytes` bytes from `start`.
fn words(graph: &GraphFile, block: u32, start: u64, bytes: u64) -> Result<Range<u64>, String> {
    let (first, size) = bounds(graph, block)?;
    let words = start / WORD * WORD;
    let end = start.checked_add(bytes).filter(|&end| first <= words && end <= size);
    let end = end.ok_or_else(|| {
        format!("{bytes} bytes from byte {start} are outside block {block} of {size} bytes")
    })?;
    Ok(words..end.next_multiple_of(WORD))
}

/// Fewest iterations of a part: with fewer, a gate would read and write the same word.
const SHORTEST_PART: usize = 2;

/// Ring of a loop in chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ring {
    /// Index of the loop in the file.
    pub(crate) index: u32,
    pub(crate) bound: u32,
    /// Numbers of the gates, each with its node.
    pub(crate) gates: Vec<(u32, u32)>,
}

impl Ring {
    /// Returns the nodes of the part. The ring has gates.
    pub(crate) fn nodes(&self) -> Range<u32> {
        self.first().1 + 1..self.last().1 + 1
    }

    /// Returns the number of iterations of the part.
    pub(crate) fn iterations(&self) -> u32 {
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
    /// Returns the rings of the loops in chunks, in the order of the loops.
    pub(crate) fn rings(&self) -> Vec<Ring> {
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

    /// Returns for each gate the word that it sets, and the number of words.
    pub(crate) fn words(&self) -> (Vec<u32>, u32) {
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

/// Checks that each loop in chunks has one part, whose nodes are gates of its ring and bodies of gates in the part.
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

/// Walk over a file's nodes, into the parts of loops in chunks and out of them.
struct LoopParts<'r> {
    rings: &'r [Ring],
    /// For each gate so far, the ring whose part contains it. A ring's first gate counts as in its part.
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

/// Checker of nodes, one after the other.
#[derive(Default)]
pub(crate) struct BodyChecks {
    gates: u32,
    /// Number of gates and of nodes that a gate allows.
    bodies: u64,
}

impl BodyChecks {
    /// Returns the number of gates among the nodes so far.
    pub(crate) fn gates(&self) -> u32 {
        self.gates
    }

    /// Checks the next node.
    ///
    /// # Errors
    /// Returns the reason why the node cannot be in the graph.
    pub(crate) fn add(&mut self, graph: &GraphFile, node: &FileNode) -> Checked {
        let work = graph.work_of(node);
        let is_gate = matches!(work, FileWork::Gate(_));
        ensure(is_gate || node.previous.is_none(), || "a node that is no gate has a previous gate".into())?;
        self.gates += u32::from(is_gate);
        if !is_gate && node.gate.is_none() {
            return Ok(());
        }
        self.bodies += 1;
        ensure(self.bodies <= MOST_DISPATCHES, || {
            format!("the graph has more than {MOST_DISPATCHES} gates and nodes in bodies")
        })?;
        if node.gate.is_some() { check_in_body(work) } else { Ok(()) }
    }
}

/// Checks that work can be in a body. The invocations of a dispatch copy in any order, so the sides of a copy are apart.
fn check_in_body(work: &FileWork) -> Checked {
    match work {
        FileWork::Nothing => Err("a body has a marker".into()),
        FileWork::Read { .. } => Err("a body has an output".into()),
        FileWork::Copy { src, dst } => {
            let shares =
                src.block == dst.block && overlap(&(src.offset..src.end()), &(dst.offset..dst.end()));
            ensure(!shares, || "the source of a copy in a body shares bytes with its target".into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::graph::file::contents::FileLoop;
    use crate::work::graph::file::decode::decode;
    use crate::work::graph::file::encode::encode;
    use crate::work::graph::file::file_tests::{chunked_example, refused_in};
    use crate::work::graph::order::check_gate_order;

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
            let behind = |graph: &mut GraphFile| graph.nodes[12].gate = Some(gate);
            assert!(refused(behind).contains("node 12 names a gate of a loop in chunks"), "gate {gate}");
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
