//! The rules of devices.

mod adapters;
mod lanes;
pub(crate) mod losing;
mod lost;
mod same_results;
mod scopes;
mod several;
mod silent;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    let parts = [
        adapters::cases(),
        lanes::cases(),
        lost::cases(),
        same_results::cases(),
        scopes::cases(),
        several::cases(),
        silent::cases(),
    ];
    parts.concat()
}
