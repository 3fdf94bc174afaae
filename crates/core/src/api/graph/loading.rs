//! Graphs from files: the codec decodes plain data, and the loader checks the data and makes a graph of it.
//!
//! Loaded launches are checked against their kernels and the device, as new launches are. Blocks and the gate table are
//! made on the device that loads the graph.

#[cfg(all(test, cpu))]
mod load_tests;
#[cfg(all(test, cpu))]
mod mutation_tests;

use crate::api::context::Context;
use crate::api::context::kernels::Job;
use crate::api::graph::bindings::GraphOutput;
use crate::api::graph::control_flow::{add_counters, make_table, mark_first_gates};
use crate::api::graph::spanning::missing_order;
use crate::api::graph::tape::unique;
use crate::api::graph::{Graph, GraphInner, GraphLeases};
use crate::api::queue::launch::LAUNCH_PARTS;
use crate::api::queue::transfer::ArrayOps;
use crate::arrays::device_array::DeviceArray;
use crate::driver::caps::Caps;
use crate::error::{CommandKind, Error, ErrorDetail, Result};
use crate::memory::block::{Block, BlockId, Heap, Memory, overlap};
use crate::memory::cpu_memory::CpuMemory;
use crate::memory::read_slot::ReadSlot;
use crate::memory::staging::{KeptBytes, Payload};
use crate::record::own_kernels::dispatches_of;
use crate::runtime::owner::Owner;
use crate::scheduler::ordering::Admission;
use crate::work::graph::control::{ChunkedLoop, ControlTable, Gate, GateCounter, GateTest};
use crate::work::graph::names::{BoundInput, GraphInput, GraphNames, GraphParameter, interface_hash};
use crate::work::graph::nodes::{GraphNode, NodeCommand};
use crate::work::graph::order::MissingOrder;
use crate::work::graph::plan::{GraphPlan, PlanParts};
use crate::work::kernel_launch::{BoundArray, KernelInner, Launch};
use crate::work::region_copy::{RegionCopy, RowAxis, Rows};
use crate::work::step::{Pattern, Span, Work};
use fencepost_graph_file::container::{HEADER, length};
use fencepost_graph_file::{
    BlockContents, BoundValue, DecodedFile, FileAxis, FileBlock, FileCommand, FileFault, FileGate, FileInput,
    FileKernel, FileLaunch, FileOutput, FileRange, FileRegion, FileTest, FileValue, FileWork, GraphFile,
    MOST_DISPATCHES, Ring, check_gate_order, decode,
};
use fencepost_kernels::{ArgumentSlot, Binding, DType, ShaderSource, Value, plain_file};
use fencepost_sync::Slot;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::io;
use std::io::Read;
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;

/// The options of [`Graph::load_with`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// Maximum size in bytes, both of the file and of the memory that its graph owns. The default is 1 GiB.
    pub memory_limit: u64,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { memory_limit: 1 << 30 }
    }
}

impl LoadOptions {
    /// Sets the maximum size in bytes, both of the file and of the memory that its graph owns.
    #[must_use]
    pub fn memory_limit(mut self, memory_limit: u64) -> Self {
        self.memory_limit = memory_limit;
        self
    }
}

impl Graph {
    /// Loads a graph from a file that [`save`](Self::save) wrote, on this or another machine. The call blocks until the
    /// kernels of the graph are compiled.
    ///
    /// The call checks every byte: checksums, indices and ranges first, then the limits of the context's device, as a
    /// launch checks them. A damaged file is an error. A malicious file is an error or a valid graph, whose kernels
    /// come from the file: load only files that you trust to run on the device.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::GraphFileUnread`] if the file cannot be read or is not a plain file; [`ErrorDetail::GraphFile`] if it
    /// is damaged or needs a newer library; [`ErrorDetail::GraphMemory`] above the limit; the errors of
    /// [`Context::kernel_from`], of a launch and of a new array if the graph does not fit the device.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// use fencepost::{Graph, ErrorDetail};
    /// let error = Graph::load(&ctx, "no such file").unwrap_err();
    /// assert!(matches!(error.detail(), ErrorDetail::GraphFileUnread { .. }));
    /// # drop(queue);
    /// ```
    #[track_caller]
    pub fn load(ctx: &Context, path: impl AsRef<Path>) -> Result<Graph> {
        Self::load_with(ctx, path, LoadOptions::default())
    }

