//! The contents of a graph file as plain data. The codec needs no device, so any bytes can be tried without one.
//!
//! A file has a header, a table of sections, and the sections. `container.rs` has the layout of the header and the
//! table, `encode.rs` writes the sections, and `decode.rs` reads and checks them. `work/graph/nodes.rs` has the layout
//! of the nodes.

use crate::work::graph::control::GateTest;
use crate::work::region_copy::RowAxis;
use crate::work::step::Pattern;

/// The part of a graph that a file keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GraphFile {
    /// Name and version of the program that wrote the file.
    pub(crate) creator: String,
    pub(crate) label: String,
    /// `true` if the graph orders two uses of the same bytes that the program left unordered.
    pub(crate) adds_order: bool,
    pub(crate) queues: Vec<String>,
    pub(crate) texts: Vec<FileText>,
    pub(crate) kernels: Vec<FileKernel>,
    pub(crate) blocks: Vec<FileBlock>,
    pub(crate) values: Vec<FileValue>,
    pub(crate) outputs: Vec<FileOutput>,
    pub(crate) commands: Vec<FileCommand>,
    pub(crate) loops: Vec<FileLoop>,
    pub(crate) nodes: Vec<FileNode>,
}

/// A shader, with the files and snippets that it uses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileText {
    pub(crate) label: String,
    pub(crate) wgsl: String,
}

/// A kernel of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileKernel {
    pub(crate) text: u32,
    pub(crate) entry: String,
    /// Overrides, with the bits of each value.
    pub(crate) overrides: Vec<(String, u64)>,
    /// Hash of the interface that the launches were checked against.
    pub(crate) interface: u64,
}

/// A block of memory, from its first byte to the last byte that a node uses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileBlock {
    pub(crate) label: String,
    pub(crate) size: u64,
    pub(crate) contents: BlockContents,
}

/// Source of the bytes of a block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BlockContents {
    /// The graph owns the block, which is zero before the first replay.
    Owned,
    /// The graph owns the block, which has these bytes before the first replay.
    Constant(Vec<u8>),
    /// Each replay binds an array of the program.
    Input(FileInput),
}

/// A multiple of the alignment of arguments on every device.
pub(crate) const ALIGNMENT: u64 = 256;

/// A named input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileInput {
    pub(crate) name: String,
    pub(crate) element: FileElement,
    /// Number of bytes of the block before the input: the offset of the input in its array modulo [`ALIGNMENT`].
    pub(crate) offset: u64,
    pub(crate) shape: Vec<u64>,
    pub(crate) padded: Vec<u64>,
}

/// Name and size of an element type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileElement {
    pub(crate) name: String,
    pub(crate) size: u32,
}

/// A named value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileValue {
    pub(crate) name: String,
    pub(crate) element: String,
    pub(crate) default: Vec<u8>,
}

/// An output.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileOutput {
    pub(crate) name: String,
    pub(crate) element: FileElement,
    pub(crate) len: u64,
}

/// A loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FileLoop {
    pub(crate) label: Option<String>,
    /// Most iterations of a loop in chunks. The file has the nodes of one part of such a loop.
    pub(crate) chunks: Option<u32>,
}

/// A node. Numbers of gates count the nodes that are gates, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FileNode {
    pub(crate) queue: u32,
    pub(crate) after: Vec<u32>,
    pub(crate) command: u32,
    /// Gate that decides if the node executes, if the node is in a body.
    pub(crate) gate: Option<u32>,
    /// Gate of the previous iteration, if the node is the gate of a later iteration.
    pub(crate) previous: Option<u32>,
}

/// A command. The nodes of all iterations of a loop share the commands of its body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileCommand {
    pub(crate) label: Option<String>,
    pub(crate) work: FileWork,
}

/// Work of a command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FileWork {
    Nothing,
    Launch(FileLaunch),
    Copy { src: FileRange, dst: FileRange },
    Fill { dst: FileRange, pattern: Pattern },
    Upload { dst: FileRange, bytes: Vec<u8> },
    Region(FileRegion),
    Read { src: FileRange, output: u32 },
    Gate(FileGate),
}

/// A gate, without its place among the iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileGate {
    pub(crate) condition: FileRange,
    pub(crate) test: FileTest,
    pub(crate) counter: Option<FileCounter>,
}

/// Loop that a gate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileCounter {
    pub(crate) index: u32,
    /// `true` for the gate after the last iteration.
    pub(crate) last: bool,
}

/// Test of a gate. A count is compared with the number of earlier iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FileTest {
    Always,
    NonZero,
    Zero,
    Above,
    SignedAbove,
    Never,
}

/// A launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FileLaunch {
    pub(crate) kernel: u32,
    pub(crate) groups: [u32; 3],
    pub(crate) indirect: Option<FileRange>,
    pub(crate) bindings: Vec<FileRange>,
    pub(crate) params: Vec<u8>,
    /// Named values that a replay writes into the parameters.
    pub(crate) values: Vec<BoundValue>,
}

/// A named value and its place in the parameters of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BoundValue {
    pub(crate) value: u32,
    pub(crate) offset: u32,
}

/// Copy of a region.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileRegion {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) row: u64,
    pub(crate) axes: Vec<RowAxis>,
}

/// A range of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FileRange {
    pub(crate) block: u32,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// A wrong byte of a file, and the reason.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileFault {
    pub(crate) offset: u64,
    pub(crate) reason: String,
}

