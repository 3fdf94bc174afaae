//! Tests of the rules about memory: bytes arrive in the right place and order, and no read returns a stale byte.

mod between_contexts;
mod bits;
mod copies;
mod exhausted;
mod guards;
#[cfg(target_arch = "wasm32")]
mod in_page;
mod limits;
mod making;
mod maps;
mod numpy;
mod padded;
mod pinned;
mod pool;
mod reads;
#[cfg(not(target_arch = "wasm32"))]
mod refused;
#[cfg(target_arch = "wasm32")]
no_page!(refused, "memory/refused.rs", NO_DRIVER);
mod region_forms;
mod region_order;
mod regions;
mod regions_between_contexts;
mod single_elements;
mod third_context;
mod tracker;

use crate::common::{Case, host_side};

pub fn cases() -> Vec<Case> {
    [
        making::cases(),
        reads::cases(),
        pinned::cases(),
        guards::cases(),
        copies::cases(),
        bits::cases(),
        regions::cases(),
        region_forms::cases(),
        region_order::cases(),
        padded::cases(),
        maps::cases(),
        pool::cases(),
        host_side(limits::cases()),
        host_side(tracker::cases()),
        between_contexts::cases(),
        regions_between_contexts::cases(),
        third_context::cases(),
        single_elements::cases(),
        exhausted::cases(),
        refused::cases(),
        #[cfg(target_arch = "wasm32")]
        in_page::cases(),
    ]
    .concat()
}