    /// Loads a graph from a file as [`load`](Self::load) does, with options.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load).
    #[track_caller]
    pub fn load_with(ctx: &Context, path: impl AsRef<Path>, options: LoadOptions) -> Result<Graph> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let bytes = read_file(path, &file, options)?;
        graph_of(ctx, &bytes, file, options, Location::caller())
    }

    /// Loads a graph from the bytes that [`to_bytes`](Self::to_bytes) returned, as [`load`](Self::load) loads a
    /// file.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// use fencepost::{Graph, ErrorDetail};
    /// let (graph, _) = queue.capture(|c| c.read_as("sevens", &c.full([4], 7_u32)?))?;
    /// let mut bytes = graph.to_bytes()?;
    /// assert_eq!(Graph::from_bytes(&ctx, &bytes)?.nodes(), 2);
    /// bytes[100] ^= 1;
    /// let error = Graph::from_bytes(&ctx, &bytes).unwrap_err();
    /// assert!(matches!(error.detail(), ErrorDetail::GraphFile { .. }));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn from_bytes(ctx: &Context, bytes: &[u8]) -> Result<Graph> {
        Self::from_bytes_with(ctx, bytes, LoadOptions::default())
    }

    /// Loads a graph from bytes as [`from_bytes`](Self::from_bytes) does, with options.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load).
    #[track_caller]
    pub fn from_bytes_with(ctx: &Context, bytes: &[u8], options: LoadOptions) -> Result<Graph> {
        graph_of(ctx, bytes, "of bytes in memory".into(), options, Location::caller())
    }
}

/// Loads a graph from bytes. `file` is the name of the file in messages.
fn graph_of(
    ctx: &Context,
    bytes: &[u8],
    file: String,
    options: LoadOptions,
    at: &'static Location<'static>,
) -> Result<Graph> {
    let decoded = decode(bytes).map_err(|fault| damaged(&file, fault))?;
    check_memory(&file, decoded.graph.memory(), options)?;
    check_gate_order(&decoded).map_err(|fault| damaged(&file, fault))?;
    let owner = &ctx.owner;
    let by = Admission { slot: Slot::CONTEXT, what: CommandKind::Upload, at };
    let mut loader = Loader { owner, file, by, kernels: Vec::new(), blocks: Vec::new(), values: Vec::new() };
    loader.load(&decoded)
}

/// Returns the bytes of a file, provided that the size in its header is within the limit.
fn read_file(path: &Path, file: &str, options: LoadOptions) -> Result<Vec<u8>> {
    let unreadable = |error: io::Error| {
        Error::from(ErrorDetail::GraphFileUnread { file: file.into(), reason: error.to_string() })
    };
    let opened = plain_file::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    (&opened).take(HEADER).read_to_end(&mut bytes).map_err(unreadable)?;
    let total = length(&bytes).map_err(|fault| damaged(file, fault))?;
    check_memory(file, total, options)?;
    // Reading one byte more than the header's size detects bytes after the file's end.
    (&opened).take((total + 1).saturating_sub(HEADER)).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

fn check_memory(file: &str, needed: u64, options: LoadOptions) -> Result<()> {
    let limit = options.memory_limit;
    if needed <= limit {
        return Ok(());
    }
    Err(ErrorDetail::GraphMemory { file: file.into(), needed, limit }.into())
}

#[cold]
fn damaged(file: &str, FileFault { offset, reason }: FileFault) -> Error {
    ErrorDetail::GraphFile { file: file.into(), offset, reason }.into()
}

/// A loader that makes a graph from plain data with valid indices and ranges.
struct Loader<'c> {
    owner: &'c Owner,
    file: String,
    by: Admission,
    kernels: Vec<Arc<KernelInner>>,
    blocks: Vec<LoadedBlock>,
    /// Types and defaults of the values.
    values: Vec<(GraphParameter, Value)>,
}

/// Memory of a block.
enum LoadedBlock {
    Owned(DeviceArray<u32>),
    /// A block without memory that stands for an input until a replay binds an array.
    Unbound(Arc<Block>),
}

impl LoadedBlock {
    fn block(&self) -> &Arc<Block> {
        match self {
            LoadedBlock::Owned(array) => array.array.storage.block(),
            LoadedBlock::Unbound(block) => block,
        }
    }
}

