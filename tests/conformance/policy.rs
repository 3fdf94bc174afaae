//! Holds the tests of the rules of policies, for uses of the same bytes that the program leaves unordered.

mod access;
mod checked;
mod gone;
mod hazards;
mod host;
mod ordered;
mod report;
mod told;

use crate::common::{Case, host_side};

pub fn cases() -> Vec<Case> {
    let parts = [
        ordered::cases(),
        host_side(hazards::cases()),
        host_side(checked::cases()),
        host_side(access::cases()),
        host::cases(),
        host_side(report::cases()),
        told::cases(),
        host_side(gone::cases()),
    ];
    parts.into_iter().flatten().collect()
}
