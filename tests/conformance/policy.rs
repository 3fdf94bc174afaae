//! Rules P: what a context does about uses of the same bytes that the program leaves unordered.

mod access;
mod checked;
mod hazards;
mod host;
mod ordered;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    let parts = [ordered::cases(), hazards::cases(), checked::cases(), access::cases(), host::cases()];
    parts.into_iter().flatten().collect()
}