impl Loader<'_> {
    fn load(&mut self, decoded: &DecodedFile) -> Result<Graph> {
        let file = &decoded.graph;
        for (kernel, &offset) in file.kernels.iter().zip(&decoded.kernels) {
            self.kernels.push(self.kernel(file, kernel, offset)?);
        }
        for (command, &offset) in file.commands.iter().zip(&decoded.commands) {
            if let FileWork::Launch(launch) = &command.work {
                let kernel = &self.kernels[launch.kernel as usize];
                let misfit = |reason| damaged(&self.file, FileFault { offset, reason });
                check_launch(self.owner.device().caps(), kernel, launch, &file.blocks, misfit)?;
            }
        }
        for value in &file.values {
            self.values.push(self.value(value)?);
        }
        for block in &file.blocks {
            self.blocks.push(self.block(block)?);
        }
        let nodes = self.nodes(file)?;
        self.graph(file, nodes)
    }

    fn kernel(&self, file: &GraphFile, kernel: &FileKernel, offset: u64) -> Result<Arc<KernelInner>> {
        let text = &file.texts[kernel.text as usize];
        let source = ShaderSource::from_whole_text(&text.label, &text.wgsl);
        let overrides = kernel.overrides.iter().map(|(name, bits)| (&**name, f64::from_bits(*bits)));
        let overrides: Vec<(&str, f64)> = overrides.collect();
        let compiled = Job::new(source, &kernel.entry, &overrides).run(self.owner)?;
        if interface_hash(&kernel.entry, &compiled.interface) == kernel.interface {
            return Ok(compiled);
        }
        let reason = format!("the arguments of kernel `{}` differ from those that were saved", kernel.entry);
        Err(damaged(&self.file, FileFault { offset, reason }))
    }

    /// Returns the type of an element that a file names.
    fn dtype(&self, object: &str, name: &str) -> Result<DType> {
        DType::from_name(name).ok_or_else(|| {
            let reason = format!("{object} has the unknown type `{name}`");
            damaged(&self.file, FileFault { offset: 0, reason })
        })
    }

    fn value(&self, from: &FileValue) -> Result<(GraphParameter, Value)> {
        let object = format!("value `{}`", from.name);
        let dtype = self.dtype(&object, &from.element)?;
        let value = Value::from_bytes(dtype, &from.default).ok_or_else(|| {
            let reason = format!("{object} of type `{dtype}` has {} bytes", from.default.len());
            damaged(&self.file, FileFault { offset: 0, reason })
        })?;
        Ok((GraphParameter { token: unique(), name: (*from.name).into(), dtype, places: Vec::new() }, value))
    }

    fn input(&self, from: &FileInput) -> Result<GraphInput> {
        let object = format!("input `{}`", from.name);
        let dtype = self.dtype(&object, &from.element.name)?;
        let uncountable = |_| {
            let reason = format!("{object} of padded shape {:?} is too large for this machine", from.padded);
            damaged(&self.file, FileFault { offset: 0, reason })
        };
        let counts =
            |shape: &[u64]| shape.iter().map(|&axis| usize::try_from(axis)).collect::<Result<_, _>>();
        if dtype.size() != from.element.size as usize {
            let reason = format!("{object} of type `{dtype}` has elements of {} bytes", from.element.size);
            return Err(damaged(&self.file, FileFault { offset: 0, reason }));
        }
        Ok(GraphInput {
            name: (*from.name).into(),
            dtype,
            shape: counts(&from.shape).map_err(uncountable)?,
            padded: counts(&from.padded).map_err(uncountable)?,
            bytes: from.bytes().unwrap_or_default(),
            offset: from.offset,
            places: Vec::new(),
            is_bound: false,
            is_written: false,
        })
    }

    /// Makes the array of a block and its initial contents.
    fn block(&self, block: &FileBlock) -> Result<LoadedBlock> {
        let maker = ArrayOps { owner: self.owner, by: self.by, captured: None };
        let words = (block.size / 4).max(1) as usize;
        let array = match &block.contents {
            BlockContents::Owned => maker.zeros([words].into())?,
            BlockContents::Constant(bytes) => {
                let array = maker.empty([words].into())?;
                maker.upload(&array.array, bytes)?;
                array
            }
            BlockContents::Input(_) => {
                let memory = Memory::Host(CpuMemory::zeroed(0));
                let made = Block::new(BlockId::next(), Heap::Device, block.size, memory);
                made.order().label = block.label.as_str().into();
                return Ok(LoadedBlock::Unbound(Arc::new(made)));
            }
        };
        array.array.storage.block().order().label = block.label.as_str().into();
        Ok(LoadedBlock::Owned(array))
    }

    /// Derives the order of the nodes, and makes the graph.
    fn graph(&mut self, file: &GraphFile, mut nodes: Vec<GraphNode>) -> Result<Graph> {
        let engine = self.owner.engine();
        let mut leases = GraphLeases::default();
        let mut unbound = Vec::new();
        let mut names = GraphNames::default();
        let mut inputs = SmallVec::new();
        for (loaded, of_file) in self.blocks.iter().zip(&file.blocks) {
            let block = loaded.block();
            match &of_file.contents {
                BlockContents::Input(input) => {
                    names.inputs.push(self.input(input)?);
                    inputs.push(BoundInput { block: block.clone(), offset: input.offset });
                    unbound.push(block.id);
                }
                _ => drop(leases.insert(block.id, Arc::new(engine.lease(block)))),
            }
        }
        let mut values = SmallVec::new();
        for (value, contents) in std::mem::take(&mut self.values) {
            names.values.push(value);
            values.push(contents);
        }
        let mut outputs: Vec<GraphOutput> = file.outputs.iter().map(output).collect();
        let control = self.control(file, (&mut nodes, &mut outputs), (&mut leases, &mut names))?;
        let made: FxHashMap<_, _> = leases.values().map(|lease| (lease.block.id, lease.block.size)).collect();
        let name = engine.new_kernel(&file.label);
        // The policy of the loading context applies. But if a graph relies on orders that a policy added, it keeps them
        // even under `Unchecked`.
        let missing = match missing_order(self.owner) {
            MissingOrder::Ignore if file.adds_order => MissingOrder::Add,
            missing => missing,
        };
        let leases = Arc::new(leases);
        let parts = PlanParts {
            label: name.1.clone(),
            nodes,
            queues: file.queues.iter().map(|queue| queue.as_str().into()).collect(),
            calls: Vec::new(),
            loops: chunked_loops(file, control.as_deref()),
            keep: leases.clone(),
            takes_turns: !made.is_empty(),
            names,
            inputs,
            values,
            control,
        };
        let plan = GraphPlan::new(parts, missing)?;
        let id = unique();
        let calls = Vec::new();
        let turns = vec![(id, Arc::default())];
        let inner = GraphInner { id, name, outputs, calls, messages: Vec::new(), turns, made, unbound };
        let owner = self.owner.clone();
        let inner = Arc::new(inner);
        let plan = Arc::new(plan);
        Ok(Graph { owner, inner, plan, leases, counts: None, spanning: None })
    }
}

