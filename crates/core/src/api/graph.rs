//! Graphs: commands that are captured once and replayed as one command.

pub(crate) mod capture;
pub(crate) mod control_flow;
pub(crate) mod control_memory;
pub(crate) mod graph_handle;
pub(crate) mod replay;
pub(crate) mod tape;
