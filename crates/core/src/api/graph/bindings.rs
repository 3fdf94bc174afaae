//! The named parts of a graph: input arrays and values, which a replay can replace; labelled nodes; and outputs, which
//! have separate bytes for each replay.

use crate::api::graph::Graph;
use crate::api::graph::capture::{Capture, Output, checked};
use crate::api::graph::edit::{Replacements, check_dispatches};
use crate::api::graph::spanning::SpanningPlan;
use crate::api::graph::tape::{TapeState, unique};
use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::arrays::read::ReplayedDownload;
use crate::error::{Error, ErrorDetail, Result};
use crate::memory::block::overlap;
use crate::runtime::event::same_context;
use crate::runtime::owner::Owner;
use crate::work::graph::names::{BoundInput, GraphInput, GraphParameter};
use crate::work::graph::nodes::GraphNode;
use crate::work::graph::plan::GraphPlan;
use crate::work::step::Work;
use fencepost_kernels::{ArgKind, DType, DynArg, Element, IntoArg, NamedValue, Param, Value, check_argument};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock, Weak};

/// A graph with replacement arrays and values for its [replays](crate::CommandQueue::replay). [`Graph::with`] makes it.
/// The graph itself does not change.
///
/// Bindings keep their arrays alive. Two replays with different bindings may run at once if they use different memory;
/// otherwise the policy orders them.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// let buffers = [ctx.zeros::<u32, 1>([4])?, ctx.zeros::<u32, 1>([4])?];
/// let (graph, ()) = queue.capture(|c| {
///     let mut x = c.input("x", &buffers[0])?;
///     c.fill(&mut x, 7)
/// })?;
/// queue.replay(&graph.with().input("x", &buffers[1])?)?;
/// assert_eq!(queue.read(&buffers[0]).wait()?, [0; 4]);
/// assert_eq!(queue.read(&buffers[1]).wait()?, [7; 4]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone)]
pub struct Bindings<'g> {
    graph: &'g Graph,
    replacements: Replacements,
    /// Plan with these arrays and values, and its parts if there are several contexts. Made at the first replay.
    plan: OnceLock<(Arc<GraphPlan>, Option<Arc<SpanningPlan>>)>,
}

/// A graph, or a graph with bindings: the argument of [`replay`](crate::CommandQueue::replay).
pub trait Replayable: sealed::Prepare {}

/// A graph with the plan of one replay.
pub struct PreparedReplay<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) plan: Arc<GraphPlan>,
    /// Parts of the plan, if the graph has several contexts.
    pub(crate) spanning: Option<Arc<SpanningPlan>>,
}

pub(crate) mod sealed {
    use super::PreparedReplay;
    use crate::error::Result;

    pub trait Prepare {
        /// Returns the plan to replay.
        fn prepared(&self) -> Result<PreparedReplay<'_>>;
    }
}

impl Replayable for Graph {}
impl Replayable for Bindings<'_> {}

impl sealed::Prepare for Graph {
    fn prepared(&self) -> Result<PreparedReplay<'_>> {
        self.check_bound(&self.plan)?;
        Ok(PreparedReplay { graph: self, plan: self.plan.clone(), spanning: self.spanning.clone() })
    }
}

impl sealed::Prepare for Bindings<'_> {
    fn prepared(&self) -> Result<PreparedReplay<'_>> {
        let graph = self.graph;
        if let Some((plan, spanning)) = self.plan.get().cloned() {
            return Ok(PreparedReplay { graph, plan, spanning });
        }
        let plan = Arc::new(graph.plan.changed(self.replacements.change())?);
        check_dispatches(graph, &plan, &self.replacements.inputs())?;
        graph.check_bound(&plan)?;
        let spanning = graph.spanning.as_ref().map(|known| known.changed(&graph.plan, &plan)).transpose()?;
        let (plan, spanning) = self.plan.get_or_init(|| (plan, spanning.map(Arc::new))).clone();
        Ok(PreparedReplay { graph, plan, spanning })
    }
}

