//! The inputs, values and named nodes of a graph, and which nodes use them.
//!
//! When a graph is loaded, a hash of each kernel's interface shows if the kernel's arguments have changed.

use crate::error::{Error, ErrorDetail, Result};
use crate::memory::block::{Block, overlap};
use crate::work::graph::nodes::{CommandPart, GraphNode, parts};
use fencepost_graph_file::container::ByteWriter;
use fencepost_kernels::{Access, ArgumentSlot, DType, Interface};
use rustc_hash::FxHashMap;
use siphasher::sip::SipHasher13;
use smallvec::SmallVec;
use std::hash::Hasher;
use std::ops::Range;
use std::sync::Arc;

/// Inputs, values and labels of a graph. Edits do not change them.
#[derive(Default)]
pub(crate) struct GraphNames {
    pub(crate) inputs: Vec<GraphInput>,
    pub(crate) values: Vec<GraphParameter>,
    /// Nodes of each label.
    pub(crate) labels: FxHashMap<Arc<str>, SmallVec<[u32; 1]>>,
    /// Labels of loops, by the token of the loop.
    pub(crate) loops: FxHashMap<u64, Arc<str>>,
}

/// An array that a replay can replace.
#[derive(Clone)]
pub(crate) struct GraphInput {
    pub(crate) name: Arc<str>,
    pub(crate) dtype: DType,
    pub(crate) shape: SmallVec<[usize; 4]>,
    pub(crate) padded: SmallVec<[usize; 4]>,
    /// Size of the array in bytes, including padding.
    pub(crate) bytes: u64,
    /// Offset in its block of the array that the capture used, in bytes.
    pub(crate) offset: u64,
    /// Parts of commands that use bytes of the input, in the order of the nodes.
    pub(crate) places: Vec<InputPlace>,
    /// `true` if a kernel binds bytes of the input.
    pub(crate) is_bound: bool,
    /// `true` if a command writes bytes of the input.
    pub(crate) is_written: bool,
}

/// A part of a command that uses bytes of an input.
#[derive(Clone)]
pub(crate) struct InputPlace {
    pub(crate) node: u32,
    pub(crate) part: CommandPart,
    /// Number of bytes from the start of the input to the used bytes.
    pub(crate) start: u64,
}

/// A named value, which is a parameter of launches.
#[derive(Clone)]
pub(crate) struct GraphParameter {
    /// Identifier of the value, unique among the values of all graphs.
    pub(crate) token: u64,
    pub(crate) name: Arc<str>,
    pub(crate) dtype: DType,
    /// Parameters that hold the value, in the order of the nodes.
    pub(crate) places: Vec<(u32, ArgumentSlot)>,
}

/// Bytes that are bound to an input.
#[derive(Clone)]
pub(crate) struct BoundInput {
    pub(crate) block: Arc<Block>,
    pub(crate) offset: u64,
}

impl GraphInput {
    /// Returns the size of the input in bytes, rounded up to whole words.
    pub(crate) fn size(&self) -> u64 {
        self.bytes.next_multiple_of(4)
    }

    /// Returns the range of a block that is bound to the input.
    pub(crate) fn range(&self, bound: &BoundInput) -> Range<u64> {
        bound.offset..bound.offset + self.size()
    }
}

impl GraphNames {
    /// Returns the inputs and the values without their nodes, for a plan of other nodes.
    pub(crate) fn without_nodes(&self) -> Self {
        let input = |input: &GraphInput| GraphInput {
            places: Vec::new(),
            is_bound: false,
            is_written: false,
            ..input.clone()
        };
        let value = |value: &GraphParameter| GraphParameter { places: Vec::new(), ..value.clone() };
        let inputs = self.inputs.iter().map(input);
        let values = self.values.iter().map(value);
        Self {
            inputs: inputs.collect(),
            values: values.collect(),
            labels: FxHashMap::default(),
            loops: self.loops.clone(),
        }
    }

