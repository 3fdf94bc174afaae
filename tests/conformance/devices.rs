//! Tests of the rules about devices.

mod adapters;
mod cpu;
#[cfg_attr(target_arch = "wasm32", path = "no_page.rs")]
mod driver_calls;
mod groups;
mod lanes;
pub(crate) mod losing;
mod lost;
mod same_results;
mod scopes;
mod several;

use crate::common::{Case, host_side};

pub fn cases() -> Vec<Case> {
    let parts = [
        host_side(adapters::cases()),
        host_side(cpu::cases()),
        lanes::cases(),
        lost::cases(),
        same_results::cases(),
        host_side(scopes::cases()),
        several::cases(),
        groups::cases(),
        driver_calls::cases(),
    ];
    parts.concat()
}
