//! Edits of a graph: other grids, arrays and values for all later replays.
//!
//! A changed command in a body needs a new gate table. Bindings of one replay use the same code to replace arrays and
//! values.

use crate::api::graph::bindings::bytes_of;
use crate::api::graph::capture::checked;
use crate::api::graph::{Graph, GraphLeases, control_flow};
use crate::api::grid::{Grid, GridSize};
use crate::api::queue::CommandQueue;
use crate::api::queue::launch::{bound, indirect, placeholder_array};
use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::error::{ErrorDetail, Result};
use crate::memory::block::{Block, BlockId};
use crate::record::own_kernels::dispatches_of;
use crate::runtime::event::same_context;
use crate::runtime::owner::Owner;
use crate::scheduler::host_guard::BlockLease;
use crate::work::graph::control::ControlTable;
use crate::work::graph::names::GraphNames;
use crate::work::graph::nodes::{CommandPart, GraphNode, NodeCommand};
use crate::work::graph::plan::{GraphPlan, PlanChange, count_uses, split};
use crate::work::graph::uses::UseCounts;
use crate::work::kernel_launch::Launch;
use crate::work::step::Work;
use fencepost_kernels::{ArgKind, ArgumentSlot, Element, Param, Value, check_argument};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Changes of a graph, which [`apply`](Self::apply) makes together. [`Graph::edit`] starts an edit.
///
/// [`node`](Self::node) selects nodes, and [`grid`](Self::grid), [`argument`](Self::argument) and
/// [`parameter`](Self::parameter) change the selected ones. If two changes concern the same thing, the last one counts.
pub struct GraphEdit<'g> {
    graph: &'g mut Graph,
    selected: SmallVec<[u32; 1]>,
    /// Changed nodes by number.
    launches: BTreeMap<u32, EditedNode>,
    replacements: Replacements,
    /// Arrays of the new arguments, kept alive until the changes are applied.
    arrays: Vec<ArrayRef>,
    uses_change: bool,
}

/// A changed launch.
struct EditedNode {
    /// The command before the edit. Nodes that share this command will share the changed one.
    old: Arc<NodeCommand>,
    launch: Box<Launch>,
}

impl Graph {
    /// Starts an edit of the graph. Replays in flight, [bindings](crate::Bindings) and clones of this handle keep the
    /// unedited graph.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::DeviceLost`].
    ///
    /// # Example
    /// ```
    /// use fencepost::{Grid, args};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let saxpy = ctx.kernel_from(fencepost::builtin_shader("saxpy.wgsl").unwrap(), "saxpy")?;
    /// let (x, mut y) = (queue.array(&[1.0_f32, 2.0])?, ctx.zeros::<f32, 1>([2])?);
    /// let (mut graph, ()) = queue.capture(|c| {
    ///     c.launch_dyn(&saxpy, Grid::threads([2]), args![a = 2.0_f32, x = &x, y = &mut y])?;
    ///     c.label_node("scale")
    /// })?;
    /// let other = queue.array(&[10.0_f32, 20.0])?;
    /// graph.edit()?.node("scale")?.argument("x", &other)?.parameter("a", 1.0_f32)?.apply()?;
    /// queue.replay(&graph)?;
    /// assert_eq!(queue.read(&y).wait()?, [10.0, 20.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn edit(&mut self) -> Result<GraphEdit<'_>> {
        self.owner.engine().lock().check_not_lost()?;
        Ok(GraphEdit {
            graph: self,
            selected: SmallVec::new(),
            launches: BTreeMap::new(),
            replacements: Replacements::default(),
            arrays: Vec::new(),
            uses_change: false,
        })
    }
}

