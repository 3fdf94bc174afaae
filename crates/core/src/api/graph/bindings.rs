//! The arrays and values of one replay.

use crate::api::graph::edited_table::check_dispatches;
use crate::api::graph::graph_handle::Graph;
use crate::api::graph::replacements::Replacements;
use crate::api::graph::spanning::Spanning;
use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::error::{Kind, Result};
use crate::runtime::event::same_context;
use crate::work::graph_data::graph_names::GraphInput;
use crate::work::graph_data::graph_plan::GraphPlan;
use fencepost_kernels::{DType, Element, Param, Value};
use std::fmt;
use std::sync::{Arc, OnceLock};

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
    /// Plan with these arrays and values, and its parts for several contexts. Made at the first replay.
    plan: OnceLock<(Arc<GraphPlan>, Option<Arc<Spanning>>)>,
}

/// A graph, or a graph with bindings: the argument of [`replay`](crate::CommandQueue::replay).
pub trait Replayable: sealed::Prepare {}

/// A graph with the plan of one replay.
pub struct Prepared<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) plan: Arc<GraphPlan>,
    /// Parts of the plan, if the graph has several contexts.
    pub(crate) spanning: Option<Arc<Spanning>>,
}

pub(crate) mod sealed {
    use super::Prepared;
    use crate::error::Result;

    pub trait Prepare {
        /// Returns the plan to replay.
        fn prepared(&self) -> Result<Prepared<'_>>;
    }
}

impl Replayable for Graph {}
impl Replayable for Bindings<'_> {}

impl sealed::Prepare for Graph {
    fn prepared(&self) -> Result<Prepared<'_>> {
        self.check_bound(&self.plan)?;
        Ok(Prepared { graph: self, plan: self.plan.clone(), spanning: self.spanning.clone() })
    }
}

impl sealed::Prepare for Bindings<'_> {
    fn prepared(&self) -> Result<Prepared<'_>> {
        let graph = self.graph;
        if let Some((plan, spanning)) = self.plan.get().cloned() {
            return Ok(Prepared { graph, plan, spanning });
        }
        let plan = Arc::new(graph.plan.changed(self.replacements.change())?);
        check_dispatches(graph, &plan, &self.replacements.inputs())?;
        graph.check_bound(&plan)?;
        let spanning = graph.spanning.as_ref().map(|known| known.changed(&graph.plan, &plan)).transpose()?;
        let (plan, spanning) = self.plan.get_or_init(|| (plan, spanning.map(Arc::new))).clone();
        Ok(Prepared { graph, plan, spanning })
    }
}

impl Graph {
    /// Returns bindings that start with the graph's default arrays and values.
    pub fn with(&self) -> Bindings<'_> {
        Bindings { graph: self, replacements: Replacements::default(), plan: OnceLock::new() }
    }

    /// Checks that each input of a loaded graph has an array.
    #[inline]
    fn check_bound(&self, plan: &GraphPlan) -> Result<()> {
        let unbound = &self.inner.unbound;
        if unbound.is_empty() {
            return Ok(());
        }
        match plan.inputs.iter().position(|bound| unbound.contains(&bound.block.id)) {
            None => Ok(()),
            Some(at) => {
                let (graph, input) = (self.label().into(), plan.names.inputs[at].name.to_string());
                Err(Kind::Unbound { graph, input }.into())
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
        let (input, shape, padded) = (&inputs[at], array.shape(), array.padded_shape());
        if input.dtype != T::DTYPE || *input.shape != shape || *input.padded != padded {
            let object = format!("input `{name}`");
            let expected = described(input.dtype, &input.shape, &input.padded);
            let found = format!("array `{}`, {}", array.label(), described(T::DTYPE, &shape, &padded));
            return Err(Kind::GraphBinding { graph: self.label().into(), object, expected, found }.into());
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
            let (object, expected) = (format!("value `{name}`"), format!("a value of {}", values[at].dtype));
            let found = format!("a value of {}", T::TYPE);
            return Err(Kind::GraphBinding { graph: self.label().into(), object, expected, found }.into());
        }
        Ok((at, Value::new(contents)))
    }

    /// Returns the error for a name that the graph does not have.
    #[cold]
    pub(crate) fn unknown(&self, what: &'static str, name: &str, known: Vec<String>) -> Kind {
        Kind::GraphName { graph: self.label().into(), what, name: name.into(), known }
    }
}

/// Checks that the bytes of an array may take the place of the input's bytes.
fn check_alignment(input: &GraphInput, array: &ArrayRef, needed: u64) -> Result<()> {
    if input.places.is_empty() {
        return Ok(());
    }
    // Every use starts at the same distance from the array's start as in the capture.
    if !array.offset.abs_diff(input.offset).is_multiple_of(needed) {
        return Err(Kind::Alignment { array: array.label(), offset: array.offset, needed }.into());
    }
    let end = array.offset + array.bytes();
    if input.is_written && array.followed && !end.is_multiple_of(4) {
        return Err(Kind::Alignment { array: array.label(), offset: end, needed: 4 }.into());
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
    /// Returns [`Kind::GraphName`] for an unknown name; [`Kind::GraphBinding`] if the type or the shape differs;
    /// [`Kind::Alignment`] for a part of an array whose start does not fit the kernels that use it;
    /// [`Kind::ForeignContext`].
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
    /// Returns [`Kind::GraphName`] for an unknown name, and [`Kind::GraphBinding`] if the type differs.
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
