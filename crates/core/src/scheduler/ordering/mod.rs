//! Who must wait for whom, and what is done about it.

pub(crate) mod admission;
pub(crate) mod admit;
pub(crate) mod note_waits;
pub(crate) mod policy;
pub(crate) mod wait_log;
pub(crate) mod wait_report;

#[cfg(test)]
mod tests;