impl<'g> GraphEdit<'g> {
    /// Selects the nodes with a name: the [label](crate::Capture::label_node) of the nodes, or the kernel of launches
    /// without a label.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::GraphName`] for an unknown name.
    pub fn node(mut self, name: &str) -> Result<Self> {
        let plan = &self.graph.plan;
        self.selected = match plan.names.labels.get(name) {
            Some(nodes) => nodes.clone(),
            None => of_kernel(plan, name),
        };
        if self.selected.is_empty() {
            let kernel = |node: &u32| is_named_by_kernel(plan.command(*node));
            let kernels = (0..plan.nodes.len() as u32).filter(kernel).map(|node| plan.command(node).name());
            let mut known: Vec<String> =
                kernels.chain(plan.names.labels.keys().map(ToString::to_string)).collect();
            known.sort_unstable();
            known.dedup();
            return Err(self.graph.unknown("node", name, known).into());
        }
        Ok(self)
    }

    /// Sets the grid of the selected launches.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::GridTooLarge`], [`ErrorDetail::GridNegative`]; [`ErrorDetail::Graph`] if no node is selected or a selected
    /// node is not a launch, or if the workgroup counts are an input.
    pub fn grid(mut self, grid: Grid<'_>) -> Result<Self> {
        let owner = self.owner_of_selected()?;
        let names = self.graph.plan.names.clone();
        let limit = owner.device().caps().max_groups;
        let counts = match grid.0 {
            GridSize::Indirect(array, at) => {
                self.arrays.push(array.clone());
                Some(indirect(&owner, array, at)?)
            }
            _ => None,
        };
        let mut uses_change = false;
        self.each_launch("a grid", |node, launch| {
            if let Some(input) = names.input_of(node, CommandPart::Groups) {
                return Err(format!(
                    "the workgroup counts of a node are input `{}`: edit the input",
                    input.name
                ));
            }
            let interface = &launch.kernel().interface;
            let groups = grid.0.workgroups(interface, limit);
            let was_empty = launch.is_empty();
            uses_change |= launch.indirect.is_some() || counts.is_some();
            Ok(groups.map(|groups| {
                launch.groups = groups;
                launch.indirect = counts.clone();
                uses_change |= launch.is_empty() != was_empty;
            }))
        })?;
        self.uses_change |= uses_change;
        Ok(self)
    }

    /// Sets the array argument `name` of the selected launches.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Kernel`] if the kernel has no such argument, or one of another type;
    /// [`ErrorDetail::Alignment`], [`ErrorDetail::BindingTooSmall`], [`ErrorDetail::BindingTooLarge`],
    /// [`ErrorDetail::ForeignContext`] as for a launch; [`ErrorDetail::Graph`] if no node is selected or a selected
    /// node is not a launch, or if the argument is an input.
    pub fn argument<T: Element, const D: usize>(
        mut self,
        name: &str,
        array: &DeviceArray<T, D>,
    ) -> Result<Self> {
        let owner = self.owner_of_selected()?;
        let names = self.graph.plan.names.clone();
        same_context(&owner, &array.array.storage.owner, || format!("array `{}`", array.label()))?;
        let mut arrays = vec![array.array.clone()];
        self.each_launch("an array", |node, launch| {
            let interface = &launch.kernel().interface;
            let written =
                interface.bindings.iter().any(|known| known.name == name && known.declared.writes());
            let kind = if written { ArgKind::ReadWrite(T::DTYPE) } else { ArgKind::Read(T::DTYPE) };
            let at = match check_argument(interface, name, kind) {
                Ok(ArgumentSlot::Buffer(at)) => at,
                Ok(_) => return Err(format!("argument `{name}` is a parameter")),
                Err(error) => return Ok(Err(error.into())),
            };
            if let Some(input) = names.input_of(node, CommandPart::Binding(at as u32)) {
                return Err(format!("argument `{name}` of a node is input `{}`: edit the input", input.name));
            }
            Ok(bind(&owner, launch, at, &array.array, &mut arrays))
        })?;
        self.arrays.append(&mut arrays);
        self.uses_change = true;
        Ok(self)
    }