/// Returns an output of the file.
fn output(of: &FileOutput) -> GraphOutput {
    GraphOutput {
        token: unique(),
        name: of.name.as_str().into(),
        bytes: (of.len * u64::from(of.element.size)).next_multiple_of(4),
        element: of.element.name.as_str().into(),
        element_size: of.element.size,
        len: of.len,
        download: None,
    }
}

/// Checks a launch. `misfit` makes the error for a launch that does not fit the kernel's interface.
///
/// # Errors
/// Returns `GridTooLarge`, `Alignment`, `BindingTooSmall`, `BindingTooLarge`, `Aliased`, or the error of `misfit`.
pub(super) fn check_launch(
    caps: &Caps,
    kernel: &KernelInner,
    launch: &FileLaunch,
    blocks: &[FileBlock],
    misfit: impl Fn(String) -> Error,
) -> Result<()> {
    let name = &kernel.name;
    let interface = &kernel.interface;
    if interface.messages.is_some() {
        return Err(misfit(format!("kernel `{name}` prints or asserts, which a kernel of a file does not")));
    }
    let found = launch.bindings.len();
    let needed = interface.bindings.len();
    if found != needed {
        return Err(misfit(format!("kernel `{name}` has {needed} arrays, and its launch has {found}")));
    }
    let needed = interface.params.as_ref().map_or(0, |params| params.size as usize);
    if launch.params.len() != needed {
        let found = launch.params.len();
        return Err(misfit(format!(
            "kernel `{name}` has {needed} bytes of parameters, and its launch has {found}"
        )));
    }
    let limit = caps.max_groups;
    let folds = interface.folds;
    if launch.groups.iter().any(|&groups| groups > limit) {
        let kernel = name.to_string();
        let groups = launch.groups.map(u64::from);
        return Err(ErrorDetail::GridTooLarge { kernel, groups, limit, folds }.into());
    }
    for (binding, range) in interface.bindings.iter().zip(&launch.bindings) {
        let label = &blocks[range.block as usize].label;
        check_binding(caps, (kernel, binding), range, label)?;
        if !is_whole_elements(binding, range.size) {
            let size = range.size;
            let name = &binding.name;
            return Err(misfit(format!("{size} bytes of argument `{name}` are not whole elements")));
        }
    }
    check_aliases(kernel, launch, blocks)
}

