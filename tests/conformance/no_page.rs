//! Stands for modules whose cases cannot run in a web page: they replace functions of a driver, start threads, or pass results
//! that are not `Send` to callbacks.

use crate::common::Case;

/// Returns no cases.
pub fn cases() -> Vec<Case> {
    Vec::new()
}
