//! Who must wait for whom, and what is done about it.

mod admit;
mod policy;
mod tracker;

pub(crate) use admit::{Admission, admit, record, record_making};
pub use policy::Policy;
pub(crate) use tracker::{Tracker, Use};