fn check_binding(
    caps: &Caps,
    (kernel, binding): (&KernelInner, &Binding),
    range: &FileRange,
    label: &str,
) -> Result<()> {
    let name = kernel.name.to_string();
    let arg = binding.name.clone();
    let found = range.size;
    let needed = binding.min_size;
    let limit = caps.max_binding;
    if !range.offset.is_multiple_of(caps.binding_alignment) {
        let array = label.into();
        let offset = range.offset;
        let needed = caps.binding_alignment;
        return Err(ErrorDetail::Alignment { array, offset, needed }.into());
    }
    if found < needed {
        return Err(ErrorDetail::BindingTooSmall { kernel: name, arg, found, needed }.into());
    }
    if found > limit {
        return Err(ErrorDetail::BindingTooLarge {
            subject: kernel.subject(),
            arg,
            found,
            limit,
            remedy: LAUNCH_PARTS,
        }
        .into());
    }
    Ok(())
}

/// Returns `false` if the binding is an array of elements and the size is not a multiple of the element size.
fn is_whole_elements(binding: &Binding, size: u64) -> bool {
    let stride = u64::from(binding.stride);
    let is_plain = binding.runtime_sized && binding.min_size == stride && stride.is_multiple_of(4);
    !is_plain || stride == 0 || size.is_multiple_of(stride)
}

/// Checks that two arguments share bytes only if the kernel declares both as read-only.
fn check_aliases(kernel: &KernelInner, launch: &FileLaunch, blocks: &[FileBlock]) -> Result<()> {
    let bindings = &kernel.interface.bindings;
    for (at, later) in launch.bindings.iter().enumerate() {
        for (before, earlier) in launch.bindings[..at].iter().enumerate() {
            let shares = earlier.block == later.block
                && overlap(&(earlier.offset..earlier.end()), &(later.offset..later.end()));
            let writes = bindings[at].declared.writes() || bindings[before].declared.writes();
            if shares && writes {
                let first = bindings[before].name.clone();
                let second = bindings[at].name.clone();
                let array = blocks[later.block as usize].label.clone();
                let subject = kernel.subject();
                let node = String::new();
                return Err(ErrorDetail::Aliased { subject, node, first, second, array }.into());
            }
        }
    }
    Ok(())
}

