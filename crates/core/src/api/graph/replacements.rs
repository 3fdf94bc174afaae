//! The arrays and values that replace the defaults of a graph, for one replay or by an edit.

use crate::api::graph::graph_handle::Graph;
use crate::api::graph::input::bytes_of;
use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::error::Result;
use crate::work::graph_data::graph_names::GraphNames;
use crate::work::graph_data::plan_change::PlanChange;
use fencepost_kernels::{Element, Param, Value};
use smallvec::SmallVec;

/// Arrays by the numbers of their inputs, and contents by the numbers of their values. Keeps the arrays alive.
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

    /// Returns the numbers of the inputs with other arrays.
    pub(crate) fn inputs(&self) -> SmallVec<[usize; 2]> {
        self.inputs.iter().map(|(at, _)| *at).collect()
    }

    /// Returns the other arrays.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = &ArrayRef> {
        self.inputs.iter().map(|(_, array)| array)
    }

    /// Returns the number of replaced inputs and values.
    pub(crate) fn len(&self) -> usize {
        self.inputs.len() + self.values.len()
    }

    /// Returns the names of the inputs and of the values.
    pub(crate) fn names<'n>(&self, names: &'n GraphNames) -> Vec<&'n str> {
        let inputs = self.inputs.iter().map(|(at, _)| &*names.inputs[*at].name);
        let values = self.values.iter().map(|(at, _)| &*names.values[*at].name);
        inputs.chain(values).collect()
    }

    /// Returns the change of a plan that makes the replacements.
    pub(crate) fn change(&self) -> PlanChange {
        let inputs = self.inputs.iter().map(|(at, array)| (*at, bytes_of(array))).collect();
        PlanChange { inputs, values: self.values.clone(), ..PlanChange::default() }
    }
}
