//! The uses of a whole graph: which ranges of blocks its nodes read and write.

use crate::memory::last_use::LastUse;
use crate::work::graph_data::control_table::ControlTable;
use crate::work::graph_data::graph_names::BoundInput;
use crate::work::graph_data::use_counts::UseCounts;
use crate::work::kernel_launch::BoundArray;
use fencepost_kernels::Access;
use std::ops::Range;
use std::sync::Arc;

/// Uses of a part of a graph whose inputs are bound.
#[derive(Default)]
pub(crate) struct BoundUses {
    pub(crate) bound: Arc<[BoundArray]>,
    /// Last use of these bytes by a replay.
    pub(crate) last: LastUse,
}

/// Uses of nodes: those of the inputs apart, because each run may bind other arrays to the inputs.
pub(crate) struct SplitUses {
    /// Uses of bytes that belong to no input.
    pub(crate) fixed: Arc<[BoundArray]>,
    /// Used ranges of each input, from the start of the input.
    inputs: Vec<Vec<(Range<u64>, Access)>>,
}

impl SplitUses {
    /// Returns the uses that are counted, and those of the table of the gates.
    pub(crate) fn new(counts: &UseCounts, control: Option<&ControlTable>) -> Self {
        let control = control.into_iter().flat_map(ControlTable::uses);
        Self { fixed: counts.fixed().chain(control).collect(), inputs: counts.inputs().collect() }
    }

    /// Returns all uses if the inputs stand for the bytes `bound`.
    pub(crate) fn bound(&self, bound: &[BoundInput]) -> BoundUses {
        let last = LastUse::default();
        if self.inputs.is_empty() {
            return BoundUses { bound: self.fixed.clone(), last };
        }
        let of_inputs = self.inputs.iter().zip(bound).flat_map(|(ranges, bound)| {
            ranges.iter().map(|(range, access)| BoundArray {
                at: 0,
                block: bound.block.clone(),
                offset: bound.offset + range.start,
                size: range.end - range.start,
                used: Some(*access),
            })
        });
        BoundUses { bound: self.fixed.iter().cloned().chain(of_inputs).collect(), last }
    }
}
