//! Graphs as files: the graph becomes plain data, which the codec encodes. A file can also contain the contents of
//! arrays.

use crate::api::display::read_now;
use crate::api::graph::Graph;
use crate::api::graph::loading::gate_test;
use crate::api::queue::transfer::ArrayOps;
use crate::arrays::storage::without_line;
use crate::error::{Error, ErrorDetail, Result};
use crate::memory::block::{Block, BlockId, Heap};
use crate::memory::staging::Payload;
use crate::runtime::owner::Owner;
use crate::work::graph::control::{Gate, GateTest};
use crate::work::graph::names::interface_hash;
use crate::work::graph::nodes::{CommandPart, GraphNode, NodeCommand};
use crate::work::graph::order::MissingOrder;
use crate::work::kernel_launch::{KernelInner, Launch};
use crate::work::region_copy::{RegionCopy, RowAxis};
use crate::work::step::{Span, Work};
use fencepost_graph_file::{
    ALIGNMENT, BlockContents, BoundValue, FileAxis, FileBlock, FileCommand, FileCounter, FileElement,
    FileGate, FileInput, FileKernel, FileLaunch, FileLoop, FileNode, FileOutput, FilePattern, FileRange,
    FileRegion, FileTest, FileText, FileValue, FileWork, GraphFile, encode,
};
use fencepost_kernels::{ArgumentSlot, DType};
use fencepost_profile::FileError;
use rustc_hash::FxHashMap;
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;

/// Arrays that a saved graph contains, for [`Graph::save_with`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Contents {
    /// Only the arrays that the capture made. Using an array made outside the capture is an error.
    #[default]
    Own,
    /// Also the current contents of each array made outside the capture. The loaded graph has its own copy of them.
    Included,
}

impl Graph {
    /// Returns the graph as bytes, which [`from_bytes`](Self::from_bytes) loads on any machine and adapter. Equal
    /// graphs have equal bytes.
    ///
    /// The bytes contain the text of each kernel, the uploaded bytes, and the labels. They contain no compiled kernels,
    /// and no source lines of the program. Arrays that the capture made are zero before the first replay of the loaded
    /// graph.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::NotSavable`], which names the node, for a host callback, for an array made outside of the
    /// capture, for a pinned array, for an external buffer, and for a queue of another context.
    ///
    /// # Example
    /// ```
    /// use fencepost::Graph;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (graph, _) = queue.capture(|c| c.read_as("sevens", &c.full([4], 7_u32)?))?;
    /// let bytes = graph.to_bytes()?;
    /// let loaded = Graph::from_bytes(&ctx, &bytes)?;
    /// let sevens = loaded.output::<u32>("sevens")?;
    /// assert_eq!(queue.replay(&loaded)?.read(&sevens)?.wait()?, [7; 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_bytes_with(Contents::Own)
    }

    /// Returns the graph as bytes as [`to_bytes`](Self::to_bytes) does. With [`Contents::Included`], the call blocks
    /// until it has read the arrays made outside the capture. Their contents include the writes of all commands
    /// enqueued so far.
    ///
    /// # Errors
    /// Returns the errors of [`to_bytes`](Self::to_bytes), except the error for an array made outside of the capture;
    /// the errors of a read.
    #[track_caller]
    pub fn to_bytes_with(&self, contents: Contents) -> Result<Vec<u8>> {
        self.owner.engine().check_process()?;
        let mut saver = Saver { graph: self, contents, parts: FileParts::default() };
        saver.save(Location::caller()).map(|file| encode(&file))
    }

    /// Writes the graph to a file, which [`load`](Self::load) loads. The call replaces an existing file.
    ///
    /// # Errors
    /// Returns the errors of [`to_bytes`](Self::to_bytes), and [`ErrorDetail::File`] if the file cannot be written.
    ///
    /// # Example
    /// ```
    /// use fencepost::Graph;
    /// # let (ctx, queue) = fencepost::doctest();
    /// # let folder = std::env::temp_dir().join(format!("fencepost-graph-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let path = folder.join("sevens.fpg");
    /// let (graph, _) = queue.capture(|c| c.read_as("sevens", &c.full([4], 7_u32)?))?;
    /// graph.save(&path)?;
    /// let loaded = Graph::load(&ctx, &path)?;
    /// assert_eq!(loaded.nodes(), graph.nodes());
    /// # std::fs::remove_dir_all(folder).unwrap();
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path, Contents::Own)
    }

    /// Writes the graph to a file as [`save`](Self::save) does. `contents` selects the arrays that the file contains.
    ///
    /// # Errors
    /// Returns the errors of [`to_bytes_with`](Self::to_bytes_with), and [`ErrorDetail::File`] if the file cannot be written.
    #[track_caller]
    pub fn save_with(&self, path: impl AsRef<Path>, contents: Contents) -> Result<()> {
        let path = path.as_ref();
        let bytes = self.to_bytes_with(contents)?;
        let written = std::fs::write(path, bytes);
        written.map_err(|error| FileError::new(path.display().to_string(), error.to_string()).into())
    }
}

