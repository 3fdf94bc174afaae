//! The rules of devices.

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    Vec::new()
}