    /// Sets the parameter `name` of the selected launches.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Kernel`] if the kernel has no such parameter, or one of another type;
    /// [`ErrorDetail::Graph`] if no node is selected or a selected node is not a launch, or if the parameter is a named
    /// value.
    pub fn parameter<T: Param>(mut self, name: &str, value: T) -> Result<Self> {
        let names = self.graph.plan.names.clone();
        self.each_launch("a parameter", |node, launch| {
            let slot = match check_argument(&launch.kernel().interface, name, ArgKind::Value(T::TYPE)) {
                Ok(slot) => slot,
                Err(error) => return Ok(Err(error.into())),
            };
            if let Some(value) = names.value_of(node, slot) {
                return Err(format!(
                    "parameter `{name}` of a node is value `{}`: edit the value",
                    value.name
                ));
            }
            value.with_bytes(|bytes| launch.params.set(slot, bytes));
            Ok(Ok(()))
        })?;
        Ok(self)
    }

    /// Sets the default array of an input.
    ///
    /// # Errors
    /// Returns the errors of [`Bindings::input`](crate::Bindings::input).
    pub fn input<T: Element, const D: usize>(
        mut self,
        name: &str,
        array: &DeviceArray<T, D>,
    ) -> Result<Self> {
        self.replacements.set_input(self.graph, name, array)?;
        Ok(self)
    }

    /// Sets the default of a named value.
    ///
    /// # Errors
    /// Returns the errors of [`Bindings::value`](crate::Bindings::value).
    pub fn value<T: Param>(mut self, name: &str, value: T) -> Result<Self> {
        self.replacements.set_value(self.graph, name, value)?;
        Ok(self)
    }

    /// Applies the changes to all later replays through this handle. If the changes make nodes use the same bytes, the
    /// nodes are ordered as a capture would order them.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Aliased`] if two arguments of one launch overlap and one of them is written, and
    /// [`ErrorDetail::Hazard`] under `Checked` if nothing orders two nodes that use the same bytes. After an error the graph
    /// is unchanged.
    #[track_caller]
    pub fn apply(self) -> Result<()> {
        let at = Location::caller();
        let Self { graph, launches, replacements, uses_change, arrays, .. } = self;
        let inputs = replacements.inputs();
        let mut change = PlanChange { commands: commands(launches), ..replacements.change() };
        // These leases keep the memory of the new table alive until the graph holds leases of its own.
        let table = edited_table(graph, &change.commands, at)?;
        if let Some(table) = &table {
            change.commands.extend(table.read_of_counters.clone());
            change.control = Some(table.control.clone());
        }
        let counts = (uses_change || table.is_some()).then(|| graph.count_uses(&change));
        change.split = counts.as_ref().map(|counts| {
            let control = change.control.as_ref().or(graph.plan.control.as_ref());
            split(counts, control.map(|table| &**table))
        });
        let mut plan = graph.plan.changed(change)?;
        check_dispatches(graph, &plan, &inputs)?;
        let spanning = graph.spanning.as_ref().map(|known| known.changed(&graph.plan, &plan)).transpose()?;
        if counts.is_some() || !inputs.is_empty() {
            let owners = arrays.iter().chain(replacements.arrays());
            let owners =
                owners.map(|array| (array.storage.block().id, array.storage.owner.clone())).collect();
            let counts = counts.as_ref().and_then(|counts| counts.last());
            graph.leases = Arc::new(leases(graph, &plan, counts, &owners));
            plan.keep = graph.leases.clone();
        }
        graph.spanning = spanning.map(Arc::new);
        graph.counts = counts.map(Arc::new).or(graph.counts.take());
        graph.plan = Arc::new(plan);
        // By now the old plan is dropped, unless a replay in flight or another handle uses it. If no other plan shares
        // the node list, the changed nodes are merged into it.
        Arc::get_mut(&mut graph.plan).into_iter().for_each(|plan| plan.nodes.merge_changes());
        Ok(())
    }

