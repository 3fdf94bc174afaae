//! Graphs from files: the codec reads plain data, the device's limits are checked, and the plain data becomes a graph.

mod launch_check;
#[cfg(all(test, cpu))]
mod load_tests;
mod loaded_control;
mod loaded_loops;
mod loaded_nodes;
#[cfg(all(test, cpu))]
mod mutation_tests;

use crate::api::context::Context;
use crate::api::context::compile_job::Job;
use crate::api::graph::graph_handle::{Graph, GraphInner, GraphLeases};
use crate::api::graph::graph_output::GraphOutput;
use crate::api::graph::loading::launch_check::check_launch;
use crate::api::graph::loading::loaded_loops::chunked_loops;
use crate::api::graph::spanning::missing_order;
use crate::api::graph::tape::unique;
use crate::api::queue::transfer::ArrayOps;
use crate::arrays::device_array::DeviceArray;
use crate::error::site::CommandKind;
use crate::error::{Error, Kind, Result};
use crate::memory::block::{Block, Memory};
use crate::memory::cpu_memory::CpuMemory;
use crate::memory::heap::{BlockId, Heap};
use crate::runtime::owner::Owner;
use crate::scheduler::ordering::admission::Admission;
use crate::work::compiled_kernel::KernelInner;
use crate::work::graph_data::decode_graph::decode;
use crate::work::graph_data::decoded_file::DecodedFile;
use crate::work::graph_data::file_container::{HEADER, length};
use crate::work::graph_data::gate_order::check_gate_order;
use crate::work::graph_data::graph_file::{
    BlockContents, FileBlock, FileFault, FileInput, FileKernel, FileOutput, FileValue, FileWork, GraphFile,
};
use crate::work::graph_data::graph_names::{BoundInput, GraphInput, GraphNames, GraphParameter};
use crate::work::graph_data::graph_node::GraphNode;
use crate::work::graph_data::graph_order::MissingOrder;
use crate::work::graph_data::graph_plan::{GraphPlan, PlanParts};
use crate::work::graph_data::interface_hash::interface_hash;
use fencepost_kernels::{DType, ShaderSource, Value, plain_file};
use fencepost_sync::Slot;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::io::{self, Read};
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;

/// The options of [`Context::load_graph_with`].
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// Maximum size of the file, and of the memory that its graph owns, in bytes. The default is 1 GiB.
    pub memory_limit: u64,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { memory_limit: 1 << 30 }
    }
}

impl Context {
    /// Loads a graph from a file that [`Graph::save`] wrote, on this or another machine. The call blocks until the
    /// kernels of the graph are compiled.
    ///
    /// The call checks every byte: checksums, indices and ranges first, then the limits of this context's device, as a
    /// launch checks them. A damaged file is an error, and a file made by an attacker is an error or a valid graph. A
    /// loaded graph still launches the kernels of its file: load only files that are trusted to run on the device.
    ///
    /// # Errors
    /// Returns [`Kind::GraphFileUnread`] if the file cannot be read or is not a plain file; [`Kind::GraphFile`] if it
    /// is damaged or needs a newer library; [`Kind::GraphMemory`] above the limit; the errors of
    /// [`kernel_from`](Self::kernel_from), of a launch and of a new array if the graph does not fit the device.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// use fencepost::Kind;
    /// let error = ctx.load_graph("no such file").unwrap_err();
    /// assert!(matches!(error.kind(), Kind::GraphFileUnread { .. }));
    /// # drop(queue);
    /// ```
    #[track_caller]
    pub fn load_graph(&self, path: impl AsRef<Path>) -> Result<Graph> {
        self.load_graph_with(path, LoadOptions::default())
    }