/// Texts that begin the reason why an input or a value with a struct type is not saved.
const AN_INPUT: &str = "a file has inputs of numbers, vectors and matrices, and this input has elements";
const A_VALUE: &str = "a file has values of numbers, vectors and matrices, and this value is";

/// State of a save that turns a graph into plain data.
struct Saver<'g> {
    graph: &'g Graph,
    contents: Contents,
    parts: FileParts<'g>,
}

/// Kernels, blocks and commands of a graph, in the order of their first use.
#[derive(Default)]
struct FileParts<'g> {
    texts: Vec<FileText>,
    kernels: Vec<FileKernel>,
    /// Number of each kernel, by its address.
    kernel_numbers: FxHashMap<*const KernelInner, u32>,
    blocks: Vec<SavedBlock<'g>>,
    block_numbers: FxHashMap<BlockKey, u32>,
    commands: Vec<FileCommand>,
    /// Number of each command, by its address.
    command_numbers: FxHashMap<*const NodeCommand, u32>,
    launch_numbers: FxHashMap<(Option<String>, FileLaunch), u32>,
    gate_numbers: FxHashMap<FileGate, u32>,
    /// For each gate, the number of iterations before it, which its test adds to a count.
    past: Vec<u32>,
    /// Last gate that sets each word. Gates are numbered in their order in the file.
    gate_of_word: FxHashMap<u32, u32>,
}

impl FileParts<'_> {
    /// Returns the number of the gate that sets a word.
    fn gate(&self, word: Option<u32>) -> Option<u32> {
        word.map(|word| self.gate_of_word[&word])
    }

    fn add_command(&mut self, command: FileCommand) -> u32 {
        self.commands.push(command);
        self.commands.len() as u32 - 1
    }

    /// Returns the number of a launch. Equal launches share a number. An edit may have given each iteration its own
    /// launch.
    fn add_launch(&mut self, label: Option<String>, launch: FileLaunch) -> u32 {
        let key = (label, launch);
        if let Some(&number) = self.launch_numbers.get(&key) {
            return number;
        }
        let label = key.0.clone();
        let work = FileWork::Launch(key.1.clone());
        let number = self.add_command(FileCommand { label, work });
        self.launch_numbers.insert(key, number);
        number
    }
}

/// Identity of a block of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum BlockKey {
    Block(BlockId),
    /// The block of the input with this number, reduced to the bytes of the input.
    Input(usize),
    /// A block that is never accessed, for the reads of empty arrays.
    Nothing,
}

/// A node and its index.
#[derive(Clone, Copy)]
struct SavedNode<'g> {
    at: u32,
    node: &'g GraphNode,
}

/// A block that nodes use.
struct SavedBlock<'g> {
    key: BlockKey,
    block: &'g Arc<Block>,
    /// Size up to the end of the last range that a node uses.
    size: u64,
    /// First node that uses the block.
    node: &'g GraphNode,
}

