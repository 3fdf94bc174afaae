//! The outputs of graphs: reads whose bytes each replay has for itself.

use crate::arrays::output_read::ReplayedDownload;
use std::sync::{Arc, Weak};

/// An output of a graph.
#[derive(Clone)]
pub(crate) struct GraphOutput {
    /// Number of the output among the outputs of all graphs.
    pub(crate) token: u64,
    pub(crate) name: Arc<str>,
    pub(crate) bytes: u64,
    /// Type of the elements.
    pub(crate) element: Arc<str>,
    /// Size of an element in bytes.
    pub(crate) element_size: u32,
    /// Number of elements.
    pub(crate) len: u64,
    /// The download of each replay's bytes, if the output goes to a pinned array in ordinary memory. A graph does not
    /// keep the memory of such an array, because no program can read it once the array is dropped. A program cannot
    /// read such an output by its name.
    pub(crate) download: Option<Weak<ReplayedDownload>>,
}
