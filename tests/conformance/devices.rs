//! The rules of devices.

mod adapters;
mod same_results;
mod scopes;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [adapters::cases(), same_results::cases(), scopes::cases()].concat()
}
