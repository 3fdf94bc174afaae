//! Tests of the rules about policies, for uses of the same bytes that the caller leaves unordered.

mod access;
mod checked;
#[cfg(not(target_arch = "wasm32"))]
mod completions;
#[cfg(target_arch = "wasm32")]
no_page!(completions, "policy/completions.rs", NOT_SEND);
mod dropped_queues;
mod hazards;
mod host_access;
mod ordered;
mod report;

use crate::common::{Case, host_side};

pub fn cases() -> Vec<Case> {
    let parts = [
        ordered::cases(),
        host_side(hazards::cases()),
        host_side(checked::cases()),
        host_side(access::cases()),
        host_access::cases(),
        host_side(report::cases()),
        completions::cases(),
        host_side(dropped_queues::cases()),
    ];
    parts.into_iter().flatten().collect()
}
