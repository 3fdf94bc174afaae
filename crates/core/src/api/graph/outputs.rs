//! The outputs of a graph by their names.

use crate::api::graph::capture::Output;
use crate::api::graph::graph_handle::Graph;
use crate::error::{Kind, Result};
use fencepost_kernels::Element;

impl Graph {
    /// Returns an output of the graph by the name that [`Capture::read_as`](crate::Capture::read_as) gave it. If
    /// several outputs have the name, the call returns the last one.
    ///
    /// # Errors
    /// Returns [`Kind::Graph`] if the graph has no such output, or if its elements have another type.
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
        let problem = |problem: String| Kind::Graph { graph: self.label().into(), problem };
        let named = || self.outputs().iter().filter(|output| output.download.is_none());
        let Some(found) = named().rev().find(|output| &*output.name == name) else {
            let known: Vec<String> = named().map(|output| format!("`{}`", output.name)).collect();
            let known = if known.is_empty() { "no outputs".into() } else { known.join(", ") };
            return Err(problem(format!("it has no output `{name}`; it has {known}")).into());
        };
        if *found.element != *T::DTYPE.to_string() || found.element_size as usize != T::DTYPE.size() {
            let (element, asked) = (&found.element, T::DTYPE);
            let wrong = format!("output `{name}` has elements of {element}, and the call requests {asked}");
            return Err(problem(wrong).into());
        }
        Ok(Output::new(found.token, found.len as usize, found.name.clone()))
    }
}
