//! The dispatches of gates, and of the group counts of indirect launches in bodies.

use crate::error::Result;
use crate::record::own_kernels::{OwnCommands, OwnDispatch, OwnGroups, OwnKernel, OwnRange};
use crate::work::graph_data::control_table::{COUNTS, ControlTable, GatedPlace};
use crate::work::graph_data::gate::Gate;
use crate::work::span::Span;

/// Dispatches of a body that one workgroup handles.
const DISPATCHES_EACH: u32 = 64;
/// Stand-in for a word that a gate does not have.
const NONE: u32 = u32::MAX;

/// Records the dispatch of a gate.
///
/// # Errors
/// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
pub(crate) fn record_gate<'e>(
    commands: &mut impl OwnCommands<'e>,
    gate: &'e Gate,
    table: &'e ControlTable,
) -> Result<()> {
    let (condition, at) = bound(commands, &gate.condition);
    let layout = &table.layout;
    let places = layout.places(gate.own);
    let [test, limit] = gate.test.code();
    let counter = gate.counter;
    let flag = |flag: u32, is: bool| if is { flag } else { 0 };
    let flags = flag(1, counter.is_some_and(|counter| counter.resets))
        | flag(2, counter.is_some_and(|counter| counter.last))
        | flag(4, gate.bound.is_some());
    let params = [
        at,
        test,
        limit,
        gate.parent.unwrap_or(NONE),
        gate.previous.unwrap_or(NONE),
        gate.own,
        places.start,
        places.end - places.start,
        layout.wanted_at(),
        counter.map_or(NONE, |counter| layout.counter_at(counter.index)),
        flags,
        gate.bound.unwrap_or(NONE),
    ];
    let groups = OwnGroups::Fixed((places.end - places.start).div_ceil(DISPATCHES_EACH).max(1));
    let [words, counts] = tables(table);
    let ranges = &[condition, words, counts];
    commands.dispatch_own(&OwnDispatch { kernel: OwnKernel::Gate, params: &params, ranges, groups })
}

/// Records the copy of an indirect launch's group counts to the table, where they become zeros if the body of the
/// launch does not execute.
///
/// # Errors
/// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
pub(crate) fn record_gated_groups<'e>(
    commands: &mut impl OwnCommands<'e>,
    wanted: &'e Span,
    place: GatedPlace<'e>,
) -> Result<()> {
    let (wanted, at) = bound(commands, wanted);
    let [mut words, counts] = tables(place.table);
    words.write = false;
    let (params, ranges) =
        (&[at, commands.caps().max_groups, place.gate, place.first], &[wanted, words, counts]);
    let (kernel, groups) = (OwnKernel::GateGroups, OwnGroups::Fixed(1));
    commands.dispatch_own(&OwnDispatch { kernel, params, ranges, groups })
}

/// Returns the range to bind for words of user data, and the index of the first word in it.
fn bound<'e>(commands: &impl OwnCommands<'e>, span: &'e Span) -> (OwnRange<'e>, u32) {
    let alignment = commands.caps().binding_alignment;
    let offset = span.offset / alignment * alignment;
    let size = span.offset + span.size - offset;
    let range = OwnRange { block: &span.block, offset, size, write: false };
    (range, ((span.offset - offset) / 4) as u32)
}

/// Returns the ranges of the table that a gate binds.
fn tables(table: &ControlTable) -> [OwnRange<'_>; 2] {
    let layout = &table.layout;
    let counts = 4 * u64::from(COUNTS * layout.dispatches().max(1));
    [
        OwnRange { block: &table.words, offset: 0, size: layout.head(), write: true },
        OwnRange { block: &table.counts, offset: 0, size: counts, write: true },
    ]
}
