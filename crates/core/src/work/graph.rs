//! Graphs: commands that are captured once and replayed as one command.

pub(crate) mod control;
pub(crate) mod names;
pub(crate) mod nodes;
pub(crate) mod order;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod uses;
