//! Tests of the rules about policies, for uses of the same bytes that the caller leaves unordered.

mod access;
mod checked;
mod completions;
mod dropped_queues;
mod hazards;
mod host_access;
mod ordered;
#[cfg(not(target_arch = "wasm32"))]
mod refused_waits;
#[cfg(target_arch = "wasm32")]
no_page!(refused_waits, "policy/refused_waits.rs", NOT_SEND);
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
        refused_waits::cases(),
        host_side(dropped_queues::cases()),
    ];
    parts.into_iter().flatten().collect()
}
