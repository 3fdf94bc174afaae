//! Code that the test programs share: subjects, cases, a watchdog, kernels.
//!
//! A *subject* is the device of a case: an adapter of this machine, or the CPU recorder with a seed.
#![allow(dead_code, unreachable_pub, reason = "each test program uses some of the modules")]
#![allow(unused_imports, unused_macros, reason = "each test program uses some of the modules")]

pub mod adapters;
pub mod busy;
#[cfg(not(target_arch = "wasm32"))]
pub mod cached;
pub mod calls;
pub mod carried;
pub mod case;
pub mod clock;
pub mod counted;
pub mod dump;
pub mod early_results;
pub mod errors;
#[cfg(not(target_arch = "wasm32"))]
pub mod example;
pub mod full;
#[cfg(not(target_arch = "wasm32"))]
pub mod function_tables;
#[cfg_attr(target_arch = "wasm32", path = "held_in_a_page.rs")]
pub mod held;
pub mod kernels;
pub mod logger;
pub mod objects;
#[cfg(target_arch = "wasm32")]
pub mod page;
pub mod partners;
pub mod patience;
#[cfg(not(target_arch = "wasm32"))]
pub mod place_filter;
pub mod program;
pub mod raw;
#[cfg(not(target_arch = "wasm32"))]
pub mod refusing;
pub mod results;
pub mod seeds;
pub mod spin;
pub mod subject;
pub mod thread;
#[cfg(not(target_arch = "wasm32"))]
pub mod trials;
#[cfg(not(target_arch = "wasm32"))]
pub mod validation;
#[cfg(not(target_arch = "wasm32"))]
pub mod watchdog;

pub use calls::Calls;
pub use carried::Carried;
pub use case::{
    BY_TURNS, COMPILES_AT_CALL, Case, DEFAULT_LIMITS, KERNELS_IN_TURNS, NO_BLOCKING, NO_DEVICE, NO_DRIVER,
    NO_FILES, NO_LIST, NO_UNWINDING, NO_WAIT_AT_DROP, NOT_SEND, Needs, ONE_THREAD, case, host_side,
    wgpu_only,
};
pub(crate) use errors::assert_error;
pub use errors::assert_says;
pub use objects::{hold, queues};
pub use subject::Subject;
#[cfg(not(target_arch = "wasm32"))]
pub use trials::trials;

/// Number of elements of 4 bytes that no device has memory for. In a browser, where sizes have 32 bits, their bytes are
/// the last that the address space can count.
pub const TOO_MANY: usize = if usize::BITS > 32 { 1_usize.wrapping_shl(40) } else { isize::MAX as usize / 4 };
/// Number of workgroups that is zero in 32 bits; in a browser, the largest number.
pub const WRAPS: usize = if usize::BITS > 32 { 1_usize.wrapping_shl(32) } else { usize::MAX - 1 };

/// Sleeps. In a browser the page goes on meanwhile.
pub fn sleep(duration: std::time::Duration) {
    #[cfg(not(target_arch = "wasm32"))]
    std::thread::sleep(duration);
    #[cfg(target_arch = "wasm32")]
    page::sleep(duration);
}

/// Returns the next value of a channel. In a browser the page goes on meanwhile.
///
/// # Panics
/// Panics if the senders are dropped first.
#[track_caller]
pub fn received<T>(receiver: &std::sync::mpsc::Receiver<T>) -> T {
    #[cfg(not(target_arch = "wasm32"))]
    return receiver.recv().expect("a value is sent");
    #[cfg(target_arch = "wasm32")]
    return page::received(receiver);
}

/// Checks that a context has ended with its last handle. In a browser, its last work ends after the drop.
#[track_caller]
pub fn assert_ended(watch: &fencepost::ContextWatch) {
    #[cfg(target_arch = "wasm32")]
    dump::until(|| watch.state_dump().is_none());
    assert!(watch.state_dump().is_none(), "the context has ended");
}

/// Blocks until a future is ready. In a browser the page goes on meanwhile.
pub fn block_on<F: std::future::IntoFuture>(future: F) -> F::Output {
    #[cfg(not(target_arch = "wasm32"))]
    return pollster::block_on(future);
    #[cfg(target_arch = "wasm32")]
    return page::block_on(future.into_future());
}