impl<'g> Saver<'g> {
    fn save(&mut self, at: &'static Location<'static>) -> Result<GraphFile> {
        let Graph { inner, plan, .. } = self.graph;
        if !inner.calls.is_empty() {
            return Err(self.refuse("host", "a host callback cannot be saved: call it between two graphs"));
        }
        if let Some(buffer) = inner.messages.first() {
            let reason =
                "its kernel prints or asserts, and a file has no messages: launch it outside of the graph";
            return Err(self.refuse(&buffer.source.kernel, reason));
        }
        if let Some(spanning) = &self.graph.spanning {
            let queues = spanning.shape.of_queue.iter().position(|&context| context > 0);
            let queue = queues.map(|at| plan.queues[at].to_string()).unwrap_or_default();
            let reason =
                format!("queue `{queue}` belongs to another context: a file has a graph of one context");
            return Err(self.refuse(&queue, reason));
        }
        // Loading adds the read of the counters again.
        let own = plan.nodes.len() - (inner.outputs.len() - self.graph.outputs().len());
        let nodes = plan.nodes.iter().take(own).zip(0..).map(|(node, at)| self.node(SavedNode { at, node }));
        let nodes = nodes.collect::<Result<_>>()?;
        let outputs = self.graph.outputs().iter().map(|output| FileOutput {
            name: output.name.to_string(),
            element: FileElement { name: output.element.to_string(), size: output.element_size },
            len: output.len,
        });
        let values = self.values()?;
        let mut blocks = Vec::new();
        for saved in &self.parts.blocks {
            blocks.push(self.block(saved, at)?);
        }
        let is_unused = |at: &usize| !self.parts.block_numbers.contains_key(&BlockKey::Input(*at));
        for unused in (0..plan.inputs.len()).filter(is_unused) {
            blocks.push(self.input(unused)?);
        }
        Ok(GraphFile {
            creator: format!("fencepost {}", env!("CARGO_PKG_VERSION")),
            label: plan.label.to_string(),
            adds_order: plan.missing.of(0) != MissingOrder::Ignore,
            queues: plan.queues.iter().map(|queue| queue.to_string()).collect(),
            texts: std::mem::take(&mut self.parts.texts),
            kernels: std::mem::take(&mut self.parts.kernels),
            blocks,
            values,
            outputs: outputs.collect(),
            commands: std::mem::take(&mut self.parts.commands),
            loops: self.loops(),
            nodes,
        })
    }

    #[cold]
    fn refuse(&self, node: &str, reason: impl Into<String>) -> Error {
        let graph = self.graph.label().to_owned();
        ErrorDetail::NotSavable { graph, node: node.into(), reason: reason.into() }.into()
    }

    fn node(&mut self, saved: SavedNode<'g>) -> Result<FileNode> {
        let node = saved.node;
        let queue = node.queue;
        let after = node.after.to_vec();
        if let Work::Gate(gate) = &node.command.work {
            let [parent, previous] = [gate.parent, gate.previous].map(|word| self.parts.gate(word));
            let command = self.gate(saved, gate, previous);
            return Ok(FileNode { queue, after, command, gate: parent, previous });
        }
        let gate = self.parts.gate(node.gate);
        Ok(FileNode { queue, after, command: self.command(saved)?, gate, previous: None })
    }

    /// Returns the number of a command. All iterations of a loop share it.
    fn command(&mut self, saved: SavedNode<'g>) -> Result<u32> {
        let node = saved.node;
        let address = Arc::as_ptr(&node.command);
        if let Some(&number) = self.parts.command_numbers.get(&address) {
            return Ok(number);
        }
        let label = node.command.label.as_ref().map(|label| label.to_string());
        let number = match self.work(saved)? {
            FileWork::Launch(launch) => self.parts.add_launch(label, launch),
            work => self.parts.add_command(FileCommand { label, work }),
        };
        self.parts.command_numbers.insert(address, number);
        Ok(number)
    }

