//! Holds the tests of the rules of memory: bytes arrive in the right place and order, and no read returns a stale byte.

mod across;
mod across_parts;
mod copies;
mod elsewhere;
mod exhausted;
mod limits;
mod making;
mod maps;
mod numpy;
mod padded;
mod pinned;
mod pool;
mod reads;
mod region_forms;
mod region_order;
mod regions;
mod single;
mod tracker;

use crate::common::{Case, host_side};

pub fn cases() -> Vec<Case> {
    [
        making::cases(),
        reads::cases(),
        pinned::cases(),
        copies::cases(),
        regions::cases(),
        region_forms::cases(),
        region_order::cases(),
        padded::cases(),
        maps::cases(),
        pool::cases(),
        host_side(limits::cases()),
        host_side(tracker::cases()),
        across::cases(),
        across_parts::cases(),
        elsewhere::cases(),
        single::cases(),
        exhausted::cases(),
    ]
    .concat()
}
