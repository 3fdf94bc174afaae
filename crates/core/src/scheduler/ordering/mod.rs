//! The order of commands that use the same bytes: the policies, the check and the report of waits.

pub(crate) mod admission;
pub(crate) mod admit;
pub(crate) mod note_waits;
pub(crate) mod policy;
pub(crate) mod wait_log;
pub(crate) mod wait_report;

#[cfg(test)]
mod ordering_tests;
#[cfg(test)]
mod repeated_programs_tests;
#[cfg(test)]
mod repeated_replay_tests;
