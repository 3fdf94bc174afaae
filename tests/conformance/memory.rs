//! Rules M: bytes get where they belong, in order, and nobody sees a stale one.

mod copies;
mod making;
mod maps;
mod numpy;
mod padded;
mod pinned;
mod pool;
mod reads;
mod region_order;
mod regions;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    let parts = [
        making::cases(),
        reads::cases(),
        pinned::cases(),
        copies::cases(),
        regions::cases(),
        region_order::cases(),
        padded::cases(),
        maps::cases(),
        pool::cases(),
    ];
    parts.into_iter().flatten().collect()
}