    /// Loads a graph from a file as [`load_graph`](Self::load_graph) does, with options.
    ///
    /// # Errors
    /// Returns the errors of [`load_graph`](Self::load_graph).
    #[track_caller]
    pub fn load_graph_with(&self, path: impl AsRef<Path>, options: LoadOptions) -> Result<Graph> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let bytes = read_file(path, &file, options)?;
        self.graph_of(&bytes, file, options, Location::caller())
    }

    /// Loads a graph from the bytes that [`Graph::to_bytes`] returned, as [`load_graph`](Self::load_graph) loads a
    /// file.
    ///
    /// # Errors
    /// Returns the errors of [`load_graph`](Self::load_graph).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// use fencepost::Kind;
    /// let (graph, _) = queue.capture(|c| c.read_as("sevens", &c.full([4], 7_u32)?))?;
    /// let mut bytes = graph.to_bytes()?;
    /// assert_eq!(ctx.graph_from_bytes(&bytes)?.nodes(), 2);
    /// bytes[100] ^= 1;
    /// let error = ctx.graph_from_bytes(&bytes).unwrap_err();
    /// assert!(matches!(error.kind(), Kind::GraphFile { .. }));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn graph_from_bytes(&self, bytes: &[u8]) -> Result<Graph> {
        self.graph_from_bytes_with(bytes, LoadOptions::default())
    }

    /// Loads a graph from bytes as [`graph_from_bytes`](Self::graph_from_bytes) does, with options.
    ///
    /// # Errors
    /// Returns the errors of [`load_graph`](Self::load_graph).
    #[track_caller]
    pub fn graph_from_bytes_with(&self, bytes: &[u8], options: LoadOptions) -> Result<Graph> {
        self.graph_of(bytes, "of bytes in memory".into(), options, Location::caller())
    }

    fn graph_of(
        &self,
        bytes: &[u8],
        file: String,
        options: LoadOptions,
        at: &'static Location<'static>,
    ) -> Result<Graph> {
        let decoded = decode(bytes).map_err(|fault| damaged(&file, fault))?;
        check_memory(&file, decoded.graph.memory(), options)?;
        check_gate_order(&decoded).map_err(|fault| damaged(&file, fault))?;
        let owner = &self.owner;
        let by = Admission { slot: Slot::CONTEXT, what: CommandKind::Upload, at };
        let mut loader =
            Loader { owner, file, by, kernels: Vec::new(), blocks: Vec::new(), values: Vec::new() };
        loader.load(&decoded)
    }
}

/// Returns the bytes of a file if the size in its header is within the limit.
fn read_file(path: &Path, file: &str, options: LoadOptions) -> Result<Vec<u8>> {
    let unreadable = |error: io::Error| {
        Error::from(Kind::GraphFileUnread { file: file.into(), reason: error.to_string() })
    };
    let opened = plain_file::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    (&opened).take(HEADER).read_to_end(&mut bytes).map_err(unreadable)?;
    let total = length(&bytes).map_err(|fault| damaged(file, fault))?;
    check_memory(file, total, options)?;
    // A read of one byte more than the header's size shows whether bytes follow the file.
    (&opened).take((total + 1).saturating_sub(HEADER)).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

fn check_memory(file: &str, needed: u64, options: LoadOptions) -> Result<()> {
    let limit = options.memory_limit;
    if needed <= limit {
        return Ok(());
    }
    Err(Kind::GraphMemory { file: file.into(), needed, limit }.into())
}

#[cold]
fn damaged(file: &str, FileFault { offset, reason }: FileFault) -> Error {
    Kind::GraphFile { file: file.into(), offset, reason }.into()
}

/// A loader that makes a graph from plain data whose indices and ranges are valid.
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
    /// A block without memory, in place of an input until a replay binds an array.
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

    /// Makes the array of a block, with its first bytes.
    fn block(&self, block: &FileBlock) -> Result<LoadedBlock> {
        let maker = ArrayOps { owner: self.owner, by: self.by, captured: None };
        let words = (block.size / 4).max(1) as usize;
        let array = match &block.contents {
            BlockContents::Owned => maker.zeros([words], [words])?,
            BlockContents::Constant(bytes) => {
                let array = maker.empty([words], [words])?;
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
        let (mut leases, mut unbound) = (GraphLeases::default(), Vec::new());
        let (mut names, mut inputs) = (GraphNames::default(), SmallVec::new());
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
        // The policy of this context applies. A graph that relies on added orders keeps them even under `Unchecked`.
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
        let (id, calls) = (unique(), Vec::new());
        let turns = vec![(id, Arc::default())];
        let inner = GraphInner { id, name, outputs, calls, messages: Vec::new(), turns, made, unbound };
        let (owner, inner, plan) = (self.owner.clone(), Arc::new(inner), Arc::new(plan));
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
