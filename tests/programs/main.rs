//! Tests rules P08 and R02: random programs on several queues are compared with an oracle that executes the operations
//! one after the other.
//!
//! `FENCEPOST_SEED=<number>` runs the program of one seed only, `FENCEPOST_SEEDS=<from>..<to>` runs the programs of
//! many. A failure prints its seed and the smallest program that still fails.
#![allow(unreachable_pub, reason = "modules of a test program")]
#![cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "a page runs some of the tests"))]

mod arithmetic;
mod awaiting;
mod bounds;
mod case;
mod checked;
#[cfg(not(target_arch = "wasm32"))]
mod coverage;
mod draw;
mod draw_memory;
#[cfg(not(target_arch = "wasm32"))]
mod faults;
mod generate;
mod graphs;
#[cfg_attr(target_arch = "wasm32", path = "guarded_in_a_page.rs")]
mod guarded;
mod held;
#[cfg(target_arch = "wasm32")]
mod in_page;
mod kernels;
mod kinds;
mod legal;
mod machine;
mod memory_operations;
mod names;
mod op;
#[cfg(not(target_arch = "wasm32"))]
mod open_order;
mod oracle;
mod parts;
mod pseudo;
#[cfg(not(target_arch = "wasm32"))]
mod regressions;
#[cfg(not(target_arch = "wasm32"))]
mod repeat;
mod run;
mod shrink;
#[cfg(target_arch = "wasm32")]
mod soak;
mod touch;
#[cfg(not(target_arch = "wasm32"))]
mod trials;
mod waiting;

#[path = "../common/mod.rs"]
mod common;

fn main() {
    #[cfg(not(target_arch = "wasm32"))]
    trials::run();
    #[cfg(target_arch = "wasm32")]
    common::page::keep(in_page::cases());
}
