//! Graphs: commands that are captured once and replayed as one command.

pub(crate) mod graph_barriers;
pub(crate) mod graph_node;
pub(crate) mod graph_order;
pub(crate) mod graph_plan;
pub(crate) mod graph_run;
pub(crate) mod graph_uses;
pub(crate) mod run_times;