impl Graph {
    /// Returns bindings that start with the graph's default arrays and values.
    pub fn with(&self) -> Bindings<'_> {
        Bindings { graph: self, replacements: Replacements::default(), plan: OnceLock::new() }
    }

    /// Checks that every input of a loaded graph has an array.
    #[inline]
    fn check_bound(&self, plan: &GraphPlan) -> Result<()> {
        let unbound = &self.inner.unbound;
        if unbound.is_empty() {
            return Ok(());
        }
        match plan.inputs.iter().position(|bound| unbound.contains(&bound.block.id)) {
            None => Ok(()),
            Some(at) => {
                let graph = self.label().into();
                let input = plan.names.inputs[at].name.to_string();
                Err(ErrorDetail::Unbound { graph, input }.into())
            }
        }
    }

    /// Checks that an array fits an input, and returns the input's number.
    pub(crate) fn check_input<T: Element, const D: usize>(
        &self,
        name: &str,
        array: &DeviceArray<T, D>,
    ) -> Result<usize> {
        let inputs = &self.plan.names.inputs;
        let Some(at) = inputs.iter().position(|input| *input.name == *name) else {
            let known = inputs.iter().map(|input| input.name.to_string()).collect();
            return Err(self.unknown("input", name, known).into());
        };
        let owner = self.owner_of_input(at);
        same_context(owner, &array.array.storage.owner, || format!("array `{}`", array.label()))?;
        let input = &inputs[at];
        let shape = array.shape();
        let padded = array.padded_shape();
        if input.dtype != T::DTYPE || *input.shape != shape || *input.padded != padded {
            let object = format!("input `{name}`");
            let expected = described(input.dtype, &input.shape, &input.padded);
            let found = format!("array `{}`, {}", array.label(), described(T::DTYPE, &shape, &padded));
            return Err(
                ErrorDetail::GraphBinding { graph: self.label().into(), object, expected, found }.into()
            );
        }
        let alignment = owner.device().caps().binding_alignment;
        check_alignment(input, &array.array, if input.is_bound { alignment } else { 4 })?;
        Ok(at)
    }

    /// Checks that the contents have the type of a value, and returns the value's number and the contents.
    pub(crate) fn check_value<T: Param>(&self, name: &str, contents: T) -> Result<(usize, Value)> {
        let values = &self.plan.names.values;
        let Some(at) = values.iter().position(|value| *value.name == *name) else {
            let known = values.iter().map(|value| value.name.to_string()).collect();
            return Err(self.unknown("value", name, known).into());
        };
        if values[at].dtype != T::TYPE {
            let object = format!("value `{name}`");
            let expected = format!("a value of {}", values[at].dtype);
            let found = format!("a value of {}", T::TYPE);
            return Err(
                ErrorDetail::GraphBinding { graph: self.label().into(), object, expected, found }.into()
            );
        }
        Ok((at, Value::new(contents)))
    }

    /// Returns the error for a name that is not in the graph.
    #[cold]
    pub(crate) fn unknown(&self, what: &'static str, name: &str, known: Vec<String>) -> ErrorDetail {
        ErrorDetail::GraphName { graph: self.label().into(), what, name: name.into(), known }
    }
}

/// Checks that an array's alignment allows it to replace the input.
fn check_alignment(input: &GraphInput, array: &ArrayRef, needed: u64) -> Result<()> {
    if input.places.is_empty() {
        return Ok(());
    }
    // Every use keeps its captured distance from the start of the array.
    if !array.offset.abs_diff(input.offset).is_multiple_of(needed) {
        return Err(ErrorDetail::Alignment { array: array.label(), offset: array.offset, needed }.into());
    }
    let end = array.offset + array.bytes();
    if input.is_written && array.followed && !end.is_multiple_of(4) {
        return Err(ErrorDetail::Alignment { array: array.label(), offset: end, needed: 4 }.into());
    }
    Ok(())
}

fn described(dtype: DType, shape: &[usize], padded: &[usize]) -> String {
    let memory = if shape == padded { String::new() } else { format!(" in memory of shape {padded:?}") };
    format!("an array of {dtype} of shape {shape:?}{memory}")
}

impl Bindings<'_> {
    /// Binds an array to an input: every use of the input becomes a use of the array. A second call for one input
    /// replaces the first.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::GraphName`] for an unknown name; [`ErrorDetail::GraphBinding`] if the type or the shape differs;
    /// [`ErrorDetail::Alignment`] for a part of an array whose start does not fit the kernels that use it;
    /// [`ErrorDetail::ForeignContext`].
    pub fn input<T: Element, const D: usize>(
        mut self,
        name: &str,
        array: &DeviceArray<T, D>,
    ) -> Result<Self> {
        self.replacements.set_input(self.graph, name, array)?;
        self.plan = OnceLock::new();
        Ok(self)
    }

    /// Sets a value.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::GraphName`] for an unknown name, and [`ErrorDetail::GraphBinding`] if the type differs.
    pub fn value<T: Param>(mut self, name: &str, value: T) -> Result<Self> {
        self.replacements.set_value(self.graph, name, value)?;
        self.plan = OnceLock::new();
        Ok(self)
    }
}