    /// Returns the number of the command of a gate. All iterations of a loop share it.
    fn gate(&mut self, saved: SavedNode<'g>, gate: &'g Gate, previous: Option<u32>) -> u32 {
        let counter = gate.counter.map(|counter| FileCounter { index: counter.index, last: counter.last });
        let condition = self.range(saved, CommandPart::Source, &gate.condition);
        let of_file = FileGate { condition, test: file_test(gate.test), counter };
        let parts = &mut self.parts;
        let earlier = previous.filter(|_| gate.bound.is_none());
        let past = earlier.map_or(0, |previous| parts.past[previous as usize] + 1);
        assert_eq!(gate.test, gate_test(of_file.test, past), "bug: a gate compares with another number");
        parts.gate_of_word.insert(gate.own, parts.past.len() as u32);
        parts.past.push(past);
        if let Some(&number) = parts.gate_numbers.get(&of_file) {
            return number;
        }
        let number = parts.add_command(FileCommand { label: None, work: FileWork::Gate(of_file) });
        parts.gate_numbers.insert(of_file, number);
        number
    }

    fn loops(&self) -> Vec<FileLoop> {
        let plan = &self.graph.plan;
        let tokens = plan.control.iter().flat_map(|table| &table.layout.loops);
        let label = |token| plan.names.loops.get(token).map(|label| label.to_string());
        let mut loops: Vec<FileLoop> =
            tokens.map(|token| FileLoop { label: label(token), chunks: None }).collect();
        for chunked in plan.loops.iter() {
            let Work::Gate(last) = &plan.command(chunked.nodes.end - 1).work else {
                unreachable!("bug: the last node of a loop in chunks is not a gate")
            };
            let counter = last.counter.expect("bug: a gate of a loop in chunks counts no loop");
            loops[counter.index as usize].chunks = Some(chunked.bound);
        }
        loops
    }

    fn work(&mut self, saved: SavedNode<'g>) -> Result<FileWork> {
        use CommandPart::{Source, Target};
        let node = saved.node;
        Ok(match &node.command.work {
            Work::Nothing => FileWork::Nothing,
            Work::Launch(launch) => FileWork::Launch(self.launch(saved, launch)?),
            Work::Copy { src, dst } => {
                FileWork::Copy { src: self.range(saved, Source, src), dst: self.range(saved, Target, dst) }
            }
            Work::Fill { dst, pattern } => {
                let pattern = FilePattern::of(pattern.bytes());
                let pattern = pattern.expect("bug: a pattern has another number of bytes");
                FileWork::Fill { dst: self.range(saved, Target, dst), pattern }
            }
            Work::Upload { src: Payload::Kept(kept), dst } => {
                let mut bytes = kept.bytes.to_vec();
                bytes.resize(dst.size as usize, 0); // the last word may have fewer bytes
                FileWork::Upload { dst: self.range(saved, Target, dst), bytes }
            }
            Work::Upload { src: Payload::PerReplay(source), .. } => {
                return Err(self.refuse(&node.command.name(), uses_pinned(source.label())));
            }
            Work::Region(copy) => FileWork::Region(self.region(saved, copy)),
            Work::Read { src, .. } => {
                let output = node.command.output.expect("bug: a captured read has an output");
                let declared = &self.graph.inner.outputs[output as usize];
                if declared.download.is_some() {
                    return Err(self.refuse(&node.command.name(), uses_pinned(&declared.name)));
                }
                FileWork::Read { src: self.range(saved, Source, src), output }
            }
            _ => return Err(self.refuse(&node.command.name(), "a file has no such command")),
        })
    }

    fn values(&self) -> Result<Vec<FileValue>> {
        let plan = &self.graph.plan;
        let values = plan.names.values.iter().zip(&plan.values).map(|(value, contents)| {
            let name = value.name.to_string();
            let element = value.dtype.to_string();
            if DType::from_name(&element) != Some(value.dtype) {
                return Err(
                    self.refuse(&name, format!("{A_VALUE} of type `{element}`, which is not a number"))
                );
            }
            Ok(FileValue { name, element, default: contents.bytes().to_vec() })
        });
        values.collect()
    }

    /// Returns the values in the parameters of a launch. A value of a child graph has no name, so it is saved as a
    /// plain parameter.
    fn bound_values(&self, node: &GraphNode) -> Vec<BoundValue> {
        let bound = |(value, slot): (usize, ArgumentSlot)| {
            let ArgumentSlot::Value { offset, .. } = slot else { return None };
            Some(BoundValue { value: value as u32, offset })
        };
        self.graph.plan.values_of(&node.command).filter_map(bound).collect()
    }

