//! Tests of the rules of events.

mod between_contexts;
mod destructors;
mod early_results;
mod executors;
#[cfg(target_arch = "wasm32")]
mod in_page;
mod markers;
mod one_device;
mod pipelines;
mod recording;
mod user;
mod waiting;
#[cfg(not(target_arch = "wasm32"))]
mod waker_waits;
#[cfg(target_arch = "wasm32")]
no_page!(waker_waits, "events/waker_waits.rs", NOT_SEND);

use crate::common::{Case, host_side};

pub fn cases() -> Vec<Case> {
    [
        markers::cases(),
        waiting::cases(),
        early_results::cases(),
        host_side(executors::cases()),
        host_side(waker_waits::cases()),
        host_side(destructors::cases()),
        host_side(recording::cases()),
        host_side(user::cases()),
        pipelines::cases(),
        between_contexts::cases(),
        one_device::cases(),
        #[cfg(target_arch = "wasm32")]
        in_page::cases(),
    ]
    .concat()
}
