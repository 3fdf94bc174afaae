//! The rules of devices.

mod adapters;
mod lanes;
mod losing;
mod lost;
mod same_results;
mod scopes;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [adapters::cases(), lanes::cases(), lost::cases(), same_results::cases(), scopes::cases()].concat()
}
