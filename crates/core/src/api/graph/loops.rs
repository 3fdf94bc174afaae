//! The loops of a graph by their labels, and in their order.

use crate::api::graph::capture::Capture;
use crate::api::graph::control_flow::Loop;
use crate::api::graph::graph_handle::Graph;
use crate::error::{Kind, Result};
use std::panic::Location;

impl Capture {
    /// Names a loop that was captured on this queue or in a body on it. [`Graph::loop_`] finds the loop by the label,
    /// even after a load from a file. Several loops may have one label.
    ///
    /// # Errors
    /// Returns [`Kind::Graph`] if the loop belongs to another capture, and [`Kind::CaptureEnded`].
    ///
    /// # Example
    /// ```
    /// use fencepost::Bound;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let count = queue.array(&[3_u32])?;
    /// let mut x = queue.array(&[1_u32, 0, 0, 0])?;
    /// let (from, mut to) = (x.slice(0..3)?, x.slice(1..4)?);
    /// let (graph, ()) = queue.capture(|c| {
    ///     let shifts = c.repeat(&count, Bound::AtMost(8), |body| body.copy(&from, &mut to))?;
    ///     c.label_loop("shifts", &shifts)
    /// })?;
    /// let run = queue.replay(&graph)?;
    /// assert_eq!(run.iterations(&graph.loop_("shifts")?)?.wait()?, 3);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn label_loop(&self, label: &str, of: &Loop) -> Result<()> {
        self.place().with("label_loop", Location::caller(), |state| {
            if !state.loops.contains(&of.token) {
                let problem = format!("the loop for label `{label}` belongs to another capture");
                return Err(Kind::Graph { graph: (**self).label().into(), problem }.into());
            }
            state.names.loops.insert(of.token, label.into());
            Ok(())
        })?
    }
}

impl Graph {
    /// Returns a loop of the graph by the label that [`Capture::label_loop`] gave it. If several loops have the label,
    /// the call returns the last one.
    ///
    /// # Errors
    /// Returns [`Kind::GraphName`] if the graph has no such loop.
    ///
    /// # Example
    /// See [`Capture::label_loop`].
    pub fn loop_(&self, label: &str) -> Result<Loop> {
        let names = &self.plan.names.loops;
        let labelled = |of: &Loop| names.get(&of.token).is_some_and(|known| **known == *label);
        let loops = self.loops();
        let known = || loops.iter().filter_map(|of| names.get(&of.token)).map(|label| label.to_string());
        let found = loops.iter().rev().find(|of| labelled(of)).cloned();
        found.ok_or_else(|| self.unknown("loop", label, known().collect()).into())
    }

    /// Returns the loops of the graph in the order in which they begin: a loop comes before the loops of its body. The
    /// order is the same after a load from a file, so a loop without a label has a number.
    ///
    /// # Example
    /// ```
    /// use fencepost::Bound;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let count = queue.array(&[3_u32])?;
    /// let one = queue.array(&[7_u32])?;
    /// let (graph, _) = queue.capture(|c| {
    ///     let mut x = c.zeros::<u32, 1>([1])?;
    ///     let times = c.input("times", &count)?;
    ///     let one = c.input("one", &one)?;
    ///     c.repeat(&times, Bound::AtMost(8), |body| body.copy(&one, &mut x))
    /// })?;
    /// let loaded = ctx.graph_from_bytes(&graph.to_bytes()?)?;
    /// let run = queue.replay(&loaded.with().input("times", &count)?.input("one", &one)?)?;
    /// assert_eq!(run.iterations(&loaded.loops()[0])?.wait()?, 3);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn loops(&self) -> Vec<Loop> {
        let tokens = self.plan.control.iter().flat_map(|table| &table.layout.loops);
        tokens.map(|&token| Loop { token, replay: None }).collect()
    }
}
