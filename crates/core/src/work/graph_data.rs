//! Graphs: commands that are captured once and replayed as one command.

pub(crate) mod control_layout;
pub(crate) mod control_table;
pub(crate) mod gate;
pub(crate) mod graph_node;
pub(crate) mod graph_order;
pub(crate) mod graph_plan;
pub(crate) mod graph_run;
pub(crate) mod graph_uses;
