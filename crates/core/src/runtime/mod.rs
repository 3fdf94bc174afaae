//! The parts of a context that its handles keep alive: the scheduler, the threads, the compiled kernels and the choices of
//! its verbs. Also events and pending results, which a program holds.

pub(crate) mod captured;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod context_threads;
pub(crate) mod context_tuning;
pub(crate) mod context_watch;
pub(crate) mod event;
pub(crate) mod kernel_cache;
pub(crate) mod owner;
pub(crate) mod pending;
pub(crate) mod tuning_table;
#[cfg(all(not(target_arch = "wasm32"), not(fencepost_loom)))]
pub(crate) mod watchdog;
