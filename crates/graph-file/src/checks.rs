//! The checks of a decoded graph that need no device: every index exists, every range is inside its block, and a body
//! contains only allowed work.

use crate::contents::{
    ALIGNMENT, BlockContents, FileBlock, FileGate, FileInput, FileLaunch, FileNode, FileRange, FileRegion,
    FileWork, GraphFile, WORD,
};
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Maximum number of gates and of dispatches in bodies of a graph.
pub const MOST_DISPATCHES: u64 = 65_536;
/// Maximum number of axes of a region.
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

/// Checks that no two inputs and no two values have the same name.
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

/// Checks the rows of a region: they are inside their blocks, rows of the target do not overlap, and source and target
/// share no word.
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

/// Checker of nodes, one after the other.
#[derive(Default)]
pub(crate) struct BodyChecks {
    gates: u32,
    /// Number of gates, and of nodes in bodies.
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
        ensure(is_gate || node.previous.is_none(), || {
            "a node that is not a gate has a previous gate".into()
        })?;
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

/// Checks that work can be in a body. The invocations of a dispatch copy in any order, so source and target of a copy
/// must not overlap.
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

/// Returns `true` if two byte ranges share a byte.
fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
