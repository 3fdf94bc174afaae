//! The rules of events.

mod across;
mod executors;
mod markers;
mod one_device;
mod pipelines;
mod recording;
mod user;
mod waiting;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [
        markers::cases(),
        waiting::cases(),
        executors::cases(),
        recording::cases(),
        user::cases(),
        pipelines::cases(),
        across::cases(),
        one_device::cases(),
    ]
    .concat()
}
