//! Tests the rules of docs/semantics.md on every adapter of the machine and on the CPU recorder.
//!
//! The name of a test begins with its rule and ends with its device: `q03_an_event_orders_two_queues::lavapipe`.
#![allow(unreachable_pub, reason = "modules of a program")]

#[path = "../common/mod.rs"]
mod common;

/// Checks that a call is refused with this detail, and returns the error. The detail may be a pattern:
/// `Axis { axis: 2, .. }` or `Aliased { first, .. } if first == "x"`.
macro_rules! assert_refused {
    ($call:expr, $detail:ident) => {
        assert_refused!($call, $detail { .. })
    };
    ($call:expr, $detail:ident $fields:tt $(if $condition:expr)?) => {{
        let error = $call.unwrap_err();
        assert!(matches!(error.detail(), fencepost::ErrorDetail::$detail $fields $(if $condition)?), "{error}");
        error
    }};
}

/// Stands for a module in a web page that cannot have it, for this reason. No case of it can run there.
#[cfg(target_arch = "wasm32")]
macro_rules! no_page {
    ($module:ident, $file:literal, $reason:ident) => {
        mod $module {
            pub fn cases() -> Vec<crate::common::Case> {
                crate::common::case::not_built(include_str!($file), crate::common::$reason)
            }
        }
    };
}

mod algorithms;
mod devices;
mod events;
mod graphs;
#[cfg(not(target_arch = "wasm32"))]
mod hangs;
#[cfg(target_arch = "wasm32")]
no_page!(hangs, "hangs.rs", ONE_THREAD);
mod kernels;
mod memory;
mod policy;
mod queues;
mod robustness;
mod timing;

use common::host_side;

fn main() {
    common::logger::set();
    let modules = [
        queues::cases,
        events::cases,
        devices::cases,
        memory::cases,
        policy::cases,
        kernels::cases,
        robustness::cases,
        timing::cases,
        graphs::cases,
        algorithms::cases,
    ];
    let cases = modules.into_iter().flat_map(|cases| cases()).chain(host_side(hangs::cases())).collect();
    #[cfg(not(target_arch = "wasm32"))]
    common::place_filter::run(common::trials(cases)).exit();
    #[cfg(target_arch = "wasm32")]
    common::page::keep(cases);
}
