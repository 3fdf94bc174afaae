//! Graphs: commands that are captured once and replayed as one command.

pub(crate) mod alias_orders;
pub(crate) mod body_checks;
#[cfg(test)]
mod body_file_tests;
pub(crate) mod byte_cursor;
pub(crate) mod byte_writer;
pub(crate) mod chunked_checks;
pub(crate) mod chunked_loop;
pub(crate) mod command_body;
pub(crate) mod control_layout;
pub(crate) mod control_table;
pub(crate) mod decode_graph;
pub(crate) mod decoded_file;
pub(crate) mod decoded_nodes;
pub(crate) mod encode_graph;
pub(crate) mod file_checks;
pub(crate) mod file_container;
#[cfg(test)]
mod file_tests;
pub(crate) mod gate;
pub(crate) mod gate_order;
pub(crate) mod graph_barriers;
pub(crate) mod graph_file;
pub(crate) mod graph_names;
pub(crate) mod graph_node;
pub(crate) mod graph_order;
pub(crate) mod graph_plan;
pub(crate) mod graph_run;
pub(crate) mod graph_uses;
pub(crate) mod interface_hash;
pub(crate) mod node_entries;
pub(crate) mod node_list;
pub(crate) mod node_parts;
pub(crate) mod plan_change;
#[cfg(test)]
mod raw_file_tests;
pub(crate) mod run_times;
pub(crate) mod unordered_nodes;
pub(crate) mod use_counts;
