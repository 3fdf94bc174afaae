//! The contents of a graph file as plain data.

/// The contents of a graph file. All numbers of queues, kernels, blocks and so on are indices into these lists.
///
/// The methods panic for an invalid index. A decoded graph contains only valid indices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphFile {
    /// Name and version of the program that wrote the file.
    pub creator: String,
    /// Label of the graph.
    pub label: String,
    /// `true` if the graph's order includes waits that the program left out.
    pub adds_order: bool,
    /// Labels of the captured queues.
    pub queues: Vec<String>,
    /// Texts of the kernels.
    pub texts: Vec<FileText>,
    /// Kernels of the launches.
    pub kernels: Vec<FileKernel>,
    /// Blocks of memory of the commands.
    pub blocks: Vec<FileBlock>,
    /// Named values with unique names.
    pub values: Vec<FileValue>,
    /// Outputs; each is read by one node.
    pub outputs: Vec<FileOutput>,
    /// Commands of the nodes.
    pub commands: Vec<FileCommand>,
    /// Loops whose iterations the gates count.
    pub loops: Vec<FileLoop>,
    /// Nodes, each after the nodes to which it refers.
    pub nodes: Vec<FileNode>,
}

/// A shader, with the files and snippets that it uses.
#[derive(Clone, Debug, PartialEq)]
pub struct FileText {
    /// Label of the shader in messages.
    pub label: String,
    /// Text, with those of its files and snippets.
    pub wgsl: String,
}

/// A kernel of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileKernel {
    /// Index of the text.
    pub text: u32,
    /// Name of the entry point.
    pub entry: String,
    /// Overrides, with the bits of each value.
    pub overrides: Vec<(String, u64)>,
    /// Hash of the interface against which the launches were checked.
    pub interface: u64,
}

/// A block of memory, from its first byte to the last byte that a node uses.
#[derive(Clone, Debug, PartialEq)]
pub struct FileBlock {
    /// Label of the array.
    pub label: String,
    /// Size in bytes: a number of whole words.
    pub size: u64,
    /// Initial contents.
    pub contents: BlockContents,
}

/// Initial contents of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockContents {
    /// The graph owns the block, which is initially zero.
    Owned,
    /// The graph owns the block, which initially contains these bytes.
    Constant(Vec<u8>),
    /// Each replay binds an array of the program.
    Input(FileInput),
}

/// A multiple of the alignment of arguments on every device.
pub const ALIGNMENT: u64 = 256;
/// Size of a word in bytes. Blocks and ranges are whole words.
pub(crate) const WORD: u64 = 4;

/// A named input.
#[derive(Clone, Debug, PartialEq)]
pub struct FileInput {
    /// Name of the input. No two inputs share it.
    pub name: String,
    /// Type of the elements.
    pub element: FileElement,
    /// Number of bytes of the block before the input: the offset of the input in its array modulo [`ALIGNMENT`].
    pub offset: u64,
    /// Length of each axis.
    pub shape: Vec<u64>,
    /// Length of each axis with its padding.
    pub padded: Vec<u64>,
}

/// Name and size of an element type.
#[derive(Clone, Debug, PartialEq)]
pub struct FileElement {
    /// Name of the type.
    pub name: String,
    /// Size of an element in bytes.
    pub size: u32,
}

/// A named value.
#[derive(Clone, Debug, PartialEq)]
pub struct FileValue {
    /// Name of the value. No two values share it.
    pub name: String,
    /// Name of its type.
    pub element: String,
    /// Default bytes of the value; a replay may set others.
    pub default: Vec<u8>,
}

/// An output.
#[derive(Clone, Debug, PartialEq)]
pub struct FileOutput {
    /// Name of the output.
    pub name: String,
    /// Type of the elements.
    pub element: FileElement,
    /// Number of elements.
    pub len: u64,
}

/// A loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileLoop {
    /// Name that the program has given the loop, if any.
    pub label: Option<String>,
    /// Maximum iterations of a chunked loop. The file has the nodes of one part of such a loop.
    pub chunks: Option<u32>,
}

/// A node. Numbers of gates count the nodes that are gates, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileNode {
    /// Index of the queue. The nodes of one queue execute in their order.
    pub queue: u32,
    /// Earlier nodes after which this node must execute.
    pub after: Vec<u32>,
    /// Index of the command.
    pub command: u32,
    /// Gate that decides if the node executes; `None` outside bodies.
    pub gate: Option<u32>,
    /// Gate of the previous iteration; `None` unless the node is the gate of a later iteration.
    pub previous: Option<u32>,
}