    /// Finds the nodes of the inputs, values and labels. `bound` has the bytes of each input.
    ///
    /// # Errors
    /// Returns `Graph` if a node uses bytes of an input and bytes outside of it.
    pub(crate) fn index(&mut self, graph: &str, nodes: &[GraphNode], bound: &[BoundInput]) -> Result<()> {
        for (at, node) in nodes.iter().enumerate() {
            let at = at as u32;
            if let Some(label) = &node.command.label {
                self.labels.entry(label.clone()).or_default().push(at);
            }
            for &(token, slot) in &node.command.values {
                // The node may come from a child graph and hold a value of it, which has no name in this graph.
                if let Some(value) = self.values.iter_mut().find(|value| value.token == token) {
                    value.places.push((at, slot));
                }
            }
            if !bound.is_empty() {
                self.index_parts(graph, at, node, bound)?;
            }
        }
        Ok(())
    }

    fn index_parts(&mut self, graph: &str, at: u32, node: &GraphNode, bound: &[BoundInput]) -> Result<()> {
        for named in parts(&node.command.work) {
            for (input, bound) in self.inputs.iter_mut().zip(bound) {
                let whole = input.range(bound);
                if named.block.id != bound.block.id || !overlap(&whole, &named.range) {
                    continue;
                }
                if named.range.start < whole.start || whole.end < named.range.end {
                    let array = named.block.order().label.to_string();
                    return Err(outside((graph, &array), node, input, &named.range, &whole));
                }
                let start = named.range.start - whole.start;
                input.is_bound |= matches!(named.part, CommandPart::Binding(_));
                input.is_written |= named.write == Some(true);
                input.places.push(InputPlace { node: at, part: named.part, start });
            }
        }
        Ok(())
    }

    /// Returns the input that a part of a command uses.
    pub(crate) fn input_of(&self, node: u32, part: CommandPart) -> Option<&GraphInput> {
        self.input_number(node, part).map(|at| &self.inputs[at])
    }

    /// Returns the number of the input that a part of a command uses.
    pub(crate) fn input_number(&self, node: u32, part: CommandPart) -> Option<usize> {
        self.inputs.iter().position(|input| {
            let first = input.places.partition_point(|place| place.node < node);
            input.places[first..]
                .iter()
                .take_while(|place| place.node == node)
                .any(|place| place.part == part)
        })
    }

    /// Returns the value that a parameter of a node holds.
    pub(crate) fn value_of(&self, node: u32, slot: ArgumentSlot) -> Option<&GraphParameter> {
        self.values.iter().find(|value| {
            let first = value.places.partition_point(|(at, _)| *at < node);
            value.places[first..].iter().take_while(|(at, _)| *at == node).any(|(_, other)| *other == slot)
        })
    }
}

#[cold]
fn outside(
    (graph, array): (&str, &str),
    node: &GraphNode,
    input: &GraphInput,
    used: &Range<u64>,
    whole: &Range<u64>,
) -> Error {
    let problem = format!(
        "node `{}`, captured at {}, uses bytes {used:?} of the memory of array `{array}`, and input `{}` is bytes \
         {whole:?} of it: a node uses only bytes of the input or no bytes of it",
        node.command.name(),
        node.command.at,
        input.name
    );
    ErrorDetail::Graph { graph: graph.into(), problem }.into()
}

/// Returns a hash of the entry point's name, and of everything in its interface that affects the placement of
/// arguments. It is the same on all machines.
pub(crate) fn interface_hash(entry: &str, interface: &Interface) -> u64 {
    let mut out = ByteWriter::default();
    out.text(entry);
    interface.workgroup.iter().for_each(|&size| {
        out.u32(size);
    });
    out.list(&interface.bindings, |out, binding| {
        let declared = match binding.declared {
            Access::Read => 0,
            Access::Write => 1,
            Access::ReadWrite => 2,
        };
        out.u32(binding.index).u32(declared).u32(binding.stride).u64(binding.min_size);
        out.u32(binding.runtime_sized.into()).text(&binding.name).text(&binding.element);
    });
    out.list(interface.params.as_slice(), |out, params| {
        out.u32(params.index).u32(params.size);
        out.list(&params.fields, |out, field| {
            out.text(&field.name).text(&field.text).u32(field.offset).u32(field.size);
        });
    });
    let mut hasher = SipHasher13::new();
    hasher.write(&out.bytes);
    hasher.finish()
}
