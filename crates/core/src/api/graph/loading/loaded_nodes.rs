//! The nodes of a loaded graph: the commands of the file on the blocks of the device.

use crate::api::graph::loading::Loader;
use crate::error::Result;
use crate::error::site::CommandKind;
use crate::memory::block::Block;
use crate::memory::read_slot::ReadSlot;
use crate::memory::staged_bytes::{KeptBytes, Payload};
use crate::work::graph_data::gate::{Gate, GateCounter};
use crate::work::graph_data::graph_file::{
    BoundValue, FileCommand, FileGate, FileLaunch, FileRange, FileRegion, FileWork, GraphFile,
};
use crate::work::graph_data::graph_node::{GraphNode, NodeCommand};
use crate::work::kernel_launch::{BoundArray, Launch};
use crate::work::region_copy::{RegionCopy, Rows};
use crate::work::span::Span;
use crate::work::step::Work;
use fencepost_kernels::ArgumentSlot;
use smallvec::SmallVec;
use std::sync::Arc;

impl Loader<'_> {
    /// Makes the nodes. Nodes with one command of the file share it.
    pub(super) fn nodes(&self, file: &GraphFile) -> Result<Vec<GraphNode>> {
        let commands = file.commands.iter().map(|command| self.command(command));
        let commands = commands.collect::<Result<Vec<Arc<NodeCommand>>>>()?;
        let (past, (words, _)) = (file.past_iterations(), file.words());
        let word = |gate: Option<u32>| gate.map(|gate| words[gate as usize]);
        let (mut nodes, mut gates) = (Vec::with_capacity(file.nodes.len()), 0);
        for node in &file.nodes {
            let command = &commands[node.command as usize];
            let (mut gate, mut command) = (word(node.gate), command.clone());
            if let FileWork::Gate(of_file) = file.work_of(node) {
                let Work::Gate(plain) = &command.work else { unreachable!("bug: a gate became other work") };
                let test = of_file.test.behind(past[gates]);
                let (parent, previous) = (gate.take(), word(node.previous));
                let (own, bound) = (words[gates], file.bound_of(of_file));
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

    /// Returns a gate without its place among the iterations.
    fn gate(&self, gate: &FileGate) -> Gate {
        let counter = gate.counter.map(|of| GateCounter { index: of.index, resets: false, last: of.last });
        let (condition, test) = (self.span(&gate.condition), gate.test.behind(0));
        Gate { condition, test, parent: None, previous: None, own: 0, bound: None, counter }
    }

    fn work(&self, work: &FileWork) -> Result<Work> {
        Ok(match work {
            FileWork::Nothing => Work::Nothing,
            FileWork::Launch(launch) => Work::Launch(self.launch(launch)),
            FileWork::Copy { src, dst } => Work::Copy { src: self.span(src), dst: self.span(dst) },
            FileWork::Fill { dst, pattern } => Work::Fill { dst: self.span(dst), pattern: *pattern },
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
        let (kernel, size) = (&self.kernels[from.kernel as usize], from.params.len() as u32);
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
        let rows = Rows { from: *from, to: *to, row: *row, axes: axes.iter().copied().collect() };
        RegionCopy::new(self.memory(*src), self.memory(*dst), rows)
    }

    fn memory(&self, block: u32) -> &Arc<Block> {
        self.blocks[block as usize].block()
    }

    fn span(&self, range: &FileRange) -> Span {
        Span { block: self.memory(range.block).clone(), offset: range.offset, size: range.size }
    }
}
