//! The outputs of graphs: reads whose bytes each replay has for itself.

use crate::api::graph::output_read::OutputPlace;
use std::sync::Arc;

/// Describes an output of a graph.
#[derive(Clone)]
pub(crate) struct GraphOutput {
    /// Identifies the output among those of all graphs.
    pub(crate) token: u64,
    pub(crate) name: Arc<str>,
    pub(crate) bytes: u64,
    /// Names the type of the elements.
    pub(crate) element: Arc<str>,
    /// Counts the bytes of an element.
    pub(crate) element_size: u32,
    /// Counts the elements.
    pub(crate) len: u64,
    /// Is the host array that takes the bytes of each replay, if the output is a download. A program cannot read such an
    /// output by its name.
    pub(crate) download: Option<Arc<dyn DownloadTarget>>,
}

/// Is a host array in ordinary memory to which each replay downloads.
pub(crate) trait DownloadTarget: Send + Sync {
    /// Tells the array where a replay will have its bytes.
    fn expect(&self, place: OutputPlace);
}