/// A command. The nodes of all iterations of a loop share the commands of its body.
#[derive(Clone, Debug, PartialEq)]
pub struct FileCommand {
    /// Name that the program has given the node, if any.
    pub label: Option<String>,
    /// Work of the command.
    pub work: FileWork,
}

/// Work of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum FileWork {
    /// No work. The node is a timed marker.
    Nothing,
    /// A launch of a kernel.
    Launch(FileLaunch),
    /// A copy of bytes.
    Copy {
        /// Range that the copy reads.
        src: FileRange,
        /// Range of the same size that the copy writes.
        dst: FileRange,
    },
    /// A fill of a range.
    Fill {
        /// Range that the fill writes: a number of whole patterns.
        dst: FileRange,
        /// Bytes that the fill repeats.
        pattern: FilePattern,
    },
    /// An upload of bytes of the file.
    Upload {
        /// Range that the upload writes.
        dst: FileRange,
        /// Bytes of the range.
        bytes: Vec<u8>,
    },
    /// A copy of rows of bytes.
    Region(FileRegion),
    /// A read for the host.
    Read {
        /// Range of the output, in whole words.
        src: FileRange,
        /// Index of the output.
        output: u32,
    },
    /// A gate that decides if the nodes of a body execute.
    Gate(FileGate),
}

/// A gate, without its place among the iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileGate {
    /// Word of the condition.
    pub condition: FileRange,
    /// Test of the condition.
    pub test: FileTest,
    /// Loop whose iterations the gate counts, if any.
    pub counter: Option<FileCounter>,
}

/// Loop whose iterations a gate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileCounter {
    /// Index of the loop.
    pub index: u32,
    /// `true` for the gate after the last iteration.
    pub last: bool,
}

/// Test of a gate. Tests of a count compare it with the number of earlier iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileTest {
    /// Any value passes.
    Always,
    /// Values other than 0 pass.
    NonZero,
    /// Only 0 passes.
    Zero,
    /// Values above the number of earlier iterations pass.
    Above,
    /// Signed values above the number of earlier iterations pass.
    SignedAbove,
    /// No value passes. A gate with this test resets a counter.
    Never,
}

/// A launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileLaunch {
    /// Index of the kernel.
    pub kernel: u32,
    /// Numbers of workgroups; zeros for an empty grid and for an indirect launch.
    pub groups: [u32; 3],
    /// Place of the numbers of workgroups of an indirect launch.
    pub indirect: Option<FileRange>,
    /// Range of each array argument, in the order of the kernel.
    pub bindings: Vec<FileRange>,
    /// Bytes of the parameters.
    pub params: Vec<u8>,
    /// Named values that a replay writes into the parameters.
    pub values: Vec<BoundValue>,
}

/// A named value and its place in the parameters of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BoundValue {
    /// Index of the value.
    pub value: u32,
    /// Number of bytes before it in the parameters.
    pub offset: u32,
}

/// Copy of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct FileRegion {
    /// Block of the source.
    pub src: u32,
    /// Block of the target.
    pub dst: u32,
    /// Number of bytes before the first row in the source.
    pub from: u64,
    /// Number of bytes before the first row in the target.
    pub to: u64,
    /// Size of a row in bytes.
    pub row: u64,
    /// Axes of rows, the outermost first.
    pub axes: Vec<FileAxis>,
}

/// An axis of rows: the number of indices on the axis, and the bytes from one index to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAxis {
    /// Number of indices.
    pub count: u64,
    /// Number of bytes from one index to the next in the source.
    pub src: u64,
    /// Number of bytes from one index to the next in the target.
    pub dst: u64,
}

/// The bytes that a fill repeats: 4, 8 or 16 of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePattern {
    bytes: [u8; 16],
    len: u8,
}

/// A range of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileRange {
    /// Index of the block.
    pub block: u32,
    /// Number of bytes before the range.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
}

/// A wrong byte of a file, and the reason.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("byte {offset}: {reason}")]
pub struct FileFault {
    /// Place of the wrong byte, or 0 if no single byte is wrong.
    pub offset: u64,
    /// Reason why the byte is wrong.
    pub reason: String,
}

