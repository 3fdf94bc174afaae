//! Graphs: commands that are captured once and replayed as one command.

pub(crate) mod byte_cursor;
pub(crate) mod byte_writer;
pub(crate) mod decode_graph;
pub(crate) mod encode_graph;
pub(crate) mod file_checks;
pub(crate) mod file_container;
#[cfg(test)]
mod file_tests;
pub(crate) mod graph_file;
pub(crate) mod graph_node;
pub(crate) mod graph_order;
pub(crate) mod graph_plan;
pub(crate) mod graph_run;
pub(crate) mod graph_uses;
pub(crate) mod interface_hash;
