//! A decoded graph file.

use crate::work::graph_data::graph_file::GraphFile;

/// Graph of a file, with the places of its parts in the file for messages.
#[derive(Default)]
pub(crate) struct DecodedFile {
    pub(crate) graph: GraphFile,
    /// Place of each kernel in the file.
    pub(crate) kernels: Vec<u64>,
    /// Place of each command in the file.
    pub(crate) commands: Vec<u64>,
    /// Place of each node in the file.
    pub(crate) nodes: Vec<u64>,
}
