//! The memory of a graph's control flow: the table of its gates.

use crate::api::graph::graph_output::GraphOutput;
use crate::api::graph::tape::{TapeState, unique};
use crate::api::queue::transfer::ArrayOps;
use crate::arrays::storage::Storage;
use crate::error::Result;
use crate::error::site::CommandKind;
use crate::memory::block::Block;
use crate::memory::heap::Heap;
use crate::memory::read_slot::ReadSlot;
use crate::memory::staged_bytes::Payload;
use crate::record::gated_work::dispatches_of;
use crate::runtime::owner::Owner;
use crate::scheduler::free_blocks::BlockLease;
use crate::scheduler::ordering::admission::Admission;
use crate::work::graph_data::control_layout::{ControlContents, lay_out};
use crate::work::graph_data::control_table::{COUNTS, ControlTable};
use crate::work::graph_data::gate::{Gate, GateCounter};
use crate::work::graph_data::graph_node::{GraphNode, NodeCommand};
use crate::work::span::Span;
use crate::work::step::Work;
use fencepost_sync::Slot;
use rustc_hash::FxHashMap;
use std::panic::Location;
use std::sync::Arc;

/// Makes the table of an ended capture, if the capture has gates. Adds the read of the counters after the last node.
///
/// # Errors
/// Returns `OutOfMemory` or `TooLarge`.
pub(crate) fn add(
    owner: &Owner,
    ended: &mut TapeState,
    at: &'static Location<'static>,
) -> Result<Option<ControlTable>> {
    if ended.gates == 0 {
        return Ok(None);
    }
    mark_first_gates(&mut ended.nodes, ended.loops.len());
    let (mut table, leases) = make_table(owner, &ended.nodes, (ended.gates, &ended.loops), at)?;
    for lease in leases {
        ended.leases.insert(lease.block.id, Arc::new(lease));
    }
    ended.takes_turns = true;
    if !ended.loops.is_empty() {
        let read = add_counters(&mut table, &mut ended.outputs, at);
        ended.push_last(read);
    }
    Ok(Some(table))
}

/// Adds the output of the counters of all loops. Returns the command that reads them, for the last node.
pub(crate) fn add_counters(
    table: &mut ControlTable,
    outputs: &mut Vec<GraphOutput>,
    at: &'static Location<'static>,
) -> Arc<NodeCommand> {
    let output = outputs.len() as u32;
    table.layout.output = Some(output);
    let (bytes, read) = read_of_counters(table, output, at);
    let (token, name) = (unique(), "counters of loops".into());
    let element = "u32".into();
    outputs.push(GraphOutput {
        token,
        name,
        bytes,
        element,
        element_size: 4,
        len: bytes / 4,
        download: None,
    });
    read
}

/// Lets the first gate of each loop reset the loop's counter.
pub(crate) fn mark_first_gates(nodes: &mut [GraphNode], loops: usize) {
    let mut seen = vec![false; loops];
    for node in nodes {
        let Work::Gate(gate) = &node.command.work else { continue };
        let Some(counter) = gate.counter else { continue };
        let resets = !std::mem::replace(&mut seen[counter.index as usize], true);
        if counter.resets != resets {
            let gate = Gate { counter: Some(GateCounter { resets, ..counter }), ..(**gate).clone() };
            node.command = Arc::new(node.command.with_work(Work::Gate(Box::new(gate))));
        }
    }
}

/// Makes the gate table of `nodes`, which do not include the read of the counters. The leases keep the table's memory
/// alive. An edit of a graph makes a new table, because replays in flight use the old one.
///
/// # Errors
/// Returns `OutOfMemory` or `TooLarge`.
pub(crate) fn make_table(
    owner: &Owner,
    nodes: &[GraphNode],
    (gates, loops): (u32, &[u64]),
    at: &'static Location<'static>,
) -> Result<(ControlTable, [BlockLease; 2])> {
    let caps = owner.device().caps();
    let mut known: FxHashMap<*const NodeCommand, Arc<[[u32; 3]]>> = FxHashMap::default();
    let dispatches = |node: &GraphNode| {
        let found = || dispatches_of(&node.command.work, caps).unwrap_or_default();
        known.entry(Arc::as_ptr(&node.command)).or_insert_with(found).clone()
    };
    let contents = |node: &GraphNode| match &node.command.work {
        Work::Upload { src: Payload::Kept(kept), dst } => Some((kept.bytes.clone(), dst.size)),
        _ => None,
    };
    let ControlContents { layout, bytes } = lay_out(nodes, (gates, loops.to_vec()), dispatches, contents);
    let by = Admission { slot: Slot::CONTEXT, what: CommandKind::Upload, at };
    let allocate = |bytes: u64| Storage::allocate(owner, Heap::Device, bytes, &"table of a graph".into(), by);
    let words = allocate(bytes.len() as u64)?;
    let counts = allocate(4 * u64::from(COUNTS * layout.dispatches().max(1)))?;
    let span = Span { block: words.block().clone(), offset: 0, size: bytes.len() as u64 };
    ArrayOps { owner, by, captured: None }.upload_words(span, &bytes)?;
    // The leases keep the blocks when the storages are dropped.
    let lease = |block: &Arc<Block>| owner.engine().lease(block);
    let leases = [lease(words.block()), lease(counts.block())];
    let table = ControlTable { words: words.block().clone(), counts: counts.block().clone(), layout };
    Ok((table, leases))
}

/// Returns the command that reads the counters of all loops at the end of a replay, and the bytes that it reads.
pub(crate) fn read_of_counters(
    table: &ControlTable,
    output: u32,
    at: &'static Location<'static>,
) -> (u64, Arc<NodeCommand>) {
    let range = table.layout.counters();
    let size = range.end - range.start;
    let src = Span { block: table.words.clone(), offset: range.start, size };
    let work = Work::Read { src, slot: ReadSlot::new() };
    let (what, label) = (CommandKind::Read, Some("counters of loops".into()));
    (size, Arc::new(NodeCommand { work, what, at, label, output: Some(output), values: <_>::default() }))
}
