//! Holds the tests of the rules of events.

mod across;
mod destructors;
mod executors;
mod late;
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
        late::cases(),
        host_side(executors::cases()),
        host_side(destructors::cases()),
        host_side(recording::cases()),
        host_side(user::cases()),
        pipelines::cases(),
        across::cases(),
        one_device::cases(),
    ]
    .concat()
}