    /// Returns the context of the selected nodes.
    ///
    /// # Errors
    /// Returns `Graph` if they belong to several contexts.
    fn owner_of_selected(&self) -> Result<Owner> {
        let graph = &*self.graph;
        let mut owners =
            self.selected.iter().map(|&node| graph.owner_of_queue(graph.plan.nodes.get(node).queue));
        let first = owners.next().unwrap_or(&graph.owner);
        if owners.all(|owner| owner.is(first)) {
            return Ok(first.clone());
        }
        let problem = "the selected nodes belong to several contexts: give the nodes of each context a name of their own";
        Err(ErrorDetail::Graph { graph: graph.label().into(), problem: problem.into() }.into())
    }

    /// Calls `change` for each selected launch. The inner error of `change` describes a mistake of the launch, and its
    /// outer error, a text, a mistake of the graph.
    fn each_launch(
        &mut self,
        what: &str,
        mut change: impl FnMut(u32, &mut Launch) -> Result<Result<()>, String>,
    ) -> Result<()> {
        let label = self.graph.label().to_string();
        let problem = |problem: String| ErrorDetail::Graph { graph: label.clone(), problem };
        if self.selected.is_empty() {
            return Err(problem(format!("{what} is set on no node: call `node` first")).into());
        }
        for &node in &self.selected {
            let edited = match self.launches.entry(node) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let old = &self.graph.plan.nodes.get(node).command;
                    let Work::Launch(launch) = &old.work else {
                        return Err(problem(format!(
                            "{what} is set on node `{}`, which is not a launch",
                            old.name()
                        ))
                        .into());
                    };
                    let owner = self.graph.owner_of_queue(self.graph.plan.nodes.get(node).queue);
                    let launch = Box::new(checked(owner, launch)?);
                    entry.insert(EditedNode { old: old.clone(), launch })
                }
            };
            change(node, &mut edited.launch).map_err(problem)??;
        }
        Ok(())
    }
}

/// Returns `true` for a launch without a label, which is selected by the name of its kernel.
fn is_named_by_kernel(command: &NodeCommand) -> bool {
    command.label.is_none() && matches!(command.work, Work::Launch(_))
}

/// Returns the launches without a label whose kernel has this name.
fn of_kernel(plan: &GraphPlan, name: &str) -> SmallVec<[u32; 1]> {
    let is_kernel = |command: &NodeCommand| is_named_by_kernel(command) && command.name() == name;
    (0..plan.nodes.len() as u32).filter(|&node| is_kernel(plan.command(node))).collect()
}

/// Binds an array to an argument of a launch.
fn bind(
    owner: &Owner,
    launch: &mut Launch,
    at: usize,
    array: &ArrayRef,
    arrays: &mut Vec<ArrayRef>,
) -> Result<()> {
    let kernel = launch.kernel().clone();
    let caps = owner.device().caps();
    let new = if array.len == 0 {
        let one = placeholder_array(&CommandQueue::shared(owner.clone()), &kernel, at)?;
        let one = ArrayRef { storage: one.storage, offset: 0, followed: false, ..array.clone() };
        let new = bound(&kernel, at, &one, caps)?;
        arrays.push(one);
        new
    } else {
        bound(&kernel, at, array, caps)?
    };
    launch.bindings[at] = new;
    Ok(())
}

/// Returns the changed commands. Nodes that shared a command share its replacement.
fn commands(launches: BTreeMap<u32, EditedNode>) -> Vec<(u32, Arc<NodeCommand>)> {
    let mut shared: FxHashMap<*const NodeCommand, Arc<NodeCommand>> = FxHashMap::default();
    let changed = launches.into_iter().map(|(node, EditedNode { old, launch })| {
        let new = || Arc::new(old.with_work(Work::Launch(launch)));
        (node, shared.entry(Arc::as_ptr(&old)).or_insert_with(new).clone())
    });
    changed.collect()
}