/// A decoded part of a file, or its first fault.
pub(crate) type Decoded<T> = Result<T, FileFault>;

/// The numbers of the sections.
pub(crate) mod section {
    pub(crate) const META: u32 = 1;
    pub(crate) const KERNELS: u32 = 2;
    pub(crate) const BLOCKS: u32 = 3;
    pub(crate) const VALUES: u32 = 4;
    pub(crate) const NODES: u32 = 5;
    pub(crate) const NAMES: u32 = 6;
}

/// The numbers of the kinds of nodes.
pub(crate) mod node_kind {
    pub(crate) const NOTHING: u32 = 0;
    pub(crate) const LAUNCH: u32 = 1;
    pub(crate) const COPY: u32 = 2;
    pub(crate) const FILL: u32 = 3;
    pub(crate) const UPLOAD: u32 = 4;
    pub(crate) const REGION: u32 = 5;
    pub(crate) const READ_OUTPUT: u32 = 6;
    pub(crate) const GATE: u32 = 7;
}

/// The numbers of the tests of gates.
pub(crate) mod test {
    pub(crate) const ALWAYS: u32 = 0;
    pub(crate) const NON_ZERO: u32 = 1;
    pub(crate) const IS_ZERO: u32 = 2;
    pub(crate) const ABOVE: u32 = 3;
    pub(crate) const SIGNED_ABOVE: u32 = 4;
    pub(crate) const NEVER: u32 = 5;
}

/// The numbers of the sources of bytes of a block.
pub(crate) mod contents_kind {
    pub(crate) const OWNED: u32 = 0;
    pub(crate) const CONSTANT: u32 = 1;
    pub(crate) const INPUT: u32 = 2;
}

impl FileRange {
    /// Returns the end of the range, which saturates.
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

impl FileTest {
    /// Returns the test without the number of a count.
    pub(crate) fn of(test: GateTest) -> Self {
        match test {
            GateTest::Always => Self::Always,
            GateTest::NonZero => Self::NonZero,
            GateTest::Zero => Self::Zero,
            GateTest::Above(_) => Self::Above,
            GateTest::SignedAbove(_) => Self::SignedAbove,
            GateTest::Never => Self::Never,
        }
    }

    /// Returns the test of a gate after `past` iterations.
    pub(crate) fn behind(self, past: u32) -> GateTest {
        match self {
            Self::Always => GateTest::Always,
            Self::NonZero => GateTest::NonZero,
            Self::Zero => GateTest::Zero,
            Self::Above => GateTest::Above(past),
            Self::SignedAbove => GateTest::SignedAbove(past),
            Self::Never => GateTest::Never,
        }
    }
}

impl FileInput {
    /// Counts the bytes of the input, with the padding. Returns `None` if they cannot be counted.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let bytes =
            self.padded.iter().try_fold(u64::from(self.element.size), |all, &axis| all.checked_mul(axis))?;
        (bytes <= i64::MAX.cast_unsigned() - 2 * ALIGNMENT).then_some(bytes)
    }
}

impl FileBlock {
    /// Returns the first byte that nodes may use.
    pub(crate) fn start(&self) -> u64 {
        if let BlockContents::Input(input) = &self.contents { input.offset } else { 0 }
    }
}

impl GraphFile {
    /// Returns the work of a node.
    pub(crate) fn work_of(&self, node: &FileNode) -> &FileWork {
        &self.commands[node.command as usize].work
    }

    /// Returns the nodes that are gates, each with its index and its gate.
    pub(crate) fn gates(&self) -> impl Iterator<Item = (usize, &FileNode, &FileGate)> {
        self.nodes.iter().enumerate().filter_map(|(at, node)| match self.work_of(node) {
            FileWork::Gate(gate) => Some((at, node, gate)),
            _ => None,
        })
    }

    /// Returns the bound of the loop in chunks that a gate counts, if it counts one.
    pub(crate) fn bound_of(&self, gate: &FileGate) -> Option<u32> {
        self.loops[gate.counter?.index as usize].chunks
    }

    /// Returns for each gate the number of earlier iterations that its test adds to a count. A gate of a loop in chunks
    /// decides about many iterations, and counts the earlier ones itself.
    pub(crate) fn past_iterations(&self) -> Vec<u32> {
        let mut past: Vec<u32> = Vec::new();
        for (_, node, gate) in self.gates() {
            let earlier = node.previous.filter(|_| self.bound_of(gate).is_none());
            past.push(earlier.map_or(0, |previous| past[previous as usize] + 1));
        }
        past
    }

    /// Returns `true` if the graph has conditions or loops.
    pub(crate) fn has_gates(&self) -> bool {
        self.gates().next().is_some()
    }

    /// Counts the bytes of memory that a load of the graph takes: its blocks, and the tables of its order. The count
    /// saturates.
    pub(crate) fn memory(&self) -> u64 {
        let nodes = self.nodes.len() as u64;
        let queues = self.queues.len() as u64;
        // With several queues, a clock of 4 bytes for each queue is kept for each node and for each queue.
        // The check of the gates has the same clocks once more.
        let each = if self.has_gates() { 8 } else { 4 };
        let clocks = if queues > 1 { (nodes + queues).saturating_mul(queues * each) } else { 0 };
        let blocks = self.blocks.iter().filter(|block| !matches!(block.contents, BlockContents::Input(_)));
        blocks.map(|block| block.size).fold(clocks, u64::saturating_add)
    }
}