impl fmt::Debug for Bindings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} with {:?}", self.graph, self.replacements.names(&self.graph.plan.names))
    }
}

/// A named value of a graph that a replay can replace. [`Capture::value`] makes one.
#[derive(Clone)]
pub struct GraphValue<T> {
    token: u64,
    name: Arc<str>,
    default: T,
}

impl<T: Copy> GraphValue<T> {
    /// Returns the default of the value.
    pub fn get(&self) -> T {
        self.default
    }
}

impl<T> GraphValue<T> {
    /// Returns the name of the value.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<T: Param + Copy> NamedValue for GraphValue<T> {
    fn name(&self) -> &str {
        &self.name
    }

    fn value(&self) -> Value {
        Value::new(self.default)
    }

    fn token(&self) -> u64 {
        self.token
    }
}

impl<'a, T: Param + Copy> IntoArg<'a> for &'a GraphValue<T> {
    fn into_arg(self) -> DynArg<'a> {
        DynArg::Named(self)
    }
}

impl<T: fmt::Debug> fmt::Debug for GraphValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GraphValue `{}` = {:?}", self.name, self.default)
    }
}

/// Remedy for an input or a value that is declared in a body.
const DECLARED_OUTSIDE: &str = "a graph declares each input and value once: declare them before the condition or the loop, and use them in the body";

