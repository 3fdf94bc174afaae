//! Tests of the rules about devices.

mod adapters;
mod cpu;
#[cfg(not(target_arch = "wasm32"))]
mod driver_calls;
#[cfg(target_arch = "wasm32")]
no_page!(driver_calls, "devices/driver_calls.rs", NO_DRIVER);
#[cfg(target_arch = "wasm32")]
mod gpu_process;
mod groups;
mod lanes;
mod late_errors;
#[cfg(not(target_arch = "wasm32"))]
mod late_memory;
#[cfg(target_arch = "wasm32")]
no_page!(late_memory, "devices/late_memory.rs", NO_DRIVER);
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
        late_errors::cases(),
        late_memory::cases(),
        lost::cases(),
        same_results::cases(),
        host_side(scopes::cases()),
        several::cases(),
        groups::cases(),
        driver_calls::cases(),
        #[cfg(target_arch = "wasm32")]
        gpu_process::cases(),
    ];
    parts.concat()
}
