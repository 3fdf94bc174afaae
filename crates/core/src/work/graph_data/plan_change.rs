//! The change of a plan: other commands, other arrays and other values. The change makes a new plan, which shares
//! everything else with the old one.

use crate::error::{Kind, Result};
use crate::work::graph_data::alias_orders::AliasOrders;
use crate::work::graph_data::control_table::ControlTable;
use crate::work::graph_data::graph_names::BoundInput;
use crate::work::graph_data::graph_node::{GraphNode, NodeCommand};
use crate::work::graph_data::graph_plan::{GraphPlan, PlanId, derive_all};
use crate::work::graph_data::graph_uses::SplitUses;
use crate::work::graph_data::node_parts::{CommandPart, check_parts, move_part};
use fencepost_kernels::Value;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;

/// Changes that one new plan gets together.
#[derive(Default)]
pub(crate) struct PlanChange {
    /// Nodes with other commands, in ascending order.
    pub(crate) commands: Vec<(u32, Arc<NodeCommand>)>,
    /// Uses of the new plan, if the other commands may use other bytes.
    pub(crate) split: Option<Arc<[SplitUses]>>,
    /// Inputs with other bytes.
    pub(crate) inputs: SmallVec<[(usize, BoundInput); 2]>,
    /// Values with other contents.
    pub(crate) values: SmallVec<[(usize, Value); 1]>,
    /// Owner of the new plan's memory, or `None` to keep the memory of the old plan.
    pub(crate) keep: Option<Arc<dyn Any + Send + Sync>>,
    /// Table of the gates of the new plan, if a node in a body has other dispatches.
    pub(crate) control: Option<Arc<ControlTable>>,
}

/// Change of one place in a command: the part names the bytes of an input from the byte `start` on.
struct Move {
    node: u32,
    input: usize,
    part: CommandPart,
    start: u64,
}

impl GraphPlan {
    /// Returns the plan with a change. The cost depends on the changed nodes and on the number of used blocks; only a
    /// change of what overlaps in a graph of several queues looks at all nodes.
    ///
    /// # Errors
    /// Returns `Aliased` if two arguments of one command overlap now and one of them is written, and `Hazard` under
    /// `Checked` if nothing orders two nodes that overlap now. The old plan is unchanged.
    pub(crate) fn changed(&self, change: PlanChange) -> Result<Self> {
        let mut plan = self.clone();
        if !change.commands.is_empty() || !change.inputs.is_empty() || change.control.is_some() {
            plan.commands = PlanId::unique();
        }
        if !change.commands.is_empty() {
            plan.shape = plan.commands.0;
        }
        if let Some(keep) = change.keep {
            plan.keep = keep;
        }
        if change.control.is_some() {
            plan.control = change.control;
        }
        let mut moved: SmallVec<[usize; 2]> = SmallVec::new();
        for (at, bound) in change.inputs {
            if differ(&plan.inputs[at], &bound) {
                moved.push(at);
                plan.inputs[at] = bound;
            }
        }
        plan.values_differ |= !change.values.is_empty();
        change.values.into_iter().for_each(|(at, value)| plan.values[at] = value);
        let moves = plan.moves(&moved);
        plan.nodes = self.nodes.with(plan.rewrite(change.commands, &moves)?);
        plan.order_again(change.split, !moved.is_empty())?;
        Ok(plan)
    }

    /// Lists the places that the inputs change, by node.
    fn moves(&self, moved: &[usize]) -> SmallVec<[Move; 1]> {
        let mut moves: SmallVec<[Move; 1]> = SmallVec::new();
        for &input in moved {
            let places = self.names.inputs[input].places.iter();
            moves.extend(places.map(|place| Move {
                node: place.node,
                input,
                part: place.part,
                start: place.start,
            }));
        }
        moves.sort_by_key(|change| change.node);
        moves
    }

    /// Returns the nodes with other commands, in ascending order. Nodes that shared a command share the new one.
    fn rewrite(
        &self,
        commands: Vec<(u32, Arc<NodeCommand>)>,
        moves: &[Move],
    ) -> Result<Vec<(u32, GraphNode)>> {
        let mut nodes = Vec::with_capacity(commands.len() + moves.len());
        let mut shared: FxHashMap<*const NodeCommand, Arc<NodeCommand>> = FxHashMap::default();
        let mut commands = commands.into_iter().peekable();
        for of_node in moves.chunk_by(|a, b| a.node == b.node) {
            let at = of_node[0].node;
            while let Some((other, command)) = commands.next_if(|(other, _)| *other < at) {
                self.check(&command)?;
                nodes.push((other, self.nodes.get(other).with_command(command)));
            }
            let node = self.nodes.get(at);
            let old = commands.next_if(|(other, _)| *other == at).map(|(_, command)| command);
            let old = old.as_ref().unwrap_or(&node.command);
            let new = match shared.get(&Arc::as_ptr(old)) {
                Some(new) => new.clone(),
                None => self.apply(old, of_node)?,
            };
            if moves.len() > of_node.len() {
                shared.insert(Arc::as_ptr(old), new.clone());
            }
            nodes.push((at, node.with_command(new)));
        }
        for (at, command) in commands {
            self.check(&command)?;
            nodes.push((at, self.nodes.get(at).with_command(command)));
        }
        Ok(nodes)
    }

    /// Returns a command with changed places.
    fn apply(&self, old: &NodeCommand, moves: &[Move]) -> Result<Arc<NodeCommand>> {
        let mut new = old.duplicate();
        for &Move { input, part, start, .. } in moves {
            let BoundInput { block, offset } = &self.inputs[input];
            move_part(&mut new.work, part, block, offset + start);
        }
        self.check(&new)?;
        Ok(Arc::new(new))
    }

    /// Checks that the parts of a command overlap only where the command may read both.
    ///
    /// # Errors
    /// Returns `Aliased`, with the place of the command in the graph.
    fn check(&self, command: &NodeCommand) -> Result<()> {
        check_parts(&command.work).map_err(|error| match error.kind() {
            Kind::Aliased { subject, first, second, array, .. } => {
                let place = (command.name(), &self.label, command.at);
                let node = format!(" of node `{}` in graph `{}`, captured at {}", place.0, place.1, place.2);
                let (subject, first) = (subject.clone(), first.clone());
                Kind::Aliased { subject, node, first, second: second.clone(), array: array.clone() }.into()
            }
            _ => error,
        })
    }

    /// Sets the uses and the order, if nodes use other bytes than before.
    fn order_again(&mut self, split: Option<Arc<[SplitUses]>>, inputs_change: bool) -> Result<()> {
        if split.is_none() && !inputs_change {
            return Ok(());
        }
        let ranges = self.segment_ranges();
        if let Some(split) = split {
            self.split = split;
            self.orders = Arc::new(AliasOrders::default());
        }
        if self.queues.len() == 1 {
            // The nodes of one queue execute in its order, whatever they use.
            let orders = self.segments.iter().map(|segment| segment.order.clone()).collect();
            self.set_segments(orders);
            return Ok(());
        }
        let signature = self.signature();
        let orders = match self.orders.find(&signature) {
            Some(orders) => orders,
            None => {
                let orders = derive_all(&self.nodes.to_vec(), &ranges, &self.queues, &self.missing)?;
                self.orders.keep(signature, orders.clone());
                orders
            }
        };
        self.set_segments(orders);
        Ok(())
    }
}

/// Returns `true` if two bindings name different bytes.
fn differ(old: &BoundInput, new: &BoundInput) -> bool {
    old.block.id != new.block.id || old.offset != new.offset
}