impl Capture {
    /// *Captures* an array as an input of the graph: [`Bindings::input`](crate::Bindings::input) replaces the array in
    /// one replay, and [`GraphEdit::input`](crate::GraphEdit::input) replaces it in all later ones. `array` is the
    /// default; the call returns another handle of it.
    ///
    /// Within the capture, every use of the array's bytes counts as a use of the input, whatever the handle, and even
    /// before this call. An input can be a part of an array. Several parts of one array can be inputs if they do not
    /// overlap.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Graph`] for a second input of this name, and for an array that overlaps another input;
    /// [`ErrorDetail::ForeignContext`]; [`ErrorDetail::CaptureEnded`]. The capture fails with [`ErrorDetail::Graph`] if a command accesses
    /// bytes both inside and outside the input.
    ///
    /// # Example
    /// ```
    /// # let (_ctx, queue) = fencepost::doctest();
    /// let (a, b) = (queue.array(&[1_u32, 2])?, queue.array(&[3_u32, 4])?);
    /// let (graph, copied) = queue.capture(|c| {
    ///     let x = c.input("x", &a)?;
    ///     let mut y = c.zeros::<u32, 1>([2])?;
    ///     c.copy(&x, &mut y)?;
    ///     c.read_as("y", &y)
    /// })?;
    /// let usual = queue.replay(&graph)?;
    /// let other = queue.replay(&graph.with().input("x", &b)?)?;
    /// assert_eq!(usual.read(&copied)?.wait()?, [1, 2]);
    /// assert_eq!(other.read(&copied)?.wait()?, [3, 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn input<T: Element, const D: usize>(
        &self,
        name: &str,
        array: &DeviceArray<T, D>,
    ) -> Result<DeviceArray<T, D>> {
        let at = Location::caller();
        self.check_own_array(&array.array)?;
        let captured = self.place();
        captured.not_in_body("input", at, DECLARED_OUTSIDE)?;
        captured.lease(array.array.storage.block(), at)?;
        let input = new_input(name, array);
        let bound = bytes_of(&array.array);
        captured.with("input", at, |state| {
            state.add_input((**self).label(), input, bound)?;
            let context = state.queues[captured.index as usize].context;
            state.input_contexts.push(context);
            Ok::<_, Error>(())
        })??;
        Ok(array.clone())
    }

    /// *Captures* a named value, which launches take as a parameter. [`Bindings::value`](crate::Bindings::value)
    /// replaces it in one replay, and [`GraphEdit::value`](crate::GraphEdit::value) replaces it in all later ones.
    ///
    /// [`launch_dyn`](crate::CommandQueue::launch_dyn) takes a reference to the value as an argument. For a launch with
    /// an argument struct, set the field to the default, and call [`parameter`](Self::parameter) afterwards to bind the
    /// field to the value.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Graph`] for a second value of this name, and [`ErrorDetail::CaptureEnded`].
    ///
    /// # Example
    /// ```
    /// use fencepost::{Grid, args};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let saxpy = ctx.kernel_from(fencepost::builtin_shader("saxpy.wgsl").unwrap(), "saxpy")?;
    /// let (x, mut y) = (queue.array(&[1.0_f32, 2.0])?, ctx.zeros::<f32, 1>([2])?);
    /// let (graph, ()) = queue.capture(|c| {
    ///     let gain = c.value("gain", 2.0_f32)?;
    ///     c.launch_dyn(&saxpy, Grid::threads([2]), args![a = &gain, x = &x, y = &mut y])
    /// })?;
    /// queue.replay(&graph)?;                                        // y += 2 x
    /// queue.replay(&graph.with().value("gain", 10.0_f32)?)?;        // y += 10 x
    /// assert_eq!(queue.read(&y).wait()?, [12.0, 24.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn value<T: Param + Copy>(&self, name: &str, default: T) -> Result<GraphValue<T>> {
        let at = Location::caller();
        let token: u64 = unique();
        let name: Arc<str> = name.into();
        let value = GraphParameter { token, name: name.clone(), dtype: T::TYPE, places: Vec::new() };
        let place = self.place();
        place.not_in_body("value", at, DECLARED_OUTSIDE)?;
        place.with("value", at, |state| state.add_value((**self).label(), value, Value::new(default)))??;
        Ok(GraphValue { token, name, default })
    }

    /// Binds the parameter `field` of the last launch captured on this queue to the value, in place of the contents
    /// passed to the launch. This is for argument structs, whose fields are plain values; `launch_dyn` takes `&value`
    /// directly.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Kernel`] if the kernel has no such parameter, or one of another type;
    /// [`ErrorDetail::Graph`] if the last call on this queue did not capture a launch, or the value belongs to another
    /// capture; [`ErrorDetail::CaptureEnded`].
    #[track_caller]
    pub fn parameter<T: Param + Copy>(&self, field: &str, value: &GraphValue<T>) -> Result<()> {
        let captured = self.place();
        captured.with("parameter", Location::caller(), |state| {
            let graph = (**self).label();
            state.check_value(graph, value.token, &value.name)?;
            let node = state.last_call(captured.index, &format!("the call of `parameter` for `{field}`"))?;
            bind_parameter(self.owner(), graph, node, field, value)
        })?
    }

    /// Names the last command captured on this queue, for [`GraphEdit::node`](crate::GraphEdit::node) and for messages.
    /// Several nodes may share a name.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Graph`] if nothing is captured on this queue, or if the last call was a replay, a
    /// condition or a loop. Nodes in a body are named inside that body. Returns [`ErrorDetail::CaptureEnded`].
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut x, mut y) = (ctx.zeros::<u32, 1>([4])?, ctx.zeros::<u32, 1>([4])?);
    /// let one = queue.full([4], 1_u32)?;
    /// let (mut graph, ()) = queue.capture(|c| {
    ///     c.copy(&one, &mut x)?;
    ///     c.label_node("first copy")?;
    ///     c.copy(&x, &mut y)
    /// })?;
    /// assert!(graph.edit()?.node("first copy").is_ok());
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn label_node(&self, name: &str) -> Result<()> {
        let captured = self.place();
        captured.with("label_node", Location::caller(), |state| {
            let node = state.last_call(captured.index, &format!("the label `{name}`"))?;
            let mut command = node.command.duplicate();
            command.label = Some(name.into());
            node.command = Arc::new(command);
            Ok(())
        })?
    }
}

impl TapeState {
    fn add_input(&mut self, graph: &str, input: GraphInput, bound: BoundInput) -> Result<()> {
        for (known, earlier) in self.names.inputs.iter().zip(&self.inputs) {
            if known.name == input.name {
                return Err(problem(graph, format!("it has two inputs with the name `{}`", input.name)));
            }
            let ranges = (known.range(earlier), input.range(&bound));
            if earlier.block.id == bound.block.id && overlap(&ranges.0, &ranges.1) {
                let message = format!(
                    "inputs `{}` and `{}` overlap: give each input its own elements",
                    known.name, input.name
                );
                return Err(problem(graph, message));
            }
        }
        self.names.inputs.push(input);
        self.inputs.push(bound);
        Ok(())
    }

