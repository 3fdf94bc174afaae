//! Rules M: bytes get where they belong, in order, and nobody sees a stale one.

mod copies;
mod making;
mod maps;
mod pinned;
mod pool;
mod reads;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    let parts =
        [making::cases(), reads::cases(), pinned::cases(), copies::cases(), maps::cases(), pool::cases()];
    parts.into_iter().flatten().collect()
}
