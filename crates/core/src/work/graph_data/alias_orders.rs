//! The orders of a graph's nodes for the ways in which its inputs may overlap other bytes.
//!
//! Two bindings of the inputs need the same order if the same uses overlap. A signature describes the overlaps, and a
//! graph keeps the orders of the last few signatures. A signature names blocks by their numbers and keeps no memory.

use crate::memory::heap::{BlockId, overlap};
use crate::work::graph_data::graph_names::{BoundInput, GraphNames};
use crate::work::graph_data::graph_order::GraphOrder;
use crate::work::kernel_launch::BoundArray;
use fencepost_sync::prim::{Mutex, lock};
use smallvec::SmallVec;
use std::sync::Arc;

/// Most signatures whose orders are kept.
const MOST_KEPT: usize = 4;

/// Overlaps of the inputs with each other and with bytes of no input.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct AliasSignature(SmallVec<[Alias; 2]>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Alias {
    /// Two inputs overlap. The second one starts `distance` bytes after the first one.
    Inputs { first: u32, second: u32, distance: i64 },
    /// An input overlaps bytes that other nodes use.
    Fixed { input: u32, block: BlockId, offset: u64 },
}

/// One order for each segment of a plan.
pub(crate) type SegmentOrders = SmallVec<[Arc<GraphOrder>; 1]>;

/// Orders of the last few signatures, the most recently used last.
#[derive(Default)]
pub(crate) struct AliasOrders(Mutex<Vec<(AliasSignature, SegmentOrders)>>);

impl AliasSignature {
    /// Returns the signature of a binding of the inputs. `fixed` lists the uses of bytes that belong to no input.
    pub(crate) fn new(names: &GraphNames, bound: &[BoundInput], fixed: &[BoundArray]) -> Self {
        let mut all = SmallVec::new();
        for (at, (input, own)) in names.inputs.iter().zip(bound).enumerate() {
            let range = input.range(own);
            for (before, (other, earlier)) in names.inputs.iter().zip(bound).enumerate().take(at) {
                if earlier.block.id == own.block.id && overlap(&other.range(earlier), &range) {
                    let (first, second) = (before as u32, at as u32);
                    let distance = own.offset as i64 - earlier.offset as i64;
                    all.push(Alias::Inputs { first, second, distance });
                }
            }
            let meets =
                |fixed: &BoundArray| fixed.block.id == own.block.id && overlap(&fixed.range(), &range);
            if fixed.iter().any(meets) {
                all.push(Alias::Fixed { input: at as u32, block: own.block.id, offset: own.offset });
            }
        }
        Self(all)
    }
}

impl AliasOrders {
    /// Returns the orders for a signature, if they are kept.
    pub(crate) fn find(&self, signature: &AliasSignature) -> Option<SegmentOrders> {
        let mut kept = lock(&self.0);
        let at = kept.iter().rposition(|(known, _)| known == signature)?;
        let found = kept.remove(at);
        let orders = found.1.clone();
        kept.push(found);
        Some(orders)
    }

    /// Keeps the orders for a signature, in place of the orders that were used least recently.
    pub(crate) fn keep(&self, signature: AliasSignature, orders: SegmentOrders) {
        let mut kept = lock(&self.0);
        if kept.iter().any(|(known, _)| *known == signature) {
            return;
        }
        if kept.len() == MOST_KEPT {
            kept.remove(0);
        }
        kept.push((signature, orders));
    }
}
