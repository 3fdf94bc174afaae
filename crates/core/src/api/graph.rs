//! Graphs: commands that are captured once and replayed as one command.

pub(crate) mod bindings;
pub(crate) mod capture;
pub(crate) mod edit;
pub(crate) mod graph_handle;
pub(crate) mod input;
pub(crate) mod loading;
pub(crate) mod outputs;
pub(crate) mod replay;
pub(crate) mod saving;
pub(crate) mod tape;