    fn launch(&mut self, saved: SavedNode<'g>, launch: &'g Launch) -> Result<FileLaunch> {
        let node = saved.node;
        let kernel = self.kernel(launch.kernel())?;
        let mut bindings = Vec::new();
        for bound in &launch.bindings {
            let part = CommandPart::Binding(bound.at);
            bindings.push(self.place((saved, part), &bound.block, bound.offset, bound.size));
        }
        let others = self.graph.plan.other_params(&node.command);
        Ok(FileLaunch {
            kernel,
            groups: launch.groups,
            indirect: launch.indirect.as_ref().map(|counts| self.range(saved, CommandPart::Groups, counts)),
            bindings,
            params: others.as_ref().unwrap_or(&launch.params).bytes().to_vec(),
            values: self.bound_values(node),
        })
    }

    fn region(&mut self, saved: SavedNode<'g>, copy: &'g RegionCopy) -> FileRegion {
        let src = self.range(saved, CommandPart::Source, &copy.src);
        let dst = self.range(saved, CommandPart::Target, &copy.dst);
        let rows = &copy.rows;
        let from = rows.from - copy.src.offset + src.offset;
        let to = rows.to - copy.dst.offset + dst.offset;
        let src = src.block;
        let dst = dst.block;
        let row = rows.row;
        let axis = |&RowAxis { count, src, dst }: &RowAxis| FileAxis { count, src, dst };
        let axes = rows.axes.iter().map(axis).collect();
        FileRegion { src, dst, from, to, row, axes }
    }

    fn range(&mut self, saved: SavedNode<'g>, part: CommandPart, span: &'g Span) -> FileRange {
        self.place((saved, part), &span.block, span.offset, span.size)
    }

