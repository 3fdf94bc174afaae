//! Rules P: what a context does about uses of the same bytes that the program leaves unordered.

mod access;
mod checked;
mod hazards;
mod host;
mod ordered;
mod report;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    let parts = [
        ordered::cases(),
        hazards::cases(),
        checked::cases(),
        access::cases(),
        host::cases(),
        report::cases(),
    ];
    parts.into_iter().flatten().collect()
}