impl Graph {
    /// Returns the use counts after a change of commands. Takes the counts out of the graph; the caller puts them back
    /// once the edit has succeeded.
    fn count_uses(&mut self, change: &PlanChange) -> Vec<UseCounts> {
        let plan = &self.plan;
        let mut counts = match self.counts.take() {
            Some(counts) => Arc::unwrap_or_clone(counts),
            None => count_uses(&plan.nodes.to_vec(), &plan.segment_ranges(), &plan.names),
        };
        for (node, new) in &change.commands {
            let old = plan.command(*node);
            counts.iter_mut().for_each(|counts| counts.replace(*node, old, new));
        }
        counts
    }
}

/// Returns leases of the blocks that the plan uses; a lease ends with the last plan that uses its block. `counts` holds
/// the uses of the nodes, if the edit may have changed which bytes they use. `owners` maps the blocks of new arrays to
/// their contexts.
fn leases(
    graph: &Graph,
    plan: &GraphPlan,
    counts: Option<&UseCounts>,
    owners: &FxHashMap<BlockId, Owner>,
) -> GraphLeases {
    let known = |block: &Arc<Block>| {
        let lease = graph.leases.get(&block.id).cloned();
        let owner = owners.get(&block.id).unwrap_or(&graph.owner);
        lease.unwrap_or_else(|| Arc::new(owner.engine().lease(block)))
    };
    let mut leases = match counts {
        Some(counts) => counts.blocks().map(|block| (block.id, known(block))).collect(),
        None => (*graph.leases).clone(),
    };
    if counts.is_none() {
        let fixed =
            |id: BlockId| plan.split.iter().any(|split| split.fixed.iter().any(|used| used.block.id == id));
        let before = graph.plan.inputs.iter().map(|input| input.block.id);
        before.filter(|&id| !fixed(id)).for_each(|id| drop(leases.remove(&id)));
    }
    for block in plan.control.iter().flat_map(|table| [&table.words, &table.counts]) {
        leases.entry(block.id).or_insert_with(|| known(block));
    }
    for input in &plan.inputs {
        leases.entry(input.block.id).or_insert_with(|| known(&input.block));
    }
    leases
}

impl fmt::Debug for GraphEdit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes = self.launches.len() + self.replacements.len();
        write!(f, "GraphEdit of {:?} with {changes} changes", self.graph)
    }
}

/// The gate table of an edited graph, and the leases that keep its memory alive.
pub(crate) struct EditedTable {
    pub(crate) control: Arc<ControlTable>,
    /// Number and command of the last node, which reads the loop counters from the new table.
    pub(crate) read_of_counters: Option<(u32, Arc<NodeCommand>)>,
    _leases: [BlockLease; 2],
}

/// Returns a new gate table if one of the changed commands is in a body. The table holds the workgroup counts of the
/// bodies, and replays in flight still use the old one.
///
/// # Errors
/// Returns `OutOfMemory` or `TooLarge`.
pub(crate) fn edited_table(
    graph: &Graph,
    commands: &[(u32, Arc<NodeCommand>)],
    at: &'static Location<'static>,
) -> Result<Option<EditedTable>> {
    let plan = &graph.plan;
    let Some(control) = &plan.control else { return Ok(None) };
    if commands.iter().all(|(node, _)| plan.nodes.get(*node).gate.is_none()) {
        return Ok(None);
    }
    let changed = |(node, command): &(u32, Arc<NodeCommand>)| {
        (*node, plan.nodes.get(*node).with_command(command.clone()))
    };
    let nodes: Vec<GraphNode> = plan.nodes.with(commands.iter().map(changed).collect()).to_vec();
    let layout = &control.layout;
    let of_bodies = (layout.gates, &layout.loops[..]);
    let (mut table, leases) =
        control_flow::make_table(&graph.owner, layout.own_nodes(&nodes), of_bodies, at)?;
    table.layout.output = layout.output;
    let read_of_counters = layout
        .output
        .map(|output| (nodes.len() as u32 - 1, control_flow::read_of_counters(&table, output, at).1));
    Ok(Some(EditedTable { control: Arc::new(table), read_of_counters, _leases: leases }))
}