    fn add_value(&mut self, graph: &str, value: GraphParameter, default: Value) -> Result<()> {
        if self.names.values.iter().any(|known| known.name == value.name) {
            return Err(problem(graph, format!("it has two values with the name `{}`", value.name)));
        }
        self.names.values.push(value);
        self.values.push(default);
        Ok(())
    }
}

/// Returns the input of an array, without the places where it is used.
fn new_input<T: Element, const D: usize>(name: &str, array: &DeviceArray<T, D>) -> GraphInput {
    GraphInput {
        name: name.into(),
        dtype: T::DTYPE,
        shape: array.shape().as_slice().into(),
        padded: array.padded_shape().as_slice().into(),
        bytes: array.array.bytes(),
        offset: array.array.offset,
        places: Vec::new(),
        is_bound: false,
        is_written: false,
    }
}

/// Returns the bytes of an array, as an input binds them.
pub(crate) fn bytes_of(array: &ArrayRef) -> BoundInput {
    BoundInput { block: array.storage.block().clone(), offset: array.offset }
}

/// Binds a parameter of a captured launch to a value. A replay may set any value, so the launch gets all runtime
/// checks.
fn bind_parameter<T: Param + Copy>(
    owner: &Owner,
    graph: &str,
    node: &mut GraphNode,
    field: &str,
    value: &GraphValue<T>,
) -> Result<()> {
    let mut command = node.command.duplicate();
    let Work::Launch(launch) = &mut command.work else {
        let message =
            format!("the last captured command is a {}, which has no parameter `{field}`", command.name());
        return Err(problem(graph, message));
    };
    let slot = check_argument(&launch.kernel().interface, field, ArgKind::Value(T::TYPE))?;
    **launch = checked(owner, launch)?;
    value.default.with_bytes(|bytes| launch.params.set(slot, bytes));
    command.values.retain(|(_, known)| *known != slot);
    command.values.push((value.token, slot));
    node.command = Arc::new(command);
    Ok(())
}

#[cold]
fn problem(graph: &str, problem: String) -> Error {
    ErrorDetail::Graph { graph: graph.into(), problem }.into()
}

/// An output of a graph.
#[derive(Clone)]
pub(crate) struct GraphOutput {
    /// Number of the output, unique among the outputs of all graphs.
    pub(crate) token: u64,
    pub(crate) name: Arc<str>,
    pub(crate) bytes: u64,
    /// Type of the elements.
    pub(crate) element: Arc<str>,
    /// Size of an element in bytes.
    pub(crate) element_size: u32,
    /// Number of elements.
    pub(crate) len: u64,
    /// Download of each replay's bytes, if the output goes to a pinned array in ordinary memory. Such an output cannot
    /// be read by name. The graph does not keep the array alive, because nothing can read the array once the program
    /// has dropped it.
    pub(crate) download: Option<Weak<ReplayedDownload>>,
}

impl Graph {
    /// Returns an output of the graph by the name that [`Capture::read_as`](crate::Capture::read_as) gave it. If
    /// several outputs have this name, the call returns the last one.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Graph`] if the graph has no such output, or if its elements have another type.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (graph, _) = queue.capture(|c| c.read_as("sevens", &c.full([4], 7_u32)?))?;
    /// let sevens = graph.output::<u32>("sevens")?;
    /// assert_eq!(queue.replay(&graph)?.read(&sevens)?.wait()?, [7; 4]);
    /// assert!(graph.output::<f32>("sevens").is_err());
    /// assert!(graph.output::<u32>("eights").is_err());
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn output<T: Element>(&self, name: &str) -> Result<Output<T>> {
        let problem = |problem: String| ErrorDetail::Graph { graph: self.label().into(), problem };
        let named = || self.outputs().iter().filter(|output| output.download.is_none());
        let Some(found) = named().rev().find(|output| &*output.name == name) else {
            let known: Vec<String> = named().map(|output| format!("`{}`", output.name)).collect();
            let known = if known.is_empty() { "no outputs".into() } else { known.join(", ") };
            return Err(problem(format!("it has no output `{name}`; it has {known}")).into());
        };
        if *found.element != *T::DTYPE.to_string() || found.element_size as usize != T::DTYPE.size() {
            let element = &found.element;
            let asked = T::DTYPE;
            let wrong = format!("output `{name}` has elements of {element}, and the call requests {asked}");
            return Err(problem(wrong).into());
        }
        Ok(Output::new(found.token, found.len as usize, found.name.clone()))
    }
}
