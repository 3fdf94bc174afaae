//! Arguments of captured launches that have names in the graph.

use crate::api::queue::CommandQueue;
use crate::error::{Kind, Result};
use fencepost_kernels::{ArgumentSlot, DynArg, NamedArg, NamedValue};
use std::panic::Location;
use std::sync::Arc;

/// A named value, with its place among the parameters of a launch.
pub(crate) type PlacedValue<'a> = (&'a dyn NamedValue, ArgumentSlot);

/// Returns the arguments that are named values and that the entry point declares.
pub(crate) fn named_values<'a>(args: &[NamedArg<'a>], slots: &[ArgumentSlot]) -> Vec<PlacedValue<'a>> {
    let named = args.iter().zip(slots).filter_map(|((_, arg), &slot)| match arg {
        DynArg::Named(value) if slot != ArgumentSlot::Undeclared => Some((*value, slot)),
        _ => None,
    });
    named.collect()
}

impl CommandQueue {
    /// Checks that all values belong to the capture of the queue.
    ///
    /// # Errors
    /// Returns `Graph` for a value of another capture, and for any value if the queue is not captured.
    pub(crate) fn check_named(
        &self,
        call: &'static str,
        values: &[PlacedValue<'_>],
        at: &'static Location<'static>,
    ) -> Result<()> {
        let Some((first, _)) = values.first() else { return Ok(()) };
        let Some(captured) = self.captured_queue() else {
            let problem = format!(
                "value `{}` is a value of a graph, and queue `{}` captures none: pass the value's `get()`",
                first.name(),
                self.label()
            );
            return Err(Kind::Graph { graph: self.label().into(), problem }.into());
        };
        captured.with(call, at, |state| {
            values
                .iter()
                .try_for_each(|(value, _)| state.check_value(self.label(), value.token(), value.name()))
        })?
    }

    /// Gives the parameters of a captured launch the names of their values.
    pub(crate) fn name_values(
        &self,
        call: &'static str,
        node: u32,
        values: &[PlacedValue<'_>],
        at: &'static Location<'static>,
    ) -> Result<()> {
        let Some(captured) = self.captured_queue().filter(|_| !values.is_empty()) else { return Ok(()) };
        captured.with(call, at, |state| {
            let node = &mut state.nodes[node as usize];
            let mut command = node.command.duplicate();
            command.values.extend(values.iter().map(|(value, slot)| (value.token(), *slot)));
            node.command = Arc::new(command);
        })
    }
}