/// Checks that the transfers in bodies need as many dispatches with the new arrays of `inputs` as with the old ones.
///
/// # Errors
/// Returns `Graph` if a transfer needs more or fewer, because the table holds the old counts.
pub(crate) fn check_dispatches(graph: &Graph, plan: &GraphPlan, inputs: &[usize]) -> Result<()> {
    if plan.control.is_none() {
        return Ok(());
    }
    let caps = graph.owner.device().caps();
    for input in inputs.iter().map(|&at| &plan.names.inputs[at]) {
        for place in &input.places {
            let old = graph.plan.nodes.get(place.node);
            let new = plan.nodes.get(place.node);
            let is_transfer = !matches!(new.command.work, Work::Launch(_) | Work::Gate(_));
            if new.gate.is_none() || !is_transfer {
                continue;
            }
            if dispatches_of(&old.command.work, caps)? != dispatches_of(&new.command.work, caps)? {
                let problem = format!(
                    "input `{}` is bound to an array on which node `{}`, in a body, needs other dispatches: bind an \
                     array that starts on a multiple of {} bytes",
                    input.name,
                    new.command.name(),
                    caps.binding_alignment
                );
                return Err(ErrorDetail::Graph { graph: graph.label().into(), problem }.into());
            }
        }
    }
    Ok(())
}

/// New arrays by input number, and new contents by value number. Keeps the arrays alive.
#[derive(Clone, Default)]
pub(crate) struct Replacements {
    inputs: SmallVec<[(usize, ArrayRef); 2]>,
    values: SmallVec<[(usize, Value); 1]>,
}

impl Replacements {
    /// Sets the array of an input. A later array of one input replaces an earlier one.
    ///
    /// # Errors
    /// Returns the errors of [`Bindings::input`](crate::Bindings::input).
    pub(crate) fn set_input<T: Element, const D: usize>(
        &mut self,
        graph: &Graph,
        name: &str,
        array: &DeviceArray<T, D>,
    ) -> Result<()> {
        let at = graph.check_input(name, array)?;
        self.inputs.retain(|(known, _)| *known != at);
        self.inputs.push((at, array.array.clone()));
        Ok(())
    }

    /// Sets the contents of a value. Later contents of one value replace earlier ones.
    ///
    /// # Errors
    /// Returns the errors of [`Bindings::value`](crate::Bindings::value).
    pub(crate) fn set_value<T: Param>(&mut self, graph: &Graph, name: &str, value: T) -> Result<()> {
        let set = graph.check_value(name, value)?;
        self.values.retain(|(known, _)| *known != set.0);
        self.values.push(set);
        Ok(())
    }

    /// Returns the numbers of the replaced inputs.
    pub(crate) fn inputs(&self) -> SmallVec<[usize; 2]> {
        self.inputs.iter().map(|(at, _)| *at).collect()
    }

    /// Returns the new arrays.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = &ArrayRef> {
        self.inputs.iter().map(|(_, array)| array)
    }

    /// Returns the number of replaced inputs and values.
    pub(crate) fn len(&self) -> usize {
        self.inputs.len() + self.values.len()
    }

    /// Returns the names of the replaced inputs and values.
    pub(crate) fn names<'n>(&self, names: &'n GraphNames) -> Vec<&'n str> {
        let inputs = self.inputs.iter().map(|(at, _)| &*names.inputs[*at].name);
        let values = self.values.iter().map(|(at, _)| &*names.values[*at].name);
        inputs.chain(values).collect()
    }

    /// Returns the replacements as a change of a plan.
    pub(crate) fn change(&self) -> PlanChange {
        let inputs = self.inputs.iter().map(|(at, array)| (*at, bytes_of(array))).collect();
        PlanChange { inputs, values: self.values.clone(), ..PlanChange::default() }
    }
}