    /// Returns the range of a block that an operand of a node uses. Numbers the block at its first use.
    fn place(
        &mut self,
        (saved, part): (SavedNode<'g>, CommandPart),
        block: &'g Arc<Block>,
        offset: u64,
        size: u64,
    ) -> FileRange {
        // After an edit, the arrays of two inputs may overlap, so the bytes alone do not identify the input.
        let key = match self.graph.plan.names.input_number(saved.at, part) {
            _ if size == 0 => BlockKey::Nothing,
            Some(input) => BlockKey::Input(input),
            None => BlockKey::Block(block.id),
        };
        // An input starts a block of its own, so only the alignment of its bytes is kept.
        let offset = match key {
            BlockKey::Block(_) => offset,
            BlockKey::Input(at) => offset - self.graph.plan.inputs[at].offset / ALIGNMENT * ALIGNMENT,
            BlockKey::Nothing => 0,
        };
        let parts = &mut self.parts;
        let number = *parts.block_numbers.entry(key).or_insert_with(|| {
            parts.blocks.push(SavedBlock { key, block, size: 0, node: saved.node });
            parts.blocks.len() as u32 - 1
        });
        let saved = &mut parts.blocks[number as usize];
        saved.size = saved.size.max((offset + size).next_multiple_of(4));
        FileRange { block: number, offset, size }
    }

    /// Returns the number of a kernel. Kernels with the same text, entry point and overrides share it.
    fn kernel(&mut self, kernel: &Arc<KernelInner>) -> Result<u32> {
        let address = Arc::as_ptr(kernel);
        if let Some(&number) = self.parts.kernel_numbers.get(&address) {
            return Ok(number);
        }
        let source = &kernel.origin.source;
        let text = FileText { label: source.label().into(), wgsl: source.whole_text()? };
        let parts = &mut self.parts;
        let known = parts.texts.iter().position(|known| *known == text);
        let text = known.unwrap_or_else(|| {
            parts.texts.push(text);
            parts.texts.len() - 1
        });
        let overrides = kernel.origin.overrides.iter().map(|(name, value)| (name.clone(), value.to_bits()));
        let saved = FileKernel {
            text: text as u32,
            entry: kernel.origin.entry.clone(),
            overrides: overrides.collect(),
            interface: interface_hash(&kernel.origin.entry, &kernel.interface),
        };
        let known = parts.kernels.iter().position(|known| *known == saved);
        let number = known.unwrap_or_else(|| {
            parts.kernels.push(saved);
            parts.kernels.len() - 1
        }) as u32;
        parts.kernel_numbers.insert(address, number);
        Ok(number)
    }

    /// Returns the description of a block. Includes its contents if the block was made outside the capture.
    fn block(&self, saved: &SavedBlock<'_>, at: &'static Location<'static>) -> Result<FileBlock> {
        let SavedBlock { key, block, size, node } = *saved;
        let label = match key {
            BlockKey::Input(at) => return self.input(at),
            BlockKey::Nothing => String::new(),
            BlockKey::Block(_) => block.order().label.to_string(),
        };
        let refuse = |reason: String| Err(self.refuse(&node.command.name(), reason));
        if block.heap != Heap::Device {
            return refuse(uses_pinned(&label));
        }
        if block.is_external() {
            return refuse(format!("array `{label}` is a buffer of the program: copy it to an array first"));
        }
        let contents = if key == BlockKey::Nothing || self.graph.inner.made.contains_key(&block.id) {
            BlockContents::Owned
        } else if self.contents == Contents::Included {
            BlockContents::Constant(read_block(&self.graph.owner, block, size, at)?)
        } else {
            return refuse(format!(
                "array `{label}` was made outside of the capture: declare it as an input, make it in the capture, or \
                 save its bytes with `Contents::Included`"
            ));
        };
        Ok(FileBlock { label: without_line(&label).into(), size, contents })
    }

    fn input(&self, at: usize) -> Result<FileBlock> {
        let plan = &self.graph.plan;
        let input = &plan.names.inputs[at];
        let bound = &plan.inputs[at];
        let name = input.name.to_string();
        let element = input.dtype.to_string();
        if DType::from_name(&element) != Some(input.dtype) {
            return Err(self.refuse(&name, format!("{AN_INPUT} of type `{element}`, which is not a number")));
        }
        let counts = |shape: &[usize]| shape.iter().map(|&axis| axis as u64).collect::<Vec<u64>>();
        let offset = bound.offset % ALIGNMENT;
        let size = (offset + input.bytes).next_multiple_of(4);
        let element = FileElement { name: element, size: input.dtype.size() as u32 };
        let shape = counts(&input.shape);
        let padded = counts(&input.padded);
        let input = FileInput { name: name.clone(), element, offset, shape, padded };
        Ok(FileBlock { label: name, size, contents: BlockContents::Input(input) })
    }
}

/// Returns the test of a gate as it is written to a file, without the number of finished iterations.
fn file_test(test: GateTest) -> FileTest {
    match test {
        GateTest::Always => FileTest::Always,
        GateTest::NonZero => FileTest::NonZero,
        GateTest::Zero => FileTest::Zero,
        GateTest::Above(_) => FileTest::Above,
        GateTest::SignedAbove(_) => FileTest::SignedAbove,
        GateTest::Never => FileTest::Never,
    }
}

/// Returns the reason why a transfer of a pinned array cannot be saved.
fn uses_pinned(label: &str) -> String {
    format!("it uses pinned array `{label}`, which the program refills: upload from memory")
}

/// Blocks until the first `size` bytes of a block are on the host, and returns them. They include the writes of all
/// commands enqueued so far.
///
/// # Errors
/// Returns the error of the last command that wrote some of the bytes, if it has failed.
fn read_block(
    owner: &Owner,
    block: &Arc<Block>,
    size: u64,
    at: &'static Location<'static>,
) -> Result<Vec<u8>> {
    let span = Span { block: block.clone(), offset: 0, size };
    let words = (size / 4) as usize;
    let read = |ops: &ArrayOps<'_>| ops.read_words::<u32>(span.clone(), words);
    let read = read_now(owner, "the save of a graph", at, span.clone(), read)?;
    Ok(bytemuck::cast_slice(&read).to_vec())
}
