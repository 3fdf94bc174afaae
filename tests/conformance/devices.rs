//! The rules of devices.

mod adapters;
mod lanes;
mod losing;
mod lost;
mod same_results;
mod scopes;
mod several;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    let parts = [
        adapters::cases(),
        lanes::cases(),
        lost::cases(),
        same_results::cases(),
        scopes::cases(),
        several::cases(),
    ];
    parts.concat()
}
