//! Graphs: commands that are captured once and replayed as one command.

pub(crate) mod alias_orders;
pub(crate) mod control_table;
pub(crate) mod gate;
pub(crate) mod graph_barriers;
pub(crate) mod graph_names;
pub(crate) mod graph_node;
pub(crate) mod graph_order;
pub(crate) mod graph_plan;
pub(crate) mod graph_run;
pub(crate) mod graph_uses;
pub(crate) mod node_list;
pub(crate) mod node_parts;
pub(crate) mod plan_change;
pub(crate) mod run_times;
pub(crate) mod unordered_nodes;