impl Loader<'_> {
    /// Makes the gate table, and adds the node that reads the loop counters as the last node.
    pub(super) fn control(
        &self,
        file: &GraphFile,
        (nodes, outputs): (&mut Vec<GraphNode>, &mut Vec<GraphOutput>),
        (leases, names): (&mut GraphLeases, &mut GraphNames),
    ) -> Result<Option<Arc<ControlTable>>> {
        let (gates, words) = file.words();
        if words == 0 {
            return Ok(None);
        }
        self.check_dispatches(file, nodes, gates.len() as u64)?;
        mark_first_gates(nodes, file.loops.len());
        let tokens: Vec<u64> = file.loops.iter().map(|_| unique()).collect();
        for (of, &token) in file.loops.iter().zip(&tokens) {
            names.loops.extend(of.label.as_deref().map(|label| (token, Arc::from(label))));
        }
        let (mut table, of_table) = make_table(self.owner, nodes, (words, &tokens), self.by.at)?;
        leases.extend(of_table.map(|lease| (lease.block.id, Arc::new(lease))));
        if !tokens.is_empty() {
            let command = add_counters(&mut table, outputs, self.by.at);
            let mut last = vec![None; file.queues.len()];
            nodes.iter().zip(0..).for_each(|(node, at)| last[node.queue as usize] = Some(at));
            let after = last.into_iter().skip(1).flatten().collect();
            nodes.push(GraphNode { queue: 0, after, command, gate: None });
        }
        Ok(Some(Arc::new(table)))
    }

    /// Checks that the number of dispatches in bodies is within the limit on this device.
    fn check_dispatches(&self, file: &GraphFile, nodes: &[GraphNode], gates: u64) -> Result<()> {
        let caps = self.owner.device().caps();
        let mut known: FxHashMap<*const NodeCommand, u64> = FxHashMap::default();
        let mut dispatches = gates;
        for node in nodes.iter().filter(|node| node.gate.is_some()) {
            let address = Arc::as_ptr(&node.command);
            let count = match known.get(&address) {
                Some(&count) => count,
                None => dispatches_of(&node.command.work, caps)?.len() as u64,
            };
            known.insert(address, count);
            dispatches += count;
            if dispatches > MOST_DISPATCHES {
                let call = "Graph::load";
                let queue = file.label.clone();
                let location = self.by.at;
                let limit = MOST_DISPATCHES;
                return Err(ErrorDetail::GraphTooLong { call, queue, location, dispatches, limit }.into());
            }
        }
        Ok(())
    }
}

/// Returns the chunked loops of a file, in the order of their nodes.
pub(super) fn chunked_loops(file: &GraphFile, table: Option<&ControlTable>) -> Vec<ChunkedLoop> {
    let Some(table) = table else { return Vec::new() };
    let (words, _) = file.words();
    let of_ring = |ring: Ring| {
        let nodes = ring.nodes();
        let word = words[ring.gates[0].0 as usize];
        let ends = [ring.gates[0].0, ring.gates[ring.gates.len() - 1].0];
        // The gates form a ring: the last one sets the word of the first one, which is outside the part.
        let gates = ends[0]..ends[1];
        let dispatches = gates.map(|gate| 1 + table.layout.places(words[gate as usize]).len() as u64).sum();
        ChunkedLoop { nodes, iterations: ring.iterations(), dispatches, bound: ring.bound, word }
    };
    let mut loops: Vec<ChunkedLoop> = file.rings().into_iter().map(of_ring).collect();
    loops.sort_by_key(|chunked| chunked.nodes.start);
    loops
}

