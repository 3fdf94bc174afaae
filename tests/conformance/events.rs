//! Tests of the rules of events.

mod between_contexts;
mod destructors;
mod early_results;
#[cfg(not(target_arch = "wasm32"))]
mod executors;
#[cfg(target_arch = "wasm32")]
no_page!(executors, "events/executors.rs", NOT_SEND);
mod markers;
mod one_device;
mod pipelines;
mod recording;
mod user;
mod waiting;

use crate::common::{Case, host_side};

pub fn cases() -> Vec<Case> {
    [
        markers::cases(),
        waiting::cases(),
        early_results::cases(),
        host_side(executors::cases()),
        host_side(destructors::cases()),
        host_side(recording::cases()),
        host_side(user::cases()),
        pipelines::cases(),
        between_contexts::cases(),
        one_device::cases(),
    ]
    .concat()
}
