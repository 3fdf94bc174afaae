//! The rules of events.

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    Vec::new()
}
