//! Graphs: commands that are captured once and replayed as one command.

pub(crate) mod bindings;
pub(crate) mod bound;
pub(crate) mod capture;
pub(crate) mod checked_launch;
pub(crate) mod control_flow;
pub(crate) mod control_memory;
pub(crate) mod edit;
pub(crate) mod edited_table;
pub(crate) mod graph_dot;
pub(crate) mod graph_handle;
pub(crate) mod graph_output;
pub(crate) mod graph_statistics;
pub(crate) mod graph_svg;
pub(crate) mod graph_text;
pub(crate) mod graph_view;
pub(crate) mod host_function;
pub(crate) mod input;
#[cfg(all(test, cpu))]
mod lease_tests;
pub(crate) mod loading;
#[cfg(all(test, fencepost_loom))]
mod loom_replays;
mod loops;
pub(crate) mod outputs;
pub(crate) mod pinned_transfers;
pub(crate) mod replacements;
pub(crate) mod replay;
pub(crate) mod saving;
pub(crate) mod spanning;
pub(crate) mod tape;
