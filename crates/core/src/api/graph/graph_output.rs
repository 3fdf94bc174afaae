//! The outputs of graphs: reads whose bytes each replay has for itself.

use crate::arrays::output_read::ReplayedDownload;
use std::sync::{Arc, Weak};

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
    /// Is the download of a pinned array in ordinary memory that takes the bytes of each replay, if the output is one. A
    /// graph does not keep the memory of such an array, because no program can read the memory of a dropped one. A
    /// program cannot read such an output by its name.
    pub(crate) download: Option<Weak<ReplayedDownload>>,
}
