//! Who must wait for whom, and what is done about it.

mod admit;
mod log;
mod policy;
mod report;
mod tracker;

pub(crate) use admit::{Admission, admit, record, record_making};
pub(crate) use log::{WaitLog, note_added, note_asked};
pub use policy::Policy;
pub use report::{AddedWait, Already, RedundantWait, WaitReport};
pub(crate) use tracker::{Origin, Tracker, Use};

#[cfg(test)]
mod tests;
