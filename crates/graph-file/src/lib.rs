//! The file format of saved graphs: converts bytes to plain data and back.
//!
//! `fencepost` saves a captured graph as bytes and loads it on this or another machine. This crate defines the format
//! of these bytes. It uses neither devices nor queues: a [`GraphFile`] is plain data, and its numbers are indices into
//! its own lists.
//!
//! A file has a header, a table of sections with their checksums, and the sections; [`container`] has this layout. The
//! sections are:
//!
//! | Kind | Section | Contents |
//! |---|---|---|
//! | 1 | META | the program that wrote the file, the label and the queues of the graph |
//! | 2 | KERNELS | the texts of the shaders, and the kernels |
//! | 3 | BLOCKS | the blocks of memory, some with bytes, and the inputs |
//! | 4 | VALUES | the named values and the outputs |
//! | 5 | NODES | the commands, the loops, and the nodes |
//! | 6 | NAMES | the labels of the commands; a reader may skip the section |
//!
//! [`encode`] writes a file. Repeated nodes, such as the iterations of a loop, are in the file only once. [`decode`]
//! reads a file and checks the checksums, the indices, the ranges, and the bodies of conditions and loops: for any
//! bytes, the result is a graph or a [`FileFault`]. [`check_gate_order`] is the last check. It needs memory for each
//! pair of a node and a queue, so a reader first compares [`GraphFile::memory`] with its limit. Checks that need a
//! device are elsewhere.
//!
//! This crate is a part of Fencepost, and only `fencepost-core` uses it. Any version may change it.
//!
//! # Example
//! ```
//! use fencepost_graph_file::{BlockContents, FileBlock, GraphFile, check_gate_order, decode, encode};
//! let block = FileBlock { label: "sums".into(), size: 64, contents: BlockContents::Owned };
//! let graph = GraphFile { queues: vec!["main".into()], blocks: vec![block], ..GraphFile::default() };
//! let mut bytes = encode(&graph);
//! let decoded = decode(&bytes)?;
//! check_gate_order(&decoded)?;
//! assert_eq!(decoded.graph, graph);
//! bytes[250] ^= 1;
//! assert!(decode(&bytes).unwrap_err().reason.contains("the checksum of a section"));
//! # Ok::<(), fencepost_graph_file::FileFault>(())
//! ```

#![forbid(unsafe_code)]

#[cfg(test)]
mod body_file_tests;
mod checks;
pub mod container;
mod contents;
mod decode;
mod encode;
#[cfg(test)]
mod file_tests;
mod order;
mod packing;
#[cfg(test)]
mod raw_file_tests;
mod rings;

pub use checks::MOST_DISPATCHES;
pub use contents::{
    ALIGNMENT, BlockContents, BoundValue, FileAxis, FileBlock, FileCommand, FileCounter, FileElement,
    FileFault, FileGate, FileInput, FileKernel, FileLaunch, FileLoop, FileNode, FileOutput, FilePattern,
    FileRange, FileRegion, FileTest, FileText, FileValue, FileWork, GraphFile,
};
pub use decode::{DecodedFile, decode};
pub use encode::encode;
pub use order::check_gate_order;
pub use rings::Ring;