/// Result of decoding a part of a file: the part, or its first fault.
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

/// The kinds of entries of the list of nodes.
pub(crate) mod entry_kind {
    /// One node.
    pub(crate) const ONE: u32 = 0;
    /// A repetition of earlier nodes.
    pub(crate) const AGAIN: u32 = 1;
}

/// The kinds of loops.
pub(crate) mod loop_kind {
    /// A loop with nodes for all its iterations.
    pub(crate) const UNROLLED: u32 = 0;
    /// A chunked loop, with nodes for one part.
    pub(crate) const CHUNKED: u32 = 1;
}

impl FilePattern {
    /// Returns the pattern of these bytes. A pattern of zeros has 4 of them. Returns `None` if no pattern has this
    /// length.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if !matches!(bytes.len(), 4 | 8 | 16) {
            return None;
        }
        let is_zero = bytes.iter().all(|&byte| byte == 0);
        let kept = if is_zero { &bytes[..4] } else { bytes };
        let mut padded = [0; 16];
        padded[..kept.len()].copy_from_slice(kept);
        Some(Self { bytes: padded, len: kept.len() as u8 })
    }

    /// Returns the bytes that the fill repeats.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl FileRange {
    /// Returns the end of the range, which saturates.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

impl FileInput {
    /// Returns the size of the input in bytes, with padding; `None` on overflow.
    pub fn bytes(&self) -> Option<u64> {
        let bytes =
            self.padded.iter().try_fold(u64::from(self.element.size), |all, &axis| all.checked_mul(axis))?;
        (bytes <= i64::MAX.cast_unsigned() - 2 * ALIGNMENT).then_some(bytes)
    }
}

impl FileBlock {
    /// Returns the offset of the first byte that nodes may use.
    pub(crate) fn start(&self) -> u64 {
        if let BlockContents::Input(input) = &self.contents { input.offset } else { 0 }
    }
}

impl GraphFile {
    /// Returns the work of a node.
    pub fn work_of(&self, node: &FileNode) -> &FileWork {
        &self.commands[node.command as usize].work
    }

    /// Returns the nodes that are gates, each with its index and its gate.
    pub(crate) fn gates(&self) -> impl Iterator<Item = (usize, &FileNode, &FileGate)> {
        self.nodes.iter().enumerate().filter_map(|(at, node)| match self.work_of(node) {
            FileWork::Gate(gate) => Some((at, node, gate)),
            _ => None,
        })
    }

    /// Returns the bound of the chunked loop of a gate, if it belongs to one.
    pub fn bound_of(&self, gate: &FileGate) -> Option<u32> {
        self.loops[gate.counter?.index as usize].chunks
    }

    /// Returns for each gate the number of earlier iterations with which its test compares a count. A gate of a chunked
    /// loop decides about many iterations, and counts the earlier ones itself.
    pub fn past_iterations(&self) -> Vec<u32> {
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

    /// Returns the bytes of memory that loading the graph needs: for its blocks, and for the tables of its order. The
    /// count saturates.
    pub fn memory(&self) -> u64 {
        let nodes = self.nodes.len() as u64;
        let queues = self.queues.len() as u64;
        // With several queues, each node and each queue has a clock with 4 bytes for every queue. The check of the
        // gates needs the same clocks again.
        let each = if self.has_gates() { 8 } else { 4 };
        let clocks = if queues > 1 { (nodes + queues).saturating_mul(queues * each) } else { 0 };
        let blocks = self.blocks.iter().filter(|block| !matches!(block.contents, BlockContents::Input(_)));
        blocks.map(|block| block.size).fold(clocks, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_4_8_or_16_bytes_and_one_of_zeros_has_4() {
        let of = |bytes: &[u8]| FilePattern::of(bytes).map(|pattern| pattern.bytes().to_vec());
        assert_eq!([4, 8, 16].map(|len| of(&vec![7; len])), [4, 8, 16].map(|len| Some(vec![7; len])));
        assert_eq!([4, 8, 16].map(|len| of(&vec![0; len])), [4, 4, 4].map(|len| Some(vec![0; len])));
        assert_eq!([0, 1, 2, 3, 12, 32].map(|len| of(&vec![0; len])), [const { None }; 6]);
    }
}