impl Loader<'_> {
    /// Makes the nodes. Nodes that share a command in the file share it in the graph.
    pub(super) fn nodes(&self, file: &GraphFile) -> Result<Vec<GraphNode>> {
        let commands = file.commands.iter().map(|command| self.command(command));
        let commands = commands.collect::<Result<Vec<Arc<NodeCommand>>>>()?;
        let (past, (words, _)) = (file.past_iterations(), file.words());
        let word = |gate: Option<u32>| gate.map(|gate| words[gate as usize]);
        let mut nodes = Vec::with_capacity(file.nodes.len());
        let mut gates = 0;
        for node in &file.nodes {
            let command = &commands[node.command as usize];
            let mut gate = word(node.gate);
            let mut command = command.clone();
            if let FileWork::Gate(of_file) = file.work_of(node) {
                let Work::Gate(plain) = &command.work else { unreachable!("bug: a gate became other work") };
                let test = gate_test(of_file.test, past[gates]);
                let parent = gate.take();
                let previous = word(node.previous);
                let own = words[gates];
                let bound = file.bound_of(of_file);
                let placed = Gate { test, parent, previous, own, bound, ..(**plain).clone() };
                command = Arc::new(command.with_work(Work::Gate(Box::new(placed))));
                gates += 1;
            }
            let after = node.after.iter().copied().collect();
            nodes.push(GraphNode { queue: node.queue, after, command, gate });
        }
        Ok(nodes)
    }

    fn command(&self, command: &FileCommand) -> Result<Arc<NodeCommand>> {
        let (what, output) = match &command.work {
            FileWork::Launch(launch) => (CommandKind::Launch(self.kernels[launch.kernel as usize].id), None),
            FileWork::Fill { .. } => (CommandKind::Fill, None),
            FileWork::Upload { .. } => (CommandKind::Upload, None),
            FileWork::Read { output, .. } => (CommandKind::Read, Some(*output)),
            FileWork::Gate(_) => (CommandKind::Gate, None),
            FileWork::Nothing | FileWork::Copy { .. } | FileWork::Region(_) => (CommandKind::Copy, None),
        };
        let label = command.label.as_deref().map(Arc::from);
        let values = match &command.work {
            FileWork::Launch(launch) => launch.values.iter().map(|bound| self.bound_value(bound)).collect(),
            _ => SmallVec::new(),
        };
        let work = self.work(&command.work)?;
        Ok(Arc::new(NodeCommand { work, what, at: self.by.at, label, output, values }))
    }

    /// Returns a gate, not yet placed in an iteration.
    fn gate(&self, gate: &FileGate) -> Gate {
        let counter = gate.counter.map(|of| GateCounter { index: of.index, resets: false, last: of.last });
        let condition = self.span(&gate.condition);
        let test = gate_test(gate.test, 0);
        Gate { condition, test, parent: None, previous: None, own: 0, bound: None, counter }
    }

    fn work(&self, work: &FileWork) -> Result<Work> {
        Ok(match work {
            FileWork::Nothing => Work::Nothing,
            FileWork::Launch(launch) => Work::Launch(self.launch(launch)),
            FileWork::Copy { src, dst } => Work::Copy { src: self.span(src), dst: self.span(dst) },
            FileWork::Fill { dst, pattern } => {
                let pattern = Pattern::of(pattern.bytes());
                let pattern = pattern.expect("bug: a pattern of a file has another number of bytes");
                Work::Fill { dst: self.span(dst), pattern }
            }
            FileWork::Upload { dst, bytes } => {
                let fill = &mut |staging: &mut [u8]| staging[..bytes.len()].copy_from_slice(bytes);
                let staged = self.owner.engine().stage(dst.size, fill)?;
                Work::Upload { src: Payload::Kept(KeptBytes::new(staged, bytes)), dst: self.span(dst) }
            }
            FileWork::Region(region) => self.region(region).into(),
            FileWork::Read { src, .. } => Work::Read { src: self.span(src), slot: ReadSlot::new() },
            FileWork::Gate(gate) => Work::Gate(Box::new(self.gate(gate))),
        })
    }

    fn launch(&self, from: &FileLaunch) -> Box<Launch> {
        let kernel = &self.kernels[from.kernel as usize];
        let size = from.params.len() as u32;
        let mut launch = self.owner.engine().launches.launch(kernel, size);
        launch.groups = from.groups;
        launch.at = Some(self.by.at);
        launch.indirect = from.indirect.as_ref().map(|counts| self.span(counts));
        let bindings = from.bindings.iter().zip(&kernel.interface.bindings).zip(0..);
        launch.bindings.extend(bindings.map(|((range, binding), at)| {
            let Span { block, offset, size } = self.span(range);
            BoundArray { at, block, offset, size, used: binding.used }
        }));
        launch.params.set(ArgumentSlot::Value { offset: 0, size }, &from.params);
        launch
    }

    fn bound_value(&self, bound: &BoundValue) -> (u64, ArgumentSlot) {
        let (value, contents) = &self.values[bound.value as usize];
        (value.token, ArgumentSlot::Value { offset: bound.offset, size: contents.bytes().len() as u32 })
    }

    fn region(&self, region: &FileRegion) -> RegionCopy {
        let FileRegion { src, dst, from, to, row, axes } = region;
        let axis = |&FileAxis { count, src, dst }: &FileAxis| RowAxis { count, src, dst };
        let rows = Rows { from: *from, to: *to, row: *row, axes: axes.iter().map(axis).collect() };
        RegionCopy::new(self.memory(*src), self.memory(*dst), rows)
    }

    fn memory(&self, block: u32) -> &Arc<Block> {
        self.blocks[block as usize].block()
    }

    fn span(&self, range: &FileRange) -> Span {
        Span { block: self.memory(range.block).clone(), offset: range.offset, size: range.size }
    }
}

/// Returns the test of a gate after `past` finished iterations.
pub(super) fn gate_test(test: FileTest, past: u32) -> GateTest {
    match test {
        FileTest::Always => GateTest::Always,
        FileTest::NonZero => GateTest::NonZero,
        FileTest::Zero => GateTest::Zero,
        FileTest::Above => GateTest::Above(past),
        FileTest::SignedAbove => GateTest::SignedAbove(past),
        FileTest::Never => GateTest::Never,
    }
}
