//! The rules of devices.

mod adapters;
mod same_results;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [adapters::cases(), same_results::cases()].concat()
}
