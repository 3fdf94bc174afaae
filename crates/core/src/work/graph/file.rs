//! The file of a graph.

#[cfg(test)]
mod body_file_tests;
pub(crate) mod checks;
pub(crate) mod container;
pub(crate) mod contents;
pub(crate) mod decode;
pub(crate) mod encode;
#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod raw_file_tests;
