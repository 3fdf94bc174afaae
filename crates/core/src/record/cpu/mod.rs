//! The CPU as a device. For tests, the CPU recorder executes batches in an order that a seed chooses. The CPU device
//! executes them on threads, as a GPU does, or in a browser on the thread of the page.

pub(crate) mod cpu_device;
#[cfg(cpu_threads)]
pub(crate) mod cpu_lane;
pub(crate) mod cpu_recorder;
pub(crate) mod cpu_work;
#[cfg(test)]
mod failing_tests;
mod kernel_checks;
mod launch_timer;
#[cfg(any(test, target_arch = "wasm32"))]
pub(crate) mod page_lane;
pub(crate) mod run_order;
mod shared_kernels;
#[cfg(cpu_threads)]
mod side_by_side;
