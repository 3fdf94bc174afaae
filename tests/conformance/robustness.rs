//! The rules of robustness.

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    Vec::new()
}
